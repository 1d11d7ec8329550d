import { expect, test } from "bun:test";
import { PICTURE_LENGTH } from "../picture.ts";
import type { LoopFrame } from "./loop-file.ts";
import { createLoopFilm } from "./loop-film.ts";

const FRAMES = Array.from(
  { length: 3 },
  (_, index): LoopFrame => ({
    jpeg: Uint8Array.of(index),
    place: [1, 0, index, 0, 1, 0],
  }),
);
const decoded = async (jpeg: Uint8Array) => new Uint8Array(PICTURE_LENGTH).fill(jpeg[0] as number);
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
const fail = (error: unknown) => {
  throw error;
};

test("a loop: each picture shows the next frame, forwards and backwards, with its place", async () => {
  const film = createLoopFilm(FRAMES, decoded, fail);
  const shown: unknown[] = [];
  for (let picture = 0; picture < 6; picture++) {
    await settle();
    const frame = film.next();
    shown.push([frame?.picture[0], frame?.place[2]]);
  }
  expect(shown).toEqual([0, 1, 2, 1, 0, 1].map((index) => [index, index]));
});

test("a loop whose next frame is not decoded yet: shows the last frame again, and skips no frame", async () => {
  let release = () => {};
  const decode = async (jpeg: Uint8Array) => {
    if (jpeg[0] === 1) await new Promise<void>((resolve) => (release = resolve));
    return decoded(jpeg);
  };
  const film = createLoopFilm(FRAMES, decode, fail);
  expect(film.next()).toBeNull();
  const shown: unknown[] = [];
  for (let picture = 0; picture < 4; picture++) {
    await settle();
    if (picture === 3) release();
    await settle();
    shown.push(film.next()?.picture[0]);
  }
  expect(shown).toEqual([0, 0, 0, 1]);
});

test.each([
  ["damaged", () => Promise.reject(new Error("damaged"))],
  ["of another size", async () => new Uint8Array(5)],
])("a loop with a frame %s: one failure is reported", async (_, broken) => {
  const failures: unknown[] = [];
  const decode = (jpeg: Uint8Array) => (jpeg[0] === 1 ? broken() : decoded(jpeg));
  const film = createLoopFilm(FRAMES, decode, (error) => failures.push(error));
  for (let picture = 0; picture < 5; picture++) {
    await settle();
    film.next();
  }
  expect([film.hasFailed(), failures.length]).toEqual([true, 1]);
});

test("a loop without pictures: only one frame is decoded", async () => {
  let count = 0;
  const decode = (jpeg: Uint8Array) => {
    count++;
    return decoded(jpeg);
  };
  createLoopFilm(FRAMES, decode, fail);
  for (let turn = 0; turn < 5; turn++) await settle();
  expect(count).toBe(1);
});
