/**
 * The features of each 10 ms of sound, which are the input of the network. They do not depend on the gain of the
 * microphone.
 */
import { BANDS, createMelBands, HOP, WINDOW } from "./mel-bands.ts";

/** The bands, and the level. */
export const FEATURES = BANDS + 1;

/** The fall of the peak in each step of 10 ms: 1.5 orders of magnitude of energy in 10 s. */
const PEAK_FALL = 0.0015;
const FIRST_PEAK = -1;
/** The least peak, above the noise of a room. With a lower one, noise would count as speech after 10 s. */
const LOWEST_PEAK = -1.5;
const LOWEST_BAND = -4;
/** The rate at which the mean of the bands follows the speech, and the level above which a step is speech. */
const MEAN_RATE = 0.004;
const SPEECH_LEVEL = -2;

/**
 * Takes consecutive pieces of sound (16 kHz), and calls `found` for each completed step of 10 ms. Its arguments are
 * overwritten at the next step:
 * - `features`: 24 bands, as orders of magnitude above or below their usual energy in this voice, and the level, which is 0 when
 *   the step is the loudest of the last seconds, and negative otherwise.
 * - `usual`: the usual energy of the 24 bands, as orders of magnitude below the loudest band.
 */
export const createFeatures = (
  found: (features: Float32Array, usual: Float32Array) => void,
): ((samples: Float32Array) => void) => {
  const melBands = createMelBands();
  const mean = new Float32Array(BANDS);
  const features = new Float32Array(FEATURES);
  let peak = FIRST_PEAK;
  let rest = new Float32Array(0);

  const measure = (samples: Float32Array, start: number): void => {
    const bands = melBands(samples, start);
    let loudest = Number.NEGATIVE_INFINITY;
    for (const band of bands) if (band > loudest) loudest = band;
    peak = Math.max(loudest, peak - PEAK_FALL, LOWEST_PEAK);
    const level = loudest - peak;
    for (let index = 0; index < BANDS; index++) {
      const band = (bands[index] ?? 0) - peak;
      let usual = mean[index] ?? 0;
      if (level > SPEECH_LEVEL) usual += (band - usual) * MEAN_RATE;
      mean[index] = usual;
      features[index] = Math.max(band, LOWEST_BAND) - usual;
    }
    features[BANDS] = level;
    found(features, mean);
  };

  return (piece) => {
    const samples = new Float32Array(rest.length + piece.length);
    samples.set(rest);
    samples.set(piece, rest.length);
    let start = 0;
    for (; start + WINDOW <= samples.length; start += HOP) measure(samples, start);
    rest = samples.slice(start);
  };
};
