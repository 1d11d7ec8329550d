/** Curves through points. */

/** y for each x, both in pixels of a frame. */
export type Curve = (x: number) => number;

/** Two points with the same x have no slope between them. */
const LEAST_STEP = 1e-3;

const slopesBetween = (xs: readonly number[], ys: readonly number[]): number[] =>
  xs.slice(1).map((x, index) => {
    const step = Math.max(LEAST_STEP, x - (xs[index] as number));
    return ((ys[index + 1] as number) - (ys[index] as number)) / step;
  });

/** The curve through points in ascending order of x, in cubic pieces. Constant beyond its ends. */
export const curveThrough = (xs: readonly number[], ys: readonly number[]): Curve => {
  const last = xs.length - 1;
  const between = slopesBetween(xs, ys);
  const slopes = xs.map((_, index) => {
    const before = between[Math.max(0, index - 1)] as number;
    const after = between[Math.min(last - 1, index)] as number;
    return (before + after) / 2;
  });
  return (x) => {
    if (x <= (xs[0] as number)) return ys[0] as number;
    if (x >= (xs[last] as number)) return ys[last] as number;
    let piece = 0;
    while (x > (xs[piece + 1] as number)) piece++;
    const start = xs[piece] as number;
    const length = Math.max(LEAST_STEP, (xs[piece + 1] as number) - start);
    const t = (x - start) / length;
    const [t2, t3] = [t * t, t * t * t];
    return (
      (2 * t3 - 3 * t2 + 1) * (ys[piece] as number) +
      (t3 - 2 * t2 + t) * length * (slopes[piece] as number) +
      (3 * t2 - 2 * t3) * (ys[piece + 1] as number) +
      (t3 - t2) * length * (slopes[piece + 1] as number)
    );
  };
};

/** A curve as a table of `count` values from `from` to `to`, for inner loops. */
export const tabulate = (curve: Curve, from: number, to: number, count: number): Float32Array =>
  Float32Array.from({ length: count }, (_, index) => curve(from + ((to - from) * index) / (count - 1)));
