/** docs/preparation.md: its tables equal those in the code. */
import { expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { REPOSITORY } from "@realtime-avatar/testing/processes";
import { TABLES } from "../support/documents/preparation.ts";

const text = await readFile(join(REPOSITORY, "docs/preparation.md"), "utf8");

/** The cells of a Markdown table, without the line below its head. */
const cellsOf = (table: string): string[][] =>
  table
    .trim()
    .split("\n")
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
    .filter((cells) => !cells.every((cell) => /^:?-+:?$/.test(cell)));

/** The table between its marker and the next one. */
const documented = (name: string): string => new RegExp(`<!-- ${name} -->\n([\\s\\S]*?)<!-- -->`).exec(text)?.[1] ?? "";

test.each(Object.keys(TABLES))("the table of %s in docs/preparation.md: equal to the table in the code", (name) => {
  const rows = cellsOf(TABLES[name]?.() ?? "");
  expect(rows.length).toBeGreaterThan(3);
  expect(cellsOf(documented(name))).toEqual(rows);
});
