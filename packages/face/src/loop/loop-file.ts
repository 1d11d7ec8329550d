/**
 * The file of an idle loop: the frames of a film in which a person listens, 25 a second, shown forwards and backwards.
 * A frame is a grey JPEG of 512 × 768 pixels, whose bytes are those of an I420 picture of 512 × 512, so that a decoder
 * converts no colours.
 *
 * `RTALOOP1`, then the number of frames, then for each frame its place (six floats of 32 bits: see `Affine`) and the length
 * of its JPEG, then the JPEGs. Numbers are little-endian.
 */
import { PICTURE_SIZE } from "../picture.ts";
import type { Affine } from "../warp/affine.ts";

export const FRAMES_PER_SECOND = 25;
/** 4 to 8 s. */
export const MIN_FRAMES = 4 * FRAMES_PER_SECOND;
export const MAX_FRAMES = 8 * FRAMES_PER_SECOND;
export const MAX_LOOP_BYTES = 8 * 2 ** 20;

/** Width and height of the JPEG. */
export const FRAME_SIZE = { width: PICTURE_SIZE, height: 1.5 * PICTURE_SIZE } as const;

/** `place`: from the first frame to this one. */
export type LoopFrame = { jpeg: Uint8Array; place: Affine };

const MAGIC = Buffer.from("RTALOOP1");
const HEADER_BYTES = MAGIC.length + 4;
const NUMBERS = 6;
const ENTRY_BYTES = 4 * NUMBERS + 4;

export const isLoopFile = (bytes: Uint8Array): boolean => MAGIC.equals(bytes.subarray(0, MAGIC.length));

/** The size of the file of frames with JPEGs of these sizes. */
export const loopBytes = (jpegBytes: readonly number[]): number =>
  jpegBytes.reduce((sum, bytes) => sum + ENTRY_BYTES + bytes, HEADER_BYTES);

export const encodeLoop = (frames: readonly LoopFrame[]): Uint8Array => {
  const head = Buffer.alloc(HEADER_BYTES + ENTRY_BYTES * frames.length);
  MAGIC.copy(head);
  head.writeUInt32LE(frames.length, MAGIC.length);
  for (const [index, { jpeg, place }] of frames.entries()) {
    const at = HEADER_BYTES + ENTRY_BYTES * index;
    for (const [number, value] of place.entries()) head.writeFloatLE(value, at + 4 * number);
    head.writeUInt32LE(jpeg.length, at + 4 * NUMBERS);
  }
  return Buffer.concat([head, ...frames.map(({ jpeg }) => jpeg)]);
};

/** A face in a frame is at most this much narrower or larger than in the first one, and moves by at most half of the picture. */
const SCALES = [0.5, 2] as const;
const FARTHEST = PICTURE_SIZE / 2;

/** Whether a place is plausible for a face. With another place, the warp could read outside of its picture. */
const isPlace = ([a, b, c, d, e, f]: Affine): boolean => {
  const size = Math.sqrt(a * e - b * d);
  const middle = PICTURE_SIZE / 2;
  const moved = Math.hypot(a * middle + b * middle + c - middle, d * middle + e * middle + f - middle);
  return size >= SCALES[0] && size <= SCALES[1] && moved <= FARTHEST;
};

/** Reads the frames of a file. They are views of `bytes`. Throws a RangeError for a file that is damaged or too large. */
export const decodeLoop = (bytes: Uint8Array): LoopFrame[] => {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (!isLoopFile(file) || file.length < HEADER_BYTES) throw new RangeError("The file is not an idle loop.");
  const count = file.readUInt32LE(MAGIC.length);
  if (count < MIN_FRAMES || count > MAX_FRAMES) throw new RangeError(`The idle loop has ${count} frames.`);
  let start = HEADER_BYTES + ENTRY_BYTES * count;
  if (file.length < start || file.length > MAX_LOOP_BYTES) throw new RangeError("The idle loop has another size.");
  const frames = Array.from({ length: count }, (_, index): LoopFrame => {
    const at = HEADER_BYTES + ENTRY_BYTES * index;
    const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = Array.from({ length: NUMBERS }, (__, number) =>
      file.readFloatLE(at + 4 * number),
    );
    const place: Affine = [a, b, c, d, e, f];
    if (!isPlace(place)) throw new RangeError(`The place of frame ${index} is not that of a face.`);
    const end = start + file.readUInt32LE(at + 4 * NUMBERS);
    const jpeg = file.subarray(start, end);
    start = end;
    return { jpeg, place };
  });
  if (start !== file.length) throw new RangeError("The frames of the idle loop are cut off.");
  return frames;
};

/** The frame at a step of a loop that runs forwards and backwards, so that it has no cut. */
export const frameAtStep = (step: number, count: number): number => {
  const there = step % (2 * count - 2);
  return there < count ? there : 2 * count - 2 - there;
};
