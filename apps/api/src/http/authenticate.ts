/**
 * Authentication and scopes. A route with `scope` runs only for a caller that holds that scope. Its handler gets the
 * `caller`, for reading; `writeAsCaller`, the one way to write as the caller; and `db`, which has until the deadline of
 * the request. All of this comes before the body is read, so that an unauthenticated client learns nothing and costs
 * little.
 */

import type { Db } from "@realtime-avatar/db/connection/pool";
import {
  type Caller,
  confirmFirstUse,
  findCredential,
  type StoredCredential,
} from "@realtime-avatar/db/statements/callers";
import type { ApiKeyRecord } from "@realtime-avatar/domain/api-key";
import { type ApiKeySecret, parseApiKey, verifyApiKey } from "@realtime-avatar/domain/api-key-secret";
import { type ApiKeyId, isId, type TenantId } from "@realtime-avatar/domain/id";
import { Problem } from "@realtime-avatar/domain/problem";
import { permits, type Scope } from "@realtime-avatar/domain/scope";
import { Elysia } from "elysia";
import type { Dependencies } from "../dependencies.ts";
import { type RequestContext, withRequestContext } from "./request-context.ts";
import { retryWhileStale, runWrite } from "./retry-while-stale.ts";

const BEARER = /^bearer +/i;
/** `token68` of RFC 9110 §11.2, which RFC 6750 §2.1 demands. No character fits twice: it takes linear time. */
const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;

/** Preallocated, so that rejecting a request stays cheap. */
const MISSING = new Problem("missing_api_key", "Send `Authorization: Bearer <API key>`.");
/** The same words for malformed and for unknown keys, so that the response does not tell them apart. */
const INVALID = new Problem("invalid_api_key", "The API key is malformed or unknown.");

/** The authenticated caller, its secret, and the key of the same tenant that the path names, if there is one. */
type Authenticated = { caller: Caller; target: ApiKeyRecord | null; secret: ApiKeySecret };

/**
 * Runs a write as the caller, on the key that the path names. While either is stale, the caller is authenticated again,
 * and the write is tried again with both as they are then. `isRepeatable` says that the same request may be sent again
 * without being executed twice.
 */
export type WriteAsCaller = <Outcome extends { kind: string }>(
  attempt: (caller: Caller, target: ApiKeyRecord | null) => Promise<Outcome>,
  options?: { isRepeatable: boolean },
) => Promise<Exclude<Outcome, { kind: "stale" }>>;

/** The credential of `secret`, with its key, while both are valid. Throws the problem that says what they are otherwise. */
const findValid = async (
  db: Db,
  secret: ApiKeySecret,
  targetId: ApiKeyId | null,
  context: RequestContext,
  knownTenant: TenantId | undefined,
): Promise<StoredCredential> => {
  const stored = await findCredential(db, secret.keyId, targetId, knownTenant);
  if (!stored || !verifyApiKey(secret, stored.digest)) throw INVALID;
  const { status, tenantId } = stored.caller;
  context.tenantId = tenantId;
  // Only the holder of the true secret comes this far, and may know what became of it.
  if (status === "revoked") throw new Problem("revoked_api_key", "The API key has been revoked.");
  if (stored.retired) throw new Problem("revoked_api_key", "A rotation has replaced this secret of the API key.");
  if (status === "expired") throw new Problem("expired_api_key", "The API key has expired.");
  return stored;
};

/** Checks the credentials of a request (RFC 6750 §2.1) against the database as it is now. */
const authenticate = async (
  db: Db,
  { noteUse, recentSecrets }: Dependencies,
  header: string | null,
  targetId: ApiKeyId | null,
  context: RequestContext,
): Promise<Authenticated> => {
  const [scheme] = BEARER.exec(header ?? "") ?? [];
  if (header === null || scheme === undefined) throw MISSING;
  const token = header.slice(scheme.length);
  const secret = TOKEN.test(token) ? parseApiKey(token) : null;
  if (!secret) throw INVALID;
  context.keyId = secret.keyId;
  let stored = await findValid(db, secret, targetId, context, recentSecrets.tenantOf(secret));
  // Another request may use the credential first, or a rotation end it meanwhile: it is looked up again then.
  if (stored.isUnused && !(await confirmFirstUse(db, secret.keyId))) {
    stored = await findValid(db, secret, targetId, context, stored.caller.tenantId);
  }
  const { caller, target } = stored;
  recentSecrets.add(secret, caller.tenantId);
  noteUse(caller);
  return { caller, target, secret };
};

/** Throws unless the caller holds `needed`. */
const checkScope = (caller: Caller, needed: Scope | "any"): void => {
  if (needed === "any" || permits(caller.scopes, needed)) return;
  const extras = { requiredScope: needed, grantedScopes: caller.scopes };
  throw new Problem("insufficient_scope", `This operation needs the scope ${needed}.`, extras);
};

export const authentication = (dependencies: Dependencies) => {
  const { limitRequests } = dependencies;
  return new Elysia({ name: "authentication" }).use(withRequestContext).macro({
    /** The scope that a caller needs; `any` is any valid key. */
    scope: (needed: Scope | "any") => ({
      detail: { scope: needed } as object,
      async resolve({ request, params, set, requestContext }) {
        // Routes without parameters have no `params`, whatever the types say.
        const { id } = (params ?? {}) as { id?: unknown };
        const targetId = isId("key", id) ? id : null;
        const db = dependencies.db.until(requestContext);
        const header = request.headers.get("authorization");
        const authenticateNow = () => authenticate(db, dependencies, header, targetId, requestContext);
        const first = await authenticateNow();
        await limitRequests?.(first.caller, set.headers as Record<string, string>);
        checkScope(first.caller, needed);
        let latest: Authenticated | null = first;
        const writeAsCaller: WriteAsCaller = (attempt, { isRepeatable } = { isRepeatable: false }) =>
          retryWhileStale(async () => {
            const { caller, target } = latest ?? (await authenticateNow());
            latest = null;
            checkScope(caller, needed);
            return runWrite(() => attempt(caller, target), isRepeatable);
          });
        return { ...first, writeAsCaller, db };
      },
    }),
  });
};
