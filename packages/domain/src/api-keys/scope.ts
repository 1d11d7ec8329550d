/** The scopes of API keys. `*` includes every scope but `usage:write`; no other scope implies another. */

export const SCOPES = [
  "*",
  "api_keys:write",
  "credits:read",
  "avatars:read",
  "avatars:write",
  "realtime:write",
  "usage:read",
  "usage:write",
] as const;
export type Scope = (typeof SCOPES)[number];

/** The scopes of a key whose creator specifies none: enough to use avatars, nothing that changes the account. */
export const DEFAULT_SCOPES = ["realtime:write", "credits:read", "avatars:read"] as const satisfies readonly Scope[];

/**
 * Whether `granted` includes `required`. Only `*` includes `*`. `usage:write` has to be named: it decides what a session
 * costs, and the tenant that pays has keys with `*`.
 */
export const permits = (granted: readonly Scope[], required: Scope): boolean =>
  granted.includes(required) || (granted.includes("*") && required !== "usage:write");
