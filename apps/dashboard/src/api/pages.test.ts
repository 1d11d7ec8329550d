import { expect, test } from "bun:test";
import { readUntilFound, searchQuery } from "./pages.ts";

const signal = new AbortController().signal;
/** Pages whose cursors are their numbers. `items`: the items of each page. */
const pages =
  (...items: number[][]) =>
  (cursor: string | undefined) => {
    const at = Number(cursor ?? 0);
    return Promise.resolve({ data: items[at] ?? [], nextCursor: at + 1 < items.length ? String(at + 1) : null });
  };

test("a search, with empty pages: read until items are found, the list ends, or many pages were empty", async () => {
  expect(await readUntilFound(pages([], [], [1], [2]), undefined, signal)).toEqual({ data: [1], nextCursor: "3" });
  expect(await readUntilFound(pages([1], [2]), "1", signal)).toEqual({ data: [2], nextCursor: null });
  expect(await readUntilFound(pages([], []), undefined, signal)).toEqual({ data: [], nextCursor: null });
  const many = Array.from({ length: 100 }, () => []);
  expect(await readUntilFound(pages(...many), undefined, signal)).toEqual({ data: [], nextCursor: "80" });
  expect(readUntilFound(pages(...many), undefined, AbortSignal.abort())).rejects.toThrow();
});

test("the filters of a list: parameters of the API", () => {
  expect(searchQuery({ filter: "  " }, 120)).toEqual({});
  expect(searchQuery({ filter: " Ada % " }, 120)).toEqual({ name: "Ada %" });
  expect(searchQuery({ filter: "😀".repeat(200) }, 120)).toEqual({ name: "😀".repeat(120) });
  const id = "key_01h455vb4pex5vsknk084sn02q";
  expect(searchQuery({ filter: ` ${id}` }, 120)).toEqual({ id });
  // Days begin at midnight in the person's time zone. The last day is included.
  const { from = "", to = "" } = searchQuery({ filter: "", since: "2026-03-01", until: "2026-03-01" }, 120);
  expect([new Date(from).getHours(), new Date(to).getHours(), new Date(to).getDate()]).toEqual([0, 0, 2]);
});
