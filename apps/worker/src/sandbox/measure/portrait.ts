/** Measures the face of an image, and derives the files of an avatar from it. Runs in a child process. */
import { ASSET_LIMITS } from "@realtime-avatar/domain/assets/limits";
import type Sharp from "sharp";
import { notDecodable, readHeader } from "../inspect/image.ts";
import type { Report, Task } from "../report.ts";
import type { FindFaces } from "./faces.ts";
import { decodePicture, encodeFiles, measurePicture } from "./picture.ts";

/**
 * The measures of an image and of its only face, and the derived files where there is one. A refusal for what is refused of
 * an asset: the file is as hostile as it was then.
 */
export const measurePortrait = async (
  sharp: typeof Sharp,
  startFaces: () => Promise<FindFaces>,
  bytes: Buffer,
  { contentType }: Task<"portrait">,
): Promise<{ report: Report<"portrait">; files: { normalized: Buffer; thumb: Buffer } | null }> => {
  const header = await readHeader(sharp, bytes, contentType);
  if (header.kind === "refused") return { report: header, files: null };
  // The decoder works in a thread of its own, while the library starts.
  const [picture, findFaces] = await Promise.all([
    decodePicture(sharp, bytes, ASSET_LIMITS.image.maxPixels).catch(() => null),
    startFaces(),
  ]);
  if (!picture) return { report: notDecodable, files: null };
  const { measures, box } = await measurePicture(sharp, findFaces, picture);
  const report = { kind: "accepted", width: header.width, height: header.height, ...measures } as const;
  return { report, files: box ? await encodeFiles(sharp, picture, box) : null };
};
