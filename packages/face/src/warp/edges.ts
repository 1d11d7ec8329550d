/** The edges of the lips in a picture. */
import { clamp } from "../numbers.ts";
import { fromFrame } from "./frame.ts";
import { readField } from "./grid.ts";
import type { Maps, NodeMap } from "./maps.ts";
import type { Lips } from "./photo/lips.ts";

/** Columns of the table from corner to corner. */
export const EDGE_TABLE = 256;
/** The number of places on the photo's edges that are moved. */
const PLACES = 33;

/** In the frame of the mouth, in pixels. */
export type Edges = {
  /** x of the first column, and the distance from it to the last one. */
  left: number;
  width: number;
  /** y of the lower edge of the upper lip and of the upper edge of the lower lip. The first is never below the second. */
  top: Float32Array;
  bottom: Float32Array;
  /** The largest distance between the two. */
  gap: number;
};

type Line = { x: Float64Array; y: Float64Array };

/** The edge of a lip of the photo, moved by an expression. */
const moveEdge = (lips: Lips, isUpper: boolean, moves: NodeMap): Line => {
  const line: Line = { x: new Float64Array(PLACES), y: new Float64Array(PLACES) };
  const { frame, left, right } = lips;
  for (let index = 0; index < PLACES; index++) {
    const x = left + ((right - left) * index) / (PLACES - 1);
    const y = isUpper ? lips.upper(x) : lips.lower(x);
    const place = fromFrame(frame, x, y);
    const moveX = readField(moves.x, place.x, place.y);
    const moveY = readField(moves.y, place.x, place.y);
    line.x[index] = x + moveX * frame.axisX + moveY * frame.axisY;
    line.y[index] = y - moveX * frame.axisY + moveY * frame.axisX;
  }
  return line;
};

const fillTable = ({ x: xs, y: ys }: Line, left: number, width: number): Float32Array => {
  const table = new Float32Array(EDGE_TABLE);
  let piece = 0;
  for (let column = 0; column < EDGE_TABLE; column++) {
    const x = left + (width * column) / (EDGE_TABLE - 1);
    while (piece < PLACES - 2 && (xs[piece + 1] as number) < x) piece++;
    const [start, end] = [xs[piece] as number, xs[piece + 1] as number];
    const share = clamp((x - start) / Math.max(1e-3, end - start));
    const y = ys[piece] as number;
    table[column] = y + ((ys[piece + 1] as number) - y) * share;
  }
  return table;
};

/** The edges of the lips, moved by the expression of `maps`. Lips that would cross meet halfway. */
export const findEdges = (lips: Lips, maps: Maps): Edges => {
  const upper = moveEdge(lips, true, maps.upperMove);
  const lower = moveEdge(lips, false, maps.lowerMove);
  const left = Math.min(upper.x[0] as number, lower.x[0] as number);
  const width = Math.max(upper.x[PLACES - 1] as number, lower.x[PLACES - 1] as number) - left;
  const [top, bottom] = [fillTable(upper, left, width), fillTable(lower, left, width)];
  let gap = 0;
  for (let column = 0; column < EDGE_TABLE; column++) {
    const [above, below] = [top[column] as number, bottom[column] as number];
    if (above > below) top[column] = bottom[column] = (above + below) / 2;
    gap = Math.max(gap, below - above);
  }
  return { left, width, top, bottom, gap };
};
