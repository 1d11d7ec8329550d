/** What a key may do. `*` stands for every scope; no other scope implies another. */

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

/** What a key receives when its creator names no scopes: enough to use avatars, nothing that changes the account. */
export const DEFAULT_SCOPES = ["realtime:write", "credits:read", "avatars:read"] as const satisfies readonly Scope[];

/** Whether a key that holds `held` may do what needs `needed`. `*` is held only by who holds `*`. */
export const permits = (held: readonly Scope[], needed: Scope): boolean => held.includes("*") || held.includes(needed);
