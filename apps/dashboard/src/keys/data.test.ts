/** The tree of keys. */
import { expect, test } from "bun:test";
import { type ApiKeyWithCreator, createClient } from "@realtime-avatar/client";
import { creatorText } from "./creator.tsx";
import { indexKeys, keyTree, readDescendants, shownKeys } from "./data.ts";

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
const rows = (all: ApiKeyWithCreator[]) => keyTree(all).map(({ key: { id }, depth }) => `${id} ${depth}`);

test("the tree, of keys: children behind parents", () => {
  expect(rows(ALL)).toEqual(["b 0", "b1 1", "a 0", "t1 1", "t2 2", "a2 1", "a21 2", "a1 1"]);
});

test("a key whose parent is not listed: a root", () => {
  expect(rows(ALL.slice(3, 6))).toEqual(["a2 0", "b1 0", "a1 0"]);
});

test("the creator of a key, in words: its name; without a name for a live key in test; none for a root key", () => {
  expect(creatorText(key("a", null, { createdBy: "usr_1", createdByName: "Ada" }))).toBeNull();
  expect(creatorText(key("a1", "a", { createdBy: "a", createdByName: "Website" }))).toBe("Created by Website");
  const inTest = { environment: "test", createdBy: "a", createdByName: null } as const;
  expect(creatorText(key("t1", "a", inTest))).toBe("Created by a live key");
});

test("the tree, of 5,000 keys in nine levels: complete and in order", () => {
  const line = Array.from({ length: 9 }, (_, depth) => key(`l${depth}`, depth === 0 ? null : `l${depth - 1}`));
  const others = Array.from({ length: 5000 }, (_, index) => key(`o${index}`, index % 2 ? `o${index - 1}` : null));
  const listed = rows([...others.toReversed(), ...line.toReversed()]);
  expect(listed).toHaveLength(5009);
  expect(listed.slice(-9)).toEqual(line.map(({ id }, depth) => `${id} ${depth}`));
});

test("keys of trials: shown only in a search", () => {
  const trial = { name: "Try a call", createdAt: "2026-11-20T12:00:00Z", expiresAt: "2026-11-20T12:30:00Z" };
  const found = [key("a", null), key("t", null, trial)];
  const shown = (filter: string) => shownKeys(found, { filter, status: null }).map(({ id }) => id);
  expect([shown(" "), shown("t")]).toEqual([["a"], ["a", "t"]]);
});

test("the descendants that end with a key: read up to a hundred", async () => {
  const cursors: (string | null)[] = [];
  const descendants = async (pages: number[]) => {
    cursors.length = 0;
    const fetch = async ({ url }: Request): Promise<Response> => {
      const query = new URL(url).searchParams;
      expect([query.get("ancestorId"), query.get("status"), query.get("limit")]).toEqual(["a", "active", "100"]);
      const at = cursors.push(query.get("cursor")) - 1;
      const data = Array.from({ length: pages[at] ?? 0 }, (_, index) => key(`k${at}-${index}`, "a"));
      return Response.json({ data, nextCursor: at + 1 < pages.length ? `page ${at + 1}` : null });
    };
    const client = createClient({ baseUrl: "https://a.example", cookieEnvironment: "live", fetch });
    const { keys, hasMore } = await readDescendants(client, "a", new AbortController().signal);
    return [keys.length, hasMore, cursors.length];
  };
  expect(await descendants([0])).toEqual([0, false, 1]);
  expect(await descendants([2, 0, 3])).toEqual([5, false, 3]);
  expect(cursors).toEqual([null, "page 1", "page 2"]);
  expect(await descendants([99, 1, 1])).toEqual([100, true, 2]);
  expect(await descendants([100])).toEqual([100, false, 1]);
});

test("loaded keys: found by their id, and whether more exist", () => {
  const keys = indexKeys(ALL, true);
  expect([keys.byId.get("b1")?.id, keys.byId.get("x"), keys.hasMore]).toEqual(["b1", undefined, true]);
});
