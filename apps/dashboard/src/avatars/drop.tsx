import { useEffect, useId, useState } from "react";
import { useFileDrop } from "../layout/use-file-drop.ts";
import { acceptedTypes, KIND_NAMES, type SourceCheck, type SourceKind, sourceHints } from "./source.ts";
import type { Chosen, ChosenSource } from "./use-source.ts";

const MARKS: Record<SourceCheck["verdict"], { mark: string; word: string; className: string }> = {
  pass: { mark: "✓", word: "passed", className: "text-good" },
  fail: { mark: "✕", word: "failed", className: "font-medium text-bad" },
  unknown: { mark: "?", word: "not known", className: "text-muted" },
};

const CheckList = ({ checks }: { checks: readonly SourceCheck[] }) => (
  <ul className="grid gap-1 text-sm" aria-label="Checks of the file">
    {checks.map(({ name, verdict, detail }) => {
      const { mark, word, className } = MARKS[verdict];
      return (
        <li key={name} className={className}>
          <span aria-hidden="true">{mark}</span>
          <span className="sr-only">{word}</span> {name}: {detail}
        </li>
      );
    })}
  </ul>
);

/** Shows the file from a `blob:` address. The address is revoked when the file is no longer shown. */
const Preview = ({ file, kind }: { file: File; kind: SourceKind }) => {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    const address = URL.createObjectURL(file);
    setUrl(address);
    return () => URL.revokeObjectURL(address);
  }, [file]);
  const className = "size-full object-cover";
  return (
    <span className="block size-28 shrink-0 overflow-hidden rounded-xl bg-raised">
      {url && kind === "image" && <img src={url} alt="The selected file" className={className} />}
      {url && kind === "video" && (
        <video src={url} muted playsInline preload="metadata" aria-label="The selected file" className={className} />
      )}
    </span>
  );
};

const ChosenFile = ({ chosen: { file, source } }: { chosen: Chosen }) => (
  <>
    {source?.type && source.picture && <Preview file={file} kind={source.type.kind} />}
    <span className="min-w-0 text-sm">
      <span className="block truncate font-medium">{file.name}</span>
      <span className="text-muted">Click or drop to take another one.</span>
    </span>
  </>
);

/** Takes a source by drag and drop, anywhere on the page, or from the file dialog, and checks it in the browser. */
export const SourceDrop = ({
  source: { chosen, checks, choose, requirements },
  kinds,
  isBusy,
}: {
  source: ChosenSource;
  kinds: readonly SourceKind[];
  /** While the file is uploaded, no other file can be chosen. */
  isBusy: boolean;
}) => {
  const id = useId();
  const isOver = useFileDrop(isBusy ? null : choose);
  const names = kinds.map((kind) => KIND_NAMES[kind]).join(" or a ");
  return (
    <div className="mb-4">
      <label
        htmlFor={id}
        className={`flex min-h-36 cursor-pointer items-center gap-4 rounded-xl border-2 border-dashed p-4 has-focus-visible:outline-2 has-focus-visible:outline-accent ${isOver ? "border-accent bg-raised" : "border-field"}`}
      >
        <input
          id={id}
          type="file"
          accept={acceptedTypes(kinds)}
          className="sr-only"
          data-focus
          aria-describedby={`${id}-hint`}
          onChange={({ target }) => target.files?.[0] && choose(target.files[0])}
        />
        {chosen ? (
          <ChosenFile chosen={chosen} />
        ) : (
          <span className="mx-auto text-center font-medium">Drop a {names} here, or choose a file</span>
        )}
      </label>
      <div id={`${id}-hint`} className="mt-2 text-sm text-muted">
        <p>One face, sharp and well lit, that looks straight at the camera.</p>
        {sourceHints(requirements, kinds).map((hint) => (
          <p key={hint}>{hint}</p>
        ))}
      </div>
      <div role="status">
        {chosen && (
          <div className="mt-3">
            {checks ? <CheckList checks={checks} /> : <p className="text-sm">Reading the file…</p>}
          </div>
        )}
      </div>
    </div>
  );
};
