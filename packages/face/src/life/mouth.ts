/** From shapes to the mouth of a pose. */
import { clamp, smoothstep } from "../numbers.ts";
import type { ShapeWindow } from "../shape-at.ts";
import type { Shape } from "../visemes.ts";
import { JAW_OPENING, PART_OPENING, TUCK_OPENING } from "../warp/fields.ts";
import { PART_SHARE_OPEN } from "../warp/maps.ts";
import type { Lips } from "../warp/photo/lips.ts";
import type { Pose } from "../warp/pose.ts";

export type MouthPose = Pick<Pose, "gap" | "part" | "wide" | "round" | "closed" | "tuck" | "tongue" | "smile">;

/** The widest opening by the jaw, in eye distances. */
const OPENING = 0.15;
/** The least opening for lips that are apart in the photo, and the opening that the tongue needs, in eye distances. */
const LEAST_OPENING = 0.03;
const TONGUE_OPENING = 0.06;
/** The reduction of a smile of the photo for a sound without spread lips. */
const RELAXATION = 0.8;
/** The widest opening of all, in eye distances. */
const WIDEST = 0.3;
/**
 * Lips close or open by at most this many eye distances in 10 ms. Faster lips look like jerks at 25 pictures a second.
 */
const FASTEST = 0.013;
/** Steps of 10 ms before and after the picture that bound its opening. */
export const REACH_STEPS = 12;

/**
 * The next contact of the lips may lie beyond the known sound: this many steps after the newest shape, and at least the
 * second number of steps after the picture. So a mouth whose sound is known late opens less, and can shut without a
 * jerk.
 */
const UNKNOWN_STEPS = 4;
const SOONEST_STEPS = 8;

/**
 * Lips begin to meet, and are shut, at these values of `closed`. The network hears some p and m with 0.5 only. It also
 * hears an f or v as half closed, so this share of `tuck` is subtracted.
 */
const CONTACT = [0.25, 0.5] as const;
const TUCK_AS_OPEN = 0.4;

/** The mouth of a shape, for the lips of a photo. */
export const poseShape = (shape: Shape, { isOpen, smile }: Pick<Lips, "isOpen" | "smile">): MouthPose => {
  const closed = smoothstep(...CONTACT, shape.closed - TUCK_AS_OPEN * shape.tuck);
  const free = 1 - closed;
  const loudness = 0.75 + 0.35 * clamp((shape.level + 1.8) / 1.8);
  const jaw = clamp(1.1 * shape.open - 0.05) ** 1.15 * loudness;
  const tuck = smoothstep(0.12, 0.45, shape.tuck) * free;
  const tongue = smoothstep(0.25, 0.7, shape.tongue) * free * (1 - tuck);
  const wide = (shape.wide - 0.1) * free;
  const round = clamp(1.05 * shape.round - 0.05);
  const open = (isOpen ? 1.1 * OPENING * jaw + LEAST_OPENING + 0.02 * wide : OPENING * jaw) * free;
  return {
    gap: Math.max(open, TONGUE_OPENING * tongue) * (1 - tuck),
    part: 0.9 * clamp(0.15 + 0.75 * shape.wide + 0.4 * shape.open) * free * (1 - tuck),
    wide,
    round,
    closed,
    tuck,
    tongue,
    smile: -RELAXATION * smile * (1 - 0.6 * clamp(shape.wide)) * (1 - 0.5 * round),
  };
};

/** The drawn opening, in eye distances. */
const measureOpening = ({ gap, part, tuck }: MouthPose, isOpen: boolean): number =>
  JAW_OPENING * gap + PART_OPENING * part * (isOpen ? PART_SHARE_OPEN : 1) + TUCK_OPENING * tuck;

/** The jaw, the lips and the tongue have a mass: weights of the shapes before and after a picture, from the middle on. */
const JAW_WEIGHTS = [5, 4, 3, 2, 1] as const;
const CONTACT_WEIGHTS = [1, 1, 1] as const;

/** The weighted mean of values of the steps around a picture. */
const meanAround = (weights: readonly number[], valueAt: (step: number) => number): number => {
  let [sum, total] = [0, 0];
  for (let step = 1 - weights.length; step < weights.length; step++) {
    const weight = weights[Math.abs(step)] as number;
    sum += weight * valueAt(step);
    total += weight;
  }
  return sum / total;
};

/**
 * Lips that touch within this many steps of 10 ms from a picture are drawn shut in it. Lips that are open in the photo
 * need more time.
 */
const TOUCH_STEPS = 0.6;
const TOUCH_STEPS_OPEN = 1.2;

/**
 * The opening that a contact allows: 0 for lips that touch, and the height of the teeth for a lower lip at the teeth.
 */
const boundOpening = ({ closed, tuck }: MouthPose): number =>
  Math.min(WIDEST * (1 - closed), TUCK_OPENING + WIDEST * (1 - tuck));

/**
 * The widest opening from which the lips still meet in time, and to which they can open after it. Otherwise, contacts
 * of 40 ms would fall between two pictures.
 */
const findRoom = (poseAt: (step: number) => MouthPose, newestStep: number, isOpen: boolean): number => {
  const touch = isOpen ? TOUCH_STEPS_OPEN : TOUCH_STEPS;
  // After the newest shape, lips could meet soon.
  let room = FASTEST * Math.max(newestStep + UNKNOWN_STEPS, SOONEST_STEPS);
  for (let step = -REACH_STEPS; step <= REACH_STEPS; step++) {
    const way = FASTEST * Math.max(0, Math.abs(step) - touch);
    if (way < room) room = Math.min(room, way + boundOpening(poseAt(step)));
  }
  return room;
};

/**
 * Music has only small shapes. Speech has a vowel within this many steps of 10 ms, whose jaw or corners exceed these
 * values, or a tongue, because the vowel of "the" is also a small shape.
 */
const VOWEL_STEPS = 20;
const VOWEL = [0.45, 0.7] as const;
const TONGUE_AS_VOWEL = 1.6;

/** From 0 to 1; 0: no vowel is near. */
const findVowel = ({ raw }: ShapeWindow): number => {
  let most = 0;
  for (let step = -VOWEL_STEPS; step <= VOWEL_STEPS; step++) {
    const { open, wide, tongue } = raw(step);
    most = Math.max(most, open + wide, TONGUE_AS_VOWEL * tongue);
  }
  return smoothstep(...VOWEL, most);
};

/** The mouth in the middle of a window. */
export const poseMouth = (window: ShapeWindow, lips: Pick<Lips, "isOpen" | "smile">): MouthPose => {
  const poses = new Map<number, MouthPose>();
  const poseAt = (step: number): MouthPose => {
    const pose = poses.get(step) ?? poseShape(window.smooth(step), lips);
    poses.set(step, pose);
    return pose;
  };
  const now = poseAt(0);
  const free = 1 - now.closed;
  const mouth: MouthPose = {
    ...now,
    gap: meanAround(JAW_WEIGHTS, (step) => poseAt(step).gap),
    part: meanAround(JAW_WEIGHTS, (step) => poseAt(step).part),
    closed: meanAround(CONTACT_WEIGHTS, (step) => poseAt(step).closed),
    tuck: free * meanAround(CONTACT_WEIGHTS, (step) => poseAt(step).tuck),
    tongue: free * meanAround(CONTACT_WEIGHTS, (step) => poseAt(step).tongue),
  };
  const opening = measureOpening(mouth, lips.isOpen);
  const room = findRoom(poseAt, window.newestStep, lips.isOpen);
  const share = findVowel(window) * (opening <= room ? 1 : room / opening);
  return { ...mouth, gap: mouth.gap * share, part: mouth.part * share, tuck: mouth.tuck * share };
};
