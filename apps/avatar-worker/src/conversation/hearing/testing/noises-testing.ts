/** Twenty noises of a room without speech, at 16 kHz, between -1 and 1. */
import { VAD_RATE } from "../vad.ts";
import { createRandom } from "./sounds-testing.ts";

const samplesIn = (milliseconds: number): number => Math.round((milliseconds * VAD_RATE) / 1000);

type Shape = (seconds: number) => number;

const noise = (milliseconds: number, shape: Shape, seed = 1): Float32Array => {
  const random = createRandom(seed);
  return Float32Array.from({ length: samplesIn(milliseconds) }, (_, index) => random() * shape(index / VAD_RATE));
};
const tones = (milliseconds: number, hertz: readonly number[], shape: Shape = () => 1): Float32Array =>
  Float32Array.from({ length: samplesIn(milliseconds) }, (_, index) => {
    const seconds = index / VAD_RATE;
    const sum = hertz.reduce((total, one) => total + Math.sin(2 * Math.PI * one * seconds), 0);
    return (sum / hertz.length) * shape(seconds);
  });

/** Adds a resonance to a noise, as a throat or a wooden door does. */
const resonate = (sound: Float32Array, hertz: number, width: number): Float32Array => {
  const radius = Math.exp((-Math.PI * width) / VAD_RATE);
  const [one, two] = [2 * radius * Math.cos((2 * Math.PI * hertz) / VAD_RATE), -radius * radius];
  let [last, before] = [0, 0];
  return sound.map((value) => {
    const next = value * (1 - radius) + one * last + two * before;
    before = last;
    last = next;
    return next;
  });
};
/** Scales the sound to a peak. */
const scale = (sound: Float32Array, peak: number): Float32Array => {
  const largest = sound.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-9);
  return sound.map((value) => (value * peak) / largest);
};
const decay =
  (seconds: number): Shape =>
  (at) =>
    Math.exp(-at / seconds);
/** Short strokes that begin at `times`. */
const strokes = (times: readonly number[], seconds: number): Shape => {
  return (at) => times.reduce((sum, time) => sum + (at >= time ? Math.exp((time - at) / seconds) : 0), 0);
};

export const NOISES: Readonly<Record<string, Float32Array>> = {
  "burst of 60 ms": scale(
    noise(60, () => 1),
    0.5,
  ),
  "burst of 280 ms": scale(
    noise(280, () => 1, 2),
    0.5,
  ),
  "burst of 600 ms": scale(
    noise(600, () => 1, 3),
    0.3,
  ),
  "steady noise of 2 s": scale(
    noise(2000, () => 1, 4),
    0.1,
  ),
  "faint noise of 2 s": scale(
    noise(2000, () => 1, 5),
    0.02,
  ),
  "tone of 100 Hz": scale(tones(800, [100]), 0.3),
  "tone of 440 Hz": scale(tones(800, [440]), 0.3),
  "tone of 1 kHz": scale(tones(1000, [1000]), 0.5),
  "tone of 3 kHz": scale(tones(300, [3000]), 0.5),
  "two tones of a telephone": scale(tones(400, [697, 1209]), 0.4),
  chord: scale(tones(1500, [262, 330, 392, 523], decay(0.5)), 0.4),
  "hum of mains": scale(tones(3000, [50, 100, 150, 200, 250]), 0.1),
  "one click": scale(noise(30, decay(0.002), 6), 0.9),
  typing: scale(noise(1500, strokes([0.1, 0.31, 0.45, 0.7, 0.82, 1.05, 1.3], 0.006), 7), 0.5),
  "taps on a table": scale(resonate(noise(1500, strokes([0.1, 0.5, 0.9, 1.3], 0.01), 8), 180, 60), 0.6),
  "slam of a door": scale(resonate(noise(700, decay(0.08), 9), 90, 50), 0.9),
  "dropped cup": scale(tones(500, [2100, 3480, 5200], decay(0.05)), 0.7),
  breath: scale(
    resonate(
      noise(900, (at) => Math.sin((Math.PI * at) / 0.9), 10),
      1500,
      2500,
    ),
    0.05,
  ),
  siren: scale(
    Float32Array.from({ length: samplesIn(2000) }, (_, index) => {
      const seconds = index / VAD_RATE;
      return Math.sin(2 * Math.PI * 800 * seconds + 120 * Math.sin(2 * Math.PI * 0.7 * seconds));
    }),
    0.3,
  ),
  cough: scale(resonate(resonate(noise(450, strokes([0, 0.22], 0.05), 11), 600, 500), 1400, 700), 0.6),
};
