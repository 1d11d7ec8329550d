/**
 * A voice, and the movements of a face that speaks it. `speech.wav` says "Papa and Mama bought a big map. My father saw
 * you two: we see five." in the voice slt of flite 2.2 (Carnegie Mellon University, a licence like that of BSD).
 * `speech.json` has its sounds: name, start and end in milliseconds.
 */
import { join } from "node:path";
import { createHearing } from "../hearing.ts";
import { createLife } from "../life.ts";
import { createShapeTrack } from "../shape-track.ts";
import { findEdges } from "../warp/edges.ts";
import type { Face } from "../warp/face.ts";
import { updateMaps } from "../warp/maps.ts";
import type { Pose } from "../warp/pose.ts";
import sounds from "./speech.json" with { type: "json" };

const WAV_HEADER = 44;
/** The factor from the 16 kHz of the file to 48 kHz. */
const UPSAMPLING = 3;
const SAMPLES_PER_MS = 48;
/** Samples of a piece of 20 ms. */
const PIECE = 960;
const PICTURE_MS = 40;

export type Sound = { name: string; startMs: number; endMs: number };

export const SOUNDS: readonly Sound[] = (sounds as [string, number, number][]).map(([name, startMs, endMs]) => ({
  name,
  startMs,
  endMs,
}));

/** The voice as 16-bit PCM of 48 kHz. */
export const readSpeech = async (): Promise<Int16Array> => {
  const bytes = await Bun.file(join(import.meta.dir, "speech.wav")).arrayBuffer();
  const samples = new Int16Array(bytes, WAV_HEADER);
  return Int16Array.from({ length: (samples.length - 1) * UPSAMPLING }, (_, index) => {
    const at = Math.floor(index / UPSAMPLING);
    const [before, after] = [samples[at] as number, samples[at + 1] as number];
    return before + ((after - before) * (index % UPSAMPLING)) / UPSAMPLING;
  });
};

/**
 * A picture of a mouth. Lengths in eye distances. `timeMs`: the time in the sound that is heard in the middle of the
 * picture's time.
 */
export type Mouth = { timeMs: number; gap: number; width: number; pose: Pose };

export type SpeechOptions = {
  seed?: number;
  /** The time from when a piece of sound is known until it is heard. */
  leadMs?: number;
  /** The voice is interrupted at this time. */
  clearMs?: number;
  /** Added to the time of each piece that starts at or after `fromMs`. */
  pause?: { fromMs: number; lengthMs: number };
  lengthMs?: number;
};

/** The mouth of a face that speaks a sound, without drawing it: 25 pictures a second. */
export const recordMouth = (face: Face, pcm: Int16Array, options: SpeechOptions = {}): Mouth[] => {
  const { seed = 1, leadMs = 120, clearMs = Number.POSITIVE_INFINITY, pause } = options;
  const lengthMs = options.lengthMs ?? pcm.length / SAMPLES_PER_MS + (pause?.lengthMs ?? 0);
  const track = createShapeTrack();
  const hearing = createHearing(track);
  const life = createLife(seed, face);
  const mouths: Mouth[] = [];
  let heard = 0;
  let isCleared = false;
  const findStart = (sample: number): number => {
    const timeMs = sample / SAMPLES_PER_MS;
    return timeMs + (pause !== undefined && timeMs >= pause.fromMs ? pause.lengthMs : 0);
  };
  for (let nowMs = 0; nowMs < lengthMs; nowMs += PICTURE_MS) {
    if (nowMs >= clearMs && !isCleared) {
      hearing.clear(nowMs + PICTURE_MS / 2);
      isCleared = true;
    }
    while (!isCleared && heard < pcm.length && findStart(heard) < nowMs + leadMs) {
      hearing.hear(pcm.subarray(heard, heard + PIECE), findStart(heard));
      heard += PIECE;
    }
    const timeMs = nowMs + PICTURE_MS / 2;
    const pose = life.pose(timeMs, track);
    updateMaps(face.maps, face, pose);
    const edges = findEdges(face.lips, face.maps);
    mouths.push({ timeMs, gap: edges.gap / face.eyeDistance, width: edges.width / face.eyeDistance, pose });
  }
  return mouths;
};

/** The pictures whose middle lies in a sound, at least `marginMs` from its ends; the nearest picture when none does. */
export const mouthsIn = (mouths: readonly Mouth[], { startMs, endMs }: Sound, marginMs = 0): Mouth[] => {
  const within = mouths.filter(({ timeMs }) => timeMs >= startMs + marginMs && timeMs <= endMs - marginMs);
  if (within.length > 0) return within;
  const middle = (startMs + endMs) / 2;
  const nearest = (a: Mouth, b: Mouth): Mouth => (Math.abs(b.timeMs - middle) < Math.abs(a.timeMs - middle) ? b : a);
  return mouths.length === 0 ? [] : [mouths.reduce(nearest)];
};

/** The sounds of these names. */
export const soundsNamed = (...names: string[]): Sound[] => SOUNDS.filter(({ name }) => names.includes(name));

export const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

export const deviation = (values: readonly number[]): number => {
  const middle = mean(values);
  return Math.sqrt(mean(values.map((value) => (value - middle) ** 2)));
};

export const correlation = (left: readonly number[], right: readonly number[]): number => {
  const length = Math.min(left.length, right.length);
  const [a, b] = [left.slice(0, length), right.slice(0, length)];
  const [middleA, middleB] = [mean(a), mean(b)];
  const product = mean(a.map((value, index) => (value - middleA) * ((b[index] as number) - middleB)));
  return product / (deviation(a) * deviation(b));
};
