/**
 * The OpenAPI 3.1 document (spec.openapis.org/oas/v3.1.1), generated from the routes and from the schemas that validate
 * requests and responses. Derives common facts from method, scope and body, once for all routes.
 */
import { ID_CHARACTERS, ID_SUFFIX_LENGTH } from "@realtime-avatar/domain/id";
import { MINIMUM_ROLES } from "@realtime-avatar/domain/people/roles";
import { PROBLEMS, type ProblemCode } from "@realtime-avatar/domain/problem";
import { LISTED_VOICE_ID } from "@realtime-avatar/domain/voices/schemas";
import { version } from "../../package.json";
import { containsSecret } from "../http/idempotency.ts";
import type { Operation, RouteDetail } from "../http/operation.ts";
import { problemSchema } from "../http/problem.ts";
import {
  COMMON_HEADERS,
  content,
  HEADERS,
  headers,
  type Json,
  PARAMETERS,
  pascal,
  problemExample,
  problemName,
  ref,
  SCHEMAS,
  schemaJson,
} from "./components.ts";
import { describeWebhooks, EVENTS_TAG, WEBHOOK_RESPONSES } from "./webhooks.ts";

const ID_PREFIXES: Record<string, string> = {
  "/api/v1/api-keys": "key",
  "/api/v1/assets": "ast",
  "/api/v1/avatars": "ava",
  "/api/v1/usage/sessions": "ses",
  "/api/v1/sessions": "ses",
  "/api/v1/users": "usr",
  "/api/v1/user-sessions": "uss",
  "/api/v1/passkeys": "psk",
  "/api/v1/identities": "idn",
  "/api/v1/invitations": "inv",
  "/api/v1/webhook-endpoints": "whe",
  "/api/v1/webhook-deliveries": "whd",
  "/api/v1/videos": "vid",
  "/api/v1/recordings": "rec",
  "/api/v1/realtime/turns": "trn",
};
const VOICE_ID = {
  name: "id",
  in: "path",
  required: true,
  description: "The id of a voice, such as `flite-slt`.",
  schema: { type: "string", pattern: LISTED_VOICE_ID.source },
};
/**
 * The path parameters. They have no examples, because the reference page would send them. The prefix of an id follows
 * from the path before `/:id`.
 */
const pathParameters = (path: string): Json[] =>
  [...path.matchAll(/:(\w+)/g)].map(([, name = ""]) => {
    if (path.startsWith("/api/v1/voices/")) return VOICE_ID;
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
const traitsOf = (method: string, detail: RouteDetail) => {
  const { scope, success, operationId = "", createsNothing } = detail;
  const properties: object = success?.schema?.["properties"] ?? {};
  const isPublic = scope === undefined;
  const hasId = "id" in properties || "sessionId" in properties;
  const isVersioned = detail.isVersioned ?? (hasId && !detail.isUnversioned);
  const role = MINIMUM_ROLES[operationId] ?? null;
  return {
    isPublic,
    isWrite: method !== "GET",
    /** Whether keys may call the operation. */
    isForKeys: !isPublic && scope !== "person",
    /** The required role of a person; null when people may not call the operation. */
    role: isPublic ? null : role,
    isIdempotent: method === "POST" && !isPublic && createsNothing !== true,
    showsSecret: success?.schema !== undefined && containsSecret(success.schema),
    isVersioned,
    /** Whether `If-Match` has an effect. */
    isConditionalChange: isVersioned && (method === "PATCH" || method === "DELETE"),
  };
};

/** Every problem that a route may return, by HTTP status. */
export const operationProblems = (method: string, path: string, detail: RouteDetail): Map<number, ProblemCode[]> => {
  const { isPublic, isWrite, isIdempotent, isConditionalChange, isForKeys, role, showsSecret } = traitsOf(
    method,
    detail,
  );
  // Any request can have a malformed `Host`.
  const codes = new Set<ProblemCode>(["internal_error", "malformed_request", ...(detail.problems ?? [])]);
  const addIf = (condition: boolean, ...additional: ProblemCode[]): void => {
    if (condition) for (const code of additional) codes.add(code);
  };
  const usesDatabase = path.startsWith("/api/v1");
  addIf(!isPublic, "missing_api_key", "invalid_api_key", "revoked_api_key", "expired_api_key", "rate_limited");
  addIf(!isPublic, "invalid_session", "insufficient_role");
  addIf(isForKeys && detail.scope !== "any", "insufficient_scope");
  addIf(role !== null && showsSecret, "passkey_required");
  addIf(path.includes(":"), "not_found");
  addIf(detail.body !== undefined, "body_too_large", "unsupported_media_type");
  addIf(detail.body !== undefined && !detail.isForm, "malformed_json");
  addIf(usesDatabase, "validation_failed", "unavailable");
  addIf(usesDatabase && isWrite, "outcome_unknown");
  // Requests without fields are always equal.
  addIf(isIdempotent && Object.keys(detail.body?.["properties"] ?? {}).length > 0, "idempotency_key_reused");
  addIf(isIdempotent && showsSecret, "replay_unavailable");
  addIf(isConditionalChange, "precondition_failed");
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

/** A problem response, combined with the response to a caller that waits for its turn. */
const withQueued = (problem: Json, { description, schema }: NonNullable<Operation["queued"]>): Json => ({
  ...problem,
  description: `${description}\n\n${problem["description"]}`,
  content: { ...content(schema), ...(problem["content"] as Json) },
});

const TAGS: Record<string, { name: string; description: string }> = {
  "/api/v1/api-keys": {
    name: "API keys",
    description: "Create and manage keys. A key cannot create a more powerful key.",
  },
  "/api/v1/assets": { name: "Assets", description: "The images, videos and audio files that avatars are built from." },
  "/api/v1/avatars": { name: "Avatars", description: "Avatars for realtime calls, built from an image or a video." },
  "/api/v1/models": { name: "Models", description: "The requirements of models for sources of avatars." },
  "/api/v1/voices": { name: "Voices", description: "The voices of avatars, each with a sample to hear." },
  "/api/v1/credits": { name: "Credits", description: "The balance of the tenant, and every movement of its credits." },
  "/api/v1/usage": {
    name: "Usage",
    description: "Usage sessions hold credits for a call while it is open, and are charged once when it ends.",
  },
  "/api/v1/settings": { name: "Settings", description: "The settings of a tenant in each environment." },
  "/api/v1/videos": { name: "Videos", description: "Have an avatar say a text or a recording, as a file." },
  "/api/v1/realtime": { name: "Calls", description: "Talk to an avatar. LiveKit carries picture and sound." },
  "/api/v1/sessions": { name: "Calls", description: "" },
  "/api/v1/recordings": { name: "Recordings", description: "The recordings of calls, and their files." },
  "/api/v1/webhook-endpoints": {
    name: "Webhooks",
    description: "Receive events: signed requests to your endpoints, by the rules of Standard Webhooks.",
  },
  "/api/v1/webhook-deliveries": { name: "Webhooks", description: "" },
  "/api/v1/audit-events": {
    name: "Audit trail",
    description: "The action, the actor, the target and the time of each change.",
  },
  "/api/v1/leaked-keys": { name: "Leaked keys", description: "Report a leaked secret to revoke its key." },
  "/api/v1/invitations": {
    name: "People",
    description: "The people of a tenant: users, invitations, passkeys, sessions.",
  },
  "/api/v1/user-sessions": { name: "People", description: "" },
  "/api/v1/users": { name: "People", description: "" },
  "/api/v1/passkeys": { name: "People", description: "" },
  "/api/v1/identities": { name: "People", description: "" },
  "/api/v1/oidc": { name: "People", description: "" },
  "/problems": { name: "Problems", description: "The meaning of each error." },
};

/** Named responses that several operations share. */
type Responses = Record<string, Json>;

const operationOf = (method: string, path: string, detail: RouteDetail, shared: Responses): Json => {
  const { operationId, summary, description, success, body, isBodyOptional, scope } = detail;
  if (!operationId || !summary || !description || !success)
    throw new TypeError(`${method} ${path} has no OpenAPI description`);
  const { isPublic, isForKeys, role, isIdempotent, isVersioned, isConditionalChange } = traitsOf(method, detail);
  const tag = Object.entries(TAGS).find(
    ([prefix]) => path === prefix || (/^[./]/.test(path.slice(prefix.length)) && path.startsWith(prefix)),
  );
  const scopes = scope?.split(" ") ?? [];
  const names = scopes.map((name) => `\`${name}\``).join(" or ");
  const ofKeys = scope === "any" ? "any valid key" : `the scope ${names}`;
  const ofPeople = `the session of a person with the role \`${role}\` or a greater one`;
  const requirement = `Requires ${[...(isForKeys ? [ofKeys] : []), ...(role ? [ofPeople] : [])].join(", or ")}.`;
  // Every response to an authenticated request shows the rate limits. A 401 does not, because its key is not
  // authenticated.
  const rates = isPublic ? {} : headers(["RateLimit-Policy", "RateLimit"]);
  const etag = isVersioned ? headers(["ETag"]) : {};
  const common = { ...headers(COMMON_HEADERS), ...rates, ...etag };
  return {
    operationId,
    summary,
    description: isPublic ? description : `${description}\n\n${requirement}`,
    tags: [tag?.[1].name],
    security: [...(isForKeys ? [{ apiKey: [] }] : []), ...(role ? [{ cookieAuth: [] }] : [])],
    ...(!isForKeys || scope === "any" ? {} : { "x-required-scope": scopes[0] }),
    ...(role ? { "x-required-role": role } : {}),
    parameters: [
      ...pathParameters(path),
      ...queryParameters(detail),
      ...(isIdempotent ? [ref("parameters", "IdempotencyKey")] : []),
      ...(detail.createsNothing ? [ref("parameters", "IdempotencyKeyWithoutEffect")] : []),
      ...(isConditionalChange ? [ref("parameters", "IfMatch")] : []),
      ...(role ? [ref("parameters", "Environment")] : []),
      ...(detail.isConditional ? [ref("parameters", "IfNoneMatch")] : []),
      ref("parameters", "RequestId"),
      ref("parameters", "Traceparent"),
    ],
    ...(body ? { requestBody: { required: !isBodyOptional, content: content(body, detail.isForm) } } : {}),
    responses: {
      [success.status]: {
        description: success.description,
        headers: {
          ...common,
          ...(success.status === 201 ? headers(["Location"]) : {}),
          ...(success.status === 303
            ? headers({ Location: "LocationOfPage", "Referrer-Policy": "Referrer-Policy" })
            : {}),
          ...(isIdempotent ? headers(["Idempotent-Replayed"]) : {}),
          ...(detail.setsCookie ? headers(["Set-Cookie"]) : {}),
          ...(detail.isPage ? headers(PAGE_HEADERS) : {}),
          ...(success.file === "csv"
            ? headers({ "Content-Disposition": "Content-Disposition", Vary: "VaryOfFile" })
            : {}),
        },
        ...(success.file && { content: FILES[success.file] }),
        ...(success.schema && { content: { ...content(success.schema), ...(detail.isPage ? PAGE : {}) } }),
      },
      ...(success.status === 303 ? { default: REFUSED_HEAD } : {}),
      ...(detail.isConditional ? { 304: { description: "You already have this version.", headers: common } } : {}),
      ...Object.fromEntries(
        [...operationProblems(method, path, detail)].map(([status, codes]) => {
          const queued = status === 429 ? detail.queued : undefined;
          const name = codes.map(pascal).join("Or") + (isPublic ? "WithoutKey" : "") + (queued ? "OrQueued" : "");
          const problem = problemResponse(status, codes, status === 401 ? {} : rates);
          shared[name] = queued ? withQueued(problem, queued) : problem;
          return [status, ref("responses", name)];
        }),
      ),
    },
  };
};

/**
 * The response of an operation to which another site redirects the browser. The other site determines the length of the
 * URL.
 */
const REFUSED_HEAD = {
  description: "The head of the request is larger than 16 KiB, or malformed: 431 or 400 without a body.",
};

const FILES = {
  csv: { "text/csv": { schema: { type: "string" } } },
  wav: { "audio/wav": { schema: { type: "string", format: "binary" } } },
};
const PAGE = { "text/html": { schema: { type: "string" } } };
const PAGE_HEADERS = ["Vary", "Content-Security-Policy", "Cross-Origin-Opener-Policy", "Referrer-Policy"];

/** A route of the application, as Elysia lists it. */
export type DescribedRoute = { method: string; path: string; hooks?: { detail?: object } };

/** Whether a route is part of the API. Other routes are for the operator, or serve HTML pages. */
const isDescribed = ({ path, hooks }: DescribedRoute): boolean =>
  (path.startsWith("/api/v1") || path.startsWith("/problems")) && !(hooks?.detail as RouteDetail | undefined)?.isHidden;

/** The schemas that these parts of the document refer to, directly or through other schemas. */
const namedSchemas = (...parts: Json[]): Json => {
  const schemas = Object.entries(SCHEMAS).map(([name, schema]) => [name, schemaJson(schema)] as const);
  const used = JSON.stringify([parts, ...schemas]);
  return Object.fromEntries(schemas.filter(([name]) => used.includes(JSON.stringify(ref("schemas", name)))));
};

/** The document, as JSON. Throws when a route of the API has no description. */
export const openApiDocument = (routes: readonly DescribedRoute[]): Json => {
  const paths: Record<string, Json> = {};
  const responses: Responses = {};
  const usedCodes = new Set<ProblemCode>();
  for (const { method, path, hooks } of routes.filter(isDescribed)) {
    const detail: RouteDetail = hooks?.detail ?? {};
    const pattern = path.replace(/:(\w+)/g, "{$1}");
    paths[pattern] = { ...paths[pattern], [method.toLowerCase()]: operationOf(method, path, detail, responses) };
    for (const code of [...operationProblems(method, path, detail).values()].flat()) usedCodes.add(code);
  }
  const codes = [...usedCodes].sort();
  const webhooks = describeWebhooks();
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
    tags: [...Object.values(TAGS).filter(({ description }) => description !== ""), EVENTS_TAG],
    security: [{ apiKey: [] }],
    paths,
    webhooks,
    components: {
      securitySchemes: {
        apiKey: { type: "http", scheme: "bearer", description: "A live or test key: `rta_live_…`, `rta_test_…`." },
        cookieAuth: {
          type: "apiKey",
          in: "cookie",
          name: "__Host-realtime-avatar-session",
          description:
            "The session of a person, for pages of the service itself: with `Sec-Fetch-Site: same-origin`, `Realtime-Avatar-Environment`, and on writes an exact `Origin`. Without https, on localhost, the cookie has another name.",
        },
      },
      schemas: {
        ...namedSchemas(paths, webhooks, responses),
        ...Object.fromEntries(codes.map((code) => [problemName(code), schemaJson(problemSchema(code))])),
      },
      examples: Object.fromEntries(
        codes.map((code) => [code, { summary: PROBLEMS[code].title, value: problemExample(code) }]),
      ),
      responses: Object.fromEntries(
        Object.entries({ ...responses, ...WEBHOOK_RESPONSES }).sort(([a], [b]) => (a < b ? -1 : 1)),
      ),
      headers: HEADERS,
      parameters: PARAMETERS,
    },
  };
};
