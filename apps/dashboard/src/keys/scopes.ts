import { DEFAULT_SCOPES, permits, SCOPES, type Scope } from "@realtime-avatar/domain/api-keys/scope";

export { DEFAULT_SCOPES, type Scope };

/** Whether `*` includes the scope. */
export const isInAll = (scope: Scope): boolean => scope !== "*" && permits(["*"], scope);

/**
 * The scopes that a person may choose for a key that has `present`. `*` is last, because it is the wrong choice for
 * most keys. A person cannot grant `usage:write`, but can remove it from a key.
 */
export const offeredScopes = (present: readonly Scope[]): readonly Scope[] => [
  ...SCOPES.filter((scope) => isInAll(scope) || (scope !== "*" && present.includes(scope))),
  "*",
];

/** The permission of each scope, for people who have not read the documentation. */
export const SCOPE_TEXTS: Record<Scope, string> = {
  "*": "Everything except usage:write. For the key of an operator, not of an application.",
  "api_keys:write": "Create, change, rotate and revoke keys, and read the audit trail.",
  "credits:read": "Read the balance and the movements of credits.",
  "avatars:read": "List and read avatars and their files.",
  "avatars:write": "Create, change and delete avatars and their files.",
  "realtime:write": "Open calls, which hold credits.",
  "usage:read": "Read calls and their cost.",
  "usage:write": "Report the use of calls, and so what they cost. For the engine that runs them.",
};
