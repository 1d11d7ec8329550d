import { expect, test } from "bun:test";
import { PROBLEMS, Problem } from "./problem.ts";

test("each code has its status", () => {
  const byStatus = Object.entries(PROBLEMS).map(([code, { status }]) => `${status} ${code}`);
  expect(byStatus).toEqual([
    "400 malformed_json",
    "400 malformed_request",
    "401 missing_api_key",
    "401 invalid_api_key",
    "401 revoked_api_key",
    "401 expired_api_key",
    "403 insufficient_scope",
    "403 grant_exceeds_caller",
    "404 not_found",
    "405 method_not_allowed",
    "409 invalid_transition",
    "409 rotation_in_progress",
    "409 quota_exceeded",
    "409 replay_unavailable",
    "412 precondition_failed",
    "413 body_too_large",
    "415 unsupported_media_type",
    "422 validation_failed",
    "422 idempotency_key_reused",
    "429 rate_limited",
    "500 internal_error",
    "503 unavailable",
    "503 outcome_unknown",
  ]);
});

test("a problem carries its status, and its message is its code alone", () => {
  const problem = new Problem("not_found", "Not here.");
  expect(problem.status).toBe(404);
  expect(problem.message).toBe("not_found");
});
