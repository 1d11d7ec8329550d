import { describe, expect, test } from "bun:test";
import type { Point } from "../measure/faces.ts";
import { findStillPart, type Sample } from "./still-part.ts";

/** 100 pixels from eye to eye. */
const EYES = 100;
const MESH_POINTS = 468;

type Face = { gap?: number; width?: number; x?: number; lids?: number; yaw?: number; light?: number; size?: number };

/** A sample. Lengths in pixels at the size 1. */
const sampleOf = ({ gap = 1, width = 52, x = 0, lids = 8, yaw = 0, light = 90, size = 1 }: Face = {}): Sample => {
  const mesh = Array.from({ length: MESH_POINTS }, (): Point => [256 + x, 256, 0]);
  const put = (point: number, left: number, down: number): void => {
    mesh[point] = [256 + x + size * left, 256 + size * down, 0];
  };
  put(33, -EYES / 2, 0);
  put(263, EYES / 2, 0);
  put(61, -width / 2, 60);
  put(291, width / 2, 60);
  for (const [upper, lower] of [
    [82, 87],
    [13, 14],
    [312, 317],
  ] as const) {
    put(upper, 0, 60);
    put(lower, 0, 60 + gap);
  }
  for (const [upper, lower] of [
    [159, 145],
    [386, 374],
  ] as const) {
    put(upper, 0, 0);
    put(lower, 0, lids);
  }
  return { mesh, yaw, light: new Uint8Array(64).fill(light) };
};
const NO_FACE: Sample = { mesh: null, yaw: 0, light: new Uint8Array(64).fill(90) };

/** `count` samples, 12.5 a second. A person sways a little. */
const samples = (count: number, face: (index: number) => Face = () => ({})): Sample[] =>
  Array.from({ length: count }, (_, index) => sampleOf({ x: 3 * Math.sin(index / 9), ...face(index) }));
const speaking = (index: number): Face => ({ gap: 1 + 5 * (index % 2) });
const isWithin = (part: ReturnType<typeof findStillPart>, first: number, end: number): boolean =>
  typeof part !== "string" && part.first >= first && part.first + part.samples <= end;

describe("the part in which the lips are still", () => {
  test("lips that move at first: the later part", () => {
    const part = findStillPart([...samples(60, speaking), ...samples(70)]);
    expect(isWithin(part, 60, 130)).toBe(true);
    expect((part as { samples: number }).samples).toBeGreaterThanOrEqual(50);
  });

  test("two parts: the longer one; a part of 15 s: 8 s of it", () => {
    expect(isWithin(findStillPart([...samples(55), ...samples(9, speaking), ...samples(80)]), 64, 144)).toBe(true);
    const long = findStillPart(samples(188)) as { samples: number };
    expect(long.samples).toBeWithin(76, 101);
  });

  test("a mesh with the noise of still lips, and blinks: one part", () => {
    const noisy = samples(60, (index) => ({
      gap: 1 + 0.4 * (index % 3),
      width: 52 + (index % 4),
      lids: index % 20 ? 8 : 1,
    }));
    expect(isWithin(findStillPart(noisy), 0, 60)).toBe(true);
  });

  test("ends: where the person moves least, with open eyes", () => {
    const restless = (index: number): Face => ({
      x: Math.min(index, 8) + (index > 90 ? 2 * (index - 90) : 0) + 0.1 * Math.sin(index),
      lids: index === 8 || index === 9 ? 1 : 8,
    });
    const { first, samples: length } = findStillPart(samples(100, restless)) as { first: number; samples: number };
    expect(first).toBeWithin(9, 13);
    expect(first + length).toBeWithin(88, 92);
  });

  test.each([
    ["shorter than 4 s", samples(49), "too_short"],
    ["no frames", [], "too_short"],
    ["lips that move all the time", samples(100, speaking), "lips_move"],
    ["lips that are still for 3 s at most", samples(120, (index) => ({ gap: index % 37 < 3 ? 6 : 1 })), "lips_move"],
    ["a smile that comes and goes", samples(120, (index) => ({ width: 52 + 6 * Math.sin(index / 10) })), "lips_move"],
    ["a head that turns by 20°", samples(100, (index) => ({ yaw: 20 * Math.sin(index / 10) })), "head_turns"],
    ["no face", Array.from({ length: 100 }, () => NO_FACE), "no_face"],
    ["no face in a frame every 3 s", samples(120).map((one, index) => (index % 37 ? one : NO_FACE)), "no_face"],
    ["a cut every 3 s", samples(120, (index) => ({ x: 20 * (Math.floor(index / 37) % 2) })), "no_face"],
    [
      "a lamp that is turned on and off",
      samples(120, (index) => ({ light: 90 + 40 * (Math.floor(index / 37) % 2) })),
      "no_face",
    ],
    ["a lamp that is dimmed", samples(120, (index) => ({ light: 20 + 1.5 * index })), "no_face"],
    ["a face that grows", samples(100, (index) => ({ size: 1 + index / 100 })), "no_face"],
    ["a photo", samples(100, (index) => ({ x: 0.2 * (index % 2) })), "nothing_moves"],
  ])("a film, %s: none", (_, film, reason) => {
    expect(findStillPart(film)).toBe(reason as never);
  });
});
