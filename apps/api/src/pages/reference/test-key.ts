/** The key that the reference creates on a click for a signed-in person. */
import type { CreateApiKey } from "@realtime-avatar/domain/api-keys/schemas";

export const TEST_KEY_MINUTES = 30;

/**
 * The page creates this key with the route of the dashboard, and revokes it when the page is closed. The key has no
 * `*`, because a webhook endpoint would outlive it. Its cap is ten minutes of calls at the default price.
 */
export const TEST_KEY = {
  name: "API reference",
  environment: "test",
  scopes: ["api_keys:write", "credits:read", "avatars:read", "avatars:write", "realtime:write", "usage:read"],
  spendLimitCreditMicros: 600_000_000,
  maxConcurrentSessions: 2,
} satisfies CreateApiKey;
