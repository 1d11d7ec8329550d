/** What avatars are built from. */
export const SOURCE_KINDS = ["image", "video"] as const;
export type SourceKind = (typeof SOURCE_KINDS)[number];
