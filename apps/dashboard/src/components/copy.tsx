import { useEffect, useState } from "react";
import { Button } from "./button.tsx";

const SHOWN_MS = 2000;

/** The outcome of the last copy, for two seconds, and a function that copies. */
const useCopy = (text: string): [outcome: "copied" | "failed" | null, copy: () => void] => {
  const [outcome, setOutcome] = useState<"copied" | "failed" | null>(null);
  useEffect(() => {
    if (outcome === null) return;
    const timer = setTimeout(() => setOutcome(null), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [outcome]);
  const copy = () =>
    void navigator.clipboard.writeText(text).then(
      () => setOutcome("copied"),
      () => setOutcome("failed"),
    );
  return [outcome, copy];
};

/** Copies `text`, and shows the outcome. */
export const CopyButton = ({
  text,
  label,
  name = "Copy",
}: {
  text: string;
  label: string;
  /** The label of the button. */
  name?: string;
}) => {
  const [outcome, copy] = useCopy(text);
  return (
    <Button onClick={copy} aria-label={label}>
      <span role="status" className="min-w-14">
        {outcome === "copied" ? "Copied" : outcome === "failed" ? "Select it" : name}
      </span>
    </Button>
  );
};

/** A text that is copied as a whole, such as a secret or a command. */
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

/** The icon of the outcome: two sheets, a tick, or a cross. */
const SHAPES = {
  ready: "M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z",
  copied: "M3 8.5l3.5 3.5 7-8",
  failed: "M4 4l8 8M12 4l-8 8",
};

/** Copies an id that is not shown, beside its name. */
export const CopyId = ({ id }: { id: string }) => {
  const [outcome, copy] = useCopy(id);
  return (
    <button
      type="button"
      onClick={copy}
      title={id}
      aria-label={`Copy the id ${id}`}
      className="grid size-6 shrink-0 place-items-center rounded-md text-muted hover:bg-raised hover:text-text"
    >
      <svg aria-hidden="true" viewBox="0 0 16 16" className="size-3.5 fill-none stroke-current stroke-[1.5]">
        <path d={SHAPES[outcome ?? "ready"]} />
      </svg>
      <span role="status" className="sr-only">
        {outcome === "copied" ? "Copied" : outcome === "failed" ? "Not copied" : ""}
      </span>
    </button>
  );
};
