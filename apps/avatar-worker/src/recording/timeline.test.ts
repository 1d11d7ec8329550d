import { expect, test } from "bun:test";
import { createTimeline, type Timeline } from "./timeline.ts";

const PERSON = { tolerance: 4800, patience: 24_000 };
const AVATAR = { tolerance: 960, patience: 0 };
/** 10 ms. */
const FRAME = 480;

const frame = (value: number): Int16Array => new Int16Array(FRAME).fill(value);
const take = (timeline: Timeline, samples: number): Int32Array => {
  const mix = new Int32Array(samples);
  timeline.takeInto(mix);
  return mix;
};
/** The begin and the end of each value in the samples. */
const runs = (samples: Int32Array): [value: number, start: number, end: number][] => {
  const found: [number, number, number][] = [];
  for (const [index, value] of samples.entries()) {
    const last = found.at(-1);
    if (last?.[0] === value) last[2] = index + 1;
    else found.push([value, index, index + 1]);
  }
  return found.filter(([value]) => value !== 0);
};

test("frames that come early and late: each begins at the end of the previous one", () => {
  const timeline = createTimeline(PERSON);
  for (const [index, jitter] of [0, 900, 300, 1400, 0].entries())
    timeline.add(frame(index + 1), index * FRAME + jitter);
  expect(runs(take(timeline, 5 * FRAME))).toEqual(
    [1, 2, 3, 4, 5].map((value) => [value, (value - 1) * FRAME, value * FRAME]),
  );
});

test("a burst after half a second without frames: is as long as its frames; the next frame is on time", () => {
  const timeline = createTimeline(PERSON);
  timeline.add(frame(1), 0);
  for (let index = 1; index <= 50; index++) timeline.add(frame(2), 50 * FRAME);
  timeline.add(frame(3), 51 * FRAME);
  expect(runs(take(timeline, 60 * FRAME))).toEqual([
    [1, 0, FRAME],
    [2, FRAME, 51 * FRAME],
    [3, 51 * FRAME, 52 * FRAME],
  ]);
});

test("frames that are late or early for half a second: placed by the clock from then on", () => {
  for (const shift of [6000, -6000]) {
    const timeline = createTimeline(PERSON);
    timeline.add(frame(1), 10_000);
    for (let index = 1; index <= 60; index++) timeline.add(frame(2), 10_000 + index * FRAME + shift);
    timeline.add(frame(3), 10_000 + 61 * FRAME + shift);
    expect(
      runs(take(timeline, 200 * FRAME))
        .at(-1)
        ?.slice(0, 2),
    ).toEqual([3, 10_000 + 61 * FRAME + shift]);
  }
});

test("a frame after its time was taken: placed by the clock, after the taken samples", () => {
  const timeline = createTimeline(PERSON);
  timeline.add(frame(1), 0);
  take(timeline, 10 * FRAME);
  timeline.add(frame(2), 12 * FRAME);
  expect(runs(take(timeline, 10 * FRAME))).toEqual([[2, 2 * FRAME, 3 * FRAME]]);
  take(timeline, 10 * FRAME);
  timeline.add(frame(3), 25 * FRAME);
  expect(runs(take(timeline, 10 * FRAME))).toEqual([[3, 0, FRAME]]);
});

test("the avatar, after a pause of 30 ms: placed by the clock at once", () => {
  const timeline = createTimeline(AVATAR);
  timeline.add(frame(1), 0);
  timeline.add(frame(2), FRAME + 100);
  timeline.add(frame(3), 2 * FRAME + 1500);
  expect(runs(take(timeline, 10 * FRAME))).toEqual([
    [1, 0, FRAME],
    [2, FRAME, 2 * FRAME],
    [3, 2 * FRAME + 1500, 3 * FRAME + 1500],
  ]);
});

test("sound that is cut off: silent from then on; the next frame begins there", () => {
  const timeline = createTimeline(AVATAR);
  for (let index = 0; index < 5; index++) timeline.add(frame(1), index * FRAME);
  timeline.clear(2 * FRAME);
  timeline.add(frame(2), 2 * FRAME + 100);
  expect(runs(take(timeline, 10 * FRAME))).toEqual([
    [1, 0, 2 * FRAME],
    [2, 2 * FRAME, 3 * FRAME],
  ]);
});

test("more sound than the maximum: dropped; the rest stays in its place", () => {
  const timeline = createTimeline(AVATAR);
  for (let index = 0; index < 400; index++) timeline.add(frame(1 + (index % 7)), index * FRAME);
  const kept = runs(take(timeline, 400 * FRAME));
  expect(kept.every(([value, start]) => value === 1 + ((start / FRAME) % 7))).toBe(true);
  expect(kept.at(-1)?.[2]).toBe(273 * FRAME);
});

test("two sources: added", () => {
  const [one, other] = [createTimeline(PERSON), createTimeline(AVATAR)];
  one.add(frame(30_000), 0);
  other.add(frame(20_000), 100);
  const mix = new Int32Array(2 * FRAME);
  one.takeInto(mix);
  other.takeInto(mix);
  expect([mix[0], mix[100], mix[FRAME]]).toEqual([30_000, 50_000, 20_000]);
});
