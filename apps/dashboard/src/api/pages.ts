/** Pages of the lists that are searched. */

/** The filters that a person sets. `filter`: a part of a name, or an id; `since` and `until`: days. */
export type SearchFilters = { filter: string; since?: string | undefined; until?: string | undefined };
export type PageOf<Item> = { data: Item[]; nextCursor: string | null };

/**
 * Number of items of the first page, which is small for slow networks, and of later ones. The second page follows by
 * itself.
 */
const PAGE_SIZES = [20, 30];
const LATER_SIZE = 100;
export const pageSize = (page: number): number => PAGE_SIZES[page] ?? LATER_SIZE;

/** Number of pages of a search that are read before the person is asked whether to continue. */
const MAX_PAGES = 80;

/**
 * Reads the page at `cursor`, and following pages while they are empty. A page of the API can be empty before the end
 * of a search, because it ends after a fixed number of compared rows.
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

/** Midnight of a day, or `later` days after it, in the time zone of the browser. */
export const midnight = (day: string, later = 0): string => {
  const date = new Date(`${day}T00:00`);
  return new Date(date.getFullYear(), date.getMonth(), date.getDate() + later).toISOString();
};

/** The filters as parameters of the API. A text in the form of an id filters by id. */
export const searchQuery = ({ filter, since, until }: SearchFilters, maxLength: number) => {
  const text = filter.trim();
  const name = [...text].slice(0, maxLength).join("").toWellFormed();
  return {
    ...(text !== "" && (ID.test(text) ? { id: text } : { name })),
    ...(since && { from: midnight(since) }),
    ...(until && { to: midnight(until, 1) }),
  };
};
