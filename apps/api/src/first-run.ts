/** What a newcomer sees: on an empty embedded database, a first tenant, a first key, and a call to paste. */

import type { Db } from "@realtime-avatar/db/connection/pool";
import { insertFirstApiKey } from "@realtime-avatar/db/statements/api-keys";
import { issueApiKey, OPERATOR } from "@realtime-avatar/domain/api-key";
import type { ApiKeySecret } from "@realtime-avatar/domain/api-key-secret";
import { newId, newRequestId, type RandomBytes } from "@realtime-avatar/domain/id";

/** Creates a tenant and a live key with every scope, if there is no tenant yet; `null` otherwise. */
export const createFirstKey = async (db: Db, now: Date, random: RandomBytes): Promise<ApiKeySecret | null> => {
  const tenant = { tenantId: newId("ten", now, random), name: "First tenant", createdAt: now };
  const request = { name: "First key", environment: "live" as const, scopes: ["*" as const] };
  const { record, secret } = issueApiKey(request, OPERATOR, { tenantId: tenant.tenantId, judgedAt: now, now, random });
  const origin = { actor: null, requestId: newRequestId(now, random), now, random };
  return (await insertFirstApiKey(db, tenant, record, secret, origin)) ? secret : null;
};

/** The words that show the key: the only time it can be shown. */
export const firstKeyMessage = (secret: ApiKeySecret, baseUrl: string): string => `
A first tenant and its first key have been created. The key can do everything, and is shown only now:

  export API_KEY=${secret.reveal()}

Create an avatar with it:

  curl -sS ${baseUrl}/api/v1/avatars -H "Authorization: Bearer ${secret.reveal()}" -H "Content-Type: application/json" -d '{"displayName": "Ada", "sourceKind": "image"}'

Or try every operation in a browser: ${baseUrl}/docs
`;
