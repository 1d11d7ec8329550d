/**
 * The seam of closed lips, and the edge of the lower lip of open ones. The landmarks miss them by 1 to 3 pixels. With
 * the landmarks, the upper lip would have a dark edge, and the lower lip a row of teeth.
 */
import { mix } from "../../numbers.ts";
import { PICTURE_SIZE } from "../../picture.ts";
import { type Frame, fromFrame } from "../frame.ts";
import { lumaNear, readPlane } from "../grid.ts";
import type { Curve } from "./curve.ts";

/** Columns between the corners at which the seam is searched. */
const COLUMNS = 41;
/** Rows of the search are half a pixel apart. */
const ROWS_PER_PIXEL = 2;
/** The cost of moving by one row from one column to the next, in steps of luma. */
const TURN_COST = 3;
/** The cost of the largest offset of a seam, in steps of luma. */
const SEAM_COST = 60;
/** The cost of the largest offset of an edge, in steps of luma. */
const EDGE_COST = 40;
/** Columns that are averaged on each side. */
const SMOOTHING = 2;

/** For each column, the offset in pixels of the cheapest path. `costAt` is the cost of an offset in a column. */
const findPath = (
  rows: number,
  findOffset: (row: number) => number,
  costAt: (column: number, offset: number) => number,
) => {
  let costs = new Float64Array(rows);
  const previousRows: Int16Array[] = [];
  for (let column = 0; column < COLUMNS; column++) {
    const next = new Float64Array(rows);
    const previous = new Int16Array(rows);
    for (let row = 0; row < rows; row++) {
      let best = Number.POSITIVE_INFINITY;
      for (let from = Math.max(0, row - 1); from <= Math.min(rows - 1, row + 1); from++) {
        const cost = (costs[from] as number) + TURN_COST * Math.abs(from - row);
        if (cost >= best) continue;
        best = cost;
        previous[row] = from;
      }
      next[row] = best + costAt(column, findOffset(row));
    }
    costs = next;
    previousRows.push(previous);
  }
  let row = costs.indexOf(Math.min(...costs));
  const path = previousRows.map(() => 0);
  for (let column = COLUMNS - 1; column >= 0; column--) {
    path[column] = findOffset(row);
    row = previousRows[column]?.[row] as number;
  }
  return path;
};

const smoothPath = (path: readonly number[]): number[] =>
  path.map((_, index) => {
    const near = path.slice(Math.max(0, index - SMOOTHING), index + SMOOTHING + 1);
    return near.reduce((sum, offset) => sum + offset, 0) / near.length;
  });

/**
 * The cheapest line near `guess`, from the first to the last of `xs`: its y at each of `xs`, in the frame of the mouth.
 */
const findLine = (
  xs: readonly number[],
  guess: Curve,
  reach: number,
  offsetCost: number,
  costAt: (x: number, y: number) => number,
): number[] => {
  const [left, right] = [xs[0] as number, xs.at(-1) as number];
  const rows = 2 * ROWS_PER_PIXEL * reach + 1;
  const findOffset = (row: number): number => row / ROWS_PER_PIXEL - reach;
  const path = findPath(rows, findOffset, (column, offset) => {
    const share = column / (COLUMNS - 1);
    const x = mix(left, right, share);
    const narrow = 0.35 + 0.65 * Math.sin(Math.PI * share);
    return costAt(x, guess(x) + offset) + offsetCost * (offset / (reach * narrow)) ** 2;
  });
  const smooth = smoothPath(path);
  return xs.map((x) => {
    const column = Math.round(((x - left) / (right - left)) * (COLUMNS - 1));
    return guess(x) + (smooth[column] as number);
  });
};

/**
 * The darkest line between the corners of closed lips: y at each of `xs`, in the frame of the mouth. `guess` is the seam by the
 * landmarks, and `reach` its largest error in pixels.
 */
export const findSeam = (
  luma: Uint8Array,
  frame: Frame,
  xs: readonly number[],
  guess: Curve,
  reach: number,
): number[] =>
  findLine(xs, guess, reach, SEAM_COST, (x, y) => {
    const place = fromFrame(frame, x, y);
    return lumaNear(luma, place.x, place.y);
  });

/** Rows in pixels above and below the edge of a lip whose colours are compared. */
const ROWS_AT_EDGE = [1, 2, 3] as const;
/** A step of colour counts this many steps of luma. */
const COLOUR_WEIGHT = 3;

/**
 * The upper edge of the lower lip of an open mouth: y at each of `xs`, in the frame of the mouth. `red` is the V plane of the photo;
 * `guess` and `reach` are as in `findSeam`. Lips are redder than teeth and than the dark between them. Luma would find the end of the
 * upper teeth instead.
 */
export const findLipEdge = (
  red: Uint8Array,
  frame: Frame,
  xs: readonly number[],
  guess: Curve,
  reach: number,
): number[] => {
  const readRed = (x: number, y: number): number => {
    const place = fromFrame(frame, x, y);
    return readPlane(red, PICTURE_SIZE / 2, place.x / 2 - 0.25, place.y / 2 - 0.25);
  };
  return findLine(xs, guess, reach, EDGE_COST, (x, y) => {
    const step = ROWS_AT_EDGE.reduce((sum, row) => sum + readRed(x, y + row) - readRed(x, y - row), 0);
    return (-COLOUR_WEIGHT * step) / ROWS_AT_EDGE.length;
  });
};
