/** The first start with an empty embedded database: creates a tenant and a key, and prints a command to try. */

import { insertFirstApiKey } from "@realtime-avatar/db/api-keys/api-keys";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { insertInvitation } from "@realtime-avatar/db/people/invitations";
import { hasUsers } from "@realtime-avatar/db/people/users";
import { listTenants } from "@realtime-avatar/db/tenants/tenants";
import { issueApiKey } from "@realtime-avatar/domain/api-keys/create";
import { OPERATOR } from "@realtime-avatar/domain/api-keys/grant";
import type { ApiKeySecret } from "@realtime-avatar/domain/api-keys/secret";
import { initialGrants } from "@realtime-avatar/domain/credits/grants";
import { newId, newRequestId, type RandomBytes } from "@realtime-avatar/domain/id";
import { invitationUrl, newInvitation } from "@realtime-avatar/domain/people/people";

/** Creates a tenant and a live key with `*` and `usage:write` if no tenant exists; otherwise returns `null`. */
export const createFirstKey = async (db: Db, now: Date, random: RandomBytes): Promise<ApiKeySecret | null> => {
  const tenant = { tenantId: newId("ten", now, random), name: "First tenant", createdAt: now };
  const request = { name: "First key", environment: "live" as const, scopes: ["*" as const, "usage:write" as const] };
  const { record, secret } = issueApiKey(request, OPERATOR, { tenantId: tenant.tenantId, checkedAt: now, now, random });
  const origin = { actor: null, requestId: newRequestId(now, random), now, random };
  const grants = initialGrants(tenant.tenantId, { ...origin, isFirstRun: true });
  return (await insertFirstApiKey(db, tenant, grants, record, secret, origin)) ? secret : null;
};

/**
 * The address in the first invitation. No mail is sent to it. People with this address are distinguished by their
 * names.
 */
const FIRST_EMAIL = "owner@localhost";

/**
 * A link with which the first person becomes an owner of the first tenant; null when a user exists. Earlier links
 * become invalid.
 */
export const createFirstLink = async (
  db: Db,
  publicUrl: string,
  now: Date,
  random: RandomBytes,
): Promise<string | null> => {
  if (await hasUsers(db)) return null;
  const [tenant] = await listTenants(db);
  if (!tenant) return null;
  const { tenantId } = tenant;
  const fields = { tenantId, email: FIRST_EMAIL, role: "owner" as const, userId: null, createdBy: null };
  const created = newInvitation(fields, { now, random });
  const origin = { actor: null, requestId: newRequestId(now, random), now, random };
  const { kind } = await insertInvitation(db, created, null, origin);
  return kind === "written" ? invitationUrl(publicUrl, created.token) : null;
};

const RESTARTED = "Your API keys stay valid. Earlier links to the dashboard no longer work.\n\n";

/** The message that shows the link. `isFirst`: it follows the message with the key. */
export const firstLinkMessage = (link: string, isFirst: boolean): string => `
${isFirst ? "" : RESTARTED}Open the dashboard and register a passkey. The link works once, within 30 minutes:

  ${link}
`;

/** The message of each later start: the URLs for people. */
export const pagesMessage = (publicUrl: string): string => `
The dashboard: ${publicUrl}/dashboard
Every operation, to try in a browser: ${publicUrl}/docs
`;

/**
 * The message that shows the secret, which cannot be shown again, and the commands that create an avatar and a video
 * with it. `publicUrl`: the URL for browsers.
 */
export const firstKeyMessage = (secret: ApiKeySecret, baseUrl: string, publicUrl: string): string => `
The first API key was created. It is live and has every scope, \`usage:write\` included. It is shown only once. Paste
this line into a second terminal, in the folder of the service:

  export API_KEY=${secret.reveal()}

Then paste these lines. They create an avatar of the sample photo, and a video in which it speaks, \`ada.mp4\`:

  npx -y bun@${Bun.version} run sample-photo
  export ASSET_ID=$(curl -sS ${baseUrl}/api/v1/assets -H "Authorization: Bearer $API_KEY" -F file=@ada.jpg | grep -o 'ast_[0-9a-z]*')
  export AVATAR_ID=$(curl -sS ${baseUrl}/api/v1/avatars -H "Authorization: Bearer $API_KEY" -H "Content-Type: application/json" -d '{"displayName": "Ada", "sourceKind": "image", "sourceAssetId": "'$ASSET_ID'"}' | grep -o 'ava_[0-9a-z]*')
  until curl -sS ${baseUrl}/api/v1/avatars/$AVATAR_ID -H "Authorization: Bearer $API_KEY" | tee avatar.json | grep -qE '"status":("(ready|failed)"|4)'; do sleep 1; done
  export VIDEO_ID=$(curl -sS ${baseUrl}/api/v1/videos -H "Authorization: Bearer $API_KEY" -H "Content-Type: application/json" -d '{"avatarId": "'$AVATAR_ID'", "text": "Hello! I am a photo. One request made me speak."}' | tee /dev/stderr | grep -o 'vid_[0-9a-z]*')
  until curl -sS ${baseUrl}/api/v1/videos/$VIDEO_ID -H "Authorization: Bearer $API_KEY" | tee video.json | grep -qE '"status":("(ready|failed)"|4)'; do sleep 1; done
  curl -sS -o ada.mp4 "$(grep -o '"videoUrl":"[^"]*' video.json | cut -d '"' -f 4)"

Try every operation in a browser: ${publicUrl}/docs
`;
