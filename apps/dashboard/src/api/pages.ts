/** Pages of the lists that are searched. */

/** The filters that a person sets. `filter`: a part of a name, or an id; `since` and `until`: days. */
export type SearchFilters = { filter: string; since?: string | undefined; until?: string | undefined };
export type PageOf<Item> = { data: Item[]; nextCursor: string | null };

/** How many items are in the first page, which is shown soon on a slow network, in the second, which follows by itself, and in later ones. */
const PAGE_SIZES = [20, 30];
const LATER_SIZE = 100;
export const pageSize = (page: number): number => PAGE_SIZES[page] ?? LATER_SIZE;

/** How many pages of a search are read before the person is asked whether to search on. */
const MAX_PAGES = 80;

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

/** Midnight of a day, or of the day that is `later` days after it, in the time zone of the browser. */
export const midnight = (day: string, later = 0): string => {
  const date = new Date(`${day}T00:00`);
  return new Date(date.getFullYear(), date.getMonth(), date.getDate() + later).toISOString();
};

/** The filters as parameters of the API. A text that is an id is one. */
export const searchQuery = ({ filter, since, until }: SearchFilters, maxLength: number) => {
  const text = filter.trim();
  const name = [...text].slice(0, maxLength).join("").toWellFormed();
  return {
    ...(text !== "" && (ID.test(text) ? { id: text } : { name })),
    ...(since && { from: midnight(since) }),
    ...(until && { to: midnight(until, 1) }),
  };
};
