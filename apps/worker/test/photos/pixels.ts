/** Operations on the pixels of photographs, for variations. All are deterministic. */
import sharp from "sharp";

/** Three channels of 8 bits: red, green and blue. */
export type Pixels = { data: Uint8Array; width: number; height: number };
/** In fractions of the width and of the height of a picture. */
export type Part = { left: number; top: number; right: number; bottom: number };
type Color = string;
/** Between two operations, a picture is a PNG: quick to write and to read. */
const UNCOMPRESSED = { compressionLevel: 0 };

export const open = ({ data, width, height }: Pixels) => sharp(data, { raw: { width, height, channels: 3 } });

export const readPixels = async (picture: ReturnType<typeof sharp>): Promise<Pixels> => {
  const { data, info } = await picture.removeAlpha().toColourspace("srgb").raw().toBuffer({ resolveWithObject: true });
  const { width, height, channels } = info;
  if (channels === 3) return { data, width, height };
  return {
    data: Uint8Array.from({ length: 3 * width * height }, (_, at) => data[Math.floor(at / 3)] ?? 0),
    width,
    height,
  };
};

/** Scales a picture so that its shorter side has `side` pixels. */
export const scale = (pixels: Pixels, side: number): Promise<Pixels> =>
  readPixels(open(pixels).resize({ width: side, height: side, fit: "outside" }));

/** Cuts out a part. It must be inside of the picture. */
export const cut = (pixels: Pixels, { left, top, right, bottom }: Part): Promise<Pixels> => {
  const x = Math.max(0, Math.round(left * pixels.width));
  const y = Math.max(0, Math.round(top * pixels.height));
  const width = Math.min(pixels.width, Math.round(right * pixels.width)) - x;
  const height = Math.min(pixels.height, Math.round(bottom * pixels.height)) - y;
  return readPixels(open(pixels).extract({ left: x, top: y, width, height }));
};

/** Turns a picture in its plane, in degrees. The corners get the given colour. */
export const rotate = (pixels: Pixels, angle: number, background: Color = "#808080"): Promise<Pixels> =>
  readPixels(open(pixels).rotate(angle, { background }));

/** Puts a picture, scaled to `height` pixels, into the lower middle of a larger one of one colour. */
export const frame = async (pixels: Pixels, height: number, side: number, background: Color): Promise<Pixels> => {
  const input = await open(pixels).resize({ height }).png(UNCOMPRESSED).toBuffer({ resolveWithObject: true });
  const canvas = sharp({ create: { width: side, height: side, channels: 3, background } });
  const left = Math.round((side - input.info.width) / 2);
  const top = Math.round((side - height) * 0.6);
  return readPixels(
    sharp(
      await canvas
        .composite([{ input: input.data, left, top }])
        .png(UNCOMPRESSED)
        .toBuffer(),
    ),
  );
};

/** Two pictures side by side, each scaled to its height, on one colour. */
export const pair = async (a: Pixels, b: Pixels, heights: readonly [number, number]): Promise<Pixels> => {
  const [left, right] = await Promise.all(
    [a, b].map((each, index) =>
      open(each).resize({ height: heights[index] }).png(UNCOMPRESSED).toBuffer({ resolveWithObject: true }),
    ),
  );
  if (!left || !right) throw new Error("A pair has two pictures.");
  const [width, height] = [left.info.width + right.info.width, Math.max(...heights)];
  const canvas = sharp({ create: { width, height, channels: 3, background: "#909090" } });
  const images = [
    { input: left.data, left: 0, top: 0 },
    { input: right.data, left: left.info.width, top: height - right.info.height },
  ];
  return readPixels(sharp(await canvas.composite(images).png(UNCOMPRESSED).toBuffer()));
};

/** Blurs with a Gaussian of `sigma` pixels. */
export const blur = (pixels: Pixels, sigma: number): Promise<Pixels> => readPixels(open(pixels).blur(sigma));

/** Blurs like a camera that moves sideways: the mean of `length` pixels of a line. */
export const smear = (pixels: Pixels, length: number): Promise<Pixels> => {
  const [width, empty] = [Math.max(3, length), Array(Math.max(3, length)).fill(0)];
  const kernel = [...empty, ...Array(width).fill(1), ...empty];
  return readPixels(open(pixels).convolve({ width, height: 3, kernel, scale: width }));
};

/** Scales down to `share` of the size and up again: the detail of a smaller photograph. */
export const coarsen = async (pixels: Pixels, share: number): Promise<Pixels> => {
  const [width, height] = [pixels.width * share, pixels.height * share].map((side) => Math.max(1, Math.round(side)));
  const small = await readPixels(open(pixels).resize({ width, height, fit: "fill" }));
  return readPixels(open(small).resize({ width: pixels.width, height: pixels.height, fit: "fill" }));
};

const mapped = (pixels: Pixels, map: (value: number, index: number) => number): Pixels => ({
  ...pixels,
  data: pixels.data.map((value, index) => Math.min(255, Math.max(0, Math.round(map(value, index))))),
});

const toLinear = (value: number): number => {
  const share = value / 255;
  return share <= 0.040_45 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
};
const fromLinear = (share: number): number =>
  255 * (share <= 0.003_130_8 ? 12.92 * share : 1.055 * share ** (1 / 2.4) - 0.055);

/** Exposes longer (positive) or shorter, in stops: one stop is twice the light. */
export const expose = (pixels: Pixels, stops: number): Pixels => {
  const table = Array.from({ length: 256 }, (_, value) => fromLinear(Math.min(1, toLinear(value) * 2 ** stops)));
  return mapped(pixels, (value) => table[value] ?? 0);
};

/** Numbers from 0 to 1, the same at each run. */
export const numbers = (seed: number): (() => number) => {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
};

/** Adds the noise of a camera: about normal, with a standard deviation of `sigma` of 255. */
export const addNoise = (pixels: Pixels, sigma: number): Pixels => {
  const next = numbers(17);
  return mapped(
    pixels,
    (value) => value + sigma * Math.sqrt(2) * (next() + next() + next() + next() + next() + next() - 3),
  );
};

/** Fills a part with one colour. */
export const cover = async (pixels: Pixels, part: Part, background: Color): Promise<Pixels> => {
  const { width, height } = pixels;
  const [left, top] = [Math.round(part.left * width), Math.round(part.top * height)];
  const size = {
    width: Math.round((part.right - part.left) * width),
    height: Math.round((part.bottom - part.top) * height),
  };
  const input = await sharp({ create: { ...size, channels: 3, background } })
    .png(UNCOMPRESSED)
    .toBuffer();
  return readPixels(sharp(await open(pixels).composite([{ input, left, top }]).png(UNCOMPRESSED).toBuffer()));
};

/** A picture without any content: noise, a checkerboard, or a gradient. */
export const pattern = (kind: "noise" | "checkerboard" | "gradient", side: number): Pixels => {
  const next = numbers(4);
  const data = new Uint8Array(side * side * 3);
  for (let at = 0; at < side * side; at += 1) {
    const [x, y] = [at % side, Math.floor(at / side)];
    const board = (Math.floor(x / 64) + Math.floor(y / 64)) % 2 ? 220 : 40;
    for (let channel = 0; channel < 3; channel += 1) {
      const value = { noise: 255 * next(), checkerboard: board, gradient: (255 * (x + y)) / (2 * side) }[kind];
      data[3 * at + channel] = Math.round(value);
    }
  }
  return { data, width: side, height: side };
};
