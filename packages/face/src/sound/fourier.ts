/** A fast Fourier transform, in place, radix 2. */

export type Fourier = {
  /** Before the transform: the input in the order of `reversed`. After it: the result. */
  real: Float64Array;
  imaginary: Float64Array;
  /** For each place of the input, the index of the sample that belongs there. */
  reversed: Uint16Array;
  transform(): void;
};

/** Creates a transform of `size` points, a power of two from 2 to 65,536. */
export const createFourier = (size: number): Fourier => {
  const bits = Math.log2(size);
  const cosines = Float64Array.from({ length: size / 2 }, (_, index) => Math.cos((2 * Math.PI * index) / size));
  const sines = Float64Array.from({ length: size / 2 }, (_, index) => -Math.sin((2 * Math.PI * index) / size));
  const reversed = Uint16Array.from({ length: size }, (_, index) => {
    let result = 0;
    for (let bit = 0; bit < bits; bit++) result |= ((index >> bit) & 1) << (bits - 1 - bit);
    return result;
  });
  const real = new Float64Array(size);
  const imaginary = new Float64Array(size);

  /** Combines the transforms of two halves of `half` points each into one of twice the size, for all pairs of the array. */
  const combineHalves = (half: number): void => {
    const step = size / (2 * half);
    for (let k = 0; k < half; k++) {
      const cosine = cosines[k * step] as number;
      const sine = sines[k * step] as number;
      for (let low = k; low < size; low += 2 * half) {
        const high = low + half;
        const a = real[low] as number;
        const b = imaginary[low] as number;
        const c = real[high] as number;
        const d = imaginary[high] as number;
        const turnedReal = c * cosine - d * sine;
        const turnedImaginary = c * sine + d * cosine;
        real[high] = a - turnedReal;
        imaginary[high] = b - turnedImaginary;
        real[low] = a + turnedReal;
        imaginary[low] = b + turnedImaginary;
      }
    }
  };
  const transform = (): void => {
    for (let half = 1; half < size; half *= 2) combineHalves(half);
  };
  return { real, imaginary, reversed, transform };
};
