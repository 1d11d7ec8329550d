/** Finds the part of a film in which a person listens: the lips are still. Pure functions: from meshes to a part. */
import { MAX_FRAMES, MIN_FRAMES } from "@realtime-avatar/face/loop/loop-file";
import type { Point } from "../measure/faces.ts";

/** Faces are searched in each second frame, because a search takes 35 ms of processor time. */
export const FRAMES_PER_SAMPLE = 2;
const MIN_SAMPLES = MIN_FRAMES / FRAMES_PER_SAMPLE;
const MAX_SAMPLES = MAX_FRAMES / FRAMES_PER_SAMPLE;
/** By how many samples the ends may move inwards, to where the person is still. */
const TRIM_SAMPLES = 12;

/** A frame in which faces were searched. `mesh`: the mesh of its only face, in pixels; null without one. */
export type Sample = {
  mesh: readonly Point[] | null;
  /** The direction of the face, in degrees. */
  yaw: number;
  /** The luma of a few parts of the frame. */
  light: Uint8Array;
};

/** The reason why a film has no such part. */
export const LOOP_REASONS = ["too_short", "no_face", "head_turns", "lips_move", "nothing_moves", "too_large"] as const;
export type LoopReason = (typeof LOOP_REASONS)[number];

/** `first`: the number of a sample. */
export type StillPart = { first: number; samples: number };

const MAX_YAW = 15;
/** In eye distances. A mesh of still lips varies by up to half of this. */
const MAX_GAP_CHANGE = 0.02;
const MAX_WIDTH_CHANGE = 0.06;
/** Between two samples, in eye distances, and in steps of luma: more is a cut. */
const MAX_JUMP = 0.15;
const MAX_LIGHT_CHANGE = 12;
/** Bounds for a whole part. They exclude a face that grows, and a change of the light. */
const MAX_SIZE_CHANGE = 1.25;
const MAX_PART_LIGHT_CHANGE = 24;
/** In eye distances. A film of a photo moves less, and would show a face that never blinks. */
const MIN_MOVEMENT = 0.01;
/** Eyes that are open less than this share of their usual opening are blinking. */
const OPEN_EYES = 0.8;

/** Points of MediaPipe's face mesh. */
const [EYE_RIGHT, EYE_LEFT, NOSE_TIP] = [33, 263, 1] as const;
const [MOUTH_RIGHT, MOUTH_LEFT] = [61, 291] as const;
const LIPS = [
  [82, 87],
  [13, 14],
  [312, 317],
] as const;
const LIDS = [
  [159, 145],
  [386, 374],
] as const;

const ORIGIN: Point = [0, 0, 0];
const distance = (mesh: readonly Point[], from: number, to: number): number => {
  const [a, b] = [mesh[from] ?? ORIGIN, mesh[to] ?? ORIGIN];
  return Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
};
const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

/** Lengths in eye distances, except `eyeDistance`. */
type Measures = Sample & { mesh: readonly Point[]; eyeDistance: number; gap: number; width: number; lids: number };

const measure = (sample: Sample): Measures | null => {
  const { mesh } = sample;
  if (mesh === null) return null;
  const eyeDistance = Math.max(1, distance(mesh, EYE_RIGHT, EYE_LEFT));
  const meanOf = (pairs: readonly (readonly [number, number])[]): number =>
    mean(pairs.map(([from, to]) => distance(mesh, from, to))) / eyeDistance;
  return {
    ...sample,
    mesh,
    eyeDistance,
    gap: meanOf(LIPS),
    width: meanOf([[MOUTH_RIGHT, MOUTH_LEFT]]),
    lids: meanOf(LIDS),
  };
};

/** How far the points of a face move between two samples, in eye distances. */
const movement = (from: Measures, to: Measures): number =>
  mean(
    from.mesh.map(([x, y], index) => Math.hypot((to.mesh[index] ?? ORIGIN)[0] - x, (to.mesh[index] ?? ORIGIN)[1] - y)),
  ) / from.eyeDistance;

const lightChange = (from: Uint8Array, to: Uint8Array): number => {
  let sum = 0;
  for (let part = 0; part < from.length; part++) sum += Math.abs((from[part] as number) - (to[part] as number));
  return sum / from.length;
};

const isCut = (from: Measures, to: Measures): boolean => {
  const [[x, y], [toX, toY]] = [from.mesh[NOSE_TIP] ?? ORIGIN, to.mesh[NOSE_TIP] ?? ORIGIN];
  const jump = Math.hypot(toX - x, toY - y) / from.eyeDistance;
  return jump > MAX_JUMP || lightChange(from.light, to.light) > MAX_LIGHT_CHANGE;
};

type Rule = "head_turns" | "lips_move";

/** The number of samples from `start` on that follow the rules together, at most `MAX_SAMPLES`. */
const lengthFrom = (samples: readonly (Measures | null)[], start: number, rules: readonly Rule[]): number => {
  const range = { gap: [9, 0], width: [9, 0], size: [9999, 0] } as Record<"gap" | "width" | "size", [number, number]>;
  const widen = (name: keyof typeof range, value: number): [number, number] => {
    const [least, most] = range[name];
    range[name] = [Math.min(least, value), Math.max(most, value)];
    return range[name];
  };
  const first = samples[start];
  let at = start;
  for (; at < Math.min(samples.length, start + MAX_SAMPLES); at++) {
    const sample = samples[at];
    const before = samples[at - 1];
    if (!first || !sample || (at > start && before && isCut(before, sample))) break;
    if (rules.includes("head_turns") && Math.abs(sample.yaw) > MAX_YAW) break;
    const [leastGap, mostGap] = widen("gap", sample.gap);
    const [leastWidth, mostWidth] = widen("width", sample.width);
    const areLipsStill = mostGap - leastGap < MAX_GAP_CHANGE && mostWidth - leastWidth < MAX_WIDTH_CHANGE;
    if (rules.includes("lips_move") && !areLipsStill) break;
    const [least, most] = widen("size", sample.eyeDistance);
    if (most / least > MAX_SIZE_CHANGE || lightChange(first.light, sample.light) > MAX_PART_LIGHT_CHANGE) break;
  }
  return at - start;
};

/** The longest part that follows the rules; of equally long ones, the first. */
const longestPart = (samples: readonly (Measures | null)[], rules: readonly Rule[]): StillPart => {
  let best: StillPart = { first: 0, samples: 0 };
  for (let first = 0; first < samples.length; first++) {
    const length = lengthFrom(samples, first, rules);
    if (length > best.samples) best = { first, samples: length };
  }
  return best;
};

const isMoving = (samples: readonly (Measures | null)[], { first, samples: length }: StillPart): boolean => {
  const [start, ...others] = samples.slice(first, first + length) as Measures[];
  return start !== undefined && others.some((other) => movement(start, other) >= MIN_MOVEMENT);
};

/**
 * Moves both ends inwards to samples in which the person moves least and has open eyes, because the loop turns around
 * there.
 */
const trim = (samples: readonly (Measures | null)[], { first, samples: length }: StillPart): StillPart => {
  const part = samples.slice(first, first + length) as Measures[];
  const open = OPEN_EYES * median(part.map(({ lids }) => lids));
  const cost = (index: number): number => {
    const sample = part[index] as Measures;
    const moves = [part[index - 1], part[index + 1]].flatMap((other) => (other ? [movement(sample, other)] : []));
    return mean(moves) + (sample.lids < open ? 1 : 0);
  };
  const spare = Math.min(TRIM_SAMPLES, (length - MIN_SAMPLES) >> 1);
  const best = (from: number): number =>
    Array.from({ length: spare + 1 }, (_, index) => from + index).reduce((a, b) => (cost(b) < cost(a) ? b : a));
  const [start, last] = [best(0), best(length - 1 - spare)];
  return { first: first + start, samples: last - start + 1 };
};

/** Smooths the lips over three samples, because single meshes are noisy. */
const smoothLips = (samples: readonly (Measures | null)[]): (Measures | null)[] =>
  samples.map((sample, index) => {
    if (sample === null) return null;
    const around = [samples[index - 1] ?? sample, sample, samples[index + 1] ?? sample];
    return { ...sample, gap: median(around.map(({ gap }) => gap)), width: median(around.map(({ width }) => width)) };
  });

/** The part of a film that becomes an idle loop: 4 to 8 s. Without one: the reason. */
export const findStillPart = (samples: readonly Sample[]): StillPart | LoopReason => {
  if (samples.length < MIN_SAMPLES) return "too_short";
  const measures = smoothLips(samples.map(measure));
  const part = longestPart(measures, ["head_turns", "lips_move"]);
  if (part.samples >= MIN_SAMPLES) return isMoving(measures, part) ? trim(measures, part) : "nothing_moves";
  if (longestPart(measures, ["head_turns"]).samples >= MIN_SAMPLES) return "lips_move";
  return longestPart(measures, []).samples >= MIN_SAMPLES ? "head_turns" : "no_face";
};
