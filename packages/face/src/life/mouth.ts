/** From shapes to the mouth of a pose. */
import { clamp, smoothstep } from "../numbers.ts";
import type { ShapeWindow } from "../shape-at.ts";
import { SHAPE_STEP_MS, type Shape } from "../visemes.ts";
import { PART_SHARE_OPEN } from "../warp/maps.ts";
import type { Pose } from "../warp/pose.ts";

export type MouthPose = Pick<Pose, "gap" | "part" | "wide" | "round" | "closed" | "tuck">;

/** The widest opening by the jaw, in eye distances. */
const OPENING = 0.17;
/** Lips that part open the mouth by this much more. */
const PART_OPENING = 0.075;
/**
 * The lips part and meet by at most this many eye distances in 40 ms: about 7 pixels of a picture. Faster lips look like jerks at 25
 * pictures a second.
 */
const FASTEST = 0.048;
/** Steps of 10 ms before and after the picture that bound its opening. */
export const REACH_STEPS = 12;

/** The mouth of a shape, for a photo whose lips are open or closed. */
const poseShape = (shape: Shape, isOpen: boolean): MouthPose => {
  const closed = smoothstep(0.35, 0.65, shape.closed);
  const free = 1 - closed;
  const loudness = 0.75 + 0.35 * clamp((shape.level + 1.8) / 1.8);
  const jaw = clamp(1.1 * shape.open - 0.05) ** 1.15 * loudness;
  const tuck = smoothstep(0.12, 0.45, shape.tuck) * free;
  const wide = (shape.wide - 0.1) * free;
  const gap = OPENING * jaw * free * (1 - 0.75 * tuck);
  return {
    gap: isOpen ? 1.1 * gap + (0.03 + 0.02 * wide) * free : gap,
    part: 0.9 * clamp(0.15 + 0.75 * shape.wide + 0.4 * shape.open) * free,
    wide,
    round: clamp(1.05 * shape.round - 0.05),
    closed,
    tuck,
  };
};

/** The opening that is drawn, in eye distances. */
const measureOpening = ({ gap, part }: MouthPose, isOpen: boolean): number =>
  gap + PART_OPENING * part * (isOpen ? PART_SHARE_OPEN : 1);

/**
 * The mouth in the middle of a window. Its opening is the largest one that is nowhere wider than the shapes ask for, and nowhere
 * faster than `FASTEST`: lips that meet do so in time, and lips that part between two of these part less.
 */
export const poseMouth = (window: ShapeWindow, isOpen: boolean): MouthPose => {
  const mouth = poseShape(window.smooth(0), isOpen);
  const wanted = measureOpening(mouth, isOpen);
  if (wanted <= 0) return mouth;
  let most = wanted;
  for (let step = -REACH_STEPS; step <= REACH_STEPS; step++) {
    const way = (FASTEST * Math.abs(step) * SHAPE_STEP_MS) / 40;
    if (way >= most) continue;
    most = Math.min(most, measureOpening(poseShape(window.smooth(step), isOpen), isOpen) + way);
  }
  const share = most / wanted;
  return { ...mouth, gap: mouth.gap * share, part: mouth.part * share };
};
