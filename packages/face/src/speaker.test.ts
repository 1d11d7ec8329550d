import { expect, test } from "bun:test";
import type { LoopFilm } from "./loop/loop-film.ts";
import { PICTURE_LENGTH, planesFrom } from "./picture.ts";
import { createShapeTrack, SILENT } from "./shape-track.ts";
import { createSpeaker } from "./speaker.ts";
import { openTestFace } from "./testing/photo-testing.ts";
import { readSpeech } from "./testing/speech-testing.ts";
import type { Face } from "./warp/face.ts";

const FACE = await openTestFace("closed");
const SPEECH = await readSpeech();
/** 20 ms of sound, and its length. */
const PIECE = 960;
const PIECE_MS = 20;

/** The pictures of the first `seconds` of the voice. */
const film = (face: Face, seed: number, seconds: number): Uint8Array[] => {
  const speaker = createSpeaker(face, { seed });
  return Array.from({ length: 25 * seconds }, (_, index) => {
    for (const piece of [2 * index, 2 * index + 1]) {
      const start = (piece * PIECE) % (SPEECH.length - PIECE);
      speaker.hear(SPEECH.subarray(start, start + PIECE), 200 + (piece % 2) * PIECE_MS, 40 * index);
    }
    return speaker.picture(40 * index);
  });
};

test("the same seed, sound and times: equal pictures; another seed: different pictures", () => {
  const [first, again, other] = [film(FACE, 7, 2), film(FACE, 7, 2), film(FACE, 8, 2)];
  expect(Bun.deepEquals(first, again)).toBe(true);
  expect(Bun.deepEquals(first, other)).toBe(false);
});

test("each picture: a new array of 512 × 512 pixels", () => {
  const speaker = createSpeaker(FACE, { seed: 1 });
  const [first, second] = [speaker.picture(0), speaker.picture(40)];
  expect([first.length, second.length]).toEqual([PICTURE_LENGTH, PICTURE_LENGTH]);
  expect(first.buffer).not.toBe(second.buffer);
});

/**
 * Seconds of processor time for a second of video. The minimum of several runs, because other processes slow down a
 * run.
 */
const measureCost = (runs: number, seconds: number): number => {
  const costs = Array.from({ length: runs }, (_, seed) => {
    const before = process.cpuUsage();
    film(FACE, seed, seconds);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1e6 / seconds;
  });
  return Math.min(...costs);
};

test("10 s of video: less than 2 s of processor time", () => {
  expect(10 * measureCost(5, 2)).toBeLessThan(2);
});

/** A loop of one frame: the photo, moved by 9 pixels to the right. */
const shiftedLoop = () => {
  const picture = new Uint8Array(PICTURE_LENGTH);
  const [from, to] = [planesFrom(FACE.picture), planesFrom(picture)];
  to.y.set(from.y.subarray(0, -9), 9);
  to.u.set(from.u.subarray(0, -4), 4);
  to.v.set(from.v.subarray(0, -4), 4);
  const state = { hasFailed: false, next: true };
  const loop: LoopFilm = {
    next: () => (state.next ? { picture, place: [1, 0, 9, 0, 1, 0] } : null),
    hasFailed: () => state.hasFailed,
  };
  return { picture, loop, state };
};
const isSame = (left: Uint8Array, right: Uint8Array): boolean => Bun.deepEquals(left, right);

test("a loop, set before the first picture: its frame is shown at once; set later: the head first returns to its place", () => {
  const { loop, picture } = shiftedLoop();
  const early = createSpeaker(FACE, { seed: 7 });
  early.show(loop);
  expect(isSame(early.picture(0), picture)).toBe(true);
  const late = createSpeaker(FACE, { seed: 7 });
  for (let ms = 0; ms < 3000; ms += 40) late.picture(ms);
  late.show(loop);
  const moves: number[] = [];
  let ms = 3000;
  for (let drawn = late.picture(ms); !isSame(drawn, picture); drawn = late.picture(ms)) {
    moves.push(drawn.filter((value, pixel) => value !== FACE.picture[pixel]).length);
    ms += 40;
  }
  // The last picture before the loop hardly differs from the photo, which is the first frame of a real loop.
  expect(moves.at(-1)).toBeLessThan((moves[0] as number) / 2);
});

test("a loop without a decoded frame, or with a failure: the photo is drawn", () => {
  const { loop, state, picture } = shiftedLoop();
  state.next = false;
  const speaker = createSpeaker(FACE, { seed: 7 });
  speaker.show(loop);
  expect(isSame(speaker.picture(0), FACE.picture)).toBe(true);
  state.next = true;
  expect(isSame(speaker.picture(40), picture)).toBe(true);
  state.hasFailed = true;
  const photo = createSpeaker(FACE, { seed: 7 });
  const [failed, expected] = Array.from({ length: 30 }, (_, index) => 80 + 40 * index).reduce<Uint8Array[]>(
    (_, ms) => [speaker.picture(ms), photo.picture(ms)],
    [],
  );
  expect(planesFrom(failed as Uint8Array).y.subarray(0, 512)).toEqual(
    planesFrom(expected as Uint8Array).y.subarray(0, 512),
  );
  expect(isSame(failed as Uint8Array, picture)).toBe(false);
});

test("an hour of shapes, with or without pictures: at most a minute of shapes is in memory", () => {
  for (const hasPictures of [true, false]) {
    const track = createShapeTrack();
    for (let timeMs = 0; timeMs < 3_600_000; timeMs += 10) {
      track.add(timeMs, SILENT);
      if (hasPictures && timeMs % 40 === 0) track.forgetBefore(timeMs);
    }
    expect(track.size()).toBeLessThanOrEqual(hasPictures ? 200 : 6000);
  }
});
