/** The grid on which the maps of the warp are defined, and how values between its nodes and between pixels are read. */
import { PICTURE_SIZE } from "../picture.ts";

/** Pixels from one node to the next. */
export const CELL = 4;
/** Nodes in a row, and rows of nodes. */
export const GRID_SIZE = PICTURE_SIZE / CELL + 1;
export const NODE_COUNT = GRID_SIZE ** 2;

/** Largest coordinate that has a node to its right. */
const LAST = GRID_SIZE - 1.001;

/** For each row of cells, the columns that can move: from `first`, inclusive, to `end`, exclusive. */
export type MovingRow = { row: number; first: number; end: number };

/** A place into which a function writes its result, so that the inner loops allocate no memory. */
export type Place = { x: number; y: number };

/** The value of a field at a place in pixels, between its nodes by bilinear interpolation. */
export const readField = (field: Float32Array, x: number, y: number): number => {
  const column = x < 0 ? 0 : Math.min(x / CELL, LAST);
  const row = y < 0 ? 0 : Math.min(y / CELL, LAST);
  const left = column | 0;
  const top = row | 0;
  const [right, down] = [column - left, row - top];
  const node = top * GRID_SIZE + left;
  const [a, b] = [field[node] as number, field[node + 1] as number];
  const [c, d] = [field[node + GRID_SIZE] as number, field[node + GRID_SIZE + 1] as number];
  const upper = a + (b - a) * right;
  return upper + (c + (d - c) * right - upper) * down;
};

/** The values of the two fields of a map at a place in pixels, written to `into`. */
export const readMap = (mapX: Float32Array, mapY: Float32Array, x: number, y: number, into: Place): void => {
  const column = x < 0 ? 0 : Math.min(x / CELL, LAST);
  const row = y < 0 ? 0 : Math.min(y / CELL, LAST);
  const left = column | 0;
  const top = row | 0;
  const right = column - left;
  const down = row - top;
  const node = top * GRID_SIZE + left;
  const both = right * down;
  const onlyRight = right - both;
  const onlyDown = down - both;
  const neither = 1 - right - onlyDown;
  into.x =
    neither * (mapX[node] as number) +
    onlyRight * (mapX[node + 1] as number) +
    onlyDown * (mapX[node + GRID_SIZE] as number) +
    both * (mapX[node + GRID_SIZE + 1] as number);
  into.y =
    neither * (mapY[node] as number) +
    onlyRight * (mapY[node + 1] as number) +
    onlyDown * (mapY[node + GRID_SIZE] as number) +
    both * (mapY[node + GRID_SIZE + 1] as number);
};

/** The value of a plane of `size` × `size` bytes between its pixels. A place outside of the plane reads its edge. */
export const readPlane = (plane: Uint8Array, size: number, x: number, y: number): number => {
  const last = size - 1.001;
  const column = Math.max(0, Math.min(x, last));
  const row = Math.max(0, Math.min(y, last));
  const left = column | 0;
  const top = row | 0;
  const right = column - left;
  const pixel = top * size + left;
  const a = plane[pixel] as number;
  const c = plane[pixel + size] as number;
  const upper = a + ((plane[pixel + 1] as number) - a) * right;
  const lower = c + ((plane[pixel + size + 1] as number) - c) * right;
  return upper + (lower - upper) * (row - top);
};

/** The luma of the pixel nearest to a place. */
export const lumaNear = (luma: Uint8Array, x: number, y: number): number => {
  const column = Math.min(PICTURE_SIZE - 1, Math.max(0, Math.round(x)));
  const row = Math.min(PICTURE_SIZE - 1, Math.max(0, Math.round(y)));
  return luma[row * PICTURE_SIZE + column] as number;
};
