/** The keys of the tenant, and their lineage. */
import type { ApiKeyWithCreator, RealtimeAvatarClient } from "@realtime-avatar/client";
import { MAX_NAME_LENGTH } from "@realtime-avatar/domain/text";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { clientFor, type Environment } from "../api/client.ts";
import { type PageOf, readUntilFound, type SearchFilters, searchQuery } from "../api/pages.ts";
import { isTrialKey } from "../call/trial.ts";
import { useAccount } from "../layout/context.tsx";
import { searchedPages, useSearchedPages, useTotal } from "../layout/use-list-search.ts";

const REFRESH_MS = 15_000;

export type KeyStatus = ApiKeyWithCreator["status"];
/** The filters of the list. `status`: null for all. */
export type KeySearch = SearchFilters & { status: KeyStatus | null };

export type Keys = {
  /** The loaded keys, newest first. */
  all: ApiKeyWithCreator[];
  byId: ReadonlyMap<string, ApiKeyWithCreator>;
  /** Whether older keys exist that are not loaded. */
  hasMore: boolean;
};

export const indexKeys = (all: ApiKeyWithCreator[], hasMore: boolean): Keys => ({
  all,
  byId: new Map(all.map((key) => [key.id, key])),
  hasMore,
});

/**
 * Leaves out keys that pages have created for themselves, because each trial of a call creates one. A search by name or
 * id finds them.
 */
export const shownKeys = (found: ApiKeyWithCreator[], { filter }: KeySearch): ApiKeyWithCreator[] =>
  filter.trim() === "" ? found.filter((key) => !isTrialKey(key)) : found;

const filtersOf = (environment: Environment, search: KeySearch) => ({
  environment,
  ...(search.status !== null && { status: search.status }),
  ...searchQuery(search, MAX_NAME_LENGTH),
});

/** Reads the matching keys of the environment. */
export const keyPages = (environment: Environment, search: KeySearch) => {
  const client = clientFor(environment);
  const filters = filtersOf(environment, search);
  const read = async (page: { limit: number; cursor?: string }): Promise<PageOf<ApiKeyWithCreator>> => {
    const { data, nextCursor } = (await client.GET("/api/v1/api-keys", { params: { query: { ...filters, ...page } } }))
      .data;
    return { data: shownKeys(data, search), nextCursor };
  };
  return searchedPages(environment, ["keys", filters], read);
};

/** The matching keys. */
export const useKeys = (search: KeySearch) => {
  const { environment } = useAccount();
  const { data, hasMore, ...query } = useSearchedPages(keyPages(environment, search), () => REFRESH_MS);
  return { ...query, data: useMemo(() => data && indexKeys(data, hasMore), [data, hasMore]) };
};

/**
 * The number of matches, for a list with more items than are loaded. Includes keys that pages have created for
 * themselves.
 */
export const useKeyTotal = (search: KeySearch, hasMore: boolean) => {
  const { client, environment } = useAccount();
  const filters = filtersOf(environment, search);
  return useTotal(["keys", filters], hasMore, async (first) => {
    return (await client.GET("/api/v1/api-keys", { params: { query: { ...filters, ...first } } })).data;
  });
};

/** A key that is not loaded in the list, for example the target of a link. */
export const useKey = (id: string, isEnabled: boolean) => {
  const { client, environment } = useAccount();
  return useQuery({
    queryKey: ["keys", environment, id],
    queryFn: async () => (await client.GET("/api/v1/api-keys/{id}", { params: { path: { id } } })).data,
    enabled: isEnabled,
  });
};

/** The parent of a key; null without one, and for an invisible one, such as a live parent in test. */
export const useParent = (parentId: string | null, keys: Keys): ApiKeyWithCreator | null => {
  const { client, environment } = useAccount();
  const listed = keys.byId.get(parentId ?? "");
  const query = useQuery({
    queryKey: ["keys", environment, "parent", parentId],
    // Uses a list, because a missing object is no error then.
    queryFn: async () => {
      const { data } = await client.GET("/api/v1/api-keys", { params: { query: { id: parentId ?? "" } } });
      return data.data[0] ?? null;
    },
    enabled: parentId !== null && listed === undefined,
  });
  return listed ?? query.data ?? null;
};

/** Maximum number of descendants that are named. */
const MAX_DESCENDANTS = 100;

export type Descendants = {
  keys: ApiKeyWithCreator[];
  /** Whether more descendants exist. */
  hasMore: boolean;
};

/** The active descendants of a key, which end when it is revoked, in both environments, newest first. */
export const readDescendants = async (
  client: Pick<RealtimeAvatarClient, "GET">,
  id: string,
  signal: AbortSignal,
): Promise<Descendants> => {
  const read = async (cursor: string | undefined): Promise<PageOf<ApiKeyWithCreator>> => {
    const query = { ancestorId: id, status: "active" as const, limit: MAX_DESCENDANTS };
    const params = { query: { ...query, ...(cursor !== undefined && { cursor }) } };
    return (await client.GET("/api/v1/api-keys", { params })).data;
  };
  const keys: ApiKeyWithCreator[] = [];
  for (let next: string | undefined; ; ) {
    const { data, nextCursor } = await readUntilFound(read, next, signal);
    keys.push(...data);
    if (nextCursor === null || keys.length >= MAX_DESCENDANTS || data.length === 0) {
      return { keys, hasMore: nextCursor !== null };
    }
    next = nextCursor;
  }
};

export const useDescendants = (id: string) => {
  const { client, environment } = useAccount();
  return useQuery({
    queryKey: ["keys", environment, "descendants", id],
    queryFn: ({ signal }) => readDescendants(client, id, signal),
    // Keys that were created since the last read need names as well.
    staleTime: 0,
  });
};

/**
 * A key with the version on which a change is based. It is read once: if it were read again behind the form, another
 * person's change could be overwritten unnoticed.
 */
export const useKeyVersion = (id: string) => {
  const { client, environment } = useAccount();
  return useQuery({
    queryKey: ["key-version", environment, id],
    queryFn: async () => {
      const { data, response } = await client.GET("/api/v1/api-keys/{id}", { params: { path: { id } } });
      return { key: data, etag: response.headers.get("etag") ?? "" };
    },
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
    gcTime: 0,
  });
};

/** A key in the tree of its lineage. `depth`: the number of its ancestors that are listed above it. */
export type Row = { key: ApiKeyWithCreator; depth: number };

/**
 * The keys as a tree: each key after its parent. A key whose parent is not listed is a root. The newest keys are loaded
 * first. A key is newer than its parent. So every matching descendant of a listed key is listed.
 */
export const keyTree = (listed: readonly ApiKeyWithCreator[]): Row[] => {
  const ids = new Set(listed.map(({ id }) => id));
  const children = Map.groupBy(listed, ({ parentId }) => (parentId !== null && ids.has(parentId) ? parentId : ""));
  const rows: Row[] = [];
  const add = (parent: string, depth: number): void => {
    for (const key of children.get(parent) ?? []) {
      rows.push({ key, depth });
      add(key.id, depth + 1);
    }
  };
  add("", 0);
  return rows;
};
