/** The sound and the pictures of a recorded file, as ffmpeg decodes it. */
import { ffmpeg } from "../../src/recording/recorded.testing.ts";
import { wordFrames } from "../support/words.ts";

/** The samples per second of the sound in which words are searched. */
const RATE = 4000;
const FILE_RATE = 48_000;
const MAX_LATE_MS = 450;
/** A word that was sent by LiveKit has 0.7 to 0.95; other sounds have less than 0.2. */
const MIN_CORRELATION = 0.5;
const MAX_SILENT = 30;

const run = async (...options: string[]): Promise<Buffer> => {
  const child = Bun.spawn([ffmpeg ?? "", "-v", "error", ...options, "-"], { stderr: "pipe" });
  const [output, errors] = await Promise.all([new Response(child.stdout).arrayBuffer(), child.stderr.text()]);
  if (errors !== "") throw new Error(errors);
  return Buffer.from(output);
};

/** The sound of a file: 16-bit PCM of 48 kHz. */
export const readFileSound = async (path: string): Promise<Int16Array> => {
  const bytes = await run("-i", path, "-map", "0:a", "-f", "s16le", "-ac", "1", "-ar", String(FILE_RATE));
  return new Int16Array(bytes.buffer, bytes.byteOffset, bytes.length >> 1);
};

/** The luma of the picture at a moment of a file, in milliseconds. */
export const readFilePicture = async (path: string, ms: number): Promise<Uint8Array> => {
  // A seek alone returns the picture that follows the moment.
  const at = ["-i", path, "-map", "0:v", "-vf", "fps=25", "-ss", String(ms / 1000), "-frames:v", "1"];
  return (await run(...at, "-f", "rawvideo", "-pix_fmt", "yuv420p")).subarray(0, 512 ** 2);
};

/** How loud a frequency is from a moment on for 100 ms, from 0 to full scale. */
export const loudness = (pcm: Int16Array, hertz: number, ms: number): number => {
  const [from, length] = [Math.round((ms * FILE_RATE) / 1000), FILE_RATE / 10];
  let [real, imaginary] = [0, 0];
  for (let at = from; at < from + length; at++) {
    const angle = (2 * Math.PI * hertz * at) / FILE_RATE;
    real += (pcm[at] ?? 0) * Math.cos(angle);
    imaginary += (pcm[at] ?? 0) * Math.sin(angle);
  }
  return (2 * Math.hypot(real, imaginary)) / length;
};

/** The mean of each `FILE_RATE / RATE` samples. */
const slowDown = (pcm: Int16Array, from: number, length: number): Float64Array => {
  const ratio = FILE_RATE / RATE;
  return Float64Array.from({ length }, (_, at) => {
    let sum = 0;
    for (let index = 0; index < ratio; index++) sum += pcm[from + ratio * at + index] ?? 0;
    return sum / ratio;
  });
};

const joined = (frames: readonly Int16Array[]): Int16Array => {
  const length = frames[0]?.length ?? 0;
  const all = new Int16Array(length * frames.length);
  for (const [index, frame] of frames.entries()) all.set(frame, index * length);
  return all;
};

/** The word of a person, in frames. */
export const WORD = wordFrames("Uh-huh.");
const WORD_SAMPLES = WORD.length * (WORD[0]?.length ?? 0);
const SLOW_WORD = slowDown(joined(WORD), 0, (WORD_SAMPLES * RATE) / FILE_RATE);

/**
 * The delay of the word after the moment `ms` of a sound, in milliseconds; null when it is not found within
 * `MAX_LATE_MS`.
 */
export const findWord = (pcm: Int16Array, ms: number): number | null => {
  const lags = (MAX_LATE_MS * RATE) / 1000;
  const sound = slowDown(pcm, Math.round((ms * FILE_RATE) / 1000), SLOW_WORD.length + lags);
  const energy = SLOW_WORD.reduce((sum, value) => sum + value ** 2, 0);
  let best = { lag: 0, correlation: 0 };
  for (let lag = 0; lag < lags; lag++) {
    let [product, power] = [0, 1];
    for (let at = 0; at < SLOW_WORD.length; at++) {
      const value = sound[lag + at] as number;
      product += value * (SLOW_WORD[at] as number);
      power += value ** 2;
    }
    const correlation = product / Math.sqrt(energy * power);
    if (correlation > best.correlation) best = { lag, correlation };
  }
  return best.correlation > MIN_CORRELATION ? (1000 * best.lag) / RATE : null;
};

/** The silences of a sound that are longer than `minMs`: their begins and their ends, in milliseconds. */
const findSilences = (pcm: Int16Array, minMs: number): [from: number, to: number][] => {
  const silences: [number, number][] = [];
  let from = 0;
  const endAt = (at: number): void => {
    if (at - from > (minMs * FILE_RATE) / 1000) silences.push([(1000 * from) / FILE_RATE, (1000 * at) / FILE_RATE]);
    from = at + 1;
  };
  for (const [at, value] of pcm.entries()) if (Math.abs(value) > MAX_SILENT) endAt(at);
  endAt(pcm.length);
  return silences;
};

/** Silences of half a second between the two tones of a gap, which are 213 ms long. */
export const findGaps = (pcm: Int16Array): [from: number, to: number][] =>
  findSilences(pcm, 500).filter(([from, to]) =>
    [from - 160, to + 60].every((ms) => {
      const level = loudness(pcm, 440, ms);
      return level >= 500 && level < 2000;
    }),
  );
