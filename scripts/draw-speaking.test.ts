/** The moving picture with which the README begins. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import sharp from "sharp";
import { MAX_BYTES, PICTURE, WORDS } from "./draw-speaking.ts";
import { PICTURE_MS } from "./speak.ts";

const FILE = join(import.meta.dir, "..", PICTURE);
const README = await Bun.file(join(import.meta.dir, "../README.md")).text();
const { pages = 0, delay = [], loop } = await sharp(FILE, { animated: true }).metadata();

/** A part of a picture in grey. */
const readPart = (page: number, part: { left: number; top: number; width: number; height: number }) =>
  sharp(FILE, { page }).extract(part).greyscale().raw().toBuffer();

test("the picture of the README: named at the beginning of the README, small, and as long as its sentence", () => {
  expect(README.slice(0, 600)).toContain(`![The sample photo says: ${WORDS.join(" ")}](${PICTURE})`);
  expect(Bun.file(FILE).size).toBeWithin(100_000, MAX_BYTES);
  expect([pages >= 75, new Set(delay), loop]).toEqual([true, new Set([PICTURE_MS]), 0]);
});

test("the mouth and the caption in the README's picture: they move; the background does not", async () => {
  /** The mean change of a part, over the pictures of the sentence. */
  const change = async (part: Parameters<typeof readPart>[1]): Promise<number> => {
    const parts = await Promise.all([5, 12, 20, 30, 45, 60].map((page) => readPart(page, part)));
    const [first = Buffer.alloc(0), ...others] = parts;
    const sums = others.map((other) =>
      other.reduce((sum, value, at) => sum + Math.abs(value - (first[at] as number)), 0),
    );
    return Math.max(...sums) / first.length;
  };
  const background = await change({ left: 380, top: 20, width: 40, height: 40 });
  expect(background).toBeLessThan(2);
  expect(await change({ left: 150, top: 220, width: 80, height: 70 })).toBeGreaterThan(4);
  expect(await change({ left: 20, top: 450, width: 400, height: 40 })).toBeGreaterThan(1);
});
