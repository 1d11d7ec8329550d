import { expect, test } from "bun:test";
import { PICTURE_LENGTH } from "./picture.ts";
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
 * Seconds of processor time for a second of video. The least of several runs, because other processes slow each run.
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

test("an hour of shapes, with pictures and without: at most a minute of shapes is in memory", () => {
  for (const hasPictures of [true, false]) {
    const track = createShapeTrack();
    for (let timeMs = 0; timeMs < 3_600_000; timeMs += 10) {
      track.add(timeMs, SILENT);
      if (hasPictures && timeMs % 40 === 0) track.forgetBefore(timeMs);
    }
    expect(track.size()).toBeLessThanOrEqual(hasPictures ? 200 : 6000);
  }
});
