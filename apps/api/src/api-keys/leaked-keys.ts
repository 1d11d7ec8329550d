/**
 * `/api/v1/leaked-keys`: the holder of a full secret can revoke its key without other credentials, because the holder could
 * do worse with the secret. The response is the same for every secret, so it reveals nothing.
 */

import { revokeApiKey } from "@realtime-avatar/db/api-keys/api-keys";
import { findCredential } from "@realtime-avatar/db/callers/callers";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { findIn } from "@realtime-avatar/db/databases/databases";
import { retryWhileStale } from "@realtime-avatar/db/query/retry-while-stale";
import { ReportLeakedKey } from "@realtime-avatar/domain/api-keys/schemas";
import { type ApiKeySecret, parseApiKey, verifyApiKey } from "@realtime-avatar/domain/api-keys/secret";
import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { Dependencies } from "../dependencies.ts";
import { readBody } from "../http/body.ts";
import { createNetworkLimit } from "../http/limits/rate-limit.ts";
import { operations } from "../http/operation.ts";
import { runWrite } from "../http/problem.ts";
import { type RequestContext, requestOrigin, withRequestContext } from "../http/request-context.ts";

/** Maximum number of reports of one client in a minute. */
const REPORTS_PER_MINUTE = 30;

/** The response to every report. */
export const LeakedKeyReport = Type.Object({ status: Type.Literal("accepted") }, { additionalProperties: false });

const OPERATIONS = operations({
  reportLeakedKey: {
    summary: "Report a leaked key",
    description:
      "Revokes the key to which a full secret belongs. Requires no credentials. If a key has rotated itself, its old secret also works for seven days. The response is the same for every secret.",
    body: ReportLeakedKey,
    success: {
      status: 202,
      description: "The report was received. The response does not show whether a key was revoked.",
      schema: LeakedKeyReport,
    },
    problems: ["rate_limited"],
  },
});

export const leakedKeyRoutes = (dependencies: Dependencies) => {
  const { databases, recentSecrets } = dependencies;
  const what = `report ${REPORTS_PER_MINUTE} keys`;
  const checkRate = createNetworkLimit("leaked-keys", REPORTS_PER_MINUTE, what, dependencies);

  /** Revokes the key of `secret`, if the secret is valid for it, or recently was. */
  const revokeLeaked = async (secret: ApiKeySecret, context: RequestContext) => {
    const find = (db: Db) => findCredential(db.until(context), secret.keyId, null, recentSecrets.tenantOf(secret));
    const stored = await findIn(databases.ofKeyId(secret.keyId), find);
    if (!stored || !verifyApiKey(secret, stored.digest) || !stored.mayReport) return { kind: "ignored" as const };
    const origin = requestOrigin(dependencies, null, context);
    const holder = { credentialKeyId: secret.keyId };
    const db = databases.ofTenant(stored.caller.tenantId).until(context);
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
      if (secret) await retryWhileStale(() => revokeLeaked(secret, requestContext));
      return status(202, { status: "accepted" as const });
    },
    {
      response: { 202: LeakedKeyReport },
      detail: OPERATIONS.reportLeakedKey,
    },
  );
};
