import { expect, test } from "bun:test";
import { applyAffine } from "@realtime-avatar/face/warp/affine";
import type { Point } from "../measure/faces.ts";
import { findPlaces, smoothMesh } from "./places.ts";

/** A mesh whose points are spread over the picture. It turns and moves steadily: `time` says how far. */
const meshAt = (time: number, noise = 0): Point[] =>
  Array.from({ length: 468 }, (_, point): Point => {
    const [x, y] = [200 + ((point * 37) % 113), 180 + ((point * 53) % 151)];
    const turn = 0.01 * time;
    const wrong = noise * Math.sin(12.9 * point + 78.2 * time);
    return [x * Math.cos(turn) - y * Math.sin(turn) + 2 * time + wrong, x * Math.sin(turn) + y * Math.cos(turn), 0];
  });

/** The largest distance of a place from where it should be. */
const missesOf = (places: ReturnType<typeof findPlaces>): number[] =>
  places.map((place, frame) => {
    const [first, now] = [meshAt(0)[13] as Point, meshAt(frame / 2)[13] as Point];
    const found = { x: 0, y: 0 };
    applyAffine(place, first[0], first[1], found);
    return Math.hypot(found.x - now[0], found.y - now[1]);
  });

test("a head that turns and moves: a place for each frame, two for each sample, the first one the identity", () => {
  const places = findPlaces(Array.from({ length: 9 }, (_, time) => meshAt(time)));
  expect(places).toHaveLength(17);
  for (const [index, value] of [1, 0, 0, 0, 1, 0].entries()) expect(places[0]?.[index]).toBeCloseTo(value, 6);
  // The ends have a neighbour on one side only.
  for (const miss of missesOf(places).slice(2, -2)) expect(miss).toBeLessThan(0.8);
});

test("noisy meshes: places that are steadier than the points", () => {
  const misses = missesOf(findPlaces(Array.from({ length: 9 }, (_, time) => meshAt(time, 1.5))));
  expect(Math.max(...misses.slice(2, -2))).toBeLessThan(1.2);
});

test("a mesh, smoothed: half of itself and quarters of its neighbours", () => {
  const meshes = [0, 8, 0].map((x) => [[x, 0, 0] as Point]);
  expect([0, 1, 2].map((at) => smoothMesh(meshes, at)[0]?.[0])).toEqual([2, 4, 2]);
});
