/** The form of an upload, and the limits of assets in words, for the OpenAPI document. All numbers come from the domain's table. */
import { ASSET_KINDS, ASSET_LIMITS, type AssetKind, inMib } from "@realtime-avatar/domain/assets/limits";
import { UploadFields } from "@realtime-avatar/domain/assets/schemas";
import { ClosedObject } from "@realtime-avatar/domain/schema";
import { Type } from "@sinclair/typebox";

const { image, video } = ASSET_LIMITS;
/** Further limits of a kind, besides content types and size. */
const FURTHER: Record<AssetKind, readonly string[]> = {
  image: [`at most ${image.maxPixels / 1_000_000} megapixels`, `${image.maxFrames} frame`],
  video: [
    `${video.minSeconds} to ${video.maxSeconds} s`,
    `at most ${video.maxLongSide} × ${video.maxShortSide} pixels in either orientation`,
    `at most ${video.maxFramesPerSecond} frames per second`,
    "H.264 or VP9",
  ],
  audio: ["longer than 0 s"],
};

/** The limits of a kind, one after the other: `image/jpeg, image/png or image/webp; at most 16 MiB; …`. */
export const describeLimits = (kind: AssetKind): string => {
  const types: readonly string[] = ASSET_LIMITS[kind].contentTypes;
  const list = `${types.slice(0, -1).join(", ")} or ${types.at(-1)}`;
  return [list, `at most ${inMib(ASSET_LIMITS[kind].maxBytes)}`, ...FURTHER[kind]].join("; ");
};

/** The limits of all kinds, as a list in Markdown. */
export const LIMITS_TEXT = ASSET_KINDS.map((kind) => `- \`${kind}\`: ${describeLimits(kind)}`).join("\n");

/** Describes how the name of a file becomes `originalFilename`. */
const FILENAME_TEXT =
  'Its `filename` becomes `originalFilename`, decoded as browsers encode it (`%22`, `%0D` and `%0A`; also `\\"`), without control characters, line breaks and characters that change the direction of text, and cut to 240 characters. Slashes and backslashes are kept.';

/** Describes the form; `receiveUpload` reads it. */
export const UploadAsset = ClosedObject(
  {
    // The OpenAPI 3.0 description of a file. OpenAPI 3.1 omits the `type`, and then generated clients do not compile,
    // or send JSON.
    file: Type.Unsafe<Blob>({
      type: "string",
      format: "binary",
      description: `The file. ${FILENAME_TEXT} Its limits, by kind:\n\n${LIMITS_TEXT}`,
    }),
    ...UploadFields.properties,
  },
  { description: "The parts can be in any order." },
);
