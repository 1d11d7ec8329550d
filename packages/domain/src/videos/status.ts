/** The statuses of a video, and the transitions between them. */
import { allowedFrom } from "../transitions.ts";

/** After a failed attempt, a video changes from `rendering` back to `queued`. */
export const VIDEO_TRANSITIONS = {
  queued: ["rendering", "failed", "canceled"],
  rendering: ["queued", "ready", "failed", "canceled"],
  ready: ["deleted"],
  failed: ["deleted"],
  canceled: ["deleted"],
  deleted: [],
} as const;
export type VideoStatus = keyof typeof VIDEO_TRANSITIONS;
export const VIDEO_STATUSES = Object.keys(VIDEO_TRANSITIONS) as VideoStatus[];

/** The statuses in which a video is not finished: it holds credits, and can be canceled. */
export const RUNNING_STATUSES: readonly VideoStatus[] = VIDEO_STATUSES.filter((status) =>
  allowedFrom<VideoStatus>(VIDEO_TRANSITIONS, status).includes("canceled"),
);

/** The statuses that a list includes: `filter` alone, or every status except `deleted` when there is no filter. */
export const listedVideoStatuses = (filter: VideoStatus | undefined): VideoStatus[] =>
  filter === undefined ? VIDEO_STATUSES.filter((status) => status !== "deleted") : [filter];
