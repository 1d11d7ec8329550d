/**
 * The OpenAPI 3.1 document (spec.openapis.org/oas/v3.1.1), generated from the routes and from the schemas that validate
 * requests and responses. What follows from the method, scope and body of a route is derived here, once for all routes.
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

/** The named schemas of the document. A schema that contains one of them refers to it by name. */
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

/** A schema as plain JSON. TypeBox keeps its own data under symbols, which JSON omits. */
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
    throw new TypeError("A request or response schema has no name in the document: add it to SCHEMAS.");
  return name;
};

/** The JSON content of a request or response: the named schema and its example. */
const content = (schema: TSchema): Json => {
  const name = nameOf(schema);
  const example = name in EXAMPLES ? { example: EXAMPLES[name as keyof typeof EXAMPLES] } : {};
  return { "application/json": { schema: ref("schemas", name), ...example } };
};

/** Converts `insufficient_scope` to `InsufficientScope`. */
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

/** Response headers. A header that is not always present is not required. */
const HEADERS: Record<string, Json> = {
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
  LocationOfReplay: text("Path of the created or changed resource; on `replay_unavailable`.", "/", {}, false),
  "Idempotent-Replayed": text("The response is a replay of an earlier one.", "true", { const: "true" }, false),
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
const headers = (names: Record<string, string> | readonly string[]): Json =>
  Object.fromEntries(
    (Array.isArray(names) ? names.map((name) => [name, name]) : Object.entries(names)).map(([name, component]) => [
      name,
      ref("headers", component),
    ]),
  );
const COMMON_HEADERS = ["X-Request-Id", "traceparent", "Cache-Control", "X-Content-Type-Options"];

/** Without an example: the reference page would send it with each trial call. */
const header = (name: string, description: string, schema: Json = {}): Json => ({
  name,
  in: "header",
  description,
  schema: { type: "string", ...schema },
});
const PARAMETERS: Record<string, Json> = {
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
    "A key of your choice, such as `order-1734`. For 24 hours, a repeated request with the same key is not executed again but gets the first response. It must not contain an API key.",
    { minLength: 1, maxLength: 255, pattern: "^[\\x21-\\x7e]+$" },
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

const ID_PREFIXES: Record<string, string> = { "/api/v1/api-keys": "key", "/api/v1/avatars": "ava" };
/** The path parameters, without examples for the same reason. The prefix of an id follows from the path before `/:id`. */
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
        ? `The id of the resource, such as \`${prefix}_01h455vb4pex5vsknk084sn02q\`. A malformed id gets 404.`
        : "The code of the problem.",
      schema: isId ? { type: "string", ...id } : { type: "string", enum: Object.keys(PROBLEMS) },
    };
  });

const queryParameters = ({ query }: Partial<Operation>): Json[] =>
  Object.entries(query?.properties ?? {}).map(([name, property]) => {
    const { description = `Include only items with this ${name}.`, ...schema } = schemaJson(property);
    return { name, in: "query", description, schema };
  });

/** Properties of a route that follow from its method, scope and success response. */
type Traits = {
  isPublic: boolean;
  isWrite: boolean;
  isIdempotent: boolean;
  showsSecret: boolean;
  isVersioned: boolean;
};

const traitsOf = (method: string, { scope, success }: RouteDetail): Traits => ({
  isPublic: scope === undefined,
  isWrite: method !== "GET",
  isIdempotent: method === "POST" && scope !== undefined,
  showsSecret: success?.schema === ApiKeyWithSecret,
  isVersioned: success !== undefined && "id" in (success.schema["properties"] ?? {}),
});

/** Every problem that a route may return, by HTTP status. */
const problemsOf = (method: string, path: string, detail: RouteDetail): Map<number, ProblemCode[]> => {
  const { isPublic, isWrite, isIdempotent, showsSecret } = traitsOf(method, detail);
  // Any request can have a malformed `Host`.
  const codes = new Set<ProblemCode>(["internal_error", "malformed_request", ...(detail.problems ?? [])]);
  const addIf = (condition: boolean, ...additional: ProblemCode[]): void => {
    if (condition) for (const code of additional) codes.add(code);
  };
  const usesDatabase = path.startsWith("/api/v1");
  addIf(!isPublic, "missing_api_key", "invalid_api_key", "revoked_api_key", "expired_api_key", "rate_limited");
  addIf(!isPublic && detail.scope !== "any", "insufficient_scope");
  addIf(path.includes(":"), "not_found");
  addIf(detail.body !== undefined, "malformed_json", "body_too_large", "unsupported_media_type");
  addIf(usesDatabase, "validation_failed", "unavailable");
  addIf(usesDatabase && isWrite, "outcome_unknown");
  addIf(isIdempotent, "idempotency_key_reused");
  addIf(isIdempotent && showsSecret, "replay_unavailable");
  addIf(method === "PATCH" || method === "DELETE", "precondition_failed");
  const byStatus = new Map<number, ProblemCode[]>();
  for (const code of Object.keys(PROBLEMS) as ProblemCode[]) {
    const { status } = PROBLEMS[code];
    if (codes.has(code)) byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return byStatus;
};

const problemHeaders = (status: number, codes: readonly ProblemCode[]): Json => ({
  ...headers(COMMON_HEADERS),
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
  "/api/v1/api-keys": {
    name: "API keys",
    description: "Create and manage keys. A key cannot create a more powerful key.",
  },
  "/api/v1/avatars": { name: "Avatars", description: "Avatars for realtime calls, built from an image or a video." },
  "/api/v1/audit-events": {
    name: "Audit trail",
    description: "The action, the actor, the target and the time of each change.",
  },
  "/api/v1/leaked-keys": { name: "Leaked keys", description: "Report a leaked secret to revoke its key." },
  "/problems": { name: "Problems", description: "The meaning of each error." },
};

/** Named responses that several operations share. */
type Responses = Record<string, Json>;

const operationOf = (method: string, path: string, detail: RouteDetail, shared: Responses): Json => {
  const { operationId, summary, description, success, body, scope } = detail;
  if (!operationId || !summary || !description || !success)
    throw new TypeError(`${method} ${path} has no OpenAPI description`);
  const { isPublic, isIdempotent, isVersioned } = traitsOf(method, detail);
  const tag = Object.entries(TAGS).find(([prefix]) => path === prefix || path.startsWith(`${prefix}/`));
  const isChange = method === "PATCH" || method === "DELETE";
  const requirement = scope === "any" ? "Requires any valid key." : `Requires the scope \`${scope}\`.`;
  // Every response to an authenticated request shows the rate limits. A 401 does not, as no key is authenticated.
  const rates = isPublic ? {} : headers(["RateLimit-Policy", "RateLimit"]);
  const etag = isVersioned ? headers(["ETag"]) : {};
  const common = { ...headers(COMMON_HEADERS), ...rates, ...etag };
  return {
    operationId,
    summary,
    description: isPublic ? description : `${description}\n\n${requirement}`,
    tags: [tag?.[1].name],
    security: isPublic ? [] : [{ apiKey: [] }],
    ...(isPublic || scope === "any" ? {} : { "x-required-scope": scope }),
    parameters: [
      ...pathParameters(path),
      ...queryParameters(detail),
      ...(isIdempotent ? [ref("parameters", "IdempotencyKey")] : []),
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
          ...(isIdempotent ? headers(["Idempotent-Replayed"]) : {}),
          ...(detail.isPage ? headers(PAGE_HEADERS) : {}),
        },
        content: { ...content(success.schema), ...(detail.isPage ? PAGE : {}) },
      },
      ...(detail.isConditional ? { 304: { description: "You already have this version.", headers: common } } : {}),
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

/** Whether a route is part of the API. The others are for the operator, or serve HTML pages. */
const isDescribed = ({ path }: DescribedRoute): boolean => path.startsWith("/api/v1") || path.startsWith("/problems");

/** The document, as JSON. Throws when a route of the API has no description. */
export const openApiDocument = (routes: readonly DescribedRoute[]): Json => {
  const paths: Record<string, Json> = {};
  const responses: Responses = {};
  const usedCodes = new Set<ProblemCode>();
  for (const { method, path, hooks } of routes.filter(isDescribed)) {
    const detail: RouteDetail = hooks?.detail ?? {};
    const pattern = path.replace(/:(\w+)/g, "{$1}");
    paths[pattern] = { ...paths[pattern], [method.toLowerCase()]: operationOf(method, path, detail, responses) };
    for (const code of [...problemsOf(method, path, detail).values()].flat()) usedCodes.add(code);
  }
  const codes = [...usedCodes].sort();
  return {
    openapi: "3.1.1",
    info: {
      title: "Realtime Avatar Service",
      version,
      description:
        "Issues API keys and creates avatars for a realtime-avatar platform.\n\n" +
        "Validation is strict: unknown fields and parameters are rejected, values are not coerced, and all errors are " +
        "reported at once. Text must not contain U+0000 or unpaired surrogates, and its length counts Unicode code points. " +
        "HEAD is supported wherever GET is.",
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
