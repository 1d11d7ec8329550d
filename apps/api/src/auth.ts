/**
 * Who may call. A route with `scope` runs only for a caller who holds that scope; its handler is given `act`, the one
 * way to do something as the caller. Everything here comes before the body is read: a stranger learns nothing and
 * costs nothing.
 */
import { type Caller, findCredential } from "@realtime-avatar/db/callers";
import { parseApiKey, verifyApiKey } from "@realtime-avatar/domain/api-key-secret";
import { Problem } from "@realtime-avatar/domain/problem";
import { permits, type Scope } from "@realtime-avatar/domain/scope";
import { Elysia } from "elysia";
import type { Dependencies } from "./app.ts";
import { writing } from "./problem.ts";
import { type Trace, tracing } from "./trace.ts";

const BEARER = /^bearer +(.+)$/i;

/** The same words for every key that is none, so that they tell nothing apart. */
const invalid = (): Problem => new Problem("invalid_api_key", "The API key is malformed or unknown.");

/** Judges the credentials of a request (RFC 6750 §2.1) by the database as it is now. */
const authenticate = async ({ db }: Pick<Dependencies, "db">, header: string | null, trace: Trace): Promise<Caller> => {
  const [, token] = BEARER.exec(header ?? "") ?? [];
  if (token === undefined) {
    throw new Problem("missing_api_key", "Send `Authorization: Bearer <API key>`.");
  }
  const secret = parseApiKey(token);
  if (!secret) throw invalid();
  trace.keyId = secret.keyId;
  const stored = await findCredential(db, secret.keyId);
  if (!stored || !verifyApiKey(secret, stored.digest)) throw invalid();
  trace.tenantId = stored.caller.tenantId;

  // Only who holds the true secret comes this far, and may know what became of it.
  if (stored.status === "revoked") throw new Problem("revoked_api_key", "The API key has been revoked.");
  if (stored.retired) throw new Problem("revoked_api_key", "A rotation has replaced this secret of the API key.");
  if (stored.status === "expired") throw new Problem("expired_api_key", "The API key has expired.");
  return stored.caller;
};

/** The caller, if it holds `needed`. */
const requireScope = (caller: Caller, needed: Scope): Caller => {
  if (permits(caller.scopes, needed)) return caller;
  const extras = { requiredScope: needed, grantedScopes: caller.scopes };
  throw new Problem("insufficient_scope", `This operation needs the scope ${needed}.`, extras);
};

/** A key that is being changed this often is not going to be read in one state. */
const MAX_ATTEMPTS = 3;

export const authentication = (dependencies: Dependencies) =>
  new Elysia({ name: "authentication" }).use(tracing).macro({
    scope: (needed: Scope) => ({
      async resolve({ request, trace }) {
        const judge = async (): Promise<Caller> =>
          requireScope(await authenticate(dependencies, request.headers.get("authorization"), trace), needed);
        const caller = await judge();
        /**
         * Does `work` as the caller. `work` answers `false`, having written nothing, when the caller is no longer
         * what it was at its look-up; the caller is then judged anew, and refused or tried again accordingly.
         */
        const act = async <Result>(work: (caller: Caller) => Promise<Result | false>): Promise<Result> => {
          let current = caller;
          for (let attempt = 1; ; attempt++) {
            const result = await writing(() => work(current));
            if (result !== false) return result;
            current = await judge();
            if (attempt === MAX_ATTEMPTS) {
              throw new Problem("unavailable", "The calling key is being changed. Try again.", { retryable: true });
            }
          }
        };
        return { act };
      },
    }),
  });
