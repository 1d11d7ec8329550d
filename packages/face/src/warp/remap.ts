/** The inner loop of the warp: fills planes from a map, with integers. */
import { PICTURE_SIZE, type Planes } from "../picture.ts";
import type { Box } from "./frame.ts";
import { CELL, GRID_SIZE, type MovingRow } from "./grid.ts";
import type { NodeMap } from "./maps.ts";

/** Coordinates are fixed-point numbers with 16 bits behind the point. */
const ONE = 65_536;
const CELLS_IN_ROW = GRID_SIZE - 1;
/** A mask for two bytes of four. Between them is room for the result of a multiplication by 256. */
const EVEN_BYTES = 0xff00ff;

/** The rows of cells with a corner in `moving`. */
export const findMovingRows = (moving: Int32Array): MovingRow[] => {
  const nodes = Array.from(moving, (node) => ({ row: Math.floor(node / GRID_SIZE), column: node % GRID_SIZE }));
  const rows = Array.from({ length: CELLS_IN_ROW }, (_, row) => {
    const columns = nodes.filter((node) => node.row === row || node.row === row + 1).map(({ column }) => column);
    const first = Math.max(0, Math.min(...columns) - 1);
    return { row, first, end: Math.min(CELLS_IN_ROW, Math.max(...columns) + 1) };
  });
  return rows.filter(({ first, end }) => first < end);
};

/**
 * For each pixel of a plane, four bytes: the pixel, its right neighbour and the two pixels below them. So an
 * interpolation needs one read.
 */
export type PackedPlane = Int32Array;

const packPlane = (plane: Uint8Array, size: number): PackedPlane => {
  const packed = new Int32Array(plane.length);
  const byte = (pixel: number): number => plane[pixel] as number;
  for (let pixel = 0; pixel < plane.length; pixel++) {
    const right = pixel % size === size - 1 ? 0 : 1;
    const below = pixel + size < plane.length ? pixel + size : pixel;
    packed[pixel] = byte(pixel) | (byte(pixel + right) << 8) | (byte(below) << 16) | (byte(below + right) << 24);
  }
  return packed;
};

export type PackedPhoto = { y: PackedPlane; u: PackedPlane; v: PackedPlane };

/** Packs a photo. Takes four times its memory: 1.5 MB. */
export const packPhoto = ({ y, u, v }: Planes): PackedPhoto => ({
  y: packPlane(y, PICTURE_SIZE),
  u: packPlane(u, PICTURE_SIZE / 2),
  v: packPlane(v, PICTURE_SIZE / 2),
});

/** Planes whose parts are packed on demand. */
export const createPacked = (): PackedPhoto => ({
  y: new Int32Array(PICTURE_SIZE ** 2),
  u: new Int32Array(PICTURE_SIZE ** 2 / 4),
  v: new Int32Array(PICTURE_SIZE ** 2 / 4),
});

/** Packs a part of a plane. */
const packPartOfPlane = (
  plane: Uint8Array,
  size: number,
  { left, top, right, bottom }: Box,
  into: PackedPlane,
): void => {
  for (let row = top; row < bottom; row++) {
    const start = row * size;
    const below = row + 1 < size ? start + size : start;
    let packed = (plane[start + left] as number) | ((plane[below + left] as number) << 16);
    for (let column = left; column < right; column++) {
      const next = column + 1 < size ? column + 1 : column;
      const [above, under] = [plane[start + next] as number, plane[below + next] as number];
      into[start + column] = packed | (above << 8) | (under << 24);
      packed = above | (under << 16);
    }
  }
};

/** Packs a part of a picture, in pixels of luma. */
export const packPart = (photo: Planes, { left, top, right, bottom }: Box, into: PackedPhoto): void => {
  packPartOfPlane(photo.y, PICTURE_SIZE, { left, top, right, bottom }, into.y);
  const half = { left: left >> 1, top: top >> 1, right: (right + 1) >> 1, bottom: (bottom + 1) >> 1 };
  packPartOfPlane(photo.u, PICTURE_SIZE / 2, half, into.u);
  packPartOfPlane(photo.v, PICTURE_SIZE / 2, half, into.v);
};

/**
 * Interpolates between four packed bytes. `right` and `below`: from 0 to 255. One multiplication mixes the upper and the lower
 * pair, because a byte times 256 fits into 16 bits.
 */
const interpolate = (packed: number, right: number, below: number): number => {
  const rows = (Math.imul(packed & EVEN_BYTES, 256 - right) + Math.imul((packed >>> 8) & EVEN_BYTES, right)) | 0;
  return ((Math.imul(rows & 0xffff, 256 - below) + Math.imul(rows >>> 16, below) + 32_768) | 0) >>> 16;
};

/** The pixel of a plane of 2 ** `bits` × 2 ** `bits` bytes at a place. Outside of the plane: its edge. */
const readPacked = (source: PackedPlane, bits: number, x: number, y: number): number => {
  const last = ((1 << bits) - 1) << 16;
  const column = Math.max(0, Math.min(x, last));
  const row = Math.max(0, Math.min(y, last));
  const packed = source[((row >> 16) << bits) | (column >> 16)] as number;
  return interpolate(packed, (column >> 8) & 255, (row >> 8) & 255);
};

/** The source places of the upper nodes of a row of cells, and their change per eighth of the way down to the lower nodes. */
const upperX = new Int32Array(GRID_SIZE);
const upperY = new Int32Array(GRID_SIZE);
const slopeX = new Int32Array(GRID_SIZE);
const slopeY = new Int32Array(GRID_SIZE);
/** The source places of the columns of nodes on one line of pixels. */
const lineX = new Int32Array(GRID_SIZE);
const lineY = new Int32Array(GRID_SIZE);

const startRow = ({ x: mapX, y: mapY }: NodeMap, { row, first, end }: MovingRow): void => {
  for (let column = first; column <= end; column++) {
    const node = row * GRID_SIZE + column;
    const x = ((mapX[node] as number) * ONE) | 0;
    const y = ((mapY[node] as number) * ONE) | 0;
    const belowX = ((mapX[node + GRID_SIZE] as number) * ONE) | 0;
    const belowY = ((mapY[node + GRID_SIZE] as number) * ONE) | 0;
    upperX[column] = x;
    upperY[column] = y;
    slopeX[column] = ((belowX - x) | 0) >> 3;
    slopeY[column] = ((belowY - y) | 0) >> 3;
  }
};

const startLine = ({ first, end }: MovingRow, eighths: number): void => {
  for (let column = first; column <= end; column++) {
    lineX[column] = ((upperX[column] as number) + Math.imul(slopeX[column] as number, eighths)) | 0;
    lineY[column] = ((upperY[column] as number) + Math.imul(slopeY[column] as number, eighths)) | 0;
  }
};

const LUMA_BITS = Math.log2(PICTURE_SIZE);
const COLOUR_BITS = LUMA_BITS - 1;
/** A cell has four pixels of luma and two of colour in a line. */
const CELL_BITS = Math.log2(CELL);

const fillLuma = (source: PackedPlane, target: Uint8Array, { first, end }: MovingRow, line: number): void => {
  for (let column = first; column < end; column++) {
    const x = lineX[column] as number;
    const y = lineY[column] as number;
    const stepX = ((lineX[column + 1] as number) - x) >> CELL_BITS;
    const stepY = ((lineY[column + 1] as number) - y) >> CELL_BITS;
    const pixel = (line << LUMA_BITS) | (column << CELL_BITS);
    target[pixel] = readPacked(source, LUMA_BITS, x, y);
    target[pixel + 1] = readPacked(source, LUMA_BITS, (x + stepX) | 0, (y + stepY) | 0);
    target[pixel + 2] = readPacked(source, LUMA_BITS, (x + 2 * stepX) | 0, (y + 2 * stepY) | 0);
    target[pixel + 3] = readPacked(source, LUMA_BITS, (x + 3 * stepX) | 0, (y + 3 * stepY) | 0);
  }
};

/** The middle of a pixel of colour lies a quarter of its size to the right of and below the middle of its first pixel of luma. */
const SHIFT = ONE / 4;

const fillColour = (source: PackedPhoto, target: Planes, { first, end }: MovingRow, line: number): void => {
  const { u: sourceU, v: sourceV } = source;
  const { u: targetU, v: targetV } = target;
  for (let column = first; column < end; column++) {
    const stepX = ((lineX[column + 1] as number) - (lineX[column] as number)) >> CELL_BITS;
    const stepY = ((lineY[column + 1] as number) - (lineY[column] as number)) >> CELL_BITS;
    const x = (((lineX[column] as number) >> 1) + (stepX >> 2) - SHIFT) | 0;
    const y = (((lineY[column] as number) >> 1) + (stepY >> 2) - SHIFT) | 0;
    const nextX = (x + stepX) | 0;
    const nextY = (y + stepY) | 0;
    const pixel = (line << COLOUR_BITS) | (column << (CELL_BITS - 1));
    targetU[pixel] = readPacked(sourceU, COLOUR_BITS, x, y);
    targetU[pixel + 1] = readPacked(sourceU, COLOUR_BITS, nextX, nextY);
    targetV[pixel] = readPacked(sourceV, COLOUR_BITS, x, y);
    targetV[pixel + 1] = readPacked(sourceV, COLOUR_BITS, nextX, nextY);
  }
};

/** Fills the moving rows of a picture from a map. `target` has the photo already. */
export const remap = (source: PackedPhoto, target: Planes, map: NodeMap, rows: readonly MovingRow[]): void => {
  for (const moving of rows) {
    startRow(map, moving);
    for (let line = 0; line < CELL; line++) {
      startLine(moving, 2 * line);
      fillLuma(source.y, target.y, moving, moving.row * CELL + line);
    }
    // A line of colour lies between two lines of luma.
    for (let line = 0; line < CELL / 2; line++) {
      startLine(moving, 4 * line + 1);
      fillColour(source, target, moving, (moving.row * CELL) / 2 + line);
    }
  }
};
