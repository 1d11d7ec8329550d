import { describe, expect, test } from "bun:test";
import { entityTag, isKnown, readIfMatch } from "./conditional.ts";

const withHeader = (name: string, value: string) => new Request("http://localhost", { headers: { [name]: value } });

describe("If-Match", () => {
  test.each<[string, number[], number[]]>([
    ['"1"', [1], [2, 11]],
    ['"1", "3"', [1, 3], [2]],
    [' , "1" ,, "3"', [1, 3], [2]],
    ["*", [1, 7], []],
    ['W/"1"', [], [1]],
    ['"01", "x", ""', [], [1]],
  ])("an If-Match header, value %s: matches exactly its versions", (value, matching, others) => {
    const { versions, matches, errors } = readIfMatch(withHeader("if-match", value));
    expect(errors).toEqual([]);
    // The database compares `versions`.
    for (const version of [...matching, ...others]) {
      expect(versions?.includes(String(version)) ?? true).toBe(matches(version));
    }
    for (const version of matching) expect(matches(version)).toBe(true);
    for (const version of others) expect(matches(version)).toBe(false);
  });

  test.each(["1", '"1', '"1" "2"', "*, *", "", `"${"x".repeat(1024)}"`])(
    "an If-Match header, value %p: malformed, matches nothing",
    (value) => {
      const { matches, errors } = readIfMatch(withHeader("if-match", value));
      expect(errors).toMatchObject([{ header: "If-Match", code: "malformed" }]);
      expect(matches(1)).toBe(false);
    },
  );

  test("an If-Match header, absent: no condition, no error", () => {
    expect(readIfMatch(new Request("http://localhost"))).toMatchObject({ versions: null, errors: [] });
  });
});

describe("If-None-Match", () => {
  test.each<[string, boolean]>([
    ['"2"', true],
    ['W/"2"', true],
    ['"1", "2"', true],
    ["*", true],
    ['"1"', false],
    ["2", false],
  ])("an If-None-Match header, value %s: names version 2: %p", (value, expected) => {
    expect(isKnown(withHeader("if-none-match", value), { version: 2 })).toBe(expected);
  });

  test("an If-None-Match header, absent: names no version", () => {
    expect(isKnown(new Request("http://localhost"), { version: 2 })).toBe(false);
  });
});

test("an entity tag, of version 12: the version in quotes", () => {
  expect(entityTag({ version: 12 })).toBe('"12"');
});
