import { beforeAll, describe, expect, test } from "bun:test";
import { drawPreview, PREVIEW_PICTURES_PER_SECOND, PREVIEW_SECONDS, PREVIEW_SIZE } from "./preview.ts";
import { openTestFace, readMesh } from "./testing/photo-testing.ts";

const COUNT = PREVIEW_SECONDS * PREVIEW_PICTURES_PER_SECOND;

describe.each(["closed", "smile"] as const)("the preview of a face with %s lips", (name) => {
  let pictures: Uint8Array[];
  let mesh: Float32Array;
  beforeAll(async () => {
    pictures = drawPreview(await openTestFace(name), "AI");
    mesh = await readMesh(name);
  });

  /** The mean difference of two pictures in the rectangle around some landmarks. */
  const difference = (one: number, other: number, landmarks: readonly number[]): number => {
    const place = (axis: 0 | 1) => landmarks.map((index) => (mesh[3 * index + axis] ?? 0) / 2);
    const [left, right] = [Math.floor(Math.min(...place(0))), Math.ceil(Math.max(...place(0)))];
    const [top, bottom] = [Math.floor(Math.min(...place(1))), Math.ceil(Math.max(...place(1)))];
    let sum = 0;
    let count = 0;
    for (let y = top; y <= bottom; y++) {
      for (let at = 3 * (y * PREVIEW_SIZE + left); at <= 3 * (y * PREVIEW_SIZE + right); at++, count++) {
        sum += Math.abs((pictures[one]?.[at] ?? 0) - (pictures[other]?.[at] ?? 0));
      }
    }
    return sum / count;
  };
  const MOUTH = [61, 291, 0, 17];
  const EYE = [33, 133, 159, 145];

  test("the pictures: two seconds in colour; the last picture continues into the first", () => {
    expect(pictures).toHaveLength(COUNT);
    expect(pictures.every(({ length }) => length === 3 * PREVIEW_SIZE ** 2)).toBe(true);
    const steps = pictures.map((_, index) => difference(index, (index + 1) % COUNT, [10, 152, 234, 454]));
    expect(steps.at(-1)).toBeLessThanOrEqual(Math.max(...steps.slice(0, -1)));
    expect(steps.at(-1)).toBeLessThan(3);
  });

  test("the mouth: speaks a word, then equals the mouth of the photo", () => {
    const ways = pictures.map((_, index) => difference(0, index, MOUTH));
    expect(Math.max(...ways.slice(8, 22))).toBeGreaterThan(1.4 * Math.max(...ways.slice(32)));
  });

  test("the eyes: change fast only during the blink, after the word", () => {
    const steps = pictures.slice(1).map((_, index) => difference(index, index + 1, EYE));
    const fastest = steps.indexOf(Math.max(...steps));
    // It begins at 1.45 s, and lasts 0.3 s.
    expect(fastest).toBeWithin(28, 36);
    const others = steps.filter((_, index) => index < 28 || index > 35);
    expect(steps[fastest]).toBeGreaterThan(1.5 * Math.max(...others));
  });

  test("the mark: in each picture, in the upper left corner", () => {
    const stroke = 3 * (16 * PREVIEW_SIZE + 25);
    for (const picture of pictures) expect(picture[stroke]).toBeGreaterThan(180);
  });
});
