/** Ranges of bytes (RFC 9110 §14). */

export type RequestedRange =
  /** The whole file: the header is missing or malformed, or names several ranges, which a server may ignore (§14.2). */
  | { kind: "whole" }
  /** Inclusive offsets within the file. */
  | { kind: "part"; start: number; end: number }
  /** No byte of the file is in the range. */
  | { kind: "unsatisfiable" };

const BYTES = /^bytes=(\d{0,15})-(\d{0,15})$/i;

/** The range in the header `Range`, for a file of `sizeBytes`. null: the header is missing. */
export const parseRange = (header: string | null, sizeBytes: number): RequestedRange => {
  const [, first = "", last = ""] = BYTES.exec(header ?? "") ?? [];
  if (first === "" && last === "") return { kind: "whole" };
  if (first === "") {
    // A suffix: this number of bytes at the end.
    const length = Math.min(Number(last), sizeBytes);
    return length === 0 ? { kind: "unsatisfiable" } : { kind: "part", start: sizeBytes - length, end: sizeBytes - 1 };
  }
  const start = Number(first);
  if (last !== "" && Number(last) < start) return { kind: "whole" };
  if (start >= sizeBytes) return { kind: "unsatisfiable" };
  return { kind: "part", start, end: last === "" ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1) };
};
