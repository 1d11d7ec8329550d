/** Videos and their cost. */
import type { components } from "@realtime-avatar/client";
import { heldSeconds } from "@realtime-avatar/domain/videos/held";
import { RUNNING_STATUSES } from "@realtime-avatar/domain/videos/status";
import { skipToken, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type { Tone } from "../components/text.tsx";
import { creditAmount } from "../format.ts";
import { useAccount } from "../layout/context.tsx";

export type Video = components["schemas"]["Video"];
type Status = Video["status"];

/** A video of a sentence is rendered in a few seconds. */
const POLL_MS = 1000;
const IDLE_POLL_MS = 20_000;
/** The default price of a second, used before the tenant's first call or video. */
export const DEFAULT_PRICE = 1_000_000;

export const STATUS_TONES: Record<Status, Tone> = {
  queued: "plain",
  rendering: "warn",
  ready: "good",
  failed: "bad",
  canceled: "plain",
  deleted: "plain",
};

export const isRunning = ({ status }: Video): boolean => RUNNING_STATUSES.includes(status);

/** The maximum cost of a text, which its video holds. */
export const maxCost = (text: string, price: number = DEFAULT_PRICE): { seconds: number; creditMicros: number } => {
  const seconds = heldSeconds(text.trim());
  return { seconds, creditMicros: seconds * price };
};

/** The cost of a video, or the credits that it holds. */
export const costText = ({ billedCreditMicros, reservedCreditMicros }: Video): string => {
  if (billedCreditMicros === null) return `holds ${creditAmount(reservedCreditMicros)}`;
  return billedCreditMicros === 0 ? "not charged" : creditAmount(billedCreditMicros);
};

/** The progress of an unfinished video, in words. */
export const progressText = ({ status }: Video): string =>
  status === "queued" ? "The video waits for a worker." : "The video is being rendered.";

/** `status`: undefined for all except `deleted`. */
export type VideoFilters = { status?: Status; avatarId?: string };

/**
 * The matching videos, newest first. While one is queued or rendering, the list is read again every second for each
 * page.
 */
export const useVideos = (filters: VideoFilters) => {
  const { client, environment } = useAccount();
  return useInfiniteQuery({
    queryKey: ["videos", environment, "list", filters],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam }) => {
      const query = { limit: 24, ...filters, ...(pageParam !== undefined && { cursor: pageParam }) };
      return (await client.GET("/api/v1/videos", { params: { query } })).data;
    },
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    refetchInterval: ({ state }) => {
      const pages = state.data?.pages ?? [];
      const wait = pages.some(({ data }) => data.some(isRunning)) ? POLL_MS : IDLE_POLL_MS;
      return wait * Math.max(1, pages.length);
    },
  });
};

/** A video in any status, if it exists. `known`: the video from its creation or from a list. */
export const useVideo = (id: string | undefined, known: Video | undefined) => {
  const { client, environment } = useAccount();
  return useQuery({
    queryKey: ["videos", environment, id],
    queryFn:
      id === undefined
        ? skipToken
        : async () => (await client.GET("/api/v1/videos/{id}", { params: { path: { id } } })).data,
    ...(known && { placeholderData: known }),
    refetchInterval: ({ state }) => (state.data === undefined || isRunning(state.data) ? POLL_MS : IDLE_POLL_MS),
  });
};
