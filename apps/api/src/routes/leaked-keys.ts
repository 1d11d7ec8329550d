/**
 * `/api/v1/leaked-keys`: the holder of a full secret can have its key revoked, without other credentials. Holding the secret
 * is proof enough: with it, the holder could do worse. The response reveals nothing: it is the same for every key.
 */

import type { Db } from "@realtime-avatar/db/connection/pool";
import { revokeApiKey } from "@realtime-avatar/db/statements/api-keys";
import { findCredential } from "@realtime-avatar/db/statements/callers";
import { ReportLeakedKey } from "@realtime-avatar/domain/api-key";
import { type ApiKeySecret, parseApiKey, verifyApiKey } from "@realtime-avatar/domain/api-key-secret";
import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { Dependencies } from "../dependencies.ts";
import { readBody } from "../http/body.ts";
import { clientNetwork } from "../http/client-address.ts";
import { createLimiter, rateLimited } from "../http/rate-limit.ts";
import { originOf, type RequestContext, withRequestContext } from "../http/request-context.ts";
import { retryWhileStale, runWrite } from "../http/retry-while-stale.ts";
import { operation } from "../openapi/operation.ts";

/** Reports that one client may make in a minute. */
const REPORTS_PER_MINUTE = 30;

/** The answer to every report. */
export const LeakedKeyReport = Type.Object({ status: Type.Literal("accepted") }, { additionalProperties: false });

export const leakedKeyRoutes = (dependencies: Dependencies) => {
  const { config, peerAddress, recentSecrets, redis } = dependencies;
  const limit = createLimiter("leaked-keys", REPORTS_PER_MINUTE, 60, redis);
  const checkRate = async (request: Request): Promise<void> => {
    const client = clientNetwork(request, peerAddress(request), config.trustedProxyHops);
    const { isAllowed, resetMs } = await limit(client);
    if (!isAllowed) throw rateLimited(`A client can report ${REPORTS_PER_MINUTE} keys in a minute.`, resetMs);
  };

  /** Revokes the key of `secret`, if that may report it. */
  const revokeLeaked = async (db: Db, secret: ApiKeySecret, context: RequestContext) => {
    const stored = await findCredential(db, secret.keyId, null, recentSecrets.tenantOf(secret));
    if (!stored || !verifyApiKey(secret, stored.digest) || !stored.mayReport) return { kind: "ignored" as const };
    const origin = originOf(dependencies, null, context);
    const holder = { credentialKeyId: secret.keyId };
    return runWrite(() =>
      revokeApiKey(db, stored.caller, { version: null }, holder, origin, "api_key.reported_leaked"),
    );
  };

  return new Elysia({ name: "leaked-keys", prefix: "/api/v1/leaked-keys" }).use(withRequestContext).post(
    "",
    async ({ request, status, requestContext }) => {
      await checkRate(request);
      const { apiKey } = await readBody(request, requestContext, ReportLeakedKey);
      const secret = parseApiKey(apiKey);
      const db = dependencies.db.until(requestContext);
      if (secret) await retryWhileStale(() => revokeLeaked(db, secret, requestContext));
      return status(202, { status: "accepted" as const });
    },
    {
      response: { 202: LeakedKeyReport },
      detail: operation({
        operationId: "reportLeakedKey",
        summary: "Report a leaked key",
        description:
          "Revokes the key to which a full secret belongs. Requires no credentials. For seven days, this also works with a secret that the key itself replaced by a rotation. The response is the same for every secret.",
        body: ReportLeakedKey,
        success: {
          status: 202,
          description: "The report was received. The response does not show whether a key was revoked.",
          schema: LeakedKeyReport,
        },
        problems: ["rate_limited"],
      }),
    },
  );
};
