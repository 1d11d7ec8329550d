/** Quantizes the coefficients of a block up to the allowed noise of each band. */
import { BAND_OFFSETS, BANDS } from "./bands.ts";
import { MAX_DIFFERENCE, MAX_VALUE } from "./codebooks.ts";

/** The scalefactor of a step of 1. Adding four doubles the step. */
const UNIT_SCALEFACTOR = 100;
const MAX_SCALEFACTOR = 255;
/** Fractions from here on are rounded up, which minimizes the expected error. */
const ROUNDING = 0.4054;

/** `scalefactors`: one for each band; unused for a band of zeros. */
export type Quantized = { values: Int32Array; scalefactors: Int32Array };

const stepOf = (scalefactor: number): number => 2 ** ((scalefactor - UNIT_SCALEFACTOR) / 4);

/**
 * The scalefactor with which a band has noise of this energy. A quantized number has an error of 1/12 around its power
 * of 3/4, so the noise of a coefficient x is 4/27 step^1.5 |x|^0.5.
 */
const scalefactorFor = (noise: number, roots: number, max: number): number => {
  const step = (6.75 * noise) / roots;
  const wanted = UNIT_SCALEFACTOR + Math.floor((8 / 3) * Math.log2(step));
  // The largest coefficient must stay below the largest number.
  const least = UNIT_SCALEFACTOR + Math.ceil(4 * Math.log2(max / (MAX_VALUE - 1) ** (4 / 3)));
  return Math.min(MAX_SCALEFACTOR, Math.max(0, wanted, least));
};

/** `noise`: the allowed energy of the noise in each band. */
export const quantize = (coefficients: Float64Array, energies: Float64Array, noise: Float64Array): Quantized => {
  const values = new Int32Array(coefficients.length);
  const scalefactors = new Int32Array(BANDS);
  let previous: number | null = null;
  for (let band = 0; band < BANDS; band++) {
    if ((energies[band] as number) <= (noise[band] as number)) continue;
    const [start, end] = [BAND_OFFSETS[band] as number, BAND_OFFSETS[band + 1] as number];
    let [roots, max] = [0, 0];
    for (let index = start; index < end; index++) {
      const size = Math.abs(coefficients[index] as number);
      roots += Math.sqrt(size);
      max = Math.max(max, size);
    }
    let scalefactor = scalefactorFor(noise[band] as number, roots, max);
    if (previous !== null) {
      scalefactor = Math.min(previous + MAX_DIFFERENCE, Math.max(previous - MAX_DIFFERENCE, scalefactor));
    }
    const inverse = 1 / stepOf(scalefactor);
    let isZero = true;
    for (let index = start; index < end; index++) {
      const coefficient = coefficients[index] as number;
      const scaled = Math.abs(coefficient) * inverse;
      // The power of 3/4.
      const value = Math.min(MAX_VALUE, Math.floor(Math.sqrt(scaled * Math.sqrt(scaled)) + ROUNDING));
      values[index] = coefficient < 0 ? -value : value;
      if (value !== 0) isZero = false;
    }
    if (isZero) continue;
    scalefactors[band] = scalefactor;
    previous = scalefactor;
  }
  return { values, scalefactors };
};
