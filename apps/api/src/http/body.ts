/** Reading a request's body: bytes, text, JSON, and then a value that meets its schema. Nothing is coerced. */
import { type FieldError, Problem } from "@realtime-avatar/domain/problem";
import { MAX_ERRORS, validate } from "@realtime-avatar/domain/schema";
import type { Static, TSchema } from "@sinclair/typebox";
import { NO_PARAMETERS, queryOf, refuseIfAny } from "./query.ts";
import type { RequestContext } from "./request-context.ts";

const MAX_BODY_BYTES = 128 * 1024;
const MAX_DEPTH = 64;

const JSON_TYPE = /^application\/json[ \t]*(;[ \t]*charset=("utf-8"|utf-8)[ \t]*)?$/i;

const checkMediaType = ({ headers }: Request): void => {
  if (!JSON_TYPE.test(headers.get("content-type") ?? "") || headers.has("content-encoding")) {
    const detail =
      "Send `Content-Type: application/json`, with no parameter but charset=utf-8, and no Content-Encoding.";
    throw new Problem("unsupported_media_type", detail);
  }
};

const tooLarge = (): Problem => new Problem("body_too_large", `A body has at most ${MAX_BODY_BYTES} bytes.`);

/** The bytes of a body without a declared length, counted as they come. */
const readChunks = async (body: ReadableStream<Uint8Array>, { onBodyRead }: RequestContext): Promise<Uint8Array> => {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > MAX_BODY_BYTES) throw tooLarge();
    chunks.push(chunk);
  }
  onBodyRead?.();
  return Buffer.concat(chunks);
};

/** The body's bytes. The client has until the request's deadline, which is then moved by the time that it has taken. */
const readBytes = async (request: Request, context: RequestContext): Promise<Uint8Array> => {
  const declared = request.headers.get("content-length");
  if (Number(declared) > MAX_BODY_BYTES) throw tooLarge();
  const startedAt = performance.now();
  let timer: Timer | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Problem("malformed_request", "The body did not arrive in time.", { retryable: true, hangUp: true }));
    }, context.deadline - startedAt);
  });
  // HTTP holds the sender to its Content-Length, so these bytes can be taken in one go.
  const bytes = declared === null && request.body ? readChunks(request.body, context) : request.bytes();
  try {
    return await Promise.race([bytes, late]);
  } catch (error) {
    if (error instanceof Problem) throw error;
    // The sender hung up, or broke the framing: nobody will read the answer, but the log should not call it our defect.
    throw new Problem("malformed_request", "The body ended before it was complete.");
  } finally {
    clearTimeout(timer);
    context.deadline += performance.now() - startedAt;
  }
};

const malformed = (detail: string): Problem => new Problem("malformed_json", detail);

const BACKSLASH = 0x5c;
const QUOTE = 0x22;

/** Refuses deep nesting before a recursive reader meets it. Brackets within strings do not count. */
const checkDepth = (text: string): void => {
  let depth = 0;
  let inString = false;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (inString) {
      if (unit === BACKSLASH) index++;
      else if (unit === QUOTE) inString = false;
    } else if (unit === QUOTE) inString = true;
    // { and [ are alike in all bits but 0x20, and so are } and ].
    else if ((unit & 0xdf) === 0x5b && ++depth > MAX_DEPTH)
      throw malformed(`JSON is nested at most ${MAX_DEPTH} deep.`);
    else if ((unit & 0xdf) === 0x5d) depth--;
  }
};

const parseJson = (bytes: Uint8Array): unknown => {
  if (bytes.length === 0) throw malformed("The body is empty.");
  let text: string;
  try {
    // A byte order mark is kept, and then refused by the JSON parser (RFC 8259 §8.1).
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw malformed("The body is not valid UTF-8.");
  }
  checkDepth(text);
  try {
    return JSON.parse(text);
  } catch {
    throw malformed("The body is not JSON as RFC 8259 defines it.");
  }
};

/**
 * The body of `request` as a value that meets `schema`. Throws the problems `unsupported_media_type`,
 * `body_too_large`, `malformed_json` and `validation_failed`, judged in this order; the last one tells all at once, with
 * the `errors` that were found elsewhere in the request. No route with a body takes query parameters.
 */
export const readBody = async <Schema extends TSchema>(
  request: Request,
  context: RequestContext,
  schema: Schema,
  errors: readonly FieldError[] = [],
): Promise<Static<Schema>> => {
  checkMediaType(request);
  const value = parseJson(await readBytes(request, context));
  const query = queryOf(request, NO_PARAMETERS);
  refuseIfAny([...query.errors, ...errors, ...validate(schema, value)].slice(0, MAX_ERRORS));
  return value as Static<Schema>;
};
