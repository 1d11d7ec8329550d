/** The features and the network, compared with those of the training. scripts/train-mouth/vectors.py wrote `training.json`. */
import { expect, test } from "bun:test";
import { createVisemes, type Shape } from "../visemes.ts";
import { createFeatures } from "./features.ts";
import { createResampler } from "./resample.ts";
import vectors from "./training.json";

/** One second at 48 kHz: a sawtooth of 120 Hz, then noise, then both. Integers, as in vectors.py. */
const makeSound = (): Int16Array => {
  let state = 1;
  return Int16Array.from({ length: 48_000 }, (_, index) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    const sawtooth = ((index % 400) - 200) * 40;
    const noise = ((state >> 16) % 8001) - 4000;
    const part = Math.floor(index / 16_000);
    return (part === 1 ? 0 : sawtooth) + (part === 0 ? Math.floor(noise / 100) : noise);
  });
};

/** The largest difference between two lists. */
const difference = (a: readonly number[], b: readonly number[]): number =>
  Math.max(...a.map((value, index) => Math.abs(value - (b[index] ?? Number.NaN))));

const numbers = ({ open, wide, round, closed, tuck, tongue }: Shape): number[] => [
  ...[open, wide, round, closed, tuck, tongue],
];

test("the features of a sound, compared with those of the training: equal to 0.001", () => {
  const rows: number[][] = [];
  const measure = createFeatures((features, usual) => rows.push([...features, ...usual]));
  measure(createResampler()(makeSound()));
  expect(vectors.length).toBeGreaterThan(10);
  for (const { step, features } of vectors) expect(difference(rows[step] ?? [], features)).toBeLessThan(0.001);
});

test("the shapes of a sound, compared with those of the training: equal to 0.001", () => {
  const shapes = createVisemes().hear(makeSound());
  for (const { step, outputs } of vectors) {
    const shape = shapes[step];
    if (!shape) throw new Error(`Unknown shape ${step}.`);
    expect(difference(numbers(shape), outputs)).toBeLessThan(0.001);
  }
});
