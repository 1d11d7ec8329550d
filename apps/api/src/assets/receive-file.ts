/** Receives the file of a form into the spool. Its first bytes decide its type. Its kind bounds its size. */
import { createHash } from "node:crypto";
import { ASSET_KINDS, ASSET_LIMITS, type AssetKind, inMib, MAKE_SMALLER } from "@realtime-avatar/domain/assets/limits";
import { detectContentType, MAGIC_BYTES, type Magic } from "@realtime-avatar/domain/assets/magic";
import { describeRefusedType } from "@realtime-avatar/domain/assets/refused-type";
import { UploadFields } from "@realtime-avatar/domain/assets/schemas";
import { Problem, validationFailed } from "@realtime-avatar/domain/problem";
import { validate } from "@realtime-avatar/domain/schema";
import { release } from "../http/files/release.ts";
import type { BodyReader } from "./body-reader.ts";
import { FORM_OVERHEAD_BYTES, type FormFile, fieldError, readForm } from "./form.ts";
import type { SpoolFile } from "./spool.ts";

/** A file that has been received. `sha256` is in hexadecimal. */
export type ReceivedFile = {
  kind: AssetKind;
  contentType: string;
  sizeBytes: number;
  sha256: string;
  originalFilename: string | null;
  /** The field `kind` of the form; null without one. */
  declaredKind: string | null;
};

/** Maximum size of a form: the largest file, plus the other parts. */
export const MAX_FORM_BYTES = Math.max(...ASSET_KINDS.map((kind) => ASSET_LIMITS[kind].maxBytes)) + FORM_OVERHEAD_BYTES;
/** Longer than any valid kind. */
const MAX_KIND_BYTES = 16;
const PARTS = { file: "file", fields: { kind: MAX_KIND_BYTES } };
const MAX_FILENAME_LENGTH = 240;

/** A file that is larger than its kind allows. */
export const fileTooLarge = (kind: AssetKind): Problem => {
  const { maxBytes } = ASSET_LIMITS[kind];
  return new Problem(
    "body_too_large",
    `A file of kind ${kind} must have at most ${inMib(maxBytes)} (${maxBytes} bytes). ${MAKE_SMALLER[kind]}`,
  );
};

/** A form that is too large for any file. */
export const formTooLarge = (): Problem => {
  const limits = ASSET_KINDS.map((kind) => `${kind} ${inMib(ASSET_LIMITS[kind].maxBytes)}`);
  return new Problem(
    "body_too_large",
    `The maximum size of a file is, by kind: ${limits.join(", ")}. Make the file smaller.`,
  );
};

/**
 * The type of a file. Throws the problem `validation_failed` when it is not accepted, or is not of the declared kind.
 */
export const identify = (firstBytes: Uint8Array, declaredKind: string | null, name: string): Magic => {
  const magic = detectContentType(firstBytes);
  if (magic === null) {
    const kinds = ASSET_KINDS.filter((kind) => declaredKind === null || kind === declaredKind);
    throw validationFailed([fieldError(name, "unsupported_file", describeRefusedType(firstBytes, kinds))]);
  }
  checkKind(magic, declaredKind);
  return magic;
};

/** Throws the problem `validation_failed` when the declared kind is not that of the file. */
export const checkKind = ({ kind, contentType }: Magic, declaredKind: string | null): void => {
  if (declaredKind === null || declaredKind === kind) return;
  const detail = `The file begins as ${contentType}, which is of kind ${kind}. Omit \`kind\`, or send the right one.`;
  throw validationFailed([fieldError("kind", "asset_kind_mismatch", detail)]);
};

// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression removes control characters
const UNSAFE_CHARACTERS = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/**
 * The name of the file without control characters, line breaks and characters that change the direction of text, cut to
 * the limit; null when nothing is left. Folders stay, because the name is only displayed.
 */
export const cleanFilename = (filename: string | undefined): string | null => {
  const clean = (filename ?? "").toWellFormed().replace(UNSAFE_CHARACTERS, "");
  return [...clean].slice(0, MAX_FILENAME_LENGTH).join("") || null;
};

/** Writes a file to the spool while it arrives. `declaredKind`: called when the first bytes have arrived. */
const receive = async (file: FormFile, spool: SpoolFile, declaredKind: () => string | null) => {
  const hash = createHash("sha256");
  let magic: Magic | null = null;
  let head = new Uint8Array(0);
  let sizeBytes = 0;
  const append = async (bytes: Uint8Array, { kind }: Magic): Promise<void> => {
    sizeBytes += bytes.byteLength;
    if (sizeBytes > ASSET_LIMITS[kind].maxBytes) throw fileTooLarge(kind);
    hash.update(bytes);
    await spool.append(bytes);
  };
  for await (const piece of file.bytes) {
    if (magic === null) {
      head = Buffer.concat([head, piece]);
      if (head.byteLength < MAGIC_BYTES) continue;
      magic = identify(head, declaredKind(), file.name);
      await append(head, magic);
    } else {
      await append(piece, magic);
      // A complete piece contains only data of the file: the parser keeps no part of it for the next piece.
      release(piece);
    }
  }
  if (magic === null) {
    magic = identify(head, declaredKind(), file.name);
    await append(head, magic);
  }
  return { magic, sizeBytes, sha256: hash.digest("hex"), originalFilename: cleanFilename(file.filename) };
};

/**
 * Receives the form of an upload, with its parts in any order. Throws a `Problem` for a form or file that is malformed,
 * too large, or of a wrong type or kind, at the first byte that shows it.
 */
export const receiveUpload = async (body: BodyReader, contentType: string, spool: SpoolFile): Promise<ReceivedFile> => {
  let declaredKind: string | null = null;
  let received: Awaited<ReturnType<typeof receive>> | null = null;
  await readForm(body, contentType, PARTS, {
    field: (_name, kind) => {
      const errors = validate(UploadFields, { kind });
      if (errors.length > 0) throw validationFailed(errors);
      declaredKind = kind;
    },
    file: async (file) => {
      received = await receive(file, spool, () => declaredKind);
    },
  });
  // The compiler does not see that the handlers assign them.
  const file = received as Awaited<ReturnType<typeof receive>> | null;
  if (file === null) throw validationFailed([fieldError(PARTS.file, "required", "Is required.")]);
  const { magic, ...facts } = file;
  checkKind(magic, declaredKind);
  return { ...magic, ...facts, declaredKind };
};
