import { useEffect, useState } from "react";
import { Button } from "./button.tsx";

const SHOWN_MS = 2000;

/** Copies `text`, and says so for two seconds. */
export const CopyButton = ({
  text,
  label,
  name = "Copy",
}: {
  text: string;
  label: string;
  /** What the button says. */
  name?: string;
}) => {
  const [outcome, setOutcome] = useState<"copied" | "failed" | null>(null);
  useEffect(() => {
    if (outcome === null) return;
    const timer = setTimeout(() => setOutcome(null), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [outcome]);
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => setOutcome("copied"),
      () => setOutcome("failed"),
    );
  return (
    <Button onClick={copy} aria-label={label}>
      <span role="status" className="min-w-14">
        {outcome === "copied" ? "Copied" : outcome === "failed" ? "Select it" : name}
      </span>
    </Button>
  );
};

/** A text that is copied whole, such as a secret or a command. */
export const CopyText = ({ label, text }: { label: string; text: string }) => (
  <div className="mb-4">
    <p className="mb-1 text-sm font-medium">{label}</p>
    <div className="flex items-start gap-2">
      <pre className="min-w-0 flex-1 rounded-lg border border-line bg-raised px-3 py-2 font-mono text-xs leading-5 break-all whitespace-pre-wrap select-all">
        {text}
      </pre>
      <CopyButton text={text} label={`Copy: ${label}`} />
    </div>
  </div>
);

/** An id, with a button to copy it. */
export const Id = ({ id }: { id: string }) => (
  <span className="inline-flex max-w-full items-center gap-2">
    <code className="min-w-0 truncate text-xs">{id}</code>
    <CopyButton text={id} label={`Copy the id ${id}`} />
  </span>
);
