/** Measures whether the eyes and the mouth of a face can be seen. Pure functions: from pixels and the mesh, to percent. */
import type { Picture, Point } from "./faces.ts";

/**
 * Points of MediaPipe's face mesh: the corners of each eye and of the mouth; the upper edge of the upper lip and the
 * lower edge of the lower lip.
 */
const EYES = [
  [33, 133],
  [362, 263],
] as const;
const MOUTH = [61, 291] as const;
const [UPPER_LIP, LOWER_LIP] = [0, 17];
const CHEEKS = [50, 205, 187, 280, 425, 411];
/** The outer corners of the eyes, whose distance is the unit of all lengths. */
const [RIGHT_EYE, LEFT_EYE] = [33, 263];

const ORIGIN: Point = [0, 0, 0];
const pointOf = (mesh: readonly Point[], index: number): Point => mesh[index] ?? ORIGIN;

const luma = ({ data, width, height }: Picture, x: number, y: number): number => {
  const column = Math.min(width - 1, Math.max(0, Math.round(x)));
  const at = 3 * (Math.min(height - 1, Math.max(0, Math.round(y))) * width + column);
  return 0.299 * (data[at] ?? 0) + 0.587 * (data[at + 1] ?? 0) + 0.114 * (data[at + 2] ?? 0);
};

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

/** The luma of the skin, measured at the cheeks. */
const skinLuma = (picture: Picture, mesh: readonly Point[]): number =>
  median(CHEEKS.map((index) => luma(picture, pointOf(mesh, index)[0], pointOf(mesh, index)[1])));

/**
 * The difference between the lightest and the darkest of `values`, in percent of the lightest value or of the skin,
 * whichever is lighter.
 */
const contrast = (values: readonly number[], skin: number): number => {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return (100 * (most - least)) / Math.max(1, skin, most);
};

/** How many places along an eye are compared. The places at the corners are omitted. */
const EYE_STEPS = 24;

/**
 * The contrast along an eye, because the iris is darker than the white beside it. A closed or covered eye has nearly no
 * contrast.
 */
const contrastOfEye = (picture: Picture, mesh: readonly Point[], [from, to]: (typeof EYES)[number]): number => {
  const [[x0, y0], [x1, y1]] = [pointOf(mesh, from), pointOf(mesh, to)];
  const [[rx, ry, rz], [lx, ly, lz]] = [pointOf(mesh, RIGHT_EYE), pointOf(mesh, LEFT_EYE)];
  const reach = 0.035 * Math.hypot(rx - lx, ry - ly, rz - lz);
  const along: number[] = [];
  for (let step = 2; step <= EYE_STEPS - 2; step += 1) {
    const share = step / EYE_STEPS;
    const [x, y] = [x0 + share * (x1 - x0), y0 + share * (y1 - y0) - 0.3 * reach];
    const column = [-0.7, -0.47, -0.23, 0, 0.23, 0.47, 0.7].map((offset) => luma(picture, x, y + offset * reach));
    along.push(column.reduce((sum, value) => sum + value, 0) / column.length);
  }
  const smooth = along.map((value, at) => ((along[at - 1] ?? value) + value + (along[at + 1] ?? value)) / 3);
  return contrast(smooth, skinLuma(picture, mesh));
};

/** The contrast of the eye with less contrast, in percent. */
export const eyeContrast = (picture: Picture, mesh: readonly Point[]): number =>
  Math.min(...EYES.map((eye) => contrastOfEye(picture, mesh, eye)));

/** The positions of the lines across the mouth, in shares of its half width from its middle. */
const COLUMNS = [-0.5, -0.3, -0.1, 0.1, 0.3, 0.5];

/**
 * The contrast of the lines from above the upper lip to below the lower one, in percent, due to the lips, the line
 * between them or teeth. Skin before the mouth, or a mask, has nearly no contrast.
 */
export const mouthContrast = (picture: Picture, mesh: readonly Point[]): number => {
  const [[x0], [x1]] = [pointOf(mesh, MOUTH[0]), pointOf(mesh, MOUTH[1])];
  const [top, bottom] = [pointOf(mesh, UPPER_LIP)[1], pointOf(mesh, LOWER_LIP)[1]];
  const skin = skinLuma(picture, mesh);
  const contrasts = COLUMNS.map((share) => {
    const x = (x0 + x1 + share * (x1 - x0)) / 2;
    const line: number[] = [];
    for (let y = top; y <= bottom; y += 1) {
      line.push((luma(picture, x - 1, y) + luma(picture, x, y) + luma(picture, x + 1, y)) / 3);
    }
    return line.length === 0 ? 0 : contrast(line, skin);
  });
  return contrasts.toSorted((a, b) => a - b)[(COLUMNS.length >> 1) - 1] ?? 0;
};
