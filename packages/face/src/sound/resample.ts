/** From 48 kHz to 16 kHz. */

/** Samples of the input for each sample of the output. */
const STEP = 3;
const TAPS = 33;
const MIDDLE = (TAPS - 1) / 2;
/** The -6 dB point of the low pass, as a share of the input's rate. */
const CUTOFF = 7000 / 48_000;

/** A windowed sinc (Hamming), scaled to a gain of 1 at 0 Hz. */
const lowPass = (): Float64Array => {
  const taps = Float64Array.from({ length: TAPS }, (_, index) => {
    const distance = index - MIDDLE;
    const sinc = distance === 0 ? 2 * CUTOFF : Math.sin(2 * Math.PI * CUTOFF * distance) / (Math.PI * distance);
    return sinc * (0.54 - 0.46 * Math.cos((2 * Math.PI * index) / (TAPS - 1)));
  });
  const sum = taps.reduce((total, tap) => total + tap, 0);
  return taps.map((tap) => tap / sum);
};
const FILTER = lowPass();

/**
 * Returns a function that takes consecutive pieces of sound (16 bit, 48 kHz, mono) and returns the completed samples at
 * 16 kHz, between -1 and 1. The filter delays the sound by 16 samples of the input (0.3 ms).
 */
export const createResampler = (): ((pcm: Int16Array) => Float32Array) => {
  const tail = new Float64Array(TAPS - 1);
  /** The number of samples of the next piece to skip before its first output sample. */
  let skip = 0;
  return (pcm) => {
    const input = new Float64Array(tail.length + pcm.length);
    input.set(tail);
    for (let index = 0; index < pcm.length; index++) input[tail.length + index] = (pcm[index] as number) / 32_768;
    tail.set(input.subarray(pcm.length));
    const count = Math.max(0, Math.ceil((pcm.length - skip) / STEP));
    const output = new Float32Array(count);
    for (let index = 0; index < count; index++) {
      const start = skip + index * STEP;
      // The filter is symmetric, so two samples share a tap.
      let sum = (FILTER[MIDDLE] as number) * (input[start + MIDDLE] as number);
      for (let tap = 0; tap < MIDDLE; tap++) {
        const pair = (input[start + tap] as number) + (input[start + TAPS - 1 - tap] as number);
        sum += (FILTER[tap] as number) * pair;
      }
      output[index] = sum;
    }
    skip += count * STEP - pcm.length;
    return output;
  };
};
