/** Affine maps between places in pictures: from the photo to a frame of a film. */
import { type Box, boxAround } from "./frame.ts";
import type { Place } from "./grid.ts";

/** x' = a x + b y + c; y' = d x + e y + f. */
export type Affine = readonly [a: number, b: number, c: number, d: number, e: number, f: number];

/** Writes the place to which a map leads from (x, y). `into` can be the object of the source place. */
export const applyAffine = ([a, b, c, d, e, f]: Affine, x: number, y: number, into: Place): void => {
  into.x = a * x + b * y + c;
  into.y = d * x + e * y + f;
};

/** The inverse map. */
export const invertAffine = ([a, b, c, d, e, f]: Affine): Affine => {
  const area = a * e - b * d;
  return [e / area, -b / area, (b * f - e * c) / area, -d / area, a / area, (d * c - a * f) / area];
};

/** The map that brings `from` to `to` with the least sum of squared distances. Both have the same number of places. */
export const fitAffine = (from: readonly Place[], to: readonly Place[]): Affine => {
  const count = from.length;
  const middle = { x: 0, y: 0, toX: 0, toY: 0 };
  for (const [index, { x, y }] of from.entries()) {
    middle.x += x / count;
    middle.y += y / count;
    middle.toX += (to[index] as Place).x / count;
    middle.toY += (to[index] as Place).y / count;
  }
  let [xx, xy, yy, xToX, yToX, xToY, yToY] = [0, 0, 0, 0, 0, 0, 0];
  for (const [index, place] of from.entries()) {
    const [x, y] = [place.x - middle.x, place.y - middle.y];
    const [toX, toY] = [(to[index] as Place).x - middle.toX, (to[index] as Place).y - middle.toY];
    xx += x * x;
    xy += x * y;
    yy += y * y;
    xToX += x * toX;
    yToX += y * toX;
    xToY += x * toY;
    yToY += y * toY;
  }
  const area = xx * yy - xy * xy;
  const [a, b] = [(xToX * yy - yToX * xy) / area, (yToX * xx - xToX * xy) / area];
  const [d, e] = [(xToY * yy - yToY * xy) / area, (yToY * xx - xToY * xy) / area];
  return [a, b, middle.toX - a * middle.x - b * middle.y, d, e, middle.toY - d * middle.x - e * middle.y];
};

/** The part of a frame that shows a part of the photo. */
export const placeBox = ({ left, top, right, bottom }: Box, place: Affine): Box =>
  boxAround(
    [
      [left, top],
      [right, top],
      [left, bottom],
      [right, bottom],
    ].map(([x, y]): Place => {
      const corner = { x: 0, y: 0 };
      applyAffine(place, x as number, y as number, corner);
      return corner;
    }),
  );

/** No movement. */
export const STILL: Place = { x: 0, y: 0 };
