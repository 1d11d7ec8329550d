import { afterAll, afterEach, describe, expect, spyOn, test } from "bun:test";
import fc from "fast-check";
import { canonicalJson, jsonText } from "./json-text.ts";

const stringify = spyOn(JSON, "stringify");
afterEach(() => stringify.mockClear());
// Without this, the mock would keep every value that later test files of this process serialize.
afterAll(() => stringify.mockRestore());

describe("the text of an object", () => {
  test("a text, of random JSON: that of JSON.stringify", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        expect(jsonText(value)).toBe(JSON.stringify(value));
      }),
    );
  });

  test("a text, read twice: serialized once", () => {
    const value = { team: "support" };
    expect([jsonText(value), jsonText(value)]).toEqual(['{"team":"support"}', '{"team":"support"}']);
    expect(stringify).toHaveBeenCalledTimes(1);
  });

  test("the texts of two equal objects: each is serialized", () => {
    expect(jsonText({ a: 1 })).toBe(jsonText({ a: 1 }));
    expect(stringify).toHaveBeenCalledTimes(2);
  });
});

describe("canonical JSON", () => {
  /** Sorts the members of all objects; the text of an object is then canonical. */
  const sorted = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(sorted);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, member]) => [name, sorted(member)]),
    );
  };
  const jsonObject = fc.dictionary(fc.stringMatching(/^[a-zäö-]{1,3}$/), fc.jsonValue({ maxDepth: 3 }));

  test("canonical JSON, with stored texts or another order: the same", () => {
    fc.assert(
      fc.property(jsonObject, fc.boolean(), (value, isInOrder) => {
        const expected = canonicalJson(value);
        const other = (isInOrder ? sorted(value) : Object.fromEntries(Object.entries(value).reverse())) as object;
        jsonText(other);
        expect(canonicalJson(other)).toBe(expected);
      }),
    );
  });

  test("canonical JSON, members sorted at every level: the stored text", () => {
    const value = { a: [{ b: 1, c: 2 }], d: {} };
    jsonText(value);
    stringify.mockClear();
    expect(canonicalJson(value)).toBe('{"a":[{"b":1,"c":2}],"d":{}}');
    expect(stringify).not.toHaveBeenCalled();
  });

  test.each(['{"b":1,"a":2}', '{"a":[{"c":1,"b":2}]}', '{"9":1,"10":2}'])(
    "canonical JSON, of %s: not the stored text",
    (text) => {
      const value = JSON.parse(text);
      expect(canonicalJson(value)).not.toBe(jsonText(value));
      expect(canonicalJson(value)).not.toBe(text);
    },
  );
});
