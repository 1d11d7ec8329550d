import { describe, expect, test } from "bun:test";
import { seededBytes } from "@realtime-avatar/testing/random-bytes";
import fc from "fast-check";
import { API_KEY_LIST } from "./api-keys/schemas.ts";
import { AUDIT_EVENT_LIST } from "./audit.ts";
import { AVATAR_LIST, AvatarPage } from "./avatars/schemas.ts";
import { newId } from "./id.ts";
import { pageText, parseItems, readPage } from "./page.ts";
import { Problem } from "./problem.ts";
import { validate } from "./schema.ts";

const random = seededBytes("page");
const now = new Date("2026-11-20T12:00:00.000Z");
const id = newId("ava", now, random);

/** The cursor of a page of avatars that is not the last one. */
const cursorOf = (filters: object, last: string = id): string => {
  const { nextCursor } = JSON.parse(pageText(AVATAR_LIST, { filters }, { items: "", next: last }).join(""));
  if (nextCursor === null) throw new Error("there is no cursor");
  return nextCursor;
};
const code = (work: () => unknown): string | undefined => {
  try {
    work();
  } catch (error) {
    if (error instanceof Problem && error.extras.errors?.[0]?.parameter === "cursor")
      return error.extras.errors[0].code;
    throw error;
  }
  return undefined;
};
const encode = (value: unknown): string =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");

describe("a page", () => {
  test("a page, with and without a next one: its items unchanged, a cursor or null", () => {
    const items = '{"a":1e+308},{"a":"\\u0001 \u2028"}';
    const page = (next: string | null) => pageText(AVATAR_LIST, { filters: {} }, { items, next }).join("");
    expect(page(null)).toBe(`{"data":[${items}],"nextCursor":null}`);
    const { data, nextCursor } = JSON.parse(page(id));
    expect(data).toEqual([{ a: 1e308 }, { a: "\u0001 \u2028" }]);
    expect(parseItems<object>({ items, next: null })).toEqual(data);
    expect(readPage(AVATAR_LIST, { cursor: nextCursor })).toEqual({ filters: {}, before: id, limit: 50 });
    expect(JSON.parse(pageText(AVATAR_LIST, { filters: {} }, { items: "", next: null }).join(""))).toEqual({
      data: [],
      nextCursor: null,
    });
  });

  test("a page, with a cursor: valid for its schema", () => {
    expect(validate(AvatarPage, { data: [], nextCursor: cursorOf({}) })).toEqual([]);
  });
});

describe("a cursor", () => {
  test("a cursor, with filters: the filters of the request are absent or equal", () => {
    const cursor = cursorOf({ status: "ready", sourceKind: "image" });
    const expected = { filters: { status: "ready", sourceKind: "image" } as const, before: id, limit: 7 };
    expect(readPage(AVATAR_LIST, { cursor, limit: 7 })).toEqual(expected);
    expect(readPage(AVATAR_LIST, { cursor, limit: 7, sourceKind: "image" })).toEqual(expected);
    expect(readPage(AVATAR_LIST, { cursor, limit: 7, sourceKind: "image", status: "ready" })).toEqual(expected);
    expect(code(() => readPage(AVATAR_LIST, { cursor, status: "failed" }))).toBe("invalid_cursor");
    expect(code(() => readPage(AVATAR_LIST, { cursor: cursorOf({}), status: "ready" }))).toBe("invalid_cursor");
  });

  test("a cursor, of another list: refused", () => {
    const cursor = cursorOf({});
    expect(code(() => readPage(API_KEY_LIST, { cursor }))).toBe("invalid_cursor");
    expect(code(() => readPage(AUDIT_EVENT_LIST, { cursor }))).toBe("invalid_cursor");
  });

  test.each([
    ["empty", "="],
    ["not JSON", encode("x")],
    ["not an array", encode({})],
    ["null", encode(null)],
    ["another format", encode([2, "ava", [], id])],
    ["an id of another kind", encode([1, "ava", [], newId("key", now, random)])],
    ["a malformed id", encode([1, "ava", [], `${id}'`])],
    ["an unknown filter", encode([1, "ava", [["colour", "x"]], id])],
    ["an unknown parameter as a filter", encode([1, "ava", [["limit", 5]], id])],
    ["a bad filter", encode([1, "ava", [["status", "x"]], id])],
    [
      "a filter twice",
      encode([
        1,
        "ava",
        [
          ["status", "draft"],
          ["status", "ready"],
        ],
        id,
      ]),
    ],
    [
      "filters out of order",
      encode([
        1,
        "ava",
        [
          ["status", "draft"],
          ["sourceKind", "image"],
        ],
        id,
      ]),
    ],
    ["a prototype", encode('[1,"ava",[["__proto__",{"status":"ready"}]],"x"]')],
    ["an extra element", encode([1, "ava", [], id, 1])],
    ["other spacing", encode(` [1,"ava",[],"${id}"]`)],
    ["other base64", `${encode([1, "ava", [], id])}=`],
  ])("a cursor, %s: refused", (_, cursor) => {
    expect(code(() => readPage(AVATAR_LIST, { cursor }))).toBe("invalid_cursor");
  });

  test("a cursor, one character changed: refused, or valid for other rows of the same list", () => {
    const cursor = cursorOf({ status: "ready" });
    fc.assert(
      fc.property(fc.nat(cursor.length - 1), fc.constantFrom(..."AZaz09-_=+"), (index, character) => {
        const changed = cursor.slice(0, index) + character + cursor.slice(index + 1);
        if (changed === cursor) return;
        try {
          expect(readPage(AVATAR_LIST, { cursor: changed }).before).not.toBe(id);
        } catch (error) {
          expect((error as Problem).code).toBe("validation_failed");
        }
      }),
      { seed: 12, numRuns: 2000 },
    );
  });
});
