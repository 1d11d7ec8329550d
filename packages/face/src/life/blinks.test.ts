import { expect, test } from "bun:test";
import { createBlinks, randomBlinkRate } from "./blinks.ts";
import { createRandom } from "./random.ts";

test("2,000 people: 26 blinks a minute in the mean, and between 10.5 and 32.5 for about 95 % of them", () => {
  const random = createRandom(1);
  const rates = Array.from({ length: 2000 }, () => randomBlinkRate(random)).toSorted((a, b) => a - b);
  expect(rates.reduce((sum, rate) => sum + rate, 0) / rates.length).toBeWithin(25, 27);
  const usual = rates.filter((rate) => rate > 10.5 && rate < 32.5).length / rates.length;
  expect(usual).toBeWithin(0.93, 0.98);
});

/** Blinks a minute in ten minutes, with 25 pictures a second. */
const countBlinks = (seed: number, talk: number): number => {
  const blinks = createBlinks(createRandom(seed));
  const lids = Array.from({ length: 25 * 600 }, (_, picture) => blinks.at(picture / 25, talk));
  return lids.filter((lid, index) => lid > 0.9 && (lids[index - 1] ?? 0) <= 0.9).length / 10;
};

test("a person who listens: a third fewer blinks than while speaking", () => {
  for (const seed of [1, 2, 3]) {
    const share = countBlinks(seed, 0) / countBlinks(seed, 1);
    expect(share).toBeWithin(0.5, 0.85);
  }
});

test("blinks of 40 people who speak: a mean within 10 % of 26 a minute, each shut in at least one picture", () => {
  const counts = Array.from({ length: 40 }, (_, seed) => countBlinks(seed, 1));
  expect(counts.reduce((sum, count) => sum + count, 0) / counts.length).toBeWithin(23.4, 28.6);
});

/** Of 400 people who have not blinked for two seconds, the share that blinks within 0.2 s. `isEnd`: a phrase ends at this time. */
const shareOfBlinks = (isEnd: boolean): number => {
  const END = 10;
  let [people, blinking] = [0, 0];
  for (let seed = 0; people < 400; seed++) {
    const blinks = createBlinks(createRandom(seed));
    const lidsIn = (from: number, to: number): number[] =>
      Array.from({ length: Math.round(100 * (to - from)) }, (_, index) => blinks.at(from + index / 100, 1));
    lidsIn(0, END - 2);
    if (Math.max(...lidsIn(END - 2, END)) > 0) continue;
    people++;
    if (isEnd) blinks.endPhrase(END);
    if (Math.max(...lidsIn(END, END + 0.2)) > 0) blinking++;
  }
  return blinking / people;
};

test("the end of a phrase: a third of the people blink at it", () => {
  expect(shareOfBlinks(true) - shareOfBlinks(false)).toBeWithin(0.2, 0.45);
});

test("the end of a phrase soon after a blink: no further blink", () => {
  for (let seed = 0; seed < 50; seed++) {
    const [one, other] = [createBlinks(createRandom(seed)), createBlinks(createRandom(seed))];
    for (let step = 0, last = Number.NEGATIVE_INFINITY; step < 6000; step++) {
      const lid = one.at(step / 100, 1);
      expect(other.at(step / 100, 1)).toBe(lid);
      if (lid > 0) last = step;
      if (step - last < 50) one.endPhrase(step / 100);
    }
  }
});
