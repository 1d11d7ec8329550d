/** Forms with a file (`multipart/form-data`, RFC 7578), read as they arrive. */
import { once } from "node:events";
import type { Readable } from "node:stream";
import { type FieldError, Problem, validationFailed } from "@realtime-avatar/domain/problem";
import type { FieldErrorCode } from "@realtime-avatar/domain/problems/field-error-codes";
import { shownName } from "@realtime-avatar/domain/schema";
import busboy from "busboy";
import type { BodyReader } from "./body-reader.ts";

const FORM_TYPE = /^multipart\/form-data[ \t]*(;|$)/i;

/** Maximum size of a form beyond the bytes of its file: boundaries, headers of parts and fields. */
export const FORM_OVERHEAD_BYTES = 64 * 1024;
/** The names of all parts are known, so more parts than this are refused anyway. */
const MAX_PARTS = 16;
/** Limit of buffered bytes of a file that wait to be processed, in addition to the newest piece. */
const BUFFER_BYTES = 64 * 1024;

/** Throws the problem `unsupported_media_type` unless the body is a form. */
export const checkFormType = ({ headers }: Request): void => {
  if (FORM_TYPE.test(headers.get("content-type") ?? "") && !headers.has("content-encoding")) return;
  throw new Problem("unsupported_media_type", "Send `Content-Type: multipart/form-data`, and no Content-Encoding.");
};

/** A file of a form. `filename`: as the client sent it; undefined without one. */
export type FormFile = { name: string; filename: string | undefined; bytes: AsyncIterable<Uint8Array> };

/** The allowed parts of a form. */
export type FormParts = {
  /** The name of the one file. */
  file: string;
  /** The maximum bytes of each other field, by name. */
  fields: Readonly<Record<string, number>>;
};

/** Receives the parts of a form in the order of the form. Each throws a `Problem` to refuse it. */
export type FormHandlers = {
  field(name: string, value: string): void;
  /** Reads the whole file, unless it throws. */
  file(file: FormFile): Promise<void>;
};

const malformed = (detail: string): Problem => new Problem("malformed_request", detail);

/** An error of a field of the form. The pointer is that of a JSON body with the same fields. */
export const fieldError = (name: string, code: FieldErrorCode, detail: string): FieldError => ({
  pointer: `#/${encodeURIComponent(shownName(name).replaceAll("~", "~0").replaceAll("/", "~1"))}`,
  code,
  detail,
});
const refuse = (...error: Parameters<typeof fieldError>): Problem => validationFailed([fieldError(...error)]);

/**
 * Counts the parts by name. Throws for an unknown or repeated part, and for a field instead of a file or the reverse.
 */
const createNameCheck = ({ file, fields }: FormParts) => {
  const seen = new Set<string>();
  return (name: string | undefined, isFile: boolean): string => {
    if (name === undefined || name === "") throw malformed("A part of the form has no name.");
    if (name !== file && !Object.hasOwn(fields, name)) throw refuse(name, "unknown_field", "Is not a known field.");
    if (seen.has(name)) throw refuse(name, "repeated_field", "Must not be repeated.");
    seen.add(name);
    if (name === file && !isFile) throw refuse(name, "wrong_type", "Must be a file: a part with a `filename`.");
    if (name !== file && isFile) throw refuse(name, "wrong_type", "Must be text, not a file.");
    return name;
  };
};

/**
 * Decodes the name of a file. Browsers encode exactly three characters (WHATWG HTML, multipart/form-data encoding).
 * Older clients escape the quote with a backslash. `patches/` keeps other backslashes of the header.
 */
const decodeFilename = (filename: string | undefined): string | undefined =>
  filename?.replaceAll("%22", '"').replaceAll('\\"', '"').replaceAll("%0D", "\r").replaceAll("%0A", "\n") || undefined;

const createParser = (contentType: string, parts: FormParts): busboy.Busboy => {
  const fieldSize = Math.max(...Object.values(parts.fields)) + 1;
  try {
    return busboy({
      headers: { "content-type": contentType },
      highWaterMark: BUFFER_BYTES,
      fileHwm: BUFFER_BYTES,
      defParamCharset: "utf8",
      preservePath: true,
      limits: { parts: MAX_PARTS, fieldSize },
    });
  } catch {
    throw malformed("The Content-Type has no boundary, or a malformed one.");
  }
};

// The parser's texts are not sent, because they can change with its version.
const brokenForm = (): Problem =>
  malformed("The form is malformed: a part has malformed headers, or the closing boundary is missing.");

/** The bytes of a part. The stream of a part fails when the form ends within it. */
async function* bytesOf(stream: Readable): AsyncGenerator<Uint8Array> {
  try {
    yield* stream as AsyncIterable<Uint8Array>;
  } catch {
    throw brokenForm();
  }
}

/** The errors of a form so far, and the work on its files. */
type Progress = { failures: unknown[]; running: Promise<void>[]; fail(error: unknown): void };

/** Connects the events of the parser to the handlers. */
const connect = (
  parser: busboy.Busboy,
  parts: FormParts,
  handlers: FormHandlers,
  { failures, running, fail }: Progress,
): void => {
  const checkName = createNameCheck(parts);
  const attempt = (work: () => void): void => {
    // The parser continues with the current piece after it was destroyed.
    if (failures.length > 0) return;
    try {
      work();
    } catch (error) {
      fail(error);
    }
  };
  parser.on("file", (rawName: string | undefined, stream: Readable, { filename }: busboy.FileInfo) => {
    // Without a listener, the error of a destroyed stream would end the process.
    stream.on("error", () => {});
    attempt(() => {
      const name = checkName(rawName, true);
      running.push(handlers.file({ name, filename: decodeFilename(filename), bytes: bytesOf(stream) }).catch(fail));
    });
  });
  parser.on("field", (rawName: string | undefined, value: string, { valueTruncated }) =>
    attempt(() => {
      const name = checkName(rawName, false);
      const maxBytes = parts.fields[name] ?? 0;
      if (valueTruncated || Buffer.byteLength(value) > maxBytes) {
        throw refuse(name, "too_long", `Must have at most ${maxBytes} bytes.`);
      }
      handlers.field(name, value);
    }),
  );
  parser.on("partsLimit", () => fail(malformed(`A form has at most ${MAX_PARTS} parts.`)));
  parser.on("error", () => fail(brokenForm()));
};

/**
 * Reads a form: each part goes to its handler, in the order of the form. Resolves when the form is complete and its
 * file processed. Throws the first problem: of the body, of the form, or of a handler. The rest of the form is then not
 * read. The parser ignores data before the first boundary and after the last one, and parts that are not form data. The
 * limit of the body bounds them.
 */
export const readForm = async (
  body: BodyReader,
  contentType: string,
  parts: FormParts,
  handlers: FormHandlers,
): Promise<void> => {
  const parser = createParser(contentType, parts);
  const closed = new Promise<void>((resolve) => parser.on("close", () => resolve()));
  const running: Promise<void>[] = [];
  const failures: unknown[] = [];
  const fail = (error: unknown): void => {
    failures.push(error);
    // Ends a pending `read` and the streams of files.
    body.close();
    parser.destroy();
  };
  connect(parser, parts, handlers, { failures, running, fail });
  try {
    for (let piece = await body.read(); piece !== null && failures.length === 0; piece = await body.read()) {
      if (!parser.write(piece)) await Promise.race([once(parser, "drain"), closed]);
    }
    if (failures.length === 0) parser.end();
  } catch (error) {
    fail(error);
  }
  await closed;
  await Promise.all(running);
  body.close();
  if (failures.length > 0) throw failures[0];
};
