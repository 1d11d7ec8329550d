/** The filters of a list that the service searches. They are part of the address, so that a link shows the same. */
import { useCallback, useEffect, useState } from "react";
import { useAccount } from "./context.tsx";
import { useNavigation, useParameters } from "./navigation.tsx";
import { useFilter } from "./use-filter.ts";

/** `filter`: a part of a name, or an id; `since` and `until`: days. */
export type SearchFilters = { filter: string; since?: string | undefined; until?: string | undefined };

/** A pause in typing after which the list is searched. */
const PAUSE_MS = 200;

/** What is typed and selected, and `search`, for which the list is read. */
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

/**
 * What a list shows while another search is read: the list before it, but not that of another environment, whose name is the second
 * part of the key. The same function for each environment: for another one, the list would be made anew without end.
 */
export const useKeptData = () => {
  const { environment } = useAccount();
  return useCallback(
    <Data>(previous: Data, query: { queryKey: readonly unknown[] } | undefined): Data | undefined =>
      query?.queryKey[1] === environment ? previous : undefined,
    [environment],
  );
};
