/** Sound of other rates as 48 kHz, which calls and videos have. */
import type { SampleRate } from "./settings.ts";

export const OUTPUT_SAMPLE_RATE = 48_000;

/** Samples of the input to each side of a sample of the output. */
const HALF_TAPS = 16;
const TAPS = 2 * HALF_TAPS;
/** The -6 dB point, as a share of the input's rate: below the half, so that no mirror image is heard. */
const CUTOFF = 0.46;

const greatestDivisor = (a: number, b: number): number => (b === 0 ? a : greatestDivisor(b, a % b));

/** Windowed sincs (Hann), one for each position of an output sample between two input samples. Each has a gain of 1 at 0 Hz. */
const createFilters = (phases: number): Float64Array[] =>
  Array.from({ length: phases }, (_, phase) => {
    const taps = Float64Array.from({ length: TAPS }, (_, tap) => {
      const distance = tap - HALF_TAPS + 1 - phase / phases;
      const angle = 2 * Math.PI * CUTOFF * distance;
      const sinc = distance === 0 ? 1 : Math.sin(angle) / angle;
      return sinc * (0.5 + 0.5 * Math.cos((Math.PI * distance) / HALF_TAPS));
    });
    const sum = taps.reduce((total, tap) => total + tap, 0);
    return taps.map((tap) => tap / sum);
  });

export type Resampler = {
  /** The samples that are known with this piece. */
  push(pcm: Int16Array): Int16Array;
  /** The last samples. The output has `ceil(input × 48,000 / rate)` samples in all, in step with the input. */
  flush(): Int16Array;
};

/** Converts 16-bit PCM at `rate` to 48 kHz, piece by piece. The output does not depend on where pieces end. */
export const createResampler = (rate: SampleRate): Resampler => {
  if (rate === OUTPUT_SAMPLE_RATE) return { push: (pcm) => pcm, flush: () => new Int16Array(0) };
  const divisor = greatestDivisor(OUTPUT_SAMPLE_RATE, rate);
  const phases = OUTPUT_SAMPLE_RATE / divisor;
  const step = rate / divisor;
  const filters = createFilters(phases);
  /** Input that later samples need. It begins `HALF_TAPS - 1` samples before the input sample at `index`. */
  let input = new Float64Array(HALF_TAPS - 1);
  /** The position of the next output sample: an index into `input`, and a phase behind it. */
  let index = 0;
  let phase = 0;
  let received = 0;
  let sent = 0;

  const convert = (pcm: Int16Array, limit: number): Int16Array => {
    const all = new Float64Array(input.length + pcm.length);
    all.set(input);
    all.set(pcm, input.length);
    const output = new Int16Array(Math.max(0, Math.ceil(((all.length - index) * phases) / step)));
    let count = 0;
    while (index + TAPS <= all.length && count < limit) {
      const filter = filters[phase] as Float64Array;
      let sum = 0;
      for (let tap = 0; tap < TAPS; tap++) sum += (filter[tap] as number) * (all[index + tap] as number);
      output[count++] = Math.max(-32_768, Math.min(32_767, Math.round(sum)));
      phase += step;
      index += Math.floor(phase / phases);
      phase %= phases;
    }
    input = all.slice(Math.min(index, all.length));
    index -= Math.min(index, all.length);
    sent += count;
    return output.slice(0, count);
  };

  return {
    push: (pcm) => {
      received += pcm.length;
      return convert(pcm, Number.POSITIVE_INFINITY);
    },
    flush: () => convert(new Int16Array(TAPS), Math.ceil((received * phases) / step) - sent),
  };
};
