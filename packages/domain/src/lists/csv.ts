/**
 * Lists as CSV (RFC 4180), in UTF-8 without a byte order mark. A column has the name of a field, a row is an item. Numbers stay
 * numbers, null is empty, and lists and objects are JSON.
 *
 * A spreadsheet recognizes a formula by the first character of a cell. These files contain texts of callers, so a text
 * with such a character gets an apostrophe before it (https://owasp.org/www-community/attacks/CSV_Injection).
 */
import { type TObject, type TProperties, Type } from "@sinclair/typebox";
import type { IdPrefix } from "../id.ts";
import type { List } from "../page.ts";
import { ClosedObject, Count } from "../schema.ts";

/** The maximum number of rows in one file: 30 MB of entries. */
export const MAX_FILE_ROWS = 100_000;
/** A file ends at this size in bytes, or at most a page later. */
export const MAX_FILE_BYTES = 64 * 1024 * 1024;

/** The query parameters of a list as a file: those of its pages, with more rows and without a total. */
export const fileQuery = <Prefix extends IdPrefix, Filters extends TProperties>({
  query,
}: List<Prefix, Filters>): TObject => {
  const { total: _, ...properties } = query.properties;
  return ClosedObject({
    ...properties,
    limit: Type.Optional(
      Count({
        minimum: 1,
        maximum: MAX_FILE_ROWS,
        description: `Maximum number of rows in the file; default ${MAX_FILE_ROWS}.`,
      }),
    ),
  });
};

/**
 * The places at which a spreadsheet sees the start of a formula. The first part finds the start of a text, also after
 * white space. The second part finds the place after a semicolon, a tab or the end of a line: there, a spreadsheet with
 * another separator begins a new cell, even in quotes. The second part looks back only from a sign, so that a long text
 * takes linear time. The signs from U+FF1D on are full-width forms; U+200B to U+200D are invisible.
 */
const FORMULA =
  /^(?=[\s\u200b-\u200d]*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n])|(?=[=+\-@\uff1d\uff0b\uff0d\uff20])(?<=[;\t\r\n][\s\u200b-\u200d"']*)/g;

const textCell = (text: string): string => {
  const safe = text.replace(FORMULA, "'");
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

const cell = (value: unknown): string => {
  if (value === null || value === undefined) return "";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return textCell(typeof value === "string" ? value : JSON.stringify(value));
};

export const csvRow = (values: readonly unknown[]): string => `${values.map(cell).join(",")}\r\n`;

/**
 * The last row of a file that ends before the end of its list. The first cell says so to people. It is not an id, so
 * that a program does not take the file for the whole list. `cursor`: the start of the next file.
 */
export const unfinishedRow = (columns: readonly string[], cursor: string): string =>
  csvRow([`# NOT COMPLETE: more rows follow in the file with cursor=${cursor}`, ...columns.slice(1).fill("")]);
