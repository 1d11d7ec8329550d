import { expect, test } from "bun:test";
import type { Problem } from "../problem.ts";
import { keptSince, MAX_ATTEMPTS, pauseMs, recoveredSince, retryAfterMs, slowMs } from "./schedule.ts";

const HOUR_MS = 3_600_000;
const YEAR_MS = 365 * 24 * HOUR_MS;
const pauses = (random: number, retryAfter: number | null = null): number[] =>
  Array.from({ length: MAX_ATTEMPTS - 1 }, (_, index) => pauseMs(index + 1, retryAfter, random) ?? 0);

test("a recovery, from the oldest stored delivery on: starts at that time; from a millisecond before: refused", () => {
  const now = new Date("2026-11-26T12:00:00Z");
  const oldest = new Date("2026-10-27T12:00:00Z");
  expect(keptSince(now)).toEqual(oldest);
  expect(recoveredSince("2026-10-27T13:00:00+01:00", now)).toEqual(oldest);
  const tooOld = new Date(oldest.getTime() - 1).toISOString();
  try {
    recoveredSince(tooOld, now);
    expect.unreachable();
  } catch (error) {
    expect((error as Problem).extras.errors).toMatchObject([{ pointer: "#/since", code: "too_old" }]);
  }
});

test("the pauses, without jitter: those of docs/webhooks.md, 75 hours in total", () => {
  expect(pauses(0)).toEqual([5 / 3600, 5 / 60, 0.5, 2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR_MS));
  expect(pauses(0).reduce((sum, pause) => sum + pause)).toBeGreaterThanOrEqual(75 * HOUR_MS);
});

test("the pauses, with all jitter: at most a fifth longer, never shorter", () => {
  expect(pauses(1)).toEqual(pauses(0).map((pause) => pause * 1.2));
  for (const [index, pause] of pauses(0.37).entries()) expect(pause).toBeGreaterThanOrEqual(pauses(0)[index] ?? 0);
});

test("a delivery, after the last attempt: no further attempt", () => {
  expect(pauseMs(MAX_ATTEMPTS, null, 0)).toBeNull();
  expect(pauseMs(MAX_ATTEMPTS, YEAR_MS, 0)).toBeNull();
});

test("Retry-After, of a minute or a year: honoured up to the next step of the schedule", () => {
  expect(pauseMs(1, 60_000, 0)).toBe(60_000);
  expect(pauseMs(2, 60_000, 0)).toBe(300_000);
  expect(pauses(0, YEAR_MS)).toEqual([...pauses(0).slice(1), 24 * HOUR_MS]);
});

test.each([
  [429, null, 30_000],
  [429, 0, 1000],
  [429, 7000, 7000],
  [429, YEAR_MS, 300_000],
  [502, null, 30_000],
  [504, null, 30_000],
  [500, null, null],
  [503, 7000, null],
  [200, 7000, null],
])("a status of %d, Retry-After %p ms: the endpoint rests for %p ms", (status, retryAfter, expected) => {
  expect(slowMs(status, retryAfter)).toBe(expected);
});

test.each([
  ["120", 120_000],
  [" 0 ", 0],
  ["31536000", YEAR_MS],
  ["Tue, 24 Nov 2026 00:02:00 GMT", 120_000],
  ["Mon, 23 Nov 2026 23:00:00 GMT", 0],
  ["Fri, 31 Dec 9999 23:59:59 GMT", Date.parse("9999-12-31T23:59:59Z") - Date.parse("2026-11-24T00:00:00Z")],
  ["", null],
  ["-1", null],
  ["1.5", null],
  ["1e9", null],
  ["99999999999", null],
  ["soon", null],
  ["2026-11-24T00:02:00Z", null],
  ["Tue, 99 Nov 2026 00:02:00 GMT", null],
])("Retry-After, %j: %p ms", (header, expected) => {
  expect(retryAfterMs(header, new Date("2026-11-24T00:00:00Z"))).toBe(expected);
});

test("Retry-After, absent: null", () => {
  expect(retryAfterMs(undefined, new Date())).toBeNull();
});
