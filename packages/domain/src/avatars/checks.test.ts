import { expect, test } from "bun:test";
import { validate } from "../schema.ts";
import { CHECK_CODES, Check, decidingBound, MAX_CHECKS, REQUIREMENTS, type Requirement, toVerdict } from "./checks.ts";
import { SOURCE_KINDS } from "./source-kind.ts";

const requirement = (bounds: Partial<Requirement>): Requirement => ({
  code: "brightness",
  description: "The face is bright.",
  unit: "%",
  required: null,
  recommended: null,
  ...bounds,
});

test.each([
  [{ required: [15, null], recommended: [30, null] }, 14.9, "fail", 15],
  [{ required: [15, null], recommended: [30, null] }, 15, "warn", 30],
  [{ required: [15, null], recommended: [30, null] }, 30, "pass", 30],
  [{ required: [null, 25] }, 25, "pass", 25],
  [{ required: [null, 25] }, 25.1, "fail", 25],
  [{ required: [10, 90] }, 9, "fail", 10],
  [{ required: [10, 90] }, 91, "fail", 90],
  [{ required: [10, 90] }, 80, "pass", 90],
  [{ required: [1, 1] }, 0, "fail", 1],
  [{ required: [1, 1] }, 2, "fail", 1],
  [{}, 7, "pass", null],
] as const)("a value, bounds %j, measured %d: %s", (bounds, measured, verdict, limit) => {
  expect([toVerdict(requirement(bounds), measured), decidingBound(requirement(bounds), measured)]).toEqual([
    verdict,
    limit,
  ]);
});

test("the checks, of each kind of source: listed once, few enough for a response", () => {
  for (const kind of SOURCE_KINDS) {
    const codes = REQUIREMENTS[kind].map(({ code }) => code);
    expect(new Set(codes).size).toBe(codes.length);
    expect(codes.length).toBeLessThanOrEqual(MAX_CHECKS);
    expect(codes.filter((code) => !CHECK_CODES.includes(code))).toEqual([]);
  }
});

test("a check, in a response: valid; with NaN or another verdict: not", () => {
  const check = {
    code: "resolution",
    verdict: "fail",
    measured: 300.5,
    limit: 512,
    detail: "The picture is too small.",
  };
  expect(validate(Check, check)).toEqual([]);
  expect(validate(Check, { ...check, measured: null, limit: null })).toEqual([]);
  expect(validate(Check, { ...check, measured: Number.NaN })).toHaveLength(1);
  expect(validate(Check, { ...check, verdict: "good" })).toHaveLength(1);
});
