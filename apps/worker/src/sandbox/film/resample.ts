/**
 * Resamples sound of any rate to 48 kHz. Calls use the resampler of `packages/speech`, which takes a third of the time
 * because it has prepared filters for a few rates.
 */
import { SAMPLE_RATE } from "./tasks.ts";

/** Zero crossings of the sinc to each side of a sample. */
const CROSSINGS = 16;
/** The sinc is stored at this many points between two crossings. Between points, it is interpolated. */
const POINTS = 512;
/** The -6 dB point, as a share of half of the lower rate, so that no mirror image is audible. */
const CUTOFF = 0.94;

/** A half of a sinc with a Blackman window. */
const KERNEL = Float64Array.from({ length: CROSSINGS * POINTS + 2 }, (_, index) => {
  const distance = index / POINTS;
  if (distance >= CROSSINGS) return 0;
  const angle = (Math.PI * distance) / CROSSINGS;
  const window = 0.42 + 0.5 * Math.cos(angle) + 0.08 * Math.cos(2 * angle);
  return distance === 0 ? 1 : (window * Math.sin(Math.PI * distance)) / (Math.PI * distance);
});

export type Resampler = {
  /** Returns the samples that this piece completes. */
  push: (samples: Float64Array) => Float64Array;
  /** Returns the last samples. The output has the length of the input and is aligned with it. */
  flush: () => Float64Array;
};

/** From `rate` to 48 kHz, piece by piece. The division into pieces does not change the output. */
export const createResampler = (rate: number): Resampler => {
  if (rate === SAMPLE_RATE) return { push: (samples) => samples, flush: () => new Float64Array(0) };
  const step = rate / SAMPLE_RATE;
  /** Zero crossings of the sinc for each sample of the input. */
  const scale = CUTOFF * Math.min(1, 1 / step);
  const reach = Math.ceil(CROSSINGS / scale);
  /** The input from `offset` on, with silence before it. */
  let input = new Float64Array(reach);
  let offset = -reach;
  let received = 0;
  let sent = 0;

  const sampleAt = (position: number): number => {
    const first = Math.ceil(position - reach);
    let sum = 0;
    for (let index = Math.max(first, offset); index <= position + reach; index++) {
      const at = Math.abs(index - position) * scale * POINTS;
      const point = Math.floor(at);
      if (point >= CROSSINGS * POINTS) continue;
      const before = KERNEL[point] as number;
      const weight = before + ((KERNEL[point + 1] as number) - before) * (at - point);
      sum += weight * (input[index - offset] as number);
    }
    return sum * scale;
  };

  const convert = (samples: Float64Array, limit: number): Float64Array => {
    const all = new Float64Array(input.length + samples.length);
    all.set(input);
    all.set(samples, input.length);
    input = all;
    const end = offset + all.length;
    const output: number[] = [];
    while (sent < limit && Math.floor(sent * step + reach) < end) output.push(sampleAt(sent++ * step));
    const keep = Math.max(offset, Math.floor(sent * step - reach));
    input = all.slice(keep - offset);
    offset = keep;
    return Float64Array.from(output);
  };
  return {
    push: (samples) => {
      received += samples.length;
      return convert(samples, Number.POSITIVE_INFINITY);
    },
    flush: () => convert(new Float64Array(2 * reach + 2), Math.ceil(received / step)),
  };
};
