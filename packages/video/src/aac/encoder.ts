/**
 * An encoder of AAC (ISO/IEC 14496-3, low complexity) for a voice: 48 kHz, mono, about 64 to 100 kbit/s. It keeps the
 * noise of each band below the level that the voice masks, with as many bits as necessary. The same sound gives the
 * same bytes on every machine.
 */
import { createBitWriter } from "../bit-writer.ts";
import { AAC_SAMPLE_RATE, allowNoise, BAND_OFFSETS, BANDS, measureBands } from "./bands.ts";
import { scalefactorBits, writeScalefactor, writeValues, ZERO_BOOK } from "./codebooks.ts";
import { BLOCK_SAMPLES, createMdct } from "./mdct.ts";
import { type Quantized, quantize } from "./quantize.ts";
import { chooseSections, type Section } from "./sections.ts";

/** Samples of a frame. */
export const AAC_FRAME_SAMPLES = BLOCK_SAMPLES;
/** A decoder puts out this many samples before the sound. */
export const AAC_DELAY_SAMPLES = BLOCK_SAMPLES;

/** For an MP4 file. The AudioSpecificConfig: low complexity (2), 48 kHz (3), one channel (1). */
export const AAC_FORMAT = {
  sampleRate: AAC_SAMPLE_RATE,
  frameSamples: AAC_FRAME_SAMPLES,
  delaySamples: AAC_DELAY_SAMPLES,
  configuration: Uint8Array.of(0x11, 0x88),
};

/** The maximum size of a frame of one channel, by the standard. */
const MAX_FRAME_BITS = 6144;
/** While a frame is too long, the noise of all bands is raised by this factor. */
const MORE_NOISE = 1.5;
const HEADER_BITS = 40;

type Coded = Quantized & { sections: Section[] };

const isCoded = ({ sections }: Coded, band: number): boolean =>
  sections.some(({ book, from, to }) => book !== ZERO_BOOK && band >= from && band < to);

/** The scalefactors of bands with a nonzero coefficient, each as the difference from the one before. */
const differences = (coded: Coded): { first: number; steps: number[] } => {
  const used = Array.from(coded.scalefactors).filter((_, band) => isCoded(coded, band));
  const [first = 0] = used;
  return { first, steps: used.map((scalefactor, index) => scalefactor - (used[index - 1] ?? first)) };
};

/** Quantizes a block with as little noise as the longest frame allows. */
const fit = (coefficients: Float64Array): Coded => {
  const energies = measureBands(coefficients);
  let noise = allowNoise(energies);
  for (;;) {
    const quantized = quantize(coefficients, energies, noise);
    const { sections, bits } = chooseSections(quantized.values);
    const coded = { ...quantized, sections };
    const scalefactors = differences(coded).steps.reduce((sum, step) => sum + scalefactorBits(step), 0);
    if (HEADER_BITS + bits + scalefactors <= MAX_FRAME_BITS) return coded;
    noise = noise.map((value) => value * MORE_NOISE);
  }
};

const SINGLE_CHANNEL = 0;
const END = 7;
const LONG_SECTION = 31;

/** Writes a raw data block with one channel. */
const writeFrame = (coded: Coded): Uint8Array<ArrayBuffer> => {
  const writer = createBitWriter();
  const { first, steps } = differences(coded);
  writer.write(SINGLE_CHANNEL, 3);
  writer.write(0, 4);
  writer.write(first, 8);
  // A long block with a sine window, and no prediction.
  writer.write(0, 4);
  writer.write(BANDS, 6);
  writer.write(0, 1);
  for (const { book, from, to } of coded.sections) {
    writer.write(book, 4);
    let length = to - from;
    for (; length >= LONG_SECTION; length -= LONG_SECTION) writer.write(LONG_SECTION, 5);
    writer.write(length, 5);
  }
  for (const step of steps) writeScalefactor(writer, step);
  // No pulses, no noise shaping in time, no gain control.
  writer.write(0, 3);
  for (const { book, from, to } of coded.sections) {
    for (let band = from; band < to; band++) {
      writeValues(writer, book, coded.values, [BAND_OFFSETS[band] as number, BAND_OFFSETS[band + 1] as number]);
    }
  }
  writer.write(END, 3);
  return writer.bytes();
};

export type AacEncoder = {
  /**
   * Encodes the next `AAC_FRAME_SAMPLES` samples of 16-bit PCM, and returns a frame. The frame has the sound of the
   * previous call, so a last call with silence flushes the encoder.
   */
  encode: (pcm: Int16Array) => Uint8Array<ArrayBuffer>;
};

export const createAacEncoder = (): AacEncoder => {
  const transform = createMdct();
  const samples = new Float64Array(2 * BLOCK_SAMPLES);
  return {
    encode: (pcm) => {
      if (pcm.length !== AAC_FRAME_SAMPLES) throw new RangeError(`A frame has ${AAC_FRAME_SAMPLES} samples.`);
      samples.copyWithin(0, BLOCK_SAMPLES);
      samples.set(pcm, BLOCK_SAMPLES);
      return writeFrame(fit(transform(samples)));
    },
  };
};
