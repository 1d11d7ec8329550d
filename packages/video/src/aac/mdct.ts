/** The modified discrete cosine transform of AAC (ISO/IEC 14496-3, 4.6.11), forward, for blocks of 1024 new samples. */

/** The number of new samples, and of coefficients, of a block. */
export const BLOCK_SAMPLES = 1024;
const HALF = BLOCK_SAMPLES / 2;
/** Points of the complex Fourier transform that computes it. */
const POINTS = HALF;

/** The sine window, over two blocks. */
const WINDOW = Float64Array.from({ length: 2 * BLOCK_SAMPLES }, (_, index) =>
  Math.sin((Math.PI * (index + 0.5)) / (2 * BLOCK_SAMPLES)),
);
const TWIST_COS = Float64Array.from({ length: POINTS }, (_, n) =>
  Math.cos((-Math.PI * (8 * n + 1)) / (8 * BLOCK_SAMPLES)),
);
const TWIST_SIN = Float64Array.from({ length: POINTS }, (_, n) =>
  Math.sin((-Math.PI * (8 * n + 1)) / (8 * BLOCK_SAMPLES)),
);
const ROOT_COS = Float64Array.from({ length: POINTS / 2 }, (_, n) => Math.cos((-2 * Math.PI * n) / POINTS));
const ROOT_SIN = Float64Array.from({ length: POINTS / 2 }, (_, n) => Math.sin((-2 * Math.PI * n) / POINTS));

/** The index whose bits are those of `index` in the reverse order. */
const REVERSED = Uint16Array.from({ length: POINTS }, (_, index) => {
  let reversed = 0;
  for (let bit = 1; bit < POINTS; bit *= 2) reversed = 2 * reversed + (index & bit ? 1 : 0);
  return reversed;
});

/** Transforms `POINTS` complex numbers in place. The input is in bit-reversed order. */
const fourier = (re: Float64Array, im: Float64Array): void => {
  for (let length = 2; length <= POINTS; length *= 2) {
    const half = length / 2;
    const stride = POINTS / length;
    for (let start = 0; start < POINTS; start += length) {
      for (let index = 0; index < half; index++) {
        const a = start + index;
        const b = a + half;
        const cos = ROOT_COS[index * stride] as number;
        const sin = ROOT_SIN[index * stride] as number;
        const reT = (re[b] as number) * cos - (im[b] as number) * sin;
        const imT = (re[b] as number) * sin + (im[b] as number) * cos;
        re[b] = (re[a] as number) - reT;
        im[b] = (im[a] as number) - imT;
        re[a] = (re[a] as number) + reT;
        im[a] = (im[a] as number) + imT;
      }
    }
  }
};

/**
 * Returns a function from the samples of two blocks to the coefficients of the second one. The next call overwrites the
 * result.
 */
export const createMdct = (): ((samples: Float64Array) => Float64Array) => {
  const folded = new Float64Array(BLOCK_SAMPLES);
  const [re, im] = [new Float64Array(POINTS), new Float64Array(POINTS)];
  const coefficients = new Float64Array(BLOCK_SAMPLES);
  return (samples) => {
    const at = (index: number): number => (samples[index] as number) * (WINDOW[index] as number);
    // The four quarters a, b, c, d of the samples fold to (-c reversed - d, a - b reversed).
    for (let index = 0; index < HALF; index++) {
      folded[index] = -at(3 * HALF - 1 - index) - at(3 * HALF + index);
      folded[HALF + index] = at(index) - at(2 * HALF - 1 - index);
    }
    for (let n = 0; n < POINTS; n++) {
      const x = folded[2 * n] as number;
      const y = folded[BLOCK_SAMPLES - 1 - 2 * n] as number;
      const cos = TWIST_COS[n] as number;
      const sin = TWIST_SIN[n] as number;
      const target = REVERSED[n] as number;
      re[target] = x * cos - y * sin;
      im[target] = x * sin + y * cos;
    }
    fourier(re, im);
    for (let k = 0; k < POINTS; k++) {
      const x = re[k] as number;
      const y = im[k] as number;
      const cos = TWIST_COS[k] as number;
      const sin = TWIST_SIN[k] as number;
      coefficients[2 * k] = 2 * (x * cos - y * sin);
      coefficients[BLOCK_SAMPLES - 1 - 2 * k] = -2 * (x * sin + y * cos);
    }
    return coefficients;
  };
};
