/** The keys of the tenant, and which key created which. */
import type { ApiKeyWithCreator, components, RealtimeAvatarClient } from "@realtime-avatar/client";
import { type InfiniteData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type { Environment } from "../api/client.ts";
import { useAccount } from "../layout/context.tsx";

/** How many keys are loaded at a time, newest first. */
const CHUNK = 500;
const PAGE = 100;
const REFRESH_MS = 15_000;

export type Keys = {
  /** The loaded keys that the environment shows, newest first: from live also those of test. */
  all: ApiKeyWithCreator[];
  byId: ReadonlyMap<string, ApiKeyWithCreator>;
  /** Whether there are older keys, which are not loaded. */
  hasMore: boolean;
};

type ApiKeyPage = components["schemas"]["ApiKeyPage"];
type Chunk = { items: ApiKeyWithCreator[]; next: string | null };

const readChunk = async (client: RealtimeAvatarClient, cursor: string | undefined): Promise<Chunk> => {
  const items: ApiKeyWithCreator[] = [];
  for (let next = cursor; ; ) {
    const query = { limit: PAGE, ...(next && { cursor: next }) };
    const page: ApiKeyPage = (await client.GET("/api/v1/api-keys", { params: { query } })).data;
    items.push(...page.data);
    if (page.nextCursor === null || items.length >= CHUNK) return { items, next: page.nextCursor };
    next = page.nextCursor;
  }
};

export const keysOf = (all: ApiKeyWithCreator[], hasMore: boolean): Keys => ({
  all,
  byId: new Map(all.map((key) => [key.id, key])),
  hasMore,
});

const fromChunks = ({ pages }: InfiniteData<Chunk>): Keys =>
  keysOf(
    pages.flatMap(({ items }) => items),
    pages.at(-1)?.next !== null,
  );

export const useKeys = () => {
  const { client, environment } = useAccount();
  return useInfiniteQuery({
    queryKey: ["keys", environment],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) => readChunk(client, pageParam),
    getNextPageParam: ({ next }) => next ?? undefined,
    select: fromChunks,
    // Every chunk is read again, so that the load stays the same however many are loaded.
    refetchInterval: ({ state }) => REFRESH_MS * Math.max(1, state.data?.pages.length ?? 1),
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

export type ListOptions = {
  environment: Environment;
  /** Whether revoked and expired keys are listed. */
  withEnded: boolean;
  /** A part of the name, the id or the public part of a key; empty for all. */
  filter: string;
};

/** A key in the tree of its lineage. `depth`: how many of its ancestors are listed above it. */
export type Row = { key: ApiKeyWithCreator; depth: number };

const matches = ({ name, id, redactedKey }: ApiKeyWithCreator, filter: string): boolean =>
  [name, id, redactedKey].some((text) => text.toLowerCase().includes(filter));

/**
 * The keys of the environment as a tree: each key behind its parent. A key whose parent is not listed is a root. With a
 * filter, the keys that match it, without a tree.
 */
export const treeOf = ({ all }: Keys, { environment, withEnded, filter }: ListOptions): Row[] => {
  const listed = all.filter((key) => key.environment === environment && (withEnded || key.status === "active"));
  const query = filter.trim().toLowerCase();
  if (query !== "") return listed.filter((key) => matches(key, query)).map((key) => ({ key, depth: 0 }));
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

/**
 * The active keys that end when the key is revoked: its descendants in both environments. They are newer than the key, and
 * the newest keys are loaded first: none is missing for a key that is loaded.
 */
export const descendantsOf = ({ all, byId }: Keys, id: string): ApiKeyWithCreator[] => {
  const isBelow = ({ parentId }: ApiKeyWithCreator): boolean => {
    for (let ancestor = parentId; ancestor !== null; ancestor = byId.get(ancestor)?.parentId ?? null) {
      if (ancestor === id) return true;
    }
    return false;
  };
  return all.filter((key) => key.status === "active" && isBelow(key));
};
