/** The kinds of avatar sources. */
export const SOURCE_KINDS = ["image", "video"] as const;
export type SourceKind = (typeof SOURCE_KINDS)[number];

/**
 * The reasons to refuse a `sourceAssetId`: no such asset exists in the caller's tenant and environment; its kind is not
 * the `sourceKind` of the avatar; it is failed or deleted.
 */
export const SOURCE_REFUSALS = ["asset_not_found", "asset_kind_mismatch", "asset_not_usable"] as const;
export type SourceRefusal = (typeof SOURCE_REFUSALS)[number];
