/** Emphasis: a word that is louder than those around it brings a nod and lifts the brows. */
import { clamp } from "../numbers.ts";
import { approach } from "./random.ts";

/** Seconds over which the usual loudness is measured, and in which an emphasis comes and goes. */
const USUAL_SECONDS = 1.2;
const ACCENT_SECONDS = 0.12;
const BROW_SECONDS = 0.1;
/** The least excess over the usual loudness that counts as an emphasis. */
const LEAST = 0.1;
/** The nod is a spring: stiffness and damping. */
const STIFFNESS = 60;
const DAMPING = 11;

/** `nod`: about 0 to 0.6. `brow`: from 0 to 1. */
export type Accent = { nod: number; brow: number };

/** Returns the emphasis. `energy`: the loudness of the voice from 0 to 1. */
export const createAccent = (): ((energy: number, passed: number) => Accent) => {
  let [usual, accent, brow, nod, speed] = [0, 0, 0, 0, 0];
  return (energy, passed) => {
    usual += (energy - usual) * approach(passed, USUAL_SECONDS);
    accent += (Math.max(0, energy - usual - LEAST) - accent) * approach(passed, ACCENT_SECONDS);
    speed += (1.6 * accent - nod) * STIFFNESS * passed - speed * DAMPING * passed;
    nod += speed * passed;
    brow += (clamp(2.2 * accent) - brow) * approach(passed, BROW_SECONDS);
    return { nod, brow };
  };
};
