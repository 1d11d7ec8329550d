/** The parts of the OpenAPI document that operations share: schemas, headers and parameters. */
import * as apiKeys from "@realtime-avatar/domain/api-keys/schemas";
import * as assets from "@realtime-avatar/domain/assets/schemas";
import * as audit from "@realtime-avatar/domain/audit";
import * as checks from "@realtime-avatar/domain/avatars/checks";
import * as models from "@realtime-avatar/domain/avatars/models";
import * as avatars from "@realtime-avatar/domain/avatars/schemas";
import {
  ConnectionHistory,
  ConnectionHistoryGrant,
  ConnectionObservation,
} from "@realtime-avatar/domain/calls/kept/connection-history";
import * as transcripts from "@realtime-avatar/domain/calls/kept-transcript";
import * as calls from "@realtime-avatar/domain/calls/schemas";
import * as turns from "@realtime-avatar/domain/calls/turns";
import * as credits from "@realtime-avatar/domain/credits/schemas";
import { CLAIM_HOURS } from "@realtime-avatar/domain/idempotency";
import * as people from "@realtime-avatar/domain/people/schemas";
import * as settings from "@realtime-avatar/domain/people/tenant-settings";
import { PROBLEMS, Problem, type ProblemCode } from "@realtime-avatar/domain/problem";
import * as recordings from "@realtime-avatar/domain/recordings/schemas";
import * as videos from "@realtime-avatar/domain/videos/schemas";
import * as voices from "@realtime-avatar/domain/voices/schemas";
import * as webhooks from "@realtime-avatar/domain/webhooks/schemas";
import { Kind, type TSchema } from "@sinclair/typebox";
import { LeakedKeyReport } from "../api-keys/leaked-keys.ts";
import { UploadAsset } from "../assets/upload-form.ts";
import { CONDITION_PATTERN, MAX_CONDITION_LENGTH } from "../http/conditional.ts";
import { writeProblem } from "../http/problem.ts";
import { MAX_REQUEST_ID_LENGTH, REQUEST_ID_PATTERN } from "../http/request-context.ts";
import { ProblemType } from "../pages/problem-types.ts";
import { EXAMPLES, REQUEST_ID } from "./examples.ts";
import { PROBLEM_EXAMPLES } from "./problem-examples.ts";

export type Json = { [name: string]: unknown };

const OF_ROUTES = { LeakedKeyReport, ProblemType, UploadAsset };
/** All schemas except the body of the hidden upload. */
const CONNECTION_HISTORIES = { ConnectionHistory, ConnectionHistoryGrant, ConnectionObservation };
const EXPORTS = {
  ...apiKeys,
  ...assets,
  ...audit,
  ...checks,
  ...models,
  ...avatars,
  ...calls,
  ...turns,
  ...transcripts,
  ...CONNECTION_HISTORIES,
  ...credits,
  ...people,
  ...settings,
  ...recordings,
  ...videos,
  ...voices,
  ...webhooks,
};

/** The schemas by their names, in the order of the names. A schema that contains one of them refers to it by name. */
export const SCHEMAS: Record<string, TSchema> = Object.fromEntries(
  Object.entries<unknown>({ ...EXPORTS, ...OF_ROUTES })
    .filter((entry): entry is [string, TSchema] => Object.hasOwn(Object(entry[1]), Kind))
    .sort(([a], [b]) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1)),
);

const NAMES = new Map<unknown, string>(Object.entries(SCHEMAS).map(([name, schema]) => [schema, name]));
const SCHEMAS_BY_PROPERTIES = new Map<unknown, TSchema>(
  Object.values(SCHEMAS).flatMap((schema) => (schema["properties"] ? [[schema["properties"], schema]] : [])),
);
/** An optional member has a copy of its schema. A copy with another description gets no name. */
const nameInSchema = (value: unknown): string | undefined => {
  const { properties, description } = Object(value) as { properties?: unknown; description?: unknown };
  const original = SCHEMAS_BY_PROPERTIES.get(properties);
  return NAMES.get(value) ?? (original?.description === description ? NAMES.get(original) : undefined);
};
export const ref = (kind: string, name: string): Json => ({ $ref: `#/components/${kind}/${name}` });

/**
 * Forbids other members by `unevaluatedProperties`, which means the same in schemas without composition. With
 * `additionalProperties: false`, openapi-generator 7.16 ignores that members can be null, and its client in Rust fails
 * to read them.
 */
const closeObject = (value: unknown): unknown => {
  if (Object(value).additionalProperties !== false) return value;
  const { additionalProperties, ...others } = value as Json;
  return { ...others, unevaluatedProperties: additionalProperties };
};

/** A schema as plain JSON. TypeBox keeps its own data under symbols, which JSON omits. */
export const schemaJson = (schema: TSchema): Json =>
  JSON.parse(
    JSON.stringify(schema, (key, value: unknown) => {
      const name = nameInSchema(value);
      return name === undefined || key === "" ? closeObject(value) : ref("schemas", name);
    }),
  );

const nameOf = (schema: TSchema): string => {
  const name = NAMES.get(schema);
  if (name === undefined)
    throw new TypeError("A request or response schema has no name: no module of SCHEMAS exports it.");
  return name;
};

/** The content of a request or response, as JSON or as a form: the named schema and its example. */
export const content = (schema: TSchema, isForm = false): Json => {
  const name = nameOf(schema);
  const example = name in EXAMPLES ? { example: EXAMPLES[name as keyof typeof EXAMPLES] } : {};
  return { [isForm ? "multipart/form-data" : "application/json"]: { schema: ref("schemas", name), ...example } };
};

/** Converts `insufficient_scope` to `InsufficientScope`. */
export const pascal = (code: ProblemCode): string =>
  code.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
export const problemName = (code: ProblemCode): string => `${pascal(code)}Problem`;

export const problemExample = (code: ProblemCode): Json =>
  JSON.parse(
    writeProblem(new Problem(code, PROBLEMS[code].meaning, PROBLEM_EXAMPLES[code]), REQUEST_ID, { headers: {} }),
  );

const text = (description: string, example: string, schema: Json = {}, required = true): Json => ({
  description,
  ...(required ? { required } : {}),
  schema: { type: "string", ...schema },
  example,
});

const REQUEST_ID_SCHEMA = { minLength: 1, maxLength: MAX_REQUEST_ID_LENGTH, pattern: REQUEST_ID_PATTERN };
const TRACEPARENT_SCHEMA = { minLength: 55, maxLength: 55, pattern: "^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$" };
const CONDITION_SCHEMA = { minLength: 1, maxLength: MAX_CONDITION_LENGTH, pattern: CONDITION_PATTERN };

/** Response headers. A header that is not always present is not required. */
export const HEADERS: Record<string, Json> = {
  "X-Request-Id": text(
    "Id of the request: the one that you sent if it is well-formed, otherwise a new UUIDv7.",
    REQUEST_ID,
    REQUEST_ID_SCHEMA,
  ),
  traceparent: text(
    "The trace of the request, if tracing is enabled (W3C Trace Context).",
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    TRACEPARENT_SCHEMA,
    false,
  ),
  "Cache-Control": text("Caches must not store the response.", "no-store", { const: "no-store" }),
  "X-Content-Type-Options": text("Clients must not guess the media type.", "nosniff", { const: "nosniff" }),
  Vary: text("The request headers on which the response depends.", "Accept", { const: "Accept" }),
  "Content-Security-Policy": text("The resources that the HTML page may load.", "default-src 'none'", {}, false),
  "Cross-Origin-Opener-Policy": text(
    "Isolates the HTML page from other origins.",
    "same-origin",
    { const: "same-origin" },
    false,
  ),
  "Referrer-Policy": text("The HTML page sends no `Referer`.", "no-referrer", { const: "no-referrer" }, false),
  ETag: text("The version of the resource, for `If-Match` and `If-None-Match`.", '"1"', { pattern: '^"[1-9]\\d*"$' }),
  Location: text("Path of the created resource.", "/api/v1/avatars/ava_01h455vb4pex5vsknk084sn02q"),
  LocationOfPage: text("The page of the dashboard.", "https://avatars.example.com/dashboard/keys"),
  LocationOfReplay: text("Path of the created or changed resource; on `replay_unavailable`.", "/", {}, false),
  "Idempotent-Replayed": text("The response is a replay of an earlier one.", "true", { const: "true" }, false),
  "Content-Disposition": text("The name of the file.", 'attachment; filename="calls-live-2026-11-20.csv"'),
  VaryOfFile: text("The file is compressed with gzip for a client that accepts it.", "Accept-Encoding", {
    const: "Accept-Encoding",
  }),
  "Set-Cookie": text("The cookie of the session, or its deletion.", "__Host-realtime-avatar-session=…", {}, false),
  "Retry-After": text("Seconds to wait before the next attempt.", "1", { pattern: "^[1-9]\\d*$" }),
  OverlapRetryAfter: text(
    "Seconds until the overlap ends; on `rotation_in_progress`.",
    "60",
    { pattern: "^[1-9]\\d*$" },
    false,
  ),
  "WWW-Authenticate": text("How to authenticate (RFC 6750).", 'Bearer realm="realtime-avatar"'),
  ScopeChallenge: text(
    "The missing scope (RFC 6750); on `insufficient_scope`.",
    'Bearer realm="realtime-avatar", error="insufficient_scope", scope="avatars:write"',
    {},
    false,
  ),
  "RateLimit-Policy": text("The rate limits of the key and of its tenant, if any.", '"rate";q=50;w=1', {}, false),
  RateLimit: text("The remaining requests and the seconds until the limit resets.", '"rate";r=49;t=1', {}, false),
};
/** References to HEADERS: by header name, or by header name and the name in HEADERS. */
export const headers = (names: Record<string, string> | readonly string[]): Json =>
  Object.fromEntries(
    (Array.isArray(names) ? names.map((name) => [name, name]) : Object.entries(names)).map(([name, component]) => [
      name,
      ref("headers", component),
    ]),
  );
export const COMMON_HEADERS = ["X-Request-Id", "traceparent", "Cache-Control", "X-Content-Type-Options"];

/** Has no example, because the reference page would send it with each trial call. */
const header = (name: string, description: string, schema: Json = {}): Json => ({
  name,
  in: "header",
  description,
  schema: { type: "string", ...schema },
});
export const PARAMETERS: Record<string, Json> = {
  RequestId: header(
    "X-Request-Id",
    "Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced.",
    REQUEST_ID_SCHEMA,
  ),
  Traceparent: header(
    "traceparent",
    "The trace to which the request belongs (W3C Trace Context). A malformed value is ignored.",
    TRACEPARENT_SCHEMA,
  ),
  IdempotencyKey: header(
    "Idempotency-Key",
    `A key of your choice, such as \`order-1734\`. For ${CLAIM_HOURS} hours, a repeated request with the same key is not executed again but gets the first response. It must not contain an API key.`,
    { minLength: 1, maxLength: 255, pattern: "^[\\x21-\\x7e]+$" },
  ),
  IdempotencyKeyWithoutEffect: header(
    "Idempotency-Key",
    "Has no effect: the operation creates nothing, and each response has a new challenge. A malformed key is rejected.",
    { minLength: 1, maxLength: 255, pattern: "^[\\x21-\\x7e]+$" },
  ),
  Environment: header(
    "Realtime-Avatar-Environment",
    "With a session: the environment of the request. Required with the cookie; ignored with a key.",
    { minLength: 4, maxLength: 4, pattern: "^(live|test)$" },
  ),
  IfMatch: header(
    "If-Match",
    'The request is executed only if the version of the resource is listed here, such as `"1"`, or if the value is `*`. A malformed value is rejected.',
    CONDITION_SCHEMA,
  ),
  IfNoneMatch: header(
    "If-None-Match",
    'The versions that you already have, such as `"1"`. If the resource has one of them, the response is 304. A malformed value is ignored.',
    CONDITION_SCHEMA,
  ),
};
