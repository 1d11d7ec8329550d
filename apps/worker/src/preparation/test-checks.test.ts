/** The checks of test assets: they fit the table of requirements. */
import { expect, test } from "bun:test";
import { Check, REQUIREMENTS, toVerdict } from "@realtime-avatar/domain/avatars/checks";
import { SOURCE_KINDS } from "@realtime-avatar/domain/avatars/source-kind";
import { TEST_ASSETS } from "@realtime-avatar/domain/avatars/test-assets";
import { Value } from "@sinclair/typebox/value";
import { testChecks } from "./test-checks.ts";

const CASES = SOURCE_KINDS.flatMap((kind) =>
  Object.entries(TEST_ASSETS).flatMap(([id, outcome]) =>
    outcome.kind === "internal" ? [] : [[id, kind, outcome] as const],
  ),
);

test.each(CASES)("the checks of a test asset, %s, %s: fit the table of requirements", (_, kind, outcome) => {
  const checks = testChecks(kind, outcome);
  for (const check of checks) {
    expect(Value.Check(Check, check)).toBe(true);
    const requirement = REQUIREMENTS[kind].find(({ code }) => code === check.code);
    if (!requirement) throw new Error("unreachable");
    // A share above 100 % cannot be the measure of a photo.
    if (requirement.unit === "%" && check.verdict === "pass") expect(check.measured).toBeLessThanOrEqual(100);
    // The verdict of the check for this number.
    if (check.measured !== null) expect(toVerdict(requirement, check.measured)).toBe(check.verdict);
  }
  const special = checks.filter(({ verdict }) => verdict !== "pass").map(({ code, verdict }) => [code, verdict]);
  if (outcome.kind === "failed") expect(special).toEqual([[outcome.check, "fail"]]);
  else expect(special).toEqual(outcome.warning === null ? [] : [[outcome.warning, "warn"]]);
});
