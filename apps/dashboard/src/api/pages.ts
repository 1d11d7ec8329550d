/** Pages of the lists that are searched. */
import type { SearchFilters } from "../layout/use-list-search.ts";

export type PageOf<Item> = { data: Item[]; nextCursor: string | null };

/** How many items are loaded first, and each time that older ones are asked for. */
export const FIRST_PAGE = 50;
export const LATER_PAGE = 100;

/** How many pages of a search are read before the person is asked whether to search on. */
const MAX_PAGES = 20;

/**
 * Reads the page at `cursor`; while it is empty and the search is not at its end, the next ones: a page of the API ends after a number
 * of rows that were compared, also when none matched.
 */
export const readUntilFound = async <Item>(
  read: (cursor: string | undefined) => Promise<PageOf<Item>>,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<PageOf<Item>> => {
  for (let next = cursor, pages = 1; ; pages++) {
    signal.throwIfAborted();
    const page = await read(next);
    if (page.data.length > 0 || page.nextCursor === null || pages === MAX_PAGES) return page;
    next = page.nextCursor;
  }
};

const ID = /^[a-z]{3}_[0-9a-z]{26}$/;

/** Midnight of a day, where the person is. */
const midnight = (day: string, later = 0): string => {
  const date = new Date(`${day}T00:00`);
  return new Date(date.getFullYear(), date.getMonth(), date.getDate() + later).toISOString();
};

/** What a person filters by, as parameters of the API. A text that is an id is one. */
export const searchQuery = ({ filter, since, until }: SearchFilters, maxLength: number) => {
  const text = filter.trim();
  const name = [...text].slice(0, maxLength).join("").toWellFormed();
  return {
    ...(text !== "" && (ID.test(text) ? { id: text } : { name })),
    ...(since && { from: midnight(since) }),
    ...(until && { to: midnight(until, 1) }),
  };
};
