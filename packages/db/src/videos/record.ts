/** Videos as rows: the form in which they come from the database. */
import type { VideoErrorCode } from "@realtime-avatar/domain/videos/errors";
import type { VideoRecord } from "@realtime-avatar/domain/videos/video";

/** A row of a video. The driver gives a bigint as text. */
export type VideoRow = Omit<VideoRecord, "billedSeconds" | "billedCreditMicros" | "reservedCreditMicros" | "error"> & {
  billedSeconds: string | null;
  billedCreditMicros: string | null;
  reservedCreditMicros: string;
  errorCode: VideoErrorCode | null;
  errorDetail: string | null;
};

const numberOf = (text: string | null): number | null => (text === null ? null : Number(text));

export const toVideo = ({ errorCode, errorDetail, ...row }: VideoRow): VideoRecord => ({
  ...row,
  // The asset is deleted with the video.
  assetId: row.status === "deleted" ? null : row.assetId,
  billedSeconds: numberOf(row.billedSeconds),
  billedCreditMicros: numberOf(row.billedCreditMicros),
  reservedCreditMicros: Number(row.reservedCreditMicros),
  error: errorCode === null || errorDetail === null ? null : { code: errorCode, detail: errorDetail },
});
