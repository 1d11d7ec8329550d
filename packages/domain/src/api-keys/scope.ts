/** The scopes of API keys. `*` includes every scope except `usage:write`. No other scope implies another. */

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

/** The scopes of a key whose creator specifies none. They suffice to use avatars, and cannot change the account. */
export const DEFAULT_SCOPES = ["realtime:write", "credits:read", "avatars:read"] as const satisfies readonly Scope[];

/**
 * Whether `granted` includes `required`. Only `*` includes `*`. `usage:write` must be named, because it decides the
 * price of a session, and the paying tenant has keys with `*`.
 */
export const permits = (granted: readonly Scope[], required: Scope): boolean =>
  granted.includes(required) || (granted.includes("*") && required !== "usage:write");
