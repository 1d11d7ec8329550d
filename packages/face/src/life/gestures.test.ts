/** Gestures and thoughts, in the poses of a face. */
import { expect, test } from "bun:test";
import { createLife } from "../life.ts";
import { createShapeTrack } from "../shape-track.ts";
import { openTestFace } from "../testing/photo-testing.ts";
import type { Pose } from "../warp/pose.ts";
import { GESTURES, type Gesture } from "./gestures.ts";

const FACE = await openTestFace("closed");

/** The poses of 6 s of silence, after `act` at 2 s. */
const record = (act: (life: ReturnType<typeof createLife>, timeMs: number) => void = () => {}): Pose[] => {
  const life = createLife(1, FACE);
  const track = createShapeTrack();
  return Array.from({ length: 150 }, (_, index) => {
    act(life, 40 * index);
    return life.pose(40 * index, track);
  });
};
const AT_REST = record();
/** The difference of a member of a pose from rest, for each picture. */
const differences = (poses: readonly Pose[], name: keyof Pose): number[] =>
  poses.map((pose, index) => pose[name] - (AT_REST[index]?.[name] ?? 0));
const largest = (values: readonly number[]): number => Math.max(...values.map(Math.abs));

const MEMBERS: Record<Gesture, keyof Pose> = {
  nod: "pitch",
  shake_head: "yaw",
  raise_brows: "brow",
  smile: "smile",
  wink: "blinkLeft",
};

test.each(GESTURES)(
  "the gesture %s: moves only its member of the pose, without a jump, and returns within 2.5 s",
  (gesture) => {
    const poses = record((life, timeMs) => {
      if (timeMs === 2000) expect(life.gesture(gesture)).toBe(true);
    });
    const moved = differences(poses, MEMBERS[gesture]);
    const least = { nod: 0.05, shake_head: 0.06, raise_brows: 0.8, smile: 0.5, wink: 0.9 }[gesture];
    expect(largest(moved)).toBeGreaterThan(least);
    expect(largest(moved.slice(0, 50))).toBe(0);
    expect(largest(moved.slice(113))).toBe(0);
    // A lid shuts in 80 ms.
    const steps = moved.slice(1).map((value, index) => value - (moved[index] ?? 0));
    expect(largest(steps)).toBeLessThan(gesture === "wink" ? 0.7 : 0.45 * largest(moved));
    for (const name of Object.keys(poses[0] ?? {}) as (keyof Pose)[]) {
      if (name !== MEMBERS[gesture]) expect([name, largest(differences(poses, name))]).toEqual([name, 0]);
    }
  },
);

test("a gesture during another one: refused; after it: made", () => {
  const life = createLife(1, FACE);
  const track = createShapeTrack();
  expect([life.gesture("nod"), life.gesture("smile")]).toEqual([true, false]);
  for (let timeMs = 0; timeMs <= 1000; timeMs += 40) life.pose(timeMs, track);
  expect(life.gesture("smile")).toBe(false);
  for (let timeMs = 1040; timeMs <= 1200; timeMs += 40) life.pose(timeMs, track);
  expect(life.gesture("smile")).toBe(true);
});

test("a thought of 2 s: after a quarter of a second the eyes look away, the head follows, and a breath is drawn; all come back", () => {
  const poses = record((life, timeMs) => life.think(timeMs >= 2000 && timeMs < 4000));
  const eyes = differences(poses, "gazeX").map((way) => Math.abs(way) / FACE.eyeDistance);
  const breath = differences(poses, "breath");
  expect(largest(eyes.slice(0, 56))).toBe(0);
  expect(Math.min(...eyes.slice(60, 98))).toBeGreaterThan(0.025);
  expect(Math.min(...differences(poses, "gazeY").slice(60, 98))).toBeLessThan(-0.01 * FACE.eyeDistance);
  expect(Math.abs(differences(poses, "yaw")[95] ?? 0)).toBeGreaterThan(0.03);
  expect(breath[95]).toBeGreaterThan(0.7);
  // Eyes jump. The other movements are slow.
  expect(eyes[108]).toBeLessThan(0.001);
  expect(breath[149]).toBeLessThan(0.02);
});

test("an immediate answer: no glance", () => {
  const poses = record((life, timeMs) => life.think(timeMs >= 2000 && timeMs < 2200));
  expect(poses).toEqual(AT_REST);
});
