/** The keys of the tenant, and which key created which. */
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
  /** Whether there are older keys, which are not loaded. */
  hasMore: boolean;
};

export const indexKeys = (all: ApiKeyWithCreator[], hasMore: boolean): Keys => ({
  all,
  byId: new Map(all.map((key) => [key.id, key])),
  hasMore,
});

/** Those that pages have created for themselves are left out: each trial of a call makes one. A search by name or id finds them. */
export const shownKeys = (found: ApiKeyWithCreator[], { filter }: KeySearch): ApiKeyWithCreator[] =>
  filter.trim() === "" ? found.filter((key) => !isTrialKey(key)) : found;

const filtersOf = (environment: Environment, search: KeySearch) => ({
  environment,
  ...(search.status !== null && { status: search.status }),
  ...searchQuery(search, MAX_NAME_LENGTH),
});

/** How the keys of the environment that match are read. */
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

/** These keys. */
export const useKeys = (search: KeySearch) => {
  const { environment } = useAccount();
  const { data, hasMore, ...query } = useSearchedPages(keyPages(environment, search), () => REFRESH_MS);
  return { ...query, data: useMemo(() => data && indexKeys(data, hasMore), [data, hasMore]) };
};

/** How many keys match, of a list that has more than are loaded. Those that pages have created for themselves count. */
export const useKeyTotal = (search: KeySearch, hasMore: boolean) => {
  const { client, environment } = useAccount();
  const filters = filtersOf(environment, search);
  return useTotal(["keys", filters], hasMore, async (first) => {
    return (await client.GET("/api/v1/api-keys", { params: { query: { ...filters, ...first } } })).data;
  });
};

/** A key that is not among the loaded ones, such as the one to which a link leads. */
export const useKey = (id: string, isEnabled: boolean) => {
  const { client, environment } = useAccount();
  return useQuery({
    queryKey: ["keys", environment, id],
    queryFn: async () => (await client.GET("/api/v1/api-keys/{id}", { params: { path: { id } } })).data,
    enabled: isEnabled,
  });
};

/** The key that created another one; null for none, and for one that cannot be seen, as one of live from test. */
export const useParent = (parentId: string | null, keys: Keys): ApiKeyWithCreator | null => {
  const { client, environment } = useAccount();
  const listed = keys.byId.get(parentId ?? "");
  const query = useQuery({
    queryKey: ["keys", environment, "parent", parentId],
    // A list: a missing object is no error.
    queryFn: async () => {
      const { data } = await client.GET("/api/v1/api-keys", { params: { query: { id: parentId ?? "" } } });
      return data.data[0] ?? null;
    },
    enabled: parentId !== null && listed === undefined,
  });
  return listed ?? query.data ?? null;
};

/** How many descendants of a key are named at most. */
const MAX_DESCENDANTS = 100;

export type Descendants = {
  keys: ApiKeyWithCreator[];
  /** Whether there are more of them. */
  hasMore: boolean;
};

/** The active keys that end when the key is revoked: its descendants in both environments, newest first. */
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
    // Keys created since then need names as well.
    staleTime: 0,
  });
};

/**
 * A key with the version to which a change of it refers. It is read once: were it read again behind the form, a change of
 * another person could be overwritten unseen.
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

/** A key in the tree of its lineage. `depth`: how many of its ancestors are listed above it. */
export type Row = { key: ApiKeyWithCreator; depth: number };

/**
 * The keys as a tree: each key behind its parent. A key whose parent is not listed is a root. A key is newer than its
 * parent; the newest keys are loaded first. So below each key that is listed, none of those that match is missing.
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
