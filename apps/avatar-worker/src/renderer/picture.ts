/** The pictures of a portrait: one for each step of loudness, larger when the voice is louder. */
import { VideoBufferType, VideoFrame } from "@livekit/rtc-node";
import { PICTURE_SIZE } from "./renderer.ts";
import { loadSharp } from "./sharp.ts";

export const STEPS = 8;
/** How much larger each step is than the one before it. */
const GROWTH = 0.02;

/** An avatar whose source is a test asset has no picture: the outline of a person. */
const OUTLINE = Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 512 512" width="512" height="512">
  <rect width="512" height="512" fill="#d5dbe3"/>
  <circle cx="256" cy="200" r="88" fill="#5b6b80"/>
  <path d="M76 512c0-120 80-190 180-190s180 70 180 190z" fill="#5b6b80"/>
</svg>`);

/** TEST, drawn as lines: a machine may have no fonts. */
const TEST_MARK = Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 512 512" width="512" height="512">
  <rect x="136" y="424" width="240" height="72" rx="12" fill="#b3261e"/>
  <path d="M160 442h36M178 442v36 M240 442h-28v36h28M212 460h24 M288 446q-4-5-14-5-13 0-13 9 0 8 13 10 14 2 14 10 0 9-14 9-11 0-15-6
    M308 442h36M326 442v36" fill="none" stroke="#fff" stroke-width="7"/>
</svg>`);

/** The pictures, the smallest first. `image`: null for the outline. */
export const picturesOf = async (image: Uint8Array | null, isTest: boolean): Promise<VideoFrame[]> => {
  const sharp = loadSharp();
  const { data, info } = await sharp(image ?? OUTLINE)
    .resize(PICTURE_SIZE, PICTURE_SIZE, { fit: "cover" })
    .flatten({ background: "#d5dbe3" })
    .toColourspace("srgb")
    .raw()
    .toBuffer({ resolveWithObject: true });
  const picture = async (step: number): Promise<VideoFrame> => {
    const size = Math.round(PICTURE_SIZE * (1 + step * GROWTH));
    const offset = Math.floor((size - PICTURE_SIZE) / 2);
    const pixels = await sharp(data, { raw: info })
      .resize(size, size)
      .extract({ left: offset, top: offset, width: PICTURE_SIZE, height: PICTURE_SIZE })
      .composite(isTest ? [{ input: TEST_MARK }] : [])
      .ensureAlpha()
      .raw()
      .toBuffer();
    const frame = new VideoFrame(new Uint8Array(pixels), PICTURE_SIZE, PICTURE_SIZE, VideoBufferType.RGBA);
    // What the encoder takes, so that a picture that is sent is not converted again.
    return frame.convert(VideoBufferType.I420);
  };
  return Promise.all(Array.from({ length: STEPS }, (_, step) => picture(step)));
};
