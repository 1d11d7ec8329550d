/** The inner loop of the warp: fills a plane from a map, with integers of 16 bits behind the point. */
import { PICTURE_SIZE } from "../picture.ts";
import { CELL, GRID_SIZE } from "./grid.ts";
import type { NodeMap } from "./maps.ts";

const ONE = 65_536;
/** A cell whose corners move less than this in all, in pixels, shows the photo. */
const STILL = 0.02;
const CELLS_IN_ROW = GRID_SIZE - 1;

/** The cells with at least one node of `moving`: the index of their upper left node. */
export const findCells = (moving: Int32Array): Int32Array => {
  const isMoving = new Set(moving);
  const cells: number[] = [];
  for (let cell = 0; cell < CELLS_IN_ROW * GRID_SIZE; cell++) {
    if (cell % GRID_SIZE === CELLS_IN_ROW) continue;
    const corners = [cell, cell + 1, cell + GRID_SIZE, cell + GRID_SIZE + 1];
    if (corners.some((node) => isMoving.has(node))) cells.push(cell);
  }
  return Int32Array.from(cells);
};

/**
 * Fills the cells of a plane. `target` has the photo already, so that cells that do not move are left alone. `scale`: 1 for luma, 2
 * for a plane of half the width and height, whose pixels lie in the middle of four pixels of luma.
 */
export const remapPlane = (
  source: Uint8Array,
  target: Uint8Array,
  map: NodeMap,
  cells: Int32Array,
  scale: 1 | 2,
): void => {
  const size = PICTURE_SIZE / scale;
  const step = CELL / scale;
  const unit = ONE / scale;
  // The middle of a pixel of half a plane is a quarter of such a pixel to the right of that of its first pixel of luma.
  const shift = scale === 1 ? 0 : 0.25;
  const last = Math.floor((size - 1.001) * ONE);
  const { x: mapX, y: mapY } = map;
  for (let index = 0; index < cells.length; index++) {
    const node = cells[index] as number;
    const row = (node / GRID_SIZE) | 0;
    const column = node - row * GRID_SIZE;
    const x00 = mapX[node] as number;
    const x10 = mapX[node + 1] as number;
    const x01 = mapX[node + GRID_SIZE] as number;
    const x11 = mapX[node + GRID_SIZE + 1] as number;
    const y00 = mapY[node] as number;
    const y10 = mapY[node + 1] as number;
    const y01 = mapY[node + GRID_SIZE] as number;
    const y11 = mapY[node + GRID_SIZE + 1] as number;
    const left = column * CELL;
    const top = row * CELL;
    const moved = Math.abs(x00 - left) + Math.abs(y00 - top) + Math.abs(x11 - left - CELL) + Math.abs(y11 - top - CELL);
    if (moved < STILL && Math.abs(x10 - left - CELL) + Math.abs(y01 - top - CELL) < STILL) continue;
    for (let line = 0; line < step; line++) {
      const down = (line + shift) / step;
      const startX = x00 + (x01 - x00) * down;
      const startY = y00 + (y01 - y00) * down;
      const slopeX = (x10 + (x11 - x10) * down - startX) / step;
      const slopeY = (y10 + (y11 - y10) * down - startY) / step;
      let fromX = ((startX + shift * slopeX) * unit - shift * ONE) | 0;
      let fromY = ((startY + shift * slopeY) * unit - shift * ONE) | 0;
      const stepX = (slopeX * unit) | 0;
      const stepY = (slopeY * unit) | 0;
      let pixel = (row * step + line) * size + column * step;
      const end = pixel + step;
      for (; pixel < end; pixel++) {
        const x = Math.max(0, Math.min(fromX, last));
        const y = Math.max(0, Math.min(fromY, last));
        const at = (y >> 16) * size + (x >> 16);
        const right = (x >> 8) & 255;
        const a = source[at] as number;
        const c = source[at + size] as number;
        const upper = (a << 8) + ((source[at + 1] as number) - a) * right;
        const lower = (c << 8) + ((source[at + size + 1] as number) - c) * right;
        target[pixel] = ((upper << 8) + (lower - upper) * ((y >> 8) & 255) + 32_768) >> 16;
        fromX = (fromX + stepX) | 0;
        fromY = (fromY + stepY) | 0;
      }
    }
  }
};
