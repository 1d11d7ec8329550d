/** The statuses of an API key, and the transitions between them. */

export const API_KEY_TRANSITIONS = {
  active: ["revoked", "expired"],
  revoked: [],
  expired: [],
} as const;
export type ApiKeyStatus = keyof typeof API_KEY_TRANSITIONS;
export const API_KEY_STATUSES = Object.keys(API_KEY_TRANSITIONS) as ApiKeyStatus[];
