/**
 * The filters of a list that the service searches. They are part of the address, so that a link shows the same list.
 */
import { infiniteQueryOptions, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import type { Environment } from "../api/client.ts";
import { type PageOf, pageSize, readUntilFound, type SearchFilters } from "../api/pages.ts";
import type { ListTotal } from "../format.ts";
import { useAccount } from "./context.tsx";
import { useNavigation, useParameters } from "./navigation.tsx";
import { useFilter } from "./use-filter.ts";

/** The pause in typing before a search. */
const PAUSE_MS = 200;

/** The typed and selected filters, and `search`, for which the list is read. */
export const useListSearch = () => {
  const { change } = useNavigation();
  const { since, until } = useParameters();
  const [typed, setTyped] = useFilter();
  const [filter, setFilter] = useState(typed);
  useEffect(() => {
    const timer = setTimeout(() => setFilter(typed), typed === "" ? 0 : PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  const search: SearchFilters = { filter, since, until };
  return {
    typed,
    setTyped,
    search,
    isFiltered: filter.trim() !== "" || since !== undefined || until !== undefined,
    setDay: (name: "since" | "until", day: string) => change({ [name]: day || undefined }, true),
    clear: () => {
      setTyped("");
      change({ filter: undefined, since: undefined, until: undefined, status: undefined, all: undefined }, true);
    },
  };
};

export type ListSearch = ReturnType<typeof useListSearch>;

/** The first item with the total. */
const FIRST = { limit: 1, total: "true" } as const;
const TOTAL_REFRESH_MS = 60_000;

/**
 * The number of items that match the filters of a list whose later pages are not loaded; undefined until it is known,
 * and for a completely loaded list, which needs no count. `read`: adds `first` to the query of the list.
 */
export const useTotal = (
  [name, filters]: readonly [name: string, filters: object],
  hasMore: boolean,
  read: (first: typeof FIRST) => Promise<{ total?: ListTotal }>,
): ListTotal | undefined => {
  const { environment } = useAccount();
  const { data } = useQuery({
    queryKey: [name, environment, "total", filters],
    queryFn: async () => (await read(FIRST)).total ?? null,
    enabled: hasMore,
    refetchInterval: TOTAL_REFRESH_MS,
  });
  return (hasMore && data) || undefined;
};

type Start = { page: number; cursor?: string };

/** The query of a list that the service searches. `read`: reads a page. */
export const searchedPages = <Item>(
  environment: Environment,
  [name, filters]: readonly [name: string, filters: object],
  read: (query: { limit: number; cursor?: string }) => Promise<PageOf<Item>>,
) =>
  infiniteQueryOptions({
    queryKey: [name, environment, "list", filters],
    initialPageParam: { page: 0 } as Start,
    queryFn: ({ pageParam: { page, cursor }, signal }) =>
      readUntilFound(
        (next) => read({ limit: pageSize(page), ...(next !== undefined && { cursor: next }) }),
        cursor,
        signal,
      ),
    getNextPageParam: ({ nextCursor }, pages): Start | undefined =>
      nextCursor === null ? undefined : { page: pages.length, cursor: nextCursor },
  });

/**
 * The placeholder of a list until it is read: the list of the previous search in the same environment. Query keys have
 * the environment in second place.
 */
export const shownBefore =
  (environment: Environment) =>
  <Data>(previous: Data, before: { queryKey: readonly unknown[] } | undefined): Data | undefined =>
    before?.queryKey[1] === environment ? previous : undefined;

/** The pages of a list that the service searches. The second page follows the first by itself. */
export const useSearchedPages = <Item>(
  pages: ReturnType<typeof searchedPages<Item>>,
  refreshMs: (loaded: PageOf<Item>[]) => number,
) => {
  const { environment } = useAccount();
  const query = useInfiniteQuery({
    ...pages,
    // The same function for each environment. Otherwise the list would be created again endlessly.
    placeholderData: useMemo(() => shownBefore(environment), [environment]),
    // Every page is read again, so the interval grows with their number and the load stays the same.
    refetchInterval: ({ state }) => {
      const loaded = state.data?.pages ?? [];
      return refreshMs(loaded) * Math.max(1, loaded.length);
    },
  });
  const { data, hasNextPage, isFetching, isPlaceholderData, fetchNextPage } = query;
  const isFirst = data?.pages.length === 1 && (data.pages[0]?.data.length ?? 0) > 0;
  useEffect(() => {
    if (isFirst && hasNextPage && !isFetching && !isPlaceholderData) void fetchNextPage();
  }, [isFirst, hasNextPage, isFetching, isPlaceholderData, fetchNextPage]);
  const items = useMemo(() => data?.pages.flatMap((page) => page.data), [data]);
  return { ...query, data: items, hasMore: hasNextPage };
};
