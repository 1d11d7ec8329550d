/** The members of a problem beside its code and its detail. */
import type { FieldError } from "./field-error-codes.ts";

export const LIMITED_BY = ["self", "ancestor"] as const;
/** Whose limit of open sessions refuses a session. */
export const SESSION_LIMITED_BY = [...LIMITED_BY, "tenant"] as const;

export type ProblemExtras = {
  errors?: readonly FieldError[];
  requiredScope?: string;
  grantedScopes?: readonly string[];
  /** The role that the operation needs, null when it is only for keys; and the role of the caller, null for a key. */
  requiredRole?: string | null;
  role?: string | null;
  /** The status of the resource, and the statuses to which it can change. */
  currentStatus?: string;
  allowedStatuses?: readonly string[];
  /** The minimal hold of the request, in credit micros. */
  requiredCreditMicros?: number;
  /** Whose spend cap or limit of open sessions refuses the request: the calling key's, an ancestor's, or the tenant's. */
  limitedBy?: (typeof SESSION_LIMITED_BY)[number];
  /** The limit of open sessions, and, when it is that of the calling key, how many are open. */
  maxConcurrentSessions?: number;
  liveSessions?: number;
  activeSessions?: number;
  connectingSessions?: number;
  pendingSessions?: number;
  retryable?: boolean;
  /** Path of the created or changed resource: the header `Location`. */
  location?: string;
  /** When to try again: the header `Retry-After`. */
  retryAfterSeconds?: number;
  /** Whether the connection must be closed: the header `Connection: close`. */
  hangUp?: boolean;
};
