/**
 * The checks of a preparation whose source is a test asset: those that a photo with this outcome would have. Each
 * number is derived from the table of requirements, so that it always fits the verdict.
 */
import {
  type Check,
  type CheckCode,
  type Range,
  REQUIREMENTS,
  type Requirement,
  type Verdict,
} from "@realtime-avatar/domain/avatars/checks";
import type { SourceKind } from "@realtime-avatar/domain/avatars/source-kind";
import type { TestOutcome } from "@realtime-avatar/domain/avatars/test-assets";
import { measuredCheck, plainCheck } from "./checks.ts";

/** Of the checks without a number, a test asset fails only this one. */
const NOT_DECODABLE = "The file cannot be decoded. Use another file.";
/** Without a decoded image, or without a face, the checks after these cannot be measured. */
const LAST_CHECKS: readonly CheckCode[] = ["decodable", "face_count"];

/** A share has a maximum that the table does not contain. */
const closed = ([min, max]: Range, unit: string | null): Range => [min, unit === "%" ? (max ?? 100) : max];

/** A number inside a range, away from its edges. */
const within = ([min, max]: Range): number => {
  if (min !== null && max !== null) return Math.round((min + max) / 2);
  if (min !== null) return Math.ceil(min + Math.max(1, Math.abs(min) / 2));
  return max === null ? 0 : Math.floor(max / 2);
};
/** A number outside of a range. */
const outside = ([min, max]: Range): number => {
  if (min !== null) return Math.floor(min - Math.max(1, Math.abs(min)) / 2);
  return max === null ? 0 : Math.ceil(max + Math.max(1, Math.abs(max)) / 2);
};

/** The measured value of a source with this verdict; null for a check without a number. */
const measuredFor = ({ required, recommended, unit }: Requirement, verdict: Verdict): number | null => {
  const range = recommended ?? required;
  if (range === null) return null;
  if (verdict === "pass") return within(closed(range, unit));
  if (verdict === "fail" || required === null || recommended === null) return outside(required ?? range);
  // Between the two bounds.
  return within([required[0] ?? recommended[1], recommended[0] ?? required[1]]);
};

const checkOf = (kind: SourceKind, requirement: Requirement, verdict: Verdict): Check => {
  const { code, description } = requirement;
  const measured = measuredFor(requirement, verdict);
  if (measured !== null) return measuredCheck(kind, code, measured);
  return plainCheck(code, verdict, verdict === "pass" ? description : NOT_DECODABLE);
};

/** The checks of a source of this kind with this outcome, in the order of the table. */
export const testChecks = (kind: SourceKind, outcome: Exclude<TestOutcome, { kind: "internal" }>): Check[] => {
  const special = outcome.kind === "failed" ? outcome.check : outcome.warning;
  const verdict = outcome.kind === "failed" ? "fail" : "warn";
  const checks: Check[] = [];
  for (const requirement of REQUIREMENTS[kind]) {
    const isSpecial = requirement.code === special;
    checks.push(checkOf(kind, requirement, isSpecial ? verdict : "pass"));
    if (isSpecial && LAST_CHECKS.includes(requirement.code)) break;
  }
  return checks;
};
