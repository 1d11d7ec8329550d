/**
 * Who may call. A route with `scope` runs only for a caller who holds that scope; its handler is given the `caller`, for
 * reading, `act`, the one way to write as the caller, and `db`, which has until the deadline of the request. Everything
 * here comes before the body is read: a stranger learns nothing and costs nothing.
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
import { type Trace, traced } from "./request-context.ts";
import { untilDone, writing } from "./retry-while-stale.ts";

const BEARER = /^bearer +/i;
/** `token68` of RFC 9110 §11.2, which RFC 6750 §2.1 demands. No character fits twice: it takes linear time. */
const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;

/** What strangers are told costs them more than us: it is made once. */
const MISSING = new Problem("missing_api_key", "Send `Authorization: Bearer <API key>`.");
/** The same words for every key that is none, so that they tell nothing apart. */
const INVALID = new Problem("invalid_api_key", "The API key is malformed or unknown.");

/**
 * Who calls, by which secret, and the key of the same tenant that the path names; null when it names none, or one that is
 * not there.
 */
type Judged = { caller: Caller; target: ApiKeyRecord | null; secret: ApiKeySecret };

/**
 * Does `work` as the caller, on the key that the path names. When either is no longer what it was, both are looked up and
 * judged anew. `isRepeatable` says that the same request may be sent again without being made twice.
 */
export type Act = <Result>(
  work: (caller: Caller, target: ApiKeyRecord | null) => Promise<Result | false>,
  options?: { isRepeatable: boolean },
) => Promise<Result>;

/** The credential of `secret`, with its key, while both are valid. Throws the problem that says what they are otherwise. */
const findValid = async (
  db: Db,
  secret: ApiKeySecret,
  targetId: ApiKeyId | null,
  trace: Trace,
  knownTenant: TenantId | undefined,
): Promise<StoredCredential> => {
  const stored = await findCredential(db, secret.keyId, targetId, knownTenant);
  if (!stored || !verifyApiKey(secret, stored.digest)) throw INVALID;
  const { status, tenantId } = stored.caller;
  trace.tenantId = tenantId;
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
  trace: Trace,
): Promise<Judged> => {
  const [scheme] = BEARER.exec(header ?? "") ?? [];
  if (header === null || scheme === undefined) throw MISSING;
  const token = header.slice(scheme.length);
  const secret = TOKEN.test(token) ? parseApiKey(token) : null;
  if (!secret) throw INVALID;
  trace.keyId = secret.keyId;
  let stored = await findValid(db, secret, targetId, trace, recentSecrets.tenantOf(secret));
  // Another request may use the credential first, or a rotation end it meanwhile: it is looked up again then.
  if (stored.isUnused && !(await confirmFirstUse(db, secret.keyId))) {
    stored = await findValid(db, secret, targetId, trace, stored.caller.tenantId);
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
  return new Elysia({ name: "authentication" }).use(traced).macro({
    /** The scope that a caller needs; `any` is any valid key. */
    scope: (needed: Scope | "any") => ({
      detail: { scope: needed } as object,
      async resolve({ request, params, set, trace }) {
        // Routes without parameters have no `params`, whatever the types say.
        const { id } = (params ?? {}) as { id?: unknown };
        const targetId = isId("key", id) ? id : null;
        const db = dependencies.db.until(trace);
        const judge = async (): Promise<Judged> => {
          return authenticate(db, dependencies, request.headers.get("authorization"), targetId, trace);
        };
        let judged: Judged | null = await judge();
        await limitRequests?.(judged.caller, set.headers as Record<string, string>);
        checkScope(judged.caller, needed);
        const act: Act = (work, { isRepeatable } = { isRepeatable: false }) =>
          untilDone(async () => {
            const { caller, target } = judged ?? (await judge());
            judged = null;
            checkScope(caller, needed);
            return writing(() => work(caller, target), isRepeatable);
          });
        return { ...judged, act, db };
      },
    }),
  });
};
