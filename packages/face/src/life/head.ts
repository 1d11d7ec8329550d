/** The head: a slow drift, which is larger during speech, and a nod on an emphasis. */
import { mix } from "../numbers.ts";
import { createNoise, type Random } from "./random.ts";

/** Angles in radians, offsets in eye distances. */
export type HeadPose = { yaw: number; pitch: number; roll: number; shiftX: number; shiftY: number };

const YAW = 0.08;
const PITCH = 0.04;
const ROLL = 0.02;
const SHIFT_X = 0.018;
const SHIFT_Y = 0.014;
/** The movement of a person who listens, as a share of that of a person who speaks. */
const LISTENING = 0.55;
const NOD_PITCH = 0.05;
const NOD_SHIFT = 0.03;
/** The head starts at its place in the photo, and reaches its full movement in this number of seconds. */
const START_SECONDS = 1.5;

/** `talk`: 1 while the person speaks, 0 while the person listens. `nod`: the nod of an emphasis. */
export type HeadMove = (seconds: number, talk: number, nod: number) => HeadPose;

export const createHeadMove = (random: Random): HeadMove => {
  const yaw = createNoise(random, [7.3, 4.1, 2.3]);
  const pitch = createNoise(random, [6.1, 3.7, 1.9]);
  const roll = createNoise(random, [8.9, 5.3]);
  const shiftX = createNoise(random, [9.7, 4.9]);
  const shiftY = createNoise(random, [8.3, 3.3]);
  return (seconds, talk, nod) => {
    const share = mix(LISTENING, 1, talk) * Math.min(1, seconds / START_SECONDS);
    return {
      yaw: YAW * share * yaw(seconds),
      pitch: PITCH * share * pitch(seconds) + NOD_PITCH * nod,
      roll: ROLL * share * roll(seconds),
      shiftX: SHIFT_X * share * shiftX(seconds),
      shiftY: SHIFT_Y * share * shiftY(seconds) + NOD_SHIFT * nod,
    };
  };
};
