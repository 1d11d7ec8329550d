/** What a newcomer sees: on an empty embedded database, a first tenant, a first key, and a call to paste. */
import { insertApiKey } from "@realtime-avatar/db/api-keys";
import type { Db } from "@realtime-avatar/db/client";
import { insertTenant, listTenants } from "@realtime-avatar/db/tenants";
import { issueApiKey, OPERATOR } from "@realtime-avatar/domain/api-key";
import type { ApiKeySecret } from "@realtime-avatar/domain/api-key-secret";
import { newId, type RandomBytes } from "@realtime-avatar/domain/id";

/** Creates a tenant and a live key with every scope, if there is no tenant yet; `null` otherwise. */
export const createFirstKey = async (db: Db, now: Date, random: RandomBytes): Promise<ApiKeySecret | null> => {
  if ((await listTenants(db)).length > 0) return null;
  const tenantId = newId("ten", now, random);
  await insertTenant(db, { tenantId, name: "First tenant", createdAt: now });
  const request = { name: "First key", environment: "live" as const, scopes: ["*" as const] };
  const { record, secret } = issueApiKey(request, OPERATOR, { tenantId, judgedAt: now, now, random });
  await insertApiKey(db, record, secret, null, { actor: null, requestId: newId("req", now, random), now, random });
  return secret;
};

/** The words that show the key: the only time it can be shown. */
export const firstKeyMessage = (secret: ApiKeySecret, baseUrl: string): string => `
A first tenant and its first key have been created. The key can do everything, and is shown only now:

  export API_KEY=${secret.reveal()}

Create an avatar with it:

  curl -sS ${baseUrl}/api/v1/avatars -H "Authorization: Bearer ${secret.reveal()}" -H "Content-Type: application/json" -d '{"displayName": "Ada", "sourceKind": "image"}'
`;
