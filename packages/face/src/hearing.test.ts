import { expect, test } from "bun:test";
import { createHearing } from "./hearing.ts";
import { createShapeTrack, SILENT } from "./shape-track.ts";
import { readSpeech } from "./testing/speech-testing.ts";
import { SHAPE_STEP_MS } from "./visemes.ts";

const SPEECH = await readSpeech();
/** 20 ms. */
const PIECE = 960;
/** "Mama": an open vowel of the voice. */
const VOWEL_MS = 860;

/** Hears the first `endMs` of the voice in pieces of 20 ms. The voice begins at `startMs` of the clock. */
const hearFrom = (hearing: ReturnType<typeof createHearing>, startMs: number, endMs: number, jitterMs = 0): void => {
  for (let piece = 0; 20 * piece < endMs; piece++) {
    const late = piece % 2 === 0 ? jitterMs : -jitterMs;
    hearing.hear(SPEECH.subarray(piece * PIECE, (piece + 1) * PIECE), startMs + 20 * piece + late);
  }
};

const open = () => {
  const track = createShapeTrack();
  return { track, hearing: createHearing(track) };
};

test("a voice that starts at a time of the clock: its shapes count from this time", () => {
  const [{ track, hearing }, late] = [open(), open()];
  hearFrom(hearing, 5000, 2000);
  hearFrom(late.hearing, 7000, 2000);
  expect(track.at(5000 + VOWEL_MS).open).toBeGreaterThan(0.5);
  for (let timeMs = 0; timeMs < 1900; timeMs += SHAPE_STEP_MS) {
    expect(late.track.at(7000 + timeMs).open).toBeCloseTo(track.at(5000 + timeMs).open, 6);
  }
});

test("delays that jump by 20 ms from piece to piece: the same shapes within 10 ms", () => {
  const [{ track, hearing }, shaken] = [open(), open()];
  hearFrom(hearing, 1000, 2000);
  hearFrom(shaken.hearing, 1000, 2000, 10);
  expect(Math.abs(shaken.track.newestMs() - track.newestMs())).toBeLessThan(10);
});

test("a voice that begins again before its end: the new voice replaces the part that is not heard yet", () => {
  const { track, hearing } = open();
  hearFrom(hearing, 0, 3000);
  hearFrom(hearing, 1000, 2000);
  const fresh = open();
  hearFrom(fresh.hearing, 1000, 2000);
  expect(track.newestMs()).toBeCloseTo(fresh.track.newestMs(), 6);
  expect(Math.abs(track.at(1000 + VOWEL_MS).open - fresh.track.at(1000 + VOWEL_MS).open)).toBeLessThan(0.2);
});

test("an interruption, and a voice after it: no shape of the old voice, and the new one in its place", () => {
  const { track, hearing } = open();
  hearFrom(hearing, 0, 3000);
  hearing.clear(VOWEL_MS);
  expect(track.at(VOWEL_MS).open).toBeGreaterThan(0.5);
  for (let timeMs = VOWEL_MS + 120; timeMs < 3000; timeMs += SHAPE_STEP_MS) expect(track.at(timeMs)).toEqual(SILENT);
  hearFrom(hearing, 2000, 2000);
  expect(track.at(2000 + VOWEL_MS).open).toBeGreaterThan(0.5);
});

test("a track, read between two shapes: their mean; after the last shape: that shape for 80 ms, then silence", () => {
  const track = createShapeTrack();
  expect(track.at(0)).toEqual(SILENT);
  track.add(100, { ...SILENT, open: 0.2 });
  track.add(110, { ...SILENT, open: 0.4 });
  expect(track.at(99)).toEqual(SILENT);
  expect(track.at(105).open).toBeCloseTo(0.3);
  expect(track.at(180).open).toBe(0.4);
  expect(track.at(191)).toEqual(SILENT);
  track.add(105, { ...SILENT, open: 1 });
  expect(track.size()).toBe(2);
  expect(track.at(110).open).toBe(1);
});
