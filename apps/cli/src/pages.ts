/** Pages of a list: their request, the merge of both environments, and their output. */
import type { IdPrefix } from "@realtime-avatar/domain/id";
import { readSearch } from "@realtime-avatar/domain/lists/search";
import { type List, pageText, parseItems, type WrittenPage } from "@realtime-avatar/domain/page";
import { validate } from "@realtime-avatar/domain/schema";
import type { TProperties } from "@sinclair/typebox";
import { type Columns, print, table, usageError } from "./terminal.ts";

/** Validates the options of a list like the query of a request. Options that are `undefined` are ignored. */
export const pageRequest = <Prefix extends IdPrefix, Filters extends TProperties>(
  list: List<Prefix, Filters>,
  parameters: Record<string, string | number | undefined>,
) => {
  const query = Object.fromEntries(Object.entries(parameters).filter(([, value]) => value !== undefined));
  const errors = validate(list.query, query);
  if (errors.length > 0) throw usageError(errors);
  return readSearch(list, query);
};

/**
 * Merges one page of each environment, requested with the same cursor, into one page of at most `limit` items. `idName` is
 * the member of an item that has its id.
 */
export const mergePages = (pages: readonly WrittenPage[], limit: number, idName = "id"): WrittenPage => {
  const idOf = (item: Record<string, string>): string => item[idName] ?? "";
  // Below the highest `next`, the page of that environment is incomplete: its list has more items.
  const floor =
    pages
      .map(({ next }) => next ?? "")
      .sort()
      .at(-1) ?? "";
  const items = pages.flatMap((page) => parseItems<Record<string, string>>(page)).filter((item) => idOf(item) >= floor);
  const byId = [...new Map(items.map((item) => [idOf(item), item])).values()].sort((a, b) =>
    idOf(a) < idOf(b) ? 1 : -1,
  );
  const shown = byId.slice(0, limit);
  const next = byId.length > limit ? idOf(shown.at(-1) ?? {}) : floor;
  return { items: shown.map((item) => JSON.stringify(item)).join(), next: next === "" ? null : next };
};

/** Prints a page as the API returns it, or as a table or `emptyText`, with the option for the next page. */
export const printPage = <Item>(
  options: { json?: boolean },
  { list, request, written }: { list: { prefix: IdPrefix }; request: { filters: object }; written: WrittenPage },
  columns: Columns<Item>,
  emptyText: string,
): void => {
  const page: { data: Item[]; nextCursor: string | null } = JSON.parse(pageText(list, request, written).join(""));
  const { data, nextCursor } = page;
  const text = data.length > 0 ? table(columns, data) : nextCursor === null ? emptyText : "No items on this page.";
  print(options, page, nextCursor === null ? text : `${text}\nNext page: --cursor ${nextCursor}`);
};
