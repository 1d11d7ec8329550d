/** From shapes to the mouth of a pose. */
import { clamp, smoothstep } from "../numbers.ts";
import type { ShapeWindow } from "../shape-at.ts";
import { SHAPE_STEP_MS, type Shape } from "../visemes.ts";
import { JAW_OPENING, PART_OPENING, TUCK_OPENING } from "../warp/fields.ts";
import type { Lips } from "../warp/lips.ts";
import { PART_SHARE_OPEN } from "../warp/maps.ts";
import type { Pose } from "../warp/pose.ts";

export type MouthPose = Pick<Pose, "gap" | "part" | "wide" | "round" | "closed" | "tuck" | "tongue" | "smile">;

/** The widest opening by the jaw, in eye distances. */
const OPENING = 0.17;
/** What lips part by at least, in eye distances, when the lips of the photo are apart; and the tongue needs this much. */
const LEAST_OPENING = 0.03;
const TONGUE_OPENING = 0.06;
/** How far a smile of the photo is taken back for a sound without a smile of its own. */
const RELAXATION = 0.8;
/**
 * The lips part and meet by at most this many eye distances in 40 ms: about 7 pixels of a picture. Faster lips look like jerks at 25
 * pictures a second.
 */
const FASTEST = 0.049;
/** Steps of 10 ms before and after the picture that bound its opening. */
export const REACH_STEPS = 12;

/**
 * The lips could meet this many steps after the newest shape, but not sooner than the second number after the picture. A mouth whose
 * sound is known late opens less, so that it need not shut with a jerk.
 */
const UNKNOWN_STEPS = 4;
const SOONEST_STEPS = 8;

/** The mouth of a shape, for the lips of a photo. */
export const poseShape = (shape: Shape, { isOpen, smile }: Pick<Lips, "isOpen" | "smile">): MouthPose => {
  const closed = smoothstep(0.35, 0.65, shape.closed);
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

/** The opening that is drawn, in eye distances. */
const measureOpening = ({ gap, part, tuck }: MouthPose, isOpen: boolean): number =>
  JAW_OPENING * gap + PART_OPENING * part * (isOpen ? PART_SHARE_OPEN : 1) + TUCK_OPENING * tuck;

/** Lips, jaw and tongue have a mass: what they press, tuck and lift is the mean of this many steps before and after a picture. */
const INERTIA_STEPS = 2;

type Contact = Pick<MouthPose, "closed" | "tuck" | "tongue">;

/** Lips that touch at the time itself stay together. */
const meanContact = (poseAt: (step: number) => MouthPose): Contact => {
  const sum: Contact = { closed: 0, tuck: 0, tongue: 0 };
  for (let step = -INERTIA_STEPS; step <= INERTIA_STEPS; step++) {
    const { closed, tuck, tongue } = poseAt(step);
    sum.closed += closed;
    sum.tuck += tuck;
    sum.tongue += tongue;
  }
  const share = 1 / (2 * INERTIA_STEPS + 1);
  const free = (1 - poseAt(0).closed) * share;
  return { closed: sum.closed * share, tuck: sum.tuck * free, tongue: sum.tongue * free };
};

/**
 * The mouth in the middle of a window. Its opening is the largest one that is nowhere wider than the shapes ask for, and nowhere
 * faster than `FASTEST`: lips that meet do so in time, and lips that part between two of these part less.
 */
export const poseMouth = (window: ShapeWindow, lips: Pick<Lips, "isOpen" | "smile">): MouthPose => {
  const poseAt = (step: number): MouthPose => poseShape(window.smooth(step), lips);
  const mouth: MouthPose = { ...poseAt(0), ...meanContact(poseAt) };
  const wanted = measureOpening(mouth, lips.isOpen);
  if (wanted <= 0) return mouth;
  const unknown = Math.max(window.newestStep + UNKNOWN_STEPS, SOONEST_STEPS);
  let most = Math.min(wanted, (FASTEST * unknown * SHAPE_STEP_MS) / 40);
  for (let step = -REACH_STEPS; step <= REACH_STEPS; step++) {
    const way = (FASTEST * Math.abs(step) * SHAPE_STEP_MS) / 40;
    if (way < most) most = Math.min(most, measureOpening(poseAt(step), lips.isOpen) + way);
  }
  const share = most / wanted;
  return { ...mouth, gap: mouth.gap * share, part: mouth.part * share, tuck: mouth.tuck * share };
};
