import { expect, test } from "bun:test";
import { SESSION_END_REASONS } from "@realtime-avatar/domain/credits/status";
import { callOutcome, isFailure } from "./outcome.ts";

const CALL = {
  status: "released",
  startedAt: "2026-11-20T12:00:00.000Z",
  billedCreditMicros: 0,
  closedBy: "sweep",
  endReason: null,
  releaseReason: null,
  mustEnd: false,
  reservedCreditMicros: 90_000_000,
  priceCreditMicrosPerSecond: 500_000,
} as const;
const NEVER_STARTED = { status: "failed", startedAt: null } as const;

test("a call that did not begin: a failure, unless its program, its key, the operator or the person has ended it", () => {
  const intended = SESSION_END_REASONS.filter((endReason) => !isFailure({ ...NEVER_STARTED, endReason }));
  expect(intended).toEqual(["user_ended", "released", "key_ended", "operator_ended"]);
});

test("each reason, started or not: a different text with an explanation", () => {
  const outcomes = SESSION_END_REASONS.map((endReason) => callOutcome({ ...CALL, endReason }));
  expect(new Set(outcomes.map(({ text }) => text)).size).toBe(SESSION_END_REASONS.length);
  for (const { text, detail } of outcomes) {
    expect(text.length).toBeLessThanOrEqual(24);
    expect(detail).toMatch(/^[A-Z].{30,}\.$/);
    expect(text + detail).not.toMatch(/_(?!session_seconds|seconds)/);
  }
});

test.each([
  [{ status: "reserved", startedAt: null }, "Connecting"],
  [{ status: "started" }, "In progress"],
  [{ status: "started", mustEnd: true }, "About to end"],
  [{ ...NEVER_STARTED, endReason: "not_started" }, "Nobody joined"],
  [{ ...NEVER_STARTED, endReason: "failed", closedBy: "key_x" }, "The room was not created"],
  [{ ...NEVER_STARTED, endReason: "failed" }, "The avatar did not come"],
  [{ endReason: "failed" }, "The avatar failed"],
  [{ ...NEVER_STARTED, endReason: "released", closedBy: "key_x" }, "Ended before it began"],
  [{ startedAt: null, endReason: "released", billedCreditMicros: 5 }, "Ended by your program"],
  [{ endReason: "released", releaseReason: "manual" }, "Hung up"],
  [{ ...NEVER_STARTED, endReason: "released", releaseReason: "manual" }, "Ended before it began"],
  [{}, "Ended"],
  [NEVER_STARTED, "Never began"],
  [{ endReason: "of a later version" as "idle" }, "Ended"],
] as const)("a call %j: %s", (call, text) => {
  expect(callOutcome({ ...CALL, ...call }).text).toBe(text);
});

test("a release: known reasons of the SDK in words, others unchanged; the time that was held", () => {
  const detailOf = (call: object) => callOutcome({ ...CALL, ...call }).detail;
  expect(detailOf({ endReason: "released", releaseReason: "page_hide" })).toContain("the page was closed or hidden");
  expect(detailOf({ endReason: "released", releaseReason: "the caller hung up" })).toContain(
    "said: the caller hung up.",
  );
  const noCredits = detailOf({ endReason: "out_of_credits" });
  expect(noCredits).toContain("the 90 credits that it held, which lasted 3 min.");
  expect(noCredits).toContain("`credits grant`");
});

test("a call that did not begin: a failure unless its program, its key or the operator has ended it", () => {
  const failures = SESSION_END_REASONS.filter((endReason) => isFailure({ status: "failed", endReason }));
  expect(failures).not.toContain("released");
  expect(failures).toEqual(expect.arrayContaining(["failed", "not_started", "lease_expired"]));
  expect(isFailure({ status: "failed", endReason: null })).toBe(true);
  expect(isFailure({ status: "released", endReason: "failed" })).toBe(false);
});
