/**
 * Times are stored in milliseconds. PostgreSQL rounds times, so a time in the second half of a millisecond would be
 * stored as the next one. A row that is due now would be due later, and a lease that ends now would end later.
 * Therefore every stored clock is truncated.
 */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { functionFiles } from "./files.ts";

const SRC = join(import.meta.dir, "..");
const CLOCK = /\b(?:now|(?:clock|statement|transaction)_timestamp)\(\)|\bcurrent_timestamp\b/g;
/**
 * The allowed contexts before a clock: a truncation, a comparison, a difference, a function that only compares or
 * truncates the time, and the time of an id.
 */
const BEFORE =
  /(?:date_trunc\('milliseconds', |[<>]=? ?|<= \([\w.]+, | - |rta\.\w+_to_serve\(|rta\.may_report\([^;]*|rta\.close_sessions\([^;]*|checked_at := |v_at constant timestamptz := )$/;
/** The allowed contexts after a clock: a difference, or the name under which a statement returns it. */
const BEHIND = /^(?: - | as "checkedAt")/;

/** The lines of an SQL text that store a clock in a row or a variable without truncating it. */
const untruncated = (text: string): string[] => {
  const code = text.replaceAll(/--.*/g, "").replaceAll(/\brta_[0-9a-f]{12}\./g, "rta.");
  return [...code.matchAll(CLOCK)].flatMap(({ 0: clock, index }) => {
    const [before, behind] = [code.slice(0, index), code.slice(index + clock.length)];
    if (BEFORE.test(before.slice(-200)) || BEHIND.test(behind)) return [];
    return [`${before.split("\n").at(-1)}${clock}${behind.split("\n")[0]}`.trim()];
  });
};

test.each([
  ["v_now timestamptz := clock_timestamp();"],
  ["insert into public.t (a, at) values (1, now());"],
  ["update public.t set at = clock_timestamp() where a = 1;"],
  ["p_t.expires_at := clock_timestamp() + p_age;"],
  ["insert into t (at) values (current_timestamp)"],
])("the search: finds %p", (text) => {
  expect(untruncated(text)).toEqual([text]);
});

test("the functions and the statements: every stored clock is truncated", async () => {
  const files = (await functionFiles()).map((path) => join(SRC, path));
  expect(files.length).toBeGreaterThan(100);
  const found: string[] = [];
  for (const file of [...files, join(SRC, "../generated/statements.sql")]) {
    found.push(...untruncated(await Bun.file(file).text()).map((line) => `${file}: ${line}`));
  }
  expect(found).toEqual([]);
});
