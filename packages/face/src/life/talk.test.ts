import { expect, test } from "bun:test";
import { shapesAround } from "../shape-at.ts";
import { createShapeTrack, SILENT } from "../shape-track.ts";
import { AHEAD_STEPS, createTalk } from "./talk.ts";

const VOWEL = { ...SILENT, open: 0.6, closed: 0, level: -0.5 };

/**
 * The times of the pictures in which a phrase ends. The voice is known in advance: vowels and the pauses between them.
 */
const endsOf = (pausesMs: readonly number[]): number[] => {
  const track = createShapeTrack();
  let endMs = 0;
  for (const pauseMs of [...pausesMs, 0]) {
    for (const toMs = endMs + 400; endMs < toMs; endMs += 10) track.add(endMs, VOWEL);
    for (const toMs = endMs + pauseMs; endMs < toMs; endMs += 10) track.add(endMs, SILENT);
  }
  const findTalk = createTalk();
  const ends: number[] = [];
  for (let timeMs = 0; timeMs < endMs + 1000; timeMs += 40) {
    if (findTalk(shapesAround(track, timeMs, AHEAD_STEPS), 0.04).hasPhraseEnded) ends.push(timeMs);
  }
  return ends;
};

test("a voice without a pause: its phrase ends once, in the quarter of a second after it", () => {
  const ends = endsOf([]);
  expect(ends).toHaveLength(1);
  expect(ends[0]).toBeWithin(400 + 180, 400 + 340);
});

test("a pause of 300 ms, while the voice after it is known: the phrase ends within it", () => {
  const ends = endsOf([300]);
  expect(ends).toHaveLength(2);
  expect(ends[0]).toBeWithin(400 + 150, 400 + 300);
});

test("pauses of 120 ms: no end of a phrase", () => {
  expect(endsOf([120, 120, 120])).toHaveLength(1);
});
