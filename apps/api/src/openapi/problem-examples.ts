/** The members of each problem beside those that every problem has, for the examples of the OpenAPI document. */
import type { ProblemCode } from "@realtime-avatar/domain/problem";
import type { ProblemExtras } from "@realtime-avatar/domain/problems/extras";

export const PROBLEM_EXAMPLES: Partial<Record<ProblemCode, ProblemExtras>> = {
  spend_limit_exceeded: { requiredCreditMicros: 60_000_000, limitedBy: "self" },
  insufficient_credits: { requiredCreditMicros: 60_000_000 },
  concurrency_limit_reached: {
    limitedBy: "self",
    maxConcurrentSessions: 5,
    liveSessions: 5,
    activeSessions: 4,
    connectingSessions: 1,
    pendingSessions: 0,
  },
  insufficient_scope: { requiredScope: "avatars:write", grantedScopes: ["avatars:read"] },
  insufficient_role: { requiredRole: "owner", role: "developer" },
  grant_exceeds_caller: {
    errors: [
      {
        pointer: "#/spendLimitCreditMicros",
        code: "exceeds_caller",
        detail: "Must be at most the spend cap of the calling key.",
        allowed: { maximum: 1_000_000 },
      },
    ],
  },
  invalid_transition: { currentStatus: "draft", allowedStatuses: ["deleted"] },
  validation_failed: { errors: [{ pointer: "#/name", code: "too_short", detail: "Must have 1 to 120 characters." }] },
  rate_limited: { retryable: true },
  too_many_turns: { retryable: true },
  unavailable: { retryable: true },
  provider_unavailable: { retryable: true },
};
