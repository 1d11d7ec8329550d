import { DEFAULT_SCOPES, SCOPES, type Scope } from "@realtime-avatar/domain/api-keys/scope";

export { DEFAULT_SCOPES, type Scope };

/** The scopes, the one that includes all others last: it is the wrong choice for most keys. */
export const OFFERED_SCOPES: readonly Scope[] = [...SCOPES.filter((scope) => scope !== "*"), "*"];

/** What each scope allows, for a person who has not read the documentation. */
export const SCOPE_TEXTS: Record<Scope, string> = {
  "*": "Everything. For the key of an operator, not of an application.",
  "api_keys:write": "Create, change, rotate and revoke keys, and read the audit trail.",
  "credits:read": "Read the balance and the movements of credits.",
  "avatars:read": "List and read avatars and their files.",
  "avatars:write": "Create, change and delete avatars and their files.",
  "realtime:write": "Open calls, which hold credits.",
  "usage:read": "Read calls and what they cost.",
  "usage:write": "Report the use of calls, and so what they cost. For the engine that runs them.",
};
