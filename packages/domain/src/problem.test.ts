import { expect, test } from "bun:test";
import { PROBLEMS, Problem } from "./problem.ts";

test("each code, listed: has its status", () => {
  const byStatus = Object.entries(PROBLEMS).map(([code, { status }]) => `${status} ${code}`);
  expect(byStatus).toEqual([
    "400 malformed_json",
    "400 malformed_request",
    "401 missing_api_key",
    "401 invalid_api_key",
    "401 revoked_api_key",
    "401 expired_api_key",
    "401 invalid_session",
    "401 invalid_credentials",
    "402 spend_limit_exceeded",
    "402 insufficient_credits",
    "403 insufficient_scope",
    "403 grant_exceeds_caller",
    "403 insufficient_role",
    "403 passkey_required",
    "403 foreign_origin",
    "404 not_found",
    "404 invalid_invitation",
    "405 method_not_allowed",
    "409 invalid_transition",
    "409 session_closed",
    "409 avatar_not_ready",
    "409 asset_in_use",
    "409 rotation_in_progress",
    "409 quota_exceeded",
    "409 last_owner",
    "409 last_passkey",
    "409 already_member",
    "409 replay_unavailable",
    "412 precondition_failed",
    "413 body_too_large",
    "415 unsupported_media_type",
    "422 validation_failed",
    "422 invalid_passkey",
    "422 idempotency_key_reused",
    "429 rate_limited",
    "429 concurrency_limit_reached",
    "500 internal_error",
    "501 realtime_not_configured",
    "503 unavailable",
    "503 provider_unavailable",
    "503 outcome_unknown",
  ]);
});

test("a problem, created: its code's status, and only the code as message", () => {
  const problem = new Problem("not_found", "Not here.");
  expect(problem.status).toBe(404);
  expect(problem.message).toBe("not_found");
});
