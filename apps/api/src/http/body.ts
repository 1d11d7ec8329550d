/** Request bodies: bytes become text, JSON and then a valid value, without coercion. */
import { withoutUnknownFields } from "@realtime-avatar/domain/calls/known-fields";
import { type FieldError, Problem } from "@realtime-avatar/domain/problem";
import { MAX_ERRORS, validate } from "@realtime-avatar/domain/schema";
import type { Static, TSchema } from "@sinclair/typebox";
import { NO_PARAMETERS, parseQuery, refuseIfAny } from "./query.ts";
import type { RequestContext } from "./request-context.ts";

const MAX_DEPTH = 64;

/**
 * The media type that a body must have, without parameters except its charset, and its maximum size. Unknown fields are
 * refused. They are ignored only from programs of the service, which can be of another release.
 */
export type BodyKind = { mediaType: string; maxBytes: number; ignoresUnknownFields?: true };
const JSON_BODY: BodyKind = { mediaType: "application/json", maxBytes: 128 * 1024 };

const PARAMETERS = /^[ \t]*(;[ \t]*charset=("utf-8"|utf-8)[ \t]*)?$/i;

const checkMediaType = ({ headers }: Request, { mediaType }: BodyKind): void => {
  const sent = headers.get("content-type") ?? "";
  const type = sent.slice(0, mediaType.length).toLowerCase();
  if (type !== mediaType || !PARAMETERS.test(sent.slice(mediaType.length)) || headers.has("content-encoding")) {
    const detail = `Send \`Content-Type: ${mediaType}\`, with no parameter except charset=utf-8, and no Content-Encoding.`;
    throw new Problem("unsupported_media_type", detail);
  }
};

const tooLarge = ({ maxBytes }: BodyKind): Problem =>
  new Problem("body_too_large", `The body must have at most ${maxBytes} bytes.`);

/** The bytes of a body without a declared length, counted as they arrive. */
const readChunks = async (
  body: ReadableStream<Uint8Array>,
  { onBodyRead }: RequestContext,
  kind: BodyKind,
): Promise<Uint8Array> => {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > kind.maxBytes) throw tooLarge(kind);
    chunks.push(chunk);
  }
  onBodyRead?.();
  return Buffer.concat(chunks);
};

/**
 * The bytes of the body. The client must send it by the deadline of the request, which is then moved by the time that
 * the body took.
 */
export const readBytes = async (request: Request, context: RequestContext, kind: BodyKind): Promise<Uint8Array> => {
  checkMediaType(request, kind);
  const declared = request.headers.get("content-length");
  if (Number(declared) > kind.maxBytes) throw tooLarge(kind);
  const startedAt = performance.now();
  let timer: Timer | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Problem("malformed_request", "The body did not arrive in time.", { retryable: true, hangUp: true }));
    }, context.deadline - startedAt);
  });
  // HTTP enforces a declared length, so these bytes can be read at once.
  const bytes = declared === null && request.body ? readChunks(request.body, context, kind) : request.bytes();
  try {
    return await Promise.race([bytes, timeout]);
  } catch (error) {
    if (error instanceof Problem) throw error;
    // The client disconnected or sent invalid framing. It will not read the response. The log must not report a defect.
    throw new Problem("malformed_request", "The body ended before it was complete.");
  } finally {
    clearTimeout(timer);
    context.deadline += performance.now() - startedAt;
  }
};

const malformed = (detail: string): Problem => new Problem("malformed_json", detail);

const BACKSLASH = 0x5c;
const QUOTE = 0x22;

/** Rejects deep nesting before a recursive parser reads it. Brackets in strings do not count. */
const checkDepth = (text: string): void => {
  let depth = 0;
  let inString = false;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (inString) {
      if (unit === BACKSLASH) index++;
      else if (unit === QUOTE) inString = false;
    } else if (unit === QUOTE) inString = true;
    // { and [ differ only in bit 0x20, and so do } and ].
    else if ((unit & 0xdf) === 0x5b && ++depth > MAX_DEPTH)
      throw malformed(`JSON must be nested at most ${MAX_DEPTH} levels deep.`);
    else if ((unit & 0xdf) === 0x5d) depth--;
  }
};

/** The JSON parser rejects a byte order mark (RFC 8259 §8.1). */
const UTF_8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const decode = (bytes: Uint8Array): string => {
  try {
    return UTF_8.decode(bytes);
  } catch {
    throw malformed("The body is not valid UTF-8.");
  }
};

const parseJson = (text: string): unknown => {
  if (text === "") throw malformed("The body is empty.");
  checkDepth(text);
  try {
    return JSON.parse(text);
  } catch {
    throw malformed("The body is not valid JSON (RFC 8259).");
  }
};

/** Whether the request has no body, or an empty one. */
const isAbsent = ({ body, headers }: Request): boolean => body === null || headers.get("content-length") === "0";

/** Like `readBody`, for an optional body: a missing one counts as `{}`. */
export const readOptionalBody = async <Schema extends TSchema>(
  request: Request,
  context: RequestContext,
  schema: Schema,
): Promise<Static<Schema>> => {
  if (!isAbsent(request)) return readBody(request, context, schema);
  refuseIfAny([...parseQuery(request, NO_PARAMETERS).errors, ...validate(schema, {})]);
  return {};
};

/** The text of the body. Throws the problems `unsupported_media_type`, `body_too_large` and `malformed_json`. */
export const readText = async (request: Request, context: RequestContext, kind: BodyKind): Promise<string> =>
  decode(await readBytes(request, context, kind));

/**
 * The valid body of `request`. Throws the problems `unsupported_media_type`, `body_too_large`, `malformed_json` and
 * `validation_failed`, checked in this order. The last one contains all errors of the body and of the query, and
 * `errors`, which are of other parts of the request. Routes with a body have no query parameters.
 */
export const readBody = async <Schema extends TSchema>(
  request: Request,
  context: RequestContext,
  schema: Schema,
  errors: readonly FieldError[] = [],
  kind: BodyKind = JSON_BODY,
): Promise<Static<Schema>> => {
  const parsed = parseJson(await readText(request, context, kind));
  const value = kind.ignoresUnknownFields ? withoutUnknownFields(schema, parsed) : parsed;
  const query = parseQuery(request, NO_PARAMETERS);
  refuseIfAny([...query.errors, ...errors, ...validate(schema, value)].slice(0, MAX_ERRORS));
  return value as Static<Schema>;
};
