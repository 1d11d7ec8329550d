/**
 * Marks in the pictures of an avatar: `AI`, which tells people that the person is artificial (EU AI Act, article 50),
 * `TEST` and `REC`. They are part of the picture, so that a page cannot omit them.
 */
import { type Line, textLines, textWidth } from "./letters.ts";
import { clamp, mix } from "./numbers.ts";
import { PICTURE_LENGTH, PICTURE_SIZE, type Planes, planesFrom } from "./picture.ts";

type Colour = readonly [red: number, green: number, blue: number];
/** A text in a box. `x`, `y`: the upper left corner of the box; all lengths in pixels. `opacity`: that of the box. */
type Mark = {
  text: string;
  letterHeight: number;
  padding: number;
  x: number;
  y: number;
  background: Colour;
  opacity: number;
  /** Whether a red dot stands before the text. */
  hasDot?: boolean;
};

const [WHITE, BLACK, RED] = [[255, 255, 255] as const, [0, 0, 0] as const, [179, 38, 30] as const];
/** Legible in a picture of 256 pixels, where the letters have 11 pixels. */
const LETTER_HEIGHT = 22;
const PADDING = 9;
const MARGIN = 14;
const TEST = { text: "TEST", letterHeight: 36, padding: 18, background: RED, opacity: 1 } as const;

const boxWidth = ({ text, letterHeight, padding, hasDot }: Omit<Mark, "x" | "y">): number =>
  textWidth(text, letterHeight) + 2 * padding + (hasDot ? letterHeight : 0);
const boxHeight = ({ letterHeight, padding }: Omit<Mark, "x" | "y">): number => letterHeight + 2 * padding;

/** A longer label would reach the mark of a recording. */
export const MAX_LABEL_LENGTH = 16;

export type MarkOptions = {
  /**
   * The text that says that the person is artificial: at most `MAX_LABEL_LENGTH` characters that `canDraw` knows. Empty
   * for an operator who informs people in another way.
   */
  label: string;
  isTest: boolean;
  isRecorded?: boolean;
};

/** `AI` in the upper left corner, `REC` in the upper right one, `TEST` at the bottom. */
const placeMarks = ({ label, isTest, isRecorded = false }: MarkOptions): Mark[] => {
  const small = { letterHeight: LETTER_HEIGHT, padding: PADDING, background: BLACK, opacity: 0.55, y: MARGIN };
  const recorded = { ...small, text: "REC", hasDot: true };
  return [
    ...(label === "" ? [] : [{ ...small, text: label, x: MARGIN }]),
    ...(isRecorded ? [{ ...recorded, x: PICTURE_SIZE - MARGIN - boxWidth(recorded) }] : []),
    ...(isTest
      ? [{ ...TEST, x: (PICTURE_SIZE - boxWidth(TEST)) / 2, y: PICTURE_SIZE - MARGIN - boxHeight(TEST) }]
      : []),
  ];
};

/** The distance of a point from a line. */
const distance = (x: number, y: number, [x0, y0, x1, y1]: Line): number => {
  const [dx, dy] = [x1 - x0, y1 - y0];
  const along = clamp(((x - x0) * dx + (y - y0) * dy) / Math.max(1e-9, dx * dx + dy * dy));
  return Math.hypot(x - x0 - along * dx, y - y0 - along * dy);
};

/** The share of a pixel that a box with round corners covers, from the distance to its edge. */
const boxCoverage = (x: number, y: number, width: number, height: number, radius: number): number => {
  const dx = Math.max(0, Math.abs(x - width / 2) - width / 2 + radius);
  const dy = Math.max(0, Math.abs(y - height / 2) - height / 2 + radius);
  return clamp(0.5 + radius - Math.hypot(dx, dy));
};

/** A rectangle of pixels of the picture. */
type Area = { left: number; top: number; width: number; height: number };

/** The covered share of each pixel of an area by the strokes of a text. Only pixels near a line are examined. */
const drawStrokes = (lines: readonly Line[], halfStroke: number, { left, top, width, height }: Area): Float32Array => {
  const ink = new Float32Array(width * height);
  const reach = halfStroke + 1;
  for (const line of lines) {
    const [x0, y0, x1, y1] = line;
    const [firstRow, lastRow] = [Math.floor(Math.min(y0, y1) - reach - top), Math.ceil(Math.max(y0, y1) + reach - top)];
    const [first, last] = [Math.floor(Math.min(x0, x1) - reach - left), Math.ceil(Math.max(x0, x1) + reach - left)];
    for (let row = Math.max(0, firstRow); row < Math.min(height, lastRow); row++) {
      for (let column = Math.max(0, first); column < Math.min(width, last); column++) {
        const at = row * width + column;
        const covered = 0.5 + halfStroke - distance(left + column + 0.5, top + row + 0.5, line);
        ink[at] = Math.max(ink[at] as number, Math.min(1, covered));
      }
    }
  }
  return ink;
};

/** Returns a function from a pixel of an area to the colour and the opacity that a mark has there. */
const createLayer = (mark: Mark, area: Area): ((row: number, column: number) => { colour: Colour; alpha: number }) => {
  const { text, letterHeight, padding, background, opacity, hasDot = false } = mark;
  const [left, top] = [mark.x + padding + (hasDot ? letterHeight : 0), mark.y + padding];
  const lines = textLines(text, letterHeight).map(
    ([x0, y0, x1, y1]): Line => [x0 + left, y0 + top, x1 + left, y1 + top],
  );
  const ink = drawStrokes(lines, letterHeight / 14 + 0.4, area);
  const [width, height, radius] = [boxWidth(mark), boxHeight(mark), letterHeight / 3];
  return (row, column) => {
    const [x, y] = [area.left + column + 0.5 - mark.x, area.top + row + 0.5 - mark.y];
    const box = opacity * boxCoverage(x, y, width, height, padding);
    const stroke = ink[row * area.width + column] as number;
    const dot = hasDot ? clamp(0.5 + radius - Math.hypot(x - padding - radius, y - height / 2)) : 0;
    const front = Math.max(stroke, dot);
    const alpha = front + (1 - front) * box;
    const share = alpha === 0 ? 0 : front / alpha;
    const [red, green, blue] = dot > stroke ? RED : WHITE;
    return {
      colour: [mix(background[0], red, share), mix(background[1], green, share), mix(background[2], blue, share)],
      alpha,
    };
  };
};

/**
 * A part of one plane, row by row. Drawing multiplies each value of the picture by a share and adds a number. `x`, `y`:
 * the upper left corner.
 */
type Patch = { x: number; y: number; width: number; keep: Float32Array; add: Float32Array };
type Patches = Record<keyof Planes, Patch>;

/** BT.601 with limited range, like `toI420`. */
const toYuv = ([red, green, blue]: Colour): Record<keyof Planes, number> => ({
  y: 16 + 0.257 * red + 0.504 * green + 0.098 * blue,
  u: 128 - 0.148 * red - 0.291 * green + 0.439 * blue,
  v: 128 + 0.439 * red - 0.368 * green - 0.071 * blue,
});

/** The patches of a mark. They begin and end at even pixels, like the samples of colour. */
const createPatches = (mark: Mark): Patches => {
  const [left, top] = [2 * Math.floor(mark.x / 2), 2 * Math.floor(mark.y / 2)];
  const end = (start: number, length: number): number => Math.min(PICTURE_SIZE, 2 * Math.ceil((start + length) / 2));
  const [width, height] = [end(mark.x, boxWidth(mark)) - left, end(mark.y, boxHeight(mark)) - top];
  const layer = createLayer(mark, { left, top, width, height });
  const patch = (scale: 1 | 2): Patch => {
    const length = (width * height) / scale ** 2;
    const [keep, add] = [new Float32Array(length).fill(1), new Float32Array(length).fill(0.5)];
    return { x: left / scale, y: top / scale, width: width / scale, keep, add };
  };
  const patches: Patches = { y: patch(1), u: patch(2), v: patch(2) };
  const blend = ({ keep, add }: Patch, index: number, share: number, value: number): void => {
    keep[index] = (keep[index] as number) - share;
    add[index] = (add[index] as number) + share * value;
  };
  for (let row = 0; row < height; row++) {
    for (let column = 0; column < width; column++) {
      const { colour, alpha } = layer(row, column);
      if (alpha === 0) continue;
      const yuv = toYuv(colour);
      blend(patches.y, row * width + column, alpha, yuv.y);
      const sample = (row >> 1) * (width / 2) + (column >> 1);
      for (const plane of ["u", "v"] as const) blend(patches[plane], sample, alpha / 4, yuv[plane]);
    }
  }
  return patches;
};

const drawPatch = (plane: Uint8Array, size: number, { x, y, width, keep, add }: Patch): void => {
  for (let index = 0, at = y * size + x; index < keep.length; at += size - width) {
    for (const end = index + width; index < end; index++, at++) {
      plane[at] = (keep[index] as number) * (plane[at] as number) + (add[index] as number);
    }
  }
};

const drawPatches = (picture: Uint8Array, patches: Patches): void => {
  const { y, u, v } = planesFrom(picture);
  drawPatch(y, PICTURE_SIZE, patches.y);
  drawPatch(u, PICTURE_SIZE / 2, patches.u);
  drawPatch(v, PICTURE_SIZE / 2, patches.v);
};

export type DrawMarks = (picture: Uint8Array) => void;

/** Returns a function that draws marks into an I420 picture of 512 × 512 pixels. */
export const createMarks = (options: MarkOptions): DrawMarks => {
  const marks = placeMarks(options).map(createPatches);
  return (picture) => {
    for (const patches of marks) drawPatches(picture, patches);
  };
};

/** A black picture (I420, 512 × 512 pixels) with a text in its middle: at most 16 characters that `canDraw` knows. */
export const drawTextPicture = (text: string): Uint8Array => {
  const picture = new Uint8Array(PICTURE_LENGTH).fill(128);
  planesFrom(picture).y.fill(toYuv(BLACK).y);
  const mark = { text, letterHeight: TEST.letterHeight, padding: PADDING, background: BLACK, opacity: 1 };
  const [x, y] = [(PICTURE_SIZE - boxWidth(mark)) / 2, (PICTURE_SIZE - boxHeight(mark)) / 2];
  drawPatches(picture, createPatches({ ...mark, x, y }));
  return picture;
};
