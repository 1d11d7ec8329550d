/**
 * Authentication, scopes and roles. A route with `scope` runs only for a key that holds that scope, or for a person
 * whose role allows its operation. Its handler gets `caller` and `db` for reads, and `write`, the only way to write as
 * the caller (`write.ts`). Authentication precedes the read of the body, so that an unauthenticated client learns
 * nothing and costs little.
 */

import { findApiKey } from "@realtime-avatar/db/api-keys/api-keys";
import {
  type AnyCaller,
  type Caller,
  type CreditsOfCaller,
  confirmFirstUse,
  findCredential,
  type StoredCredential,
} from "@realtime-avatar/db/callers/callers";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { type Databases, findIn } from "@realtime-avatar/db/databases/databases";
import type { ApiKeyRecord } from "@realtime-avatar/domain/api-keys/api-key";
import { permits, type Scope } from "@realtime-avatar/domain/api-keys/scope";
import { type ApiKeySecret, parseApiKey, verifyApiKey } from "@realtime-avatar/domain/api-keys/secret";
import { type ApiKeyId, isId, type TenantId } from "@realtime-avatar/domain/id";
import { checkRole, MINIMUM_ROLES, refuseRole } from "@realtime-avatar/domain/people/roles";
import { Problem } from "@realtime-avatar/domain/problem";
import { Elysia } from "elysia";
import type { Dependencies } from "../dependencies.ts";
import { presentedSession } from "./cookie.ts";
import { type CallerSecret, readIdempotencyKey } from "./idempotency.ts";
import { authenticatePerson, isPerson } from "./person.ts";
import { type RequestContext, withRequestContext } from "./request-context.ts";
import type { ResponseHead } from "./response.ts";

const BEARER = /^bearer +/i;
/** `token68` of RFC 9110 §11.2, required by RFC 6750 §2.1. No character matches two parts, so matching takes linear time. */
const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;

/** The accepted scopes of a route. A refusal names the first. `any`: any valid key. `person`: no key. */
type RequiredScopes = readonly [Scope, ...Scope[]] | "any" | "person";

/** Preallocated, so that rejecting a request stays cheap. */
const MISSING = new Problem("missing_api_key", "Send `Authorization: Bearer <API key>`.");
/** Malformed and unknown keys get the same text, so that the response does not distinguish them. */
export const INVALID = new Problem(
  "invalid_api_key",
  "The API key is malformed or unknown. Was it copied whole, and is it a key of this service?",
);

/** The token of the header `Authorization`; null without the header. Throws unless the scheme is `Bearer`. */
const bearerToken = ({ headers }: Request): string | null => {
  const header = headers.get("authorization");
  if (header === null) return null;
  const [scheme] = BEARER.exec(header) ?? [];
  if (scheme === undefined) throw MISSING;
  return header.slice(scheme.length);
};

/** The authenticated caller and its secret. If the path names a key of the same tenant, also that key. */
type Authenticated = {
  caller: AnyCaller;
  target: ApiKeyRecord | null;
  secret: CallerSecret;
  /** The database of the caller's tenant. Its statements end by the deadline of the request. */
  db: Db;
};

/** An authenticated request that writes, with the data that `execute` (`write.ts`) needs. */
export type WriteRequest = Authenticated & {
  dependencies: Dependencies;
  request: Request;
  path: string;
  /** The id in the path; empty without one. */
  id: string;
  idempotencyKey: string | null;
  set: ResponseHead;
  requestContext: RequestContext;
  /** Authenticates the caller again. Throws a problem unless it may still call the operation. */
  authenticateAgain(): Promise<Authenticated>;
};

/**
 * The credential of `secret` with its key, and the database among `places` that has it. Throws a problem unless both
 * are valid.
 */
const findValidCredential = async (
  databases: Databases,
  places: readonly Db[],
  secret: ApiKeySecret,
  targetId: ApiKeyId | null,
  context: RequestContext,
  knownTenant: TenantId | undefined,
  including: CreditsOfCaller | null,
): Promise<{ stored: StoredCredential; db: Db }> => {
  let db = places[0] as Db;
  const find = (place: Db) => {
    db = place.until(context);
    return findCredential(db, secret.keyId, targetId, knownTenant, including);
  };
  const stored = (await findIn(places, find)) ?? (await findIn(await databases.ofNewKeyId(secret.keyId), find));
  if (!stored || !verifyApiKey(secret, stored.digest)) throw INVALID;
  const { status, tenantId } = stored.caller;
  context.tenantId = tenantId;
  // Only the holder of the true secret reaches this line, and may learn the status of the key.
  if (status === "revoked") throw new Problem("revoked_api_key", "The API key has been revoked.");
  if (stored.retired) throw new Problem("revoked_api_key", "A rotation has replaced this secret of the API key.");
  if (status === "expired") throw new Problem("expired_api_key", "The API key has expired.");
  return { stored, db };
};

/** Authenticates a key by a look-up in the database. */
const authenticateKey = async (
  { databases, noteUse, recentSecrets }: Dependencies,
  token: string,
  targetId: ApiKeyId | null,
  context: RequestContext,
  including: CreditsOfCaller | null,
): Promise<Authenticated> => {
  const secret = TOKEN.test(token) ? parseApiKey(token) : null;
  if (!secret) throw INVALID;
  context.keyId = secret.keyId;
  const known = recentSecrets.tenantOf(secret);
  const places = known === undefined ? databases.ofKeyId(secret.keyId) : [databases.ofTenant(known)];
  let { stored, db } = await findValidCredential(databases, places, secret, targetId, context, known, including);
  // When another request has used the credential first, or a rotation has retired it meanwhile, the credential is
  // looked up again.
  if (stored.isUnused && !(await confirmFirstUse(db, secret.keyId))) {
    ({ stored, db } = await findValidCredential(
      databases,
      [db],
      secret,
      targetId,
      context,
      stored.caller.tenantId,
      including,
    ));
  }
  const { caller, target } = stored;
  context.keyEnvironment = caller.environment;
  recentSecrets.add(secret, caller.tenantId);
  noteUse(caller);
  return { caller, target, secret, db };
};

/** Authenticates a person by the session cookie. A request without a usable cookie has no credentials. */
const authenticateByCookie = async (
  { databases, publicUrl, noteSeen }: Dependencies,
  request: Request,
  targetId: ApiKeyId | null,
  context: RequestContext,
): Promise<Authenticated> => {
  const presented = presentedSession(request, publicUrl());
  if (!presented) throw MISSING;
  const db = databases.ofTenant(presented.token.tenantId).until(context);
  const caller = await authenticatePerson(db, presented, context);
  const { tenantId, id, sessionId, checkedAt } = caller;
  noteSeen({ tenantId, id, checkedAt });
  noteSeen({ tenantId, id: sessionId, checkedAt });
  const target = targetId && (await findApiKey(db, tenantId, targetId));
  return { caller, target, secret: presented.token, db };
};

/** Throws unless the caller holds one of the scopes. */
export const checkScope = (caller: Pick<Caller, "scopes">, required: Exclude<RequiredScopes, "person">): void => {
  if (required === "any" || required.some((scope) => permits(caller.scopes, scope))) return;
  const [requiredScope] = required;
  const extras = { requiredScope, grantedScopes: caller.scopes };
  throw new Problem("insufficient_scope", `This operation needs the scope ${required.join(" or ")}.`, extras);
};

/** The requirements of a route on its caller, when a scope is not enough. */
type Requirements = {
  scopes: readonly [Scope, ...Scope[]];
  /**
   * Credits that the look-up of a key also reads: `caller.headroom`, the credits that it can still hold, or
   * `caller.balance`.
   */
  including?: CreditsOfCaller;
};

const requirementsOf = (
  needed: Scope | "any" | "person" | Requirements,
): { scopes: RequiredScopes; including: CreditsOfCaller | null } => {
  if (typeof needed === "object") return { including: null, ...needed };
  return { scopes: needed === "any" || needed === "person" ? needed : [needed], including: null };
};

/** Throws unless the caller may call the operation. A key needs a scope, a person a role. */
const authorize = (caller: AnyCaller, required: RequiredScopes, operation: string | undefined): void => {
  const minimumRole =
    operation !== undefined && Object.hasOwn(MINIMUM_ROLES, operation) ? MINIMUM_ROLES[operation] : null;
  if (isPerson(caller)) checkRole(caller.role, minimumRole);
  else if (required === "person") refuseRole(minimumRole ?? null, null);
  else checkScope(caller, required);
};

/** The parts of a request that authentication uses. */
export type RequestParts = {
  request: Request;
  params?: unknown;
  path: string;
  set: ResponseHead;
  requestContext: RequestContext;
  route: string;
};

/**
 * Authenticates a request, counts it, and throws a problem unless its caller may call the operation. `token`: the
 * secret of a key; null without a key.
 */
export const authenticateRequest = async (
  dependencies: Dependencies,
  needed: Scope | "any" | "person" | Requirements,
  { request, params, path, set, requestContext, route }: RequestParts,
  token: () => string | null,
): Promise<WriteRequest> => {
  const { scopes, including } = requirementsOf(needed);
  // Routes without parameters have no `params`, although the types say otherwise.
  const { id = "" } = (params ?? {}) as { id?: string };
  const targetId = isId("key", id) ? id : null;
  // With a key, the cookie is ignored, so that the caller is unambiguous.
  const authenticate = async (): Promise<Authenticated> => {
    const presented = token();
    return presented === null
      ? authenticateByCookie(dependencies, request, targetId, requestContext)
      : authenticateKey(dependencies, presented, targetId, requestContext, including);
  };
  const operation = dependencies.operationAt(request.method, route);
  const authenticated = await authenticate();
  await dependencies.limitRequests?.(authenticated.caller, set.headers as Record<string, string>);
  authorize(authenticated.caller, scopes, operation);
  const idempotencyKey = readIdempotencyKey(request);
  return {
    ...authenticated,
    dependencies,
    request,
    path,
    id,
    idempotencyKey,
    set,
    requestContext,
    authenticateAgain: async () => {
      const again = await authenticate();
      authorize(again.caller, scopes, operation);
      return again;
    },
  };
};

export const authentication = (dependencies: Dependencies) =>
  new Elysia({ name: "authentication" }).use(withRequestContext).macro({
    /**
     * The required scope of a key. `any`: any valid key. `person`: no key. `MINIMUM_ROLES` has the required roles of
     * people.
     */
    scope: (needed: Scope | "any" | "person" | Requirements) => ({
      // The scopes are one text, because Elysia appends to lists each time that it reads them.
      detail: { scope: [requirementsOf(needed).scopes].flat().join(" ") } as object,
      async resolve({ request, params, path, set, requestContext, route }) {
        const parts = { request, params, path, set, requestContext, route };
        const write = await authenticateRequest(dependencies, needed, parts, () => bearerToken(request));
        const { caller, target, secret, db } = write;
        return { caller, target, secret, db, write };
      },
    }),
  });
