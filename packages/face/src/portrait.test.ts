import { expect, test } from "bun:test";
import { createPortrait, PORTRAIT_SCALES } from "./portrait.ts";
import { seedFrom } from "./seed.ts";

/** 20 ms of a tone. */
const tone = (amplitude: number): Int16Array =>
  Int16Array.from({ length: 960 }, (_, index) => amplitude * Math.sin((index / 48_000) * 2 * Math.PI * 440));

test("a portrait: shows the largest picture once a loud sound is heard, and the smallest one after silence", () => {
  const portrait = createPortrait(PORTRAIT_SCALES);
  portrait.hear(tone(30_000), 100, 0);
  expect(portrait.picture(99)).toBe(1);
  expect(portrait.picture(100)).toBe(Math.max(...PORTRAIT_SCALES));
  for (let at = 120; at < 3000; at += 20) portrait.hear(tone(0), 0, at);
  expect(portrait.picture(3000)).toBe(1);
});

test("a portrait with one picture too few: refused", () => {
  expect(() => createPortrait(PORTRAIT_SCALES.slice(1))).toThrow("8 pictures");
});

test("the seed of a text: an integer of 32 bits, different for another text", () => {
  expect(seedFrom("")).toBe(0x811c9dc5);
  const seeds = ["vid_1", "vid_2", "1_vid"].map(seedFrom);
  expect(new Set(seeds).size).toBe(3);
  for (const seed of seeds) expect(seed).toBe(seed >>> 0);
});
