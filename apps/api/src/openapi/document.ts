/**
 * The document of the API: OpenAPI 3.1 (spec.openapis.org/oas/v3.1.1), made of the routes and of the very schemas that
 * judge requests and answers. What follows from a route's method, scope and body is written here once, for all of them.
 */
import {
  ApiKey,
  ApiKeyPage,
  ApiKeyWithSecret,
  CreateApiKey,
  ReportLeakedKey,
  RotateApiKey,
  UpdateApiKey,
} from "@realtime-avatar/domain/api-key";
import { AuditEvent, AuditEventPage } from "@realtime-avatar/domain/audit";
import { Avatar, AvatarPage, CreateAvatar, UpdateAvatar } from "@realtime-avatar/domain/avatar";
import { ID_CHARACTERS, ID_SUFFIX_LENGTH } from "@realtime-avatar/domain/id";
import { PROBLEMS, Problem, type ProblemCode } from "@realtime-avatar/domain/problem";
import type { TSchema } from "@sinclair/typebox";
import { version } from "../../package.json";
import { CONDITION_PATTERN, MAX_CONDITION_LENGTH } from "../http/conditional.ts";
import { problemSchema, writeProblem } from "../http/problem.ts";
import { MAX_REQUEST_ID_LENGTH, REQUEST_ID_PATTERN } from "../http/request-context.ts";
import { LeakedKeyReport } from "../routes/leaked-keys.ts";
import { ProblemType } from "../routes/problem-types.ts";
import { EXAMPLES, PROBLEM_EXAMPLES, REQUEST_ID } from "./examples.ts";
import type { Operation, RouteDetail } from "./operation.ts";

type Json = { [name: string]: unknown };

/** The schemas that have a name in the document; wherever one is part of another, the other refers to it. */
const SCHEMAS: Record<string, TSchema> = {
  ApiKey,
  ApiKeyPage,
  ApiKeyWithSecret,
  AuditEvent,
  AuditEventPage,
  Avatar,
  AvatarPage,
  CreateApiKey,
  CreateAvatar,
  LeakedKeyReport,
  ProblemType,
  ReportLeakedKey,
  RotateApiKey,
  UpdateApiKey,
  UpdateAvatar,
};

const NAMES = new Map<unknown, string>(Object.entries(SCHEMAS).map(([name, schema]) => [schema, name]));
const ref = (kind: string, name: string): Json => ({ $ref: `#/components/${kind}/${name}` });

/** A schema as JSON. What TypeBox adds for itself stands under symbols, and stays behind. */
const schemaJson = (schema: TSchema): Json =>
  JSON.parse(
    JSON.stringify(schema, (key, value: unknown) => {
      const name = NAMES.get(value);
      return name === undefined || key === "" ? value : ref("schemas", name);
    }),
  );

const nameOf = (schema: TSchema): string => {
  const name = NAMES.get(schema);
  if (name === undefined)
    throw new TypeError("A body or an answer has no name in the document: give it one in SCHEMAS.");
  return name;
};

/** JSON of a named schema, with its example. */
const content = (schema: TSchema): Json => {
  const name = nameOf(schema);
  const example = name in EXAMPLES ? { example: EXAMPLES[name as keyof typeof EXAMPLES] } : {};
  return { "application/json": { schema: ref("schemas", name), ...example } };
};

/** `insufficient_scope` is InsufficientScope. */
const pascal = (code: ProblemCode): string =>
  code.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
const problemName = (code: ProblemCode): string => `${pascal(code)}Problem`;

const problemExample = (code: ProblemCode): Json =>
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

/** The headers of answers; those that are not always there are not required. */
const HEADERS: Record<string, Json> = {
  "X-Request-Id": text(
    "The request's id: your own, if it is well-formed, or else a new one, a UUIDv7.",
    REQUEST_ID,
    REQUEST_ID_SCHEMA,
  ),
  traceparent: text(
    "The trace, where there is one (W3C Trace Context).",
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    TRACEPARENT_SCHEMA,
    false,
  ),
  "Cache-Control": text("Nothing is kept by caches.", "no-store", { const: "no-store" }),
  "X-Content-Type-Options": text("Nothing is guessed.", "nosniff", { const: "nosniff" }),
  Vary: text("What the answer depends on.", "Accept", { const: "Accept" }),
  "Content-Security-Policy": text("What the page may load.", "default-src 'none'", {}, false),
  "Cross-Origin-Opener-Policy": text("Of the page.", "same-origin", { const: "same-origin" }, false),
  "Referrer-Policy": text("Of the page.", "no-referrer", { const: "no-referrer" }, false),
  ETag: text("The version of the resource, for `If-Match` and `If-None-Match`.", '"1"', { pattern: '^"[1-9]\\d*"$' }),
  Location: text("Where the resource is that was made.", "/api/v1/avatars/ava_01h455vb4pex5vsknk084sn02q"),
  LocationOfReplay: text("Where the resource is that was made or changed; on `replay_unavailable`.", "/", {}, false),
  "Idempotent-Replayed": text("That the answer was given before.", "true", { const: "true" }, false),
  "Retry-After": text("How many seconds to wait.", "1", { pattern: "^[1-9]\\d*$" }),
  OverlapRetryAfter: text(
    "Seconds until the overlap ends; on `rotation_in_progress`.",
    "60",
    { pattern: "^[1-9]\\d*$" },
    false,
  ),
  "WWW-Authenticate": text("How to authenticate (RFC 6750).", 'Bearer realm="realtime-avatar"'),
  ScopeChallenge: text(
    "Which scope is missing (RFC 6750); on `insufficient_scope`.",
    'Bearer realm="realtime-avatar", error="insufficient_scope", scope="avatars:write"',
    {},
    false,
  ),
  "RateLimit-Policy": text(
    "The limits of the key and of its tenant, where there are any.",
    '"rate";q=50;w=1',
    {},
    false,
  ),
  RateLimit: text("How the limits stand.", '"rate";r=49;t=1', {}, false),
};
const headers = (named: Record<string, string> | readonly string[]): Json =>
  Object.fromEntries(
    (Array.isArray(named) ? named.map((name) => [name, name]) : Object.entries(named)).map(([name, of]) => [
      name,
      ref("headers", of),
    ]),
  );
const ALWAYS = ["X-Request-Id", "traceparent", "Cache-Control", "X-Content-Type-Options"];

/** Without an example: whoever tries a call on the page would send it without meaning to. */
const header = (name: string, description: string, schema: Json = {}): Json => ({
  name,
  in: "header",
  description,
  schema: { type: "string", ...schema },
});
const PARAMETERS: Record<string, Json> = {
  RequestId: header(
    "X-Request-Id",
    "An id of your own for the request, such as `checkout-1734`. One that is not well-formed, or looks like an API key, is replaced.",
    REQUEST_ID_SCHEMA,
  ),
  Traceparent: header(
    "traceparent",
    "The trace that the request is part of (W3C Trace Context). What is malformed is ignored.",
    TRACEPARENT_SCHEMA,
  ),
  IdempotencyKey: header(
    "Idempotency-Key",
    "A key of your choice, such as `order-1734`: for 24 hours, the same request is executed once, and gets its first answer again. It must not hold an API key.",
    { minLength: 1, maxLength: 255, pattern: "^[\\x21-\\x7e]+$" },
  ),
  IfMatch: header(
    "If-Match",
    'The versions in which the change may be made, such as `"1"`; or `*`. What is malformed is refused.',
    CONDITION_SCHEMA,
  ),
  IfNoneMatch: header(
    "If-None-Match",
    'The versions that you have already, such as `"1"`: then the answer is 304. What is malformed is ignored.',
    CONDITION_SCHEMA,
  ),
};

const ID_PREFIXES: Record<string, string> = { "/api/v1/api-keys": "key", "/api/v1/avatars": "ava" };
/** The parameters of a path, without an example for the same reason. It takes the place of `/:id` by `/{id}`. */
const pathParameters = (path: string): Json[] =>
  [...path.matchAll(/:(\w+)/g)].map(([, name = ""]) => {
    const prefix = ID_PREFIXES[path.slice(0, path.indexOf("/:"))];
    const id = { pattern: `^${prefix}_${ID_CHARACTERS[0]}${ID_CHARACTERS[1]}{${ID_SUFFIX_LENGTH - 1}}$` };
    const isId = name === "id" && prefix !== undefined;
    return {
      name,
      in: "path",
      required: true,
      description: isId
        ? `Such as \`${prefix}_01h455vb4pex5vsknk084sn02q\`. What is malformed is not found.`
        : "The code.",
      schema: isId ? { type: "string", ...id } : { type: "string", enum: Object.keys(PROBLEMS) },
    };
  });

const queryParameters = ({ query }: Partial<Operation>): Json[] =>
  Object.entries(query?.properties ?? {}).map(([name, property]) => {
    const { description = `Only those with this ${name}.`, ...schema } = schemaJson(property);
    return { name, in: "query", description, schema };
  });

/** What follows from the kind of a route. */
type Traits = { isPublic: boolean; isWrite: boolean; isOnce: boolean; showsSecret: boolean; isVersioned: boolean };

const traitsOf = (method: string, { scope, success }: RouteDetail): Traits => ({
  isPublic: scope === undefined,
  isWrite: method !== "GET",
  isOnce: method === "POST" && scope !== undefined,
  showsSecret: success?.schema === ApiKeyWithSecret,
  isVersioned: success !== undefined && "id" in (success.schema["properties"] ?? {}),
});

/** Every problem that a route may answer with, by its status. */
const problemsOf = (method: string, path: string, detail: RouteDetail): Map<number, ProblemCode[]> => {
  const { isPublic, isWrite, isOnce, showsSecret } = traitsOf(method, detail);
  // Any request may have a malformed `Host`.
  const codes = new Set<ProblemCode>(["internal_error", "malformed_request", ...(detail.problems ?? [])]);
  const add = (isSo: boolean, ...more: ProblemCode[]): void => {
    if (isSo) for (const code of more) codes.add(code);
  };
  const usesDatabase = path.startsWith("/api/v1");
  add(!isPublic, "missing_api_key", "invalid_api_key", "revoked_api_key", "expired_api_key", "rate_limited");
  add(!isPublic && detail.scope !== "any", "insufficient_scope");
  add(path.includes(":"), "not_found");
  add(detail.body !== undefined, "malformed_json", "body_too_large", "unsupported_media_type");
  add(usesDatabase, "validation_failed", "unavailable");
  add(usesDatabase && isWrite, "outcome_unknown");
  add(isOnce, "idempotency_key_reused");
  add(isOnce && showsSecret, "replay_unavailable");
  add(method === "PATCH" || method === "DELETE", "precondition_failed");
  const byStatus = new Map<number, ProblemCode[]>();
  for (const code of Object.keys(PROBLEMS) as ProblemCode[]) {
    const { status } = PROBLEMS[code];
    if (codes.has(code)) byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return byStatus;
};

const problemHeaders = (status: number, codes: readonly ProblemCode[]): Json => ({
  ...headers(ALWAYS),
  ...(status === 401 ? headers(["WWW-Authenticate"]) : {}),
  ...(codes.includes("insufficient_scope") ? headers({ "WWW-Authenticate": "ScopeChallenge" }) : {}),
  ...(codes.includes("replay_unavailable") ? headers({ Location: "LocationOfReplay" }) : {}),
  ...(codes.includes("rotation_in_progress") ? headers({ "Retry-After": "OverlapRetryAfter" }) : {}),
  ...(status === 429 || status === 503 ? headers(["Retry-After"]) : {}),
});

const problemResponse = (status: number, codes: readonly ProblemCode[], rates: Json): Json => {
  const refs = codes.map((code) => ref("schemas", problemName(code)));
  const mapping = Object.fromEntries(codes.map((code) => [code, ref("schemas", problemName(code))["$ref"]]));
  return {
    description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code].meaning}`).join("\n\n"),
    headers: { ...problemHeaders(status, codes), ...rates },
    content: {
      "application/problem+json": {
        schema: refs.length === 1 ? refs[0] : { oneOf: refs, discriminator: { propertyName: "code", mapping } },
        examples: Object.fromEntries(codes.map((code) => [code, ref("examples", code)])),
      },
    },
  };
};

const TAGS: Record<string, { name: string; description: string }> = {
  "/api/v1/api-keys": { name: "API keys", description: "Keys create keys that can do no more than themselves." },
  "/api/v1/avatars": { name: "Avatars", description: "Built from an image or a video, used in realtime calls." },
  "/api/v1/audit-events": { name: "Audit trail", description: "What was done, by whom, to what, and when." },
  "/api/v1/leaked-keys": { name: "Leaked keys", description: "For whoever finds a secret where it should not be." },
  "/problems": { name: "Problems", description: "What each error means." },
};

/** What operation by operation comes again, and has a name of its own. */
type Responses = Record<string, Json>;

const operationOf = (method: string, path: string, detail: RouteDetail, shared: Responses): Json => {
  const { operationId, summary, description, success, body, scope } = detail;
  if (!operationId || !summary || !description || !success) throw new TypeError(`${method} ${path} is not described`);
  const { isPublic, isOnce, isVersioned } = traitsOf(method, detail);
  const tag = Object.entries(TAGS).find(([prefix]) => path === prefix || path.startsWith(`${prefix}/`));
  const isChange = method === "PATCH" || method === "DELETE";
  const needed = scope === "any" ? "Needs any valid key." : `Needs the scope \`${scope}\`.`;
  // Each answer to a key tells how its limits stand, but those to keys that are none.
  const rates = isPublic ? {} : headers(["RateLimit-Policy", "RateLimit"]);
  const etag = isVersioned ? headers(["ETag"]) : {};
  const common = { ...headers(ALWAYS), ...rates, ...etag };
  return {
    operationId,
    summary,
    description: isPublic ? description : `${description}\n\n${needed}`,
    tags: [tag?.[1].name],
    security: isPublic ? [] : [{ apiKey: [] }],
    ...(isPublic || scope === "any" ? {} : { "x-required-scope": scope }),
    parameters: [
      ...pathParameters(path),
      ...queryParameters(detail),
      ...(isOnce ? [ref("parameters", "IdempotencyKey")] : []),
      ...(isChange ? [ref("parameters", "IfMatch")] : []),
      ...(detail.isConditional ? [ref("parameters", "IfNoneMatch")] : []),
      ref("parameters", "RequestId"),
      ref("parameters", "Traceparent"),
    ],
    ...(body ? { requestBody: { required: true, content: content(body) } } : {}),
    responses: {
      [success.status]: {
        description: success.description,
        headers: {
          ...common,
          ...(success.status === 201 ? headers(["Location"]) : {}),
          ...(isOnce ? headers(["Idempotent-Replayed"]) : {}),
          ...(detail.isPage ? headers(PAGE_HEADERS) : {}),
        },
        content: { ...content(success.schema), ...(detail.isPage ? PAGE : {}) },
      },
      ...(detail.isConditional ? { 304: { description: "You have this version already.", headers: common } } : {}),
      ...Object.fromEntries(
        [...problemsOf(method, path, detail)].map(([status, codes]) => {
          const name = codes.map(pascal).join("Or") + (isPublic ? "WithoutKey" : "");
          shared[name] = problemResponse(status, codes, status === 401 ? {} : rates);
          return [status, ref("responses", name)];
        }),
      ),
    },
  };
};

const PAGE = { "text/html": { schema: { type: "string" } } };
const PAGE_HEADERS = ["Vary", "Content-Security-Policy", "Cross-Origin-Opener-Policy", "Referrer-Policy"];

/** A route of the application, as Elysia lists it. */
export type DescribedRoute = { method: string; path: string; hooks?: { detail?: object } };

/** Whether a route is part of the API; the others are there for whoever runs the service, or show pages to people. */
const isDescribed = ({ path }: DescribedRoute): boolean => path.startsWith("/api/v1") || path.startsWith("/problems");

/** The document, as JSON. Throws when a route of the API does not describe itself. */
export const openApiDocument = (routes: readonly DescribedRoute[]): Json => {
  const paths: Record<string, Json> = {};
  const responses: Responses = {};
  const given = new Set<ProblemCode>();
  for (const { method, path, hooks } of routes.filter(isDescribed)) {
    const detail: RouteDetail = hooks?.detail ?? {};
    const pattern = path.replace(/:(\w+)/g, "{$1}");
    paths[pattern] = { ...paths[pattern], [method.toLowerCase()]: operationOf(method, path, detail, responses) };
    for (const code of [...problemsOf(method, path, detail).values()].flat()) given.add(code);
  }
  const codes = [...given].sort();
  return {
    openapi: "3.1.1",
    info: {
      title: "Realtime Avatar Service",
      version,
      description:
        "Issues API keys and creates avatars for a realtime-avatar platform.\n\n" +
        "Bodies are strict: unknown fields and parameters are refused, nothing is coerced, and all that is wrong is told " +
        "at once. Text holds neither U+0000 nor unpaired surrogates, and its length counts Unicode code points. " +
        "HEAD answers as GET does.",
      license: { name: "MIT", identifier: "MIT" },
      contact: { name: "Realtime Avatar Service" },
    },
    servers: [{ url: "/", description: "The service that serves this document." }],
    tags: Object.values(TAGS),
    security: [{ apiKey: [] }],
    paths,
    components: {
      securitySchemes: {
        apiKey: { type: "http", scheme: "bearer", description: "A live or test key: `rta_live_…`, `rta_test_…`." },
      },
      schemas: {
        ...Object.fromEntries(Object.entries(SCHEMAS).map(([name, schema]) => [name, schemaJson(schema)])),
        ...Object.fromEntries(codes.map((code) => [problemName(code), schemaJson(problemSchema(code))])),
      },
      examples: Object.fromEntries(
        codes.map((code) => [code, { summary: PROBLEMS[code].title, value: problemExample(code) }]),
      ),
      responses: Object.fromEntries(Object.entries(responses).sort(([a], [b]) => (a < b ? -1 : 1))),
      headers: HEADERS,
      parameters: PARAMETERS,
    },
  };
};
