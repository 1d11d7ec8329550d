/** The statuses of an asset, and the transitions between them. */
import { statesBefore } from "../transitions.ts";

export const ASSET_TRANSITIONS = {
  pending_upload: ["uploaded", "failed", "deleted"],
  uploaded: ["processing", "failed", "deleted"],
  processing: ["uploaded", "ready", "failed", "deleted"],
  ready: ["deleted"],
  failed: ["deleted"],
  deleted: [],
} as const;
export type AssetStatus = keyof typeof ASSET_TRANSITIONS;
export const ASSET_STATUSES = Object.keys(ASSET_TRANSITIONS) as AssetStatus[];

/** The statuses of an asset from which an avatar can be built. Its file need not have arrived. */
export const USABLE_STATUSES: readonly AssetStatus[] = ASSET_STATUSES.filter(
  (status) => status !== "failed" && status !== "deleted",
);

/** The statuses in which an asset can be deleted. */
export const DELETABLE_ASSET_STATUSES: readonly AssetStatus[] = statesBefore<AssetStatus>(ASSET_TRANSITIONS, "deleted");

/** The statuses that a list includes: `filter` alone, or every status except `deleted` when there is no filter. */
export const listedAssetStatuses = (filter: AssetStatus | undefined): AssetStatus[] =>
  filter === undefined ? ASSET_STATUSES.filter((status) => status !== "deleted") : [filter];
