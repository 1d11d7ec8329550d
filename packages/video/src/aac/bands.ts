/** The bands of AAC at 48 kHz (ISO/IEC 14496-3, table 4.138), and the allowed noise of each. */
import { BLOCK_SAMPLES } from "./mdct.ts";

export const AAC_SAMPLE_RATE = 48_000;

/**
 * Where each band begins, and the end of the last one that is written: 15.75 kHz. People do not miss the higher
 * frequencies of speech.
 */
export const BAND_OFFSETS: readonly number[] = [
  0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 48, 56, 64, 72, 80, 88, 96, 108, 120, 132, 144, 160, 176, 196, 216, 240, 264,
  292, 320, 352, 384, 416, 448, 480, 512, 544, 576, 608, 640, 672,
];
export const BANDS = BAND_OFFSETS.length - 1;

/** The frequency of the middle of a band, in Bark (Zwicker and Terhardt, 1980). */
const BARK = Float64Array.from({ length: BANDS }, (_, band) => {
  const middle = ((BAND_OFFSETS[band] as number) + (BAND_OFFSETS[band + 1] as number)) / 2;
  const kilohertz = (middle * AAC_SAMPLE_RATE) / (2 * BLOCK_SAMPLES) / 1000;
  return 13 * Math.atan(0.76 * kilohertz) + 3.5 * Math.atan((kilohertz / 7.5) ** 2);
});

/** The masking by a band falls by 15 dB for each Bark towards higher bands, and by 27 dB towards lower ones. */
const UPWARD = Float64Array.from(
  { length: BANDS },
  (_, band) => 10 ** (-1.5 * ((BARK[band] as number) - (BARK[band - 1] ?? 0))),
);
const DOWNWARD = Float64Array.from(
  { length: BANDS },
  (_, band) => 10 ** (-2.7 * ((BARK[band + 1] ?? 99) - (BARK[band] as number))),
);

/** The distance of the noise below its masking level: 26 dB at the lowest band, 14 dB at the highest. */
const MASKING = Float64Array.from({ length: BANDS }, (_, band) => 10 ** (-(26 - (12 * band) / (BANDS - 1)) / 10));
/** The noise of 16-bit samples in each coefficient. Less noise is inaudible. */
const LEAST_NOISE = 4 * BLOCK_SAMPLES * (1 / 12);

/** The energy of each band. */
export const measureBands = (coefficients: Float64Array): Float64Array =>
  Float64Array.from({ length: BANDS }, (_, band) => {
    let sum = 0;
    for (let index = BAND_OFFSETS[band] as number; index < (BAND_OFFSETS[band + 1] as number); index++) {
      sum += (coefficients[index] as number) ** 2;
    }
    return sum;
  });

/** The allowed energy of the noise in each band. */
export const allowNoise = (energies: Float64Array): Float64Array => {
  const width = (band: number): number => (BAND_OFFSETS[band + 1] as number) - (BAND_OFFSETS[band] as number);
  const density = energies.map((energy, band) => energy / width(band));
  const spread = density.slice();
  for (let band = 1; band < BANDS; band++) {
    spread[band] = Math.max(spread[band] as number, (spread[band - 1] as number) * (UPWARD[band] as number));
  }
  for (let band = BANDS - 2; band >= 0; band--) {
    spread[band] = Math.max(spread[band] as number, (spread[band + 1] as number) * (DOWNWARD[band] as number));
  }
  return spread.map((value, band) => width(band) * Math.max(LEAST_NOISE, value * (MASKING[band] as number)));
};
