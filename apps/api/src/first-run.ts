/** The first start with an empty embedded database: creates a tenant and a key, and prints a command to try. */

import type { Db } from "@realtime-avatar/db/connection/pool";
import { insertFirstApiKey } from "@realtime-avatar/db/statements/api-keys";
import { issueApiKey, OPERATOR } from "@realtime-avatar/domain/api-key";
import type { ApiKeySecret } from "@realtime-avatar/domain/api-key-secret";
import { newId, newRequestId, type RandomBytes } from "@realtime-avatar/domain/id";

/** Creates a tenant and a live key with the scope `*` if there is no tenant yet; otherwise returns `null`. */
export const createFirstKey = async (db: Db, now: Date, random: RandomBytes): Promise<ApiKeySecret | null> => {
  const tenant = { tenantId: newId("ten", now, random), name: "First tenant", createdAt: now };
  const request = { name: "First key", environment: "live" as const, scopes: ["*" as const] };
  const { record, secret } = issueApiKey(request, OPERATOR, { tenantId: tenant.tenantId, judgedAt: now, now, random });
  const origin = { actor: null, requestId: newRequestId(now, random), now, random };
  return (await insertFirstApiKey(db, tenant, record, secret, origin)) ? secret : null;
};

/** The message that shows the secret, which cannot be shown again. */
export const firstKeyMessage = (secret: ApiKeySecret, baseUrl: string): string => `
A tenant and its first API key were created. The key has every scope. It is shown only once:

  export API_KEY=${secret.reveal()}

Create an avatar with it:

  curl -sS ${baseUrl}/api/v1/avatars -H "Authorization: Bearer ${secret.reveal()}" -H "Content-Type: application/json" -d '{"displayName": "Ada", "sourceKind": "image"}'

Try every operation in a browser: ${baseUrl}/docs
`;
