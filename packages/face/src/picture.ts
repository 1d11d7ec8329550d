/** The pictures of a face, in I420, the input format of video encoders. */

/** Width and height of every picture, in pixels. */
export const PICTURE_SIZE = 512;

const LUMA_LENGTH = PICTURE_SIZE ** 2;
/** Width and height of a plane of colour. */
const COLOUR_SIZE = PICTURE_SIZE / 2;
const COLOUR_LENGTH = COLOUR_SIZE ** 2;

/** Bytes of a picture: a plane of luma, then U and V at half the width and height. */
export const PICTURE_LENGTH = LUMA_LENGTH + 2 * COLOUR_LENGTH;

/** The planes of a picture. */
export type Planes = { y: Uint8Array; u: Uint8Array; v: Uint8Array };

/** Views of the planes of an I420 picture of 512 × 512 pixels. Throws when `picture` has another length. */
export const planesFrom = (picture: Uint8Array): Planes => {
  if (picture.length !== PICTURE_LENGTH) throw new RangeError(`The picture has ${picture.length} bytes.`);
  return {
    y: picture.subarray(0, LUMA_LENGTH),
    u: picture.subarray(LUMA_LENGTH, LUMA_LENGTH + COLOUR_LENGTH),
    v: picture.subarray(LUMA_LENGTH + COLOUR_LENGTH),
  };
};

/**
 * Converts a picture of 512 × 512 pixels, three bytes each (red, green, blue), to I420: BT.601 with limited range, like
 * libyuv. Throws when `rgb` has another length.
 */
export const toI420 = (rgb: Uint8Array): Uint8Array => {
  if (rgb.length !== 3 * LUMA_LENGTH) throw new RangeError(`The picture has ${rgb.length} bytes of RGB.`);
  const picture = new Uint8Array(PICTURE_LENGTH);
  const { y, u, v } = planesFrom(picture);
  const channel = (index: number): number => rgb[index] as number;
  for (let pixel = 0; pixel < LUMA_LENGTH; pixel++) {
    const [red, green, blue] = [channel(3 * pixel), channel(3 * pixel + 1), channel(3 * pixel + 2)];
    y[pixel] = 16.5 + 0.257 * red + 0.504 * green + 0.098 * blue;
  }
  for (let pixel = 0; pixel < COLOUR_LENGTH; pixel++) {
    const row = 2 * Math.floor(pixel / COLOUR_SIZE);
    const first = 3 * (row * PICTURE_SIZE + 2 * (pixel % COLOUR_SIZE));
    const below = first + 3 * PICTURE_SIZE;
    const mean = (offset: number): number =>
      (channel(first + offset) + channel(first + offset + 3) + channel(below + offset) + channel(below + offset + 3)) /
      4;
    const [red, green, blue] = [mean(0), mean(1), mean(2)];
    u[pixel] = 128.5 - 0.148 * red - 0.291 * green + 0.439 * blue;
    v[pixel] = 128.5 + 0.439 * red - 0.368 * green - 0.071 * blue;
  }
  return picture;
};
