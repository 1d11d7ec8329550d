/**
 * Voices and noises for tests, at 16 kHz, between -1 and 1. `voices.wav` has ten pieces of speech as mu-law, scaled to
 * a peak of 0.37. flite 2.2 made them with the voices rms, slt and awb (Carnegie Mellon University, a licence similar
 * to BSD).
 */
import { join } from "node:path";
import { VAD_RATE } from "../vad.ts";

const WAV_HEADER = 58;

/** First and last sample of each piece. */
const PIECES = {
  "I would like to book a table": [0, 27_360],
  "for four people on Friday evening.": [27_360, 60_800],
  "Could you please tell me": [60_800, 82_560],
  "whether the kitchen is open after nine?": [82_560, 115_840],
  "Mm-hmm.": [115_840, 125_760],
  "Uh-huh.": [125_760, 130_720],
  "Yeah.": [130_720, 137_440],
  "Okay.": [137_440, 146_560],
  "Right.": [146_560, 153_440],
  "Wait, stop please.": [153_440, 175_040],
} as const;
export type Said = keyof typeof PIECES;

const decode = (byte: number): number => {
  const bits = ~byte & 0xff;
  const magnitude = (((bits & 0x0f) * 2 + 33) << ((bits >> 4) & 7)) - 33;
  return ((bits & 0x80) === 0 ? magnitude : -magnitude) / 8192;
};
const bytes = new Uint8Array(await Bun.file(join(import.meta.dir, "voices.wav")).arrayBuffer()).subarray(WAV_HEADER);
const voices = Float32Array.from(bytes, decode);

export const say = (text: Said, gain = 1): Float32Array => voices.slice(...PIECES[text]).map((value) => value * gain);

export const silence = (milliseconds: number): Float32Array => new Float32Array((milliseconds * VAD_RATE) / 1000);

export const concat = (...parts: readonly Float32Array[]): Float32Array => {
  const whole = new Float32Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
};

/** Random numbers from -1 to 1. The same seed gives the same numbers. */
export const createRandom = (seed: number): (() => number) => {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return state / 2 ** 31;
  };
};

/** Adds `other` to `sound`, from a sample on. */
export const mix = (sound: Float32Array, other: Float32Array, from = 0, gain = 1): Float32Array =>
  sound.map((value, index) => Math.max(-1, Math.min(1, value + gain * (other[index - from] ?? 0))));

/** The noise of a quiet room, about -62 dB. */
export const roomNoise = (length: number, seed = 1): Float32Array => {
  const random = createRandom(seed);
  return Float32Array.from({ length }, () => random() * 0.0014);
};
