import { expect, test } from "bun:test";
import { readNextCursor } from "./csv.ts";

/** A CSV file whose last row has 30 cells, with this text in the first one. */
const fileOf = (first: string, rows = 2): Blob =>
  new Blob([`${"a,b\r\n".repeat(rows)}${first}${",".repeat(29)}\r\n`], { type: "text/csv" });
/** The row that the service writes: `unfinishedRow` in the domain's lists/csv.ts. */
const unfinished = (cursor: string): string => `# NOT COMPLETE: more rows follow in the file with cursor=${cursor}`;

// 6000: the longest cursor (MAX_CURSOR of the domain's page.ts).
test.each([1, 2000, 6000])("an incomplete file, with a cursor of %i characters: the cursor is read", async (length) => {
  const cursor = "W".repeat(length);
  for (const rows of [1, 5000]) expect(await readNextCursor(fileOf(unfinished(cursor), rows))).toBe(cursor);
});

test.each(["c", `"${unfinished("W")}"`, "# NOT COMPLETE"])("a file whose last row is %j: complete", async (last) => {
  expect(await readNextCursor(fileOf(last))).toBeNull();
});
