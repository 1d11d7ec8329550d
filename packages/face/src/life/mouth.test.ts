import { expect, test } from "bun:test";
import { shapesAround } from "../shape-at.ts";
import { createShapeTrack, SILENT } from "../shape-track.ts";
import type { Shape } from "../visemes.ts";
import { JAW_OPENING, PART_OPENING } from "../warp/fields.ts";
import { poseMouth, poseShape, REACH_STEPS } from "./mouth.ts";

const LIPS = { isOpen: false, smile: 0 };
/** The shapes that the network hears in "the" after a pause, of a voice that says it weakly. */
const TH: Shape = { ...SILENT, open: 0.25, closed: 0.07, tongue: 0.48, level: -1.6 };
const WEAK_VOWEL: Shape = { ...SILENT, open: 0.27, closed: 0.1, tongue: 0.15, level: -1 };

/** The widest opening, in eye distances, of shapes of 60 ms each between two pauses. */
const widestOpening = (shapes: readonly Shape[]): number => {
  const track = createShapeTrack();
  const lasting = [...Array(40).fill(SILENT), ...shapes.flatMap((shape) => Array(6).fill(shape))];
  for (const [step, shape] of [...lasting, ...Array(60).fill(SILENT)].entries()) track.add(10 * step, shape);
  const openings = Array.from({ length: 20 }, (_, picture) => {
    const { gap, part, closed } = poseMouth(shapesAround(track, 300 + 20 * picture, 2 * REACH_STEPS), LIPS);
    return (JAW_OPENING * gap + PART_OPENING * part) * (1 - closed);
  });
  return Math.max(...openings);
};

test("the sound th and a weak vowel, after a pause: the lips part", () => {
  expect(widestOpening([TH, WEAK_VOWEL])).toBeGreaterThan(0.02);
});

test("the same small shapes without a tongue, as in music: the lips stay closed", () => {
  const quiet = [TH, WEAK_VOWEL].map((shape) => ({ ...shape, tongue: 0.05 }));
  expect(widestOpening(quiet)).toBeLessThan(0.005);
});

/** The shapes that the network hears in a long m, and in an f between vowels. */
const WEAK_M: Shape = { ...SILENT, open: 0.13, closed: 0.5, tongue: 0.34, level: -0.2 };
const WEAK_F: Shape = { ...SILENT, open: 0.15, closed: 0.5, tuck: 0.45, level: -0.4 };

for (const isOpen of [false, true]) {
  const lips = { isOpen, smile: 0 };

  test(`a weak m, lips ${isOpen ? "apart" : "closed"} in the photo: shut`, () => {
    const { closed, gap } = poseShape(WEAK_M, lips);
    expect(closed).toBeGreaterThan(0.99);
    expect(gap).toBeLessThan(0.001);
  });

  test(`an f as closed as that m, lips ${isOpen ? "apart" : "closed"} in the photo: more than half tucked`, () => {
    expect(poseShape(WEAK_F, lips).tuck).toBeGreaterThan(0.5);
  });
}
