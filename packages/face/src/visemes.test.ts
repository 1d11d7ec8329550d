import { expect, test } from "bun:test";
import { createVisemes, FIRST_SHAPE_MS, SHAPE_STEP_MS, type Shape } from "./visemes.ts";

const RATE = 48_000;
const AMPLITUDE = 9000;

/** Numbers between -1 and 1 that are the same in each run. */
const createRandom = (): (() => number) => {
  let state = 1;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return state / 0x4000_0000 - 1;
  };
};

const sound = (seconds: number, sample: (time: number) => number): Int16Array =>
  Int16Array.from({ length: seconds * RATE }, (_, index) => AMPLITUDE * sample(index / RATE));

/** A vowel-like buzz of 120 Hz with the resonances of an a, on and off four times a second. */
const syllables = (time: number): number => {
  const phase = (time * 120) % 1;
  const seconds = phase / 120;
  const buzz =
    Math.exp(-300 * seconds) * (Math.sin(2 * Math.PI * 750 * seconds) + 0.5 * Math.sin(2 * Math.PI * 1250 * seconds));
  return buzz * Math.max(0, Math.sin(2 * Math.PI * 4 * time));
};

const hearInPieces = (pcm: Int16Array, length: () => number): Shape[] => {
  const visemes = createVisemes();
  const shapes: Shape[] = [];
  for (let start = 0; start < pcm.length; ) {
    const end = start + length();
    shapes.push(...visemes.hear(pcm.subarray(start, end)));
    start = end;
  }
  return shapes;
};

/** The distance of the lips. */
const gap = ({ open, closed }: Shape): number => open * (1 - closed);
const deviation = (values: readonly number[]): number => {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
};

test("a sound in pieces of 1 to 2000 samples: the same shapes as in one piece", () => {
  const random = createRandom();
  const pcm = sound(3, (time) => syllables(time) + 0.01 * random());
  const whole = createVisemes().hear(pcm);
  expect(hearInPieces(pcm, () => 1 + Math.floor(1000 * (1 + random())))).toEqual(whole);
});

test("three seconds of sound: a shape each 10 ms, the last one 42.5 ms before the end", () => {
  const shapes = createVisemes().hear(sound(3, syllables));
  const last = (shapes.length - 1) * SHAPE_STEP_MS + FIRST_SHAPE_MS;
  expect(3000 - last).toBeGreaterThanOrEqual(42.5);
  expect(3000 - last).toBeLessThan(42.5 + SHAPE_STEP_MS);
});

test("vowels after a second of silence: the mouth is closed before, and open within 50 ms of the vowel", () => {
  const random = createRandom();
  const pcm = sound(3, (time) => (time < 1.0 ? 0 : syllables(time)) + 3e-4 * random());
  const gaps = createVisemes().hear(pcm).map(gap);
  expect(Math.max(...gaps.slice(0, 95))).toBeLessThan(0.1);
  expect(Math.max(...gaps.slice(100, 115))).toBeGreaterThan(0.4);
  const opening = gaps.findIndex((value) => value > 0.2) * SHAPE_STEP_MS + FIRST_SHAPE_MS;
  expect(Math.abs(opening - 1000)).toBeLessThan(50);
});

test("the same sound, 20 dB quieter: the same shapes", () => {
  const random = createRandom();
  const noise = Float32Array.from({ length: 4 * RATE }, random);
  const heard = (gain: number): number[] =>
    createVisemes()
      .hear(sound(4, (time) => gain * (syllables(time) + 1e-3 * (noise[Math.round(time * RATE)] ?? 0))))
      .map(gap);
  const [loud, quiet] = [heard(1), heard(0.1)];
  const difference = loud.map((value, index) => Math.abs(value - (quiet[index] ?? 0))).slice(50);
  expect(difference.reduce((sum, value) => sum + value, 0) / difference.length).toBeLessThan(0.05);
});

const random = createRandom();
const OTHER_SOUNDS: [name: string, sample: (time: number) => number][] = [
  ["a tone of 440 Hz", (time) => Math.sin(2 * Math.PI * 440 * time)],
  ["white noise", () => random()],
  ["noise of -60 dB alone", () => 1e-3 * random()],
  ["a chord", (time) => [1, 1.25, 1.5].reduce((sum, ratio) => sum + Math.sin(2 * Math.PI * 220 * ratio * time) / 3, 0)],
];
test.each(OTHER_SOUNDS)("%s instead of a voice: the lips move less than a third as much as in speech", (_, sample) => {
  const speech = deviation(createVisemes().hear(sound(4, syllables)).map(gap));
  expect(deviation(createVisemes().hear(sound(4, sample)).map(gap))).toBeLessThan(speech / 3);
});

test("a minute of sound, heard in pieces of 20 ms: less than 0.1 s of processor time a second", () => {
  const pcm = sound(10, syllables);
  const visemes = createVisemes();
  const before = process.cpuUsage();
  for (let round = 0; round < 6; round++) {
    for (let start = 0; start < pcm.length; start += 960) visemes.hear(pcm.subarray(start, start + 960));
  }
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1e6 / 60).toBeLessThan(0.1);
});
