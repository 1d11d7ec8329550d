/** Measures the face of an image, and derives the files of an avatar from it. Runs in a child process. */
import { ASSET_LIMITS } from "@realtime-avatar/domain/assets/limits";
import type Sharp from "sharp";
import { notDecodable, readHeader } from "../inspect/image.ts";
import type { Report, Task } from "../report.ts";
import type { FindFaces } from "./faces.ts";
import { decodePicture, encodeFiles, type Files, measurePicture } from "./picture.ts";

/**
 * The measures of an image and of its only face, and the derived files if it has one. Refuses the same files as the
 * inspection of an asset, because the file is as hostile as it was then.
 */
export const measurePortrait = async (
  sharp: typeof Sharp,
  startFaces: () => Promise<FindFaces>,
  bytes: Buffer,
  { contentType, colors, label }: Task<"portrait">,
): Promise<{ report: Report<"portrait">; files: Files | null }> => {
  const header = await readHeader(sharp, bytes, contentType);
  if (header.kind === "refused") return { report: header, files: null };
  const format = { ...header.format, colors: colors ?? header.format.colors };
  // The decoder works in a separate thread while the library starts.
  const [decoded, findFaces] = await Promise.all([
    decodePicture(sharp, bytes, ASSET_LIMITS.image.maxPixels, format).catch(() => null),
    startFaces(),
  ]);
  if (!decoded) return { report: notDecodable, files: null };
  const { measures, derived } = await measurePicture(sharp, findFaces, decoded);
  const isOnItsSide = measures.turned % 180 !== 0;
  const [width, height] = isOnItsSide ? [header.height, header.width] : [header.width, header.height];
  return {
    report: { kind: "accepted", width, height, ...measures },
    files: derived ? await encodeFiles(sharp, derived, label) : null,
  };
};
