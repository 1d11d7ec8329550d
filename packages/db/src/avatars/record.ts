/** Avatars as rows: the form in which they go to the database and come from it. */
import type { AvatarRecord } from "@realtime-avatar/domain/avatars/avatar";

/** A row of an avatar. The driver gives a bigint as text. */
export type AvatarRow = Omit<AvatarRecord, "cacheVersion"> & { cacheVersion: string };

export const toAvatar = (row: AvatarRow): AvatarRecord => ({ ...row, cacheVersion: Number(row.cacheVersion) });

/** An avatar as a parameter of a database function. */
export const avatarRow = ({ checks, ...avatar }: AvatarRecord) => ({ ...avatar, checks: JSON.stringify(checks) });
