/** Avatars and their preparation. */
import type { Avatar } from "@realtime-avatar/client";
import { MAX_DISPLAY_NAME_LENGTH } from "@realtime-avatar/domain/text";
import { type InfiniteData, useQuery, useQueryClient } from "@tanstack/react-query";
import { clientFor, type Environment } from "../api/client.ts";
import { type PageOf, type SearchFilters, searchQuery } from "../api/pages.ts";
import type { Tone } from "../components/text.tsx";
import { useAccount } from "../layout/context.tsx";
import { searchedPages, useSearchedPages, useTotal } from "../layout/use-list-search.ts";

const POLL_MS = 1500;
const IDLE_POLL_MS = 20_000;

export const STATUS_TONES: Record<Avatar["status"], Tone> = {
  draft: "plain",
  preprocessing: "warn",
  ready: "good",
  failed: "bad",
  disabled: "plain",
  deleted: "plain",
};
export const statusName = (status: Avatar["status"]): string => (status === "preprocessing" ? "preparing" : status);

export const isPreparing = ({ status, pendingSourceAssetId }: Avatar): boolean =>
  status === "preprocessing" || (pendingSourceAssetId !== null && status !== "deleted");

type AvatarPage = PageOf<Avatar>;

const withAvatar = (list: InfiniteData<AvatarPage>, avatar: Avatar): InfiniteData<AvatarPage> => ({
  ...list,
  pages: list.pages.map((page) => ({
    ...page,
    data: page.data.map((each) => (each.id === avatar.id ? avatar : each)),
  })),
});

/** The filters of the list. `status`: undefined for all except `deleted`. */
export type AvatarSearch = SearchFilters & { status: Avatar["status"] | undefined };

const filtersOf = (search: AvatarSearch) => {
  const { status } = search;
  return { ...(status && { status }), ...searchQuery(search, MAX_DISPLAY_NAME_LENGTH) };
};

/** Reads the matching avatars of the environment. */
export const avatarPages = (environment: Environment, search: AvatarSearch) => {
  const client = clientFor(environment);
  const filters = filtersOf(search);
  const read = async (page: { limit: number; cursor?: string }): Promise<AvatarPage> =>
    (await client.GET("/api/v1/avatars", { params: { query: { ...filters, ...page } } })).data;
  return searchedPages(environment, ["avatars", filters], read);
};

/** The matching avatars. While one is being prepared, the list is read again every 1.5 seconds for each page. */
export const useAvatars = (search: AvatarSearch) =>
  useSearchedPages(avatarPages(useAccount().environment, search), (pages) =>
    pages.some(({ data }) => data.some(isPreparing)) ? POLL_MS : IDLE_POLL_MS,
  );

/** The number of matches, for a list with more items than are loaded. */
export const useAvatarTotal = (search: AvatarSearch, hasMore: boolean) => {
  const { client } = useAccount();
  const filters = filtersOf(search);
  return useTotal(["avatars", filters], hasMore, async (first) => {
    return (await client.GET("/api/v1/avatars", { params: { query: { ...filters, ...first } } })).data;
  });
};

/** An avatar in any status, even if it is not loaded in the list. `listed`: the avatar from the list. */
export const useAvatar = (id: string, listed: Avatar | undefined) => {
  const { client, environment } = useAccount();
  const queries = useQueryClient();
  return useQuery({
    queryKey: ["avatars", environment, id],
    queryFn: async () => {
      const avatar = (await client.GET("/api/v1/avatars/{id}", { params: { path: { id } } })).data;
      // Updates the card behind the details as well.
      queries.setQueriesData<InfiniteData<AvatarPage>>(
        { queryKey: ["avatars", environment, "list"] },
        (list) => list && withAvatar(list, avatar),
      );
      return avatar;
    },
    ...(listed && { placeholderData: listed }),
    refetchInterval: ({ state }) => (state.data && isPreparing(state.data) ? POLL_MS : IDLE_POLL_MS),
  });
};

/** Maximum number of avatars in a selection. */
const MAX_OFFERED = 100;

/** The newest avatars, for a selection, and whether more exist; undefined until they are loaded. */
export const useNewestAvatars = () => {
  const { client, environment } = useAccount();
  const { data } = useQuery({
    queryKey: ["avatars", environment, "newest"],
    queryFn: async () => (await client.GET("/api/v1/avatars", { params: { query: { limit: MAX_OFFERED } } })).data,
    refetchInterval: IDLE_POLL_MS,
  });
  return data && { avatars: data.data, hasMore: data.nextCursor !== null };
};

/** The URL of an avatar's source, if it is a decodable image; otherwise null. */
export const useSourceUrl = ({ sourceAssetId, sourceKind }: Avatar, isEnabled: boolean): string | null => {
  const { client, environment } = useAccount();
  const id = sourceAssetId ?? "";
  const { data } = useQuery({
    queryKey: ["asset", environment, id],
    queryFn: async () => (await client.GET("/api/v1/assets/{id}", { params: { path: { id } } })).data,
    enabled: isEnabled && sourceKind === "image" && /^ast_[0-9a-z]{26}$/.test(id),
  });
  return data?.status === "ready" ? data.publicUrl : null;
};
