import { expect, test } from "bun:test";
import { readNextCursor } from "./csv.ts";

/** A file whose last row has this text in the first of 30 cells. */
const fileOf = (first: string, rows = 2): Blob =>
  new Blob([`${"a,b\r\n".repeat(rows)}${first}${",".repeat(29)}\r\n`], { type: "text/csv" });
/** The row of the service, in unfinishedRow of the domain's lists/csv.ts. */
const unfinished = (cursor: string): string => `# NOT COMPLETE: more rows follow in the file with cursor=${cursor}`;

// 6000: the longest cursor (MAX_CURSOR of the domain's page.ts).
test.each([1, 2000, 6000])("an incomplete file, its cursor of %i characters: read", async (length) => {
  const cursor = "W".repeat(length);
  for (const rows of [1, 5000]) expect(await readNextCursor(fileOf(unfinished(cursor), rows))).toBe(cursor);
});

test.each(["c", `"${unfinished("W")}"`, "# NOT COMPLETE"])("a file that ends with %j: complete", async (last) => {
  expect(await readNextCursor(fileOf(last))).toBeNull();
});
