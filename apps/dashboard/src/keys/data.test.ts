/** The tree of keys. */
import { expect, test } from "bun:test";
import type { ApiKeyWithCreator } from "@realtime-avatar/client";
import { creatorText } from "./creator.tsx";
import { descendantsOf, keysOf, treeOf } from "./data.ts";

const key = (id: string, parentId: string | null, fields: Partial<ApiKeyWithCreator> = {}): ApiKeyWithCreator =>
  ({
    id,
    parentId,
    name: `name of ${id}`,
    environment: "live",
    status: "active",
    redactedKey: id,
    ...fields,
  }) as ApiKeyWithCreator;

/** Newest first, as the API lists them. */
const ALL = [
  key("t2", "t1", { environment: "test" }),
  key("t1", "a", { environment: "test" }),
  key("a21", "a2", { status: "revoked" }),
  key("a2", "a", { status: "revoked" }),
  key("b1", "b"),
  key("a1", "a"),
  key("b", null),
  key("a", null),
];
const rows = (all: ApiKeyWithCreator[], options: Partial<Parameters<typeof treeOf>[1]> = {}) =>
  treeOf(keysOf(all, false), { environment: "live", withEnded: false, filter: "", ...options }).map(
    ({ key: { id }, depth }) => `${id} ${depth}`,
  );

test("the tree, of keys: children behind parents, ended keys left out", () => {
  expect(rows(ALL)).toEqual(["b 0", "b1 1", "a 0", "a1 1"]);
  expect(rows(ALL, { withEnded: true })).toEqual(["b 0", "b1 1", "a 0", "a2 1", "a21 2", "a1 1"]);
});

test("a key, its parent not loaded or of another environment: a root", () => {
  expect(rows(ALL.slice(0, 6))).toEqual(["b1 0", "a1 0"]);
  expect(rows(ALL, { environment: "test" })).toEqual(["t1 0", "t2 1"]);
});

test("the creator of a key, in words: by name; of a live key in test, without; none for a root key", () => {
  expect(creatorText(key("a", null, { createdBy: "usr_1", createdByName: "Ada" }))).toBeNull();
  expect(creatorText(key("a1", "a", { createdBy: "a", createdByName: "Website" }))).toBe("Created by Website");
  const inTest = { environment: "test", createdBy: "a", createdByName: null } as const;
  expect(creatorText(key("t1", "a", inTest))).toBe("Created by a live key");
});

test("the tree, filtered by name, id or public part: matches in any letter case", () => {
  expect(rows(ALL, { filter: " NAME OF A1 " })).toEqual(["a1 0"]);
  expect(rows(ALL, { filter: "b1" })).toEqual(["b1 0"]);
  expect(rows(ALL, { filter: "nothing" })).toEqual([]);
});

test("the descendants, of a key: active ones of both environments", () => {
  const ids = (id: string) => descendantsOf(keysOf(ALL, false), id).map((each) => each.id);
  expect(ids("a")).toEqual(["t2", "t1", "a1"]);
  expect(ids("b")).toEqual(["b1"]);
  expect(ids("b1")).toEqual([]);
});

test("the tree, of 5,000 keys in nine levels: complete and in order", () => {
  const line = Array.from({ length: 9 }, (_, depth) => key(`l${depth}`, depth === 0 ? null : `l${depth - 1}`));
  const others = Array.from({ length: 5000 }, (_, index) => key(`o${index}`, index % 2 ? `o${index - 1}` : null));
  const listed = rows([...others.toReversed(), ...line.toReversed()]);
  expect(listed).toHaveLength(5009);
  expect(listed.slice(-9)).toEqual(line.map(({ id }, depth) => `${id} ${depth}`));
});
