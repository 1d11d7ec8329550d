/** Assets as rows: the form in which they go to the database and come from it. */
import type { AssetRecord } from "@realtime-avatar/domain/assets/asset";
import type { AssetErrorCode } from "@realtime-avatar/domain/assets/errors";
import type { AssetOrigin } from "@realtime-avatar/domain/assets/limits";

/** A row of an asset. The driver gives a bigint as text. */
export type AssetRow = Omit<AssetRecord, "sizeBytes" | "reservedBytes" | "error" | "origin"> & {
  /** Null in a row of an earlier release. */
  origin: AssetOrigin | null;
  sizeBytes: string | null;
  reservedBytes: string;
  errorCode: AssetErrorCode | null;
  errorDetail: string | null;
};

export const toAsset = ({
  sizeBytes,
  reservedBytes,
  errorCode,
  errorDetail,
  origin,
  ...row
}: AssetRow): AssetRecord => ({
  ...row,
  origin: origin ?? (row.remoteUrl === null ? "uploaded" : "imported"),
  sizeBytes: sizeBytes === null ? null : Number(sizeBytes),
  reservedBytes: Number(reservedBytes),
  error: errorCode === null || errorDetail === null ? null : { code: errorCode, detail: errorDetail },
});

/** An asset as a parameter of a database function. */
export const assetRow = ({ error, ...asset }: AssetRecord) => ({
  ...asset,
  errorCode: error?.code ?? null,
  errorDetail: error?.detail ?? null,
});
