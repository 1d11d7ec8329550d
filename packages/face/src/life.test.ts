import { describe, expect, test } from "bun:test";
import { openTestFace } from "./testing/photo-testing.ts";
import {
  correlation,
  deviation,
  type Mouth,
  mean,
  median,
  mouthsIn,
  readSpeech,
  recordMouth,
  SOUNDS,
  soundsNamed,
} from "./testing/speech-testing.ts";

const FACE = await openTestFace("closed");
const SMILE = await openTestFace("smile");
const SPEECH = await readSpeech();
const SPOKEN = recordMouth(FACE, SPEECH);
/** Lips with a smaller gap than `CLOSED` are closed, and with a larger gap than `OPEN` open. In eye distances. */
const CLOSED = 0.02;
const OPEN = 0.06;

const readGaps = (mouths: readonly Mouth[]): number[] => mouths.map(({ gap }) => gap);
const countShare = <Item>(items: readonly Item[], isGood: (item: Item) => boolean): number =>
  items.filter(isGood).length / items.length;

/** Rough openings of the mouth by sound. All other sounds: 0.15. */
const TARGETS: Record<string, number> = {
  pau: 0,
  p: 0,
  b: 0,
  m: 0,
  aa: 1,
  ae: 0.8,
  ay: 0.8,
  ao: 0.8,
  ax: 0.4,
  er: 0.35,
};
const targetAt = (timeMs: number): number => {
  const near = [-30, -20, -10, 0, 10, 20, 30].map((ms) =>
    SOUNDS.find(({ startMs, endMs }) => timeMs + ms >= startMs && timeMs + ms < endMs),
  );
  return mean(near.map((sound) => TARGETS[sound?.name ?? "pau"] ?? 0.15));
};

/** The lag of the lips behind the sounds, in milliseconds: the shift with the highest correlation. */
const findLag = (mouths: readonly Mouth[]): number => {
  const lags = Array.from({ length: 21 }, (_, index) => 10 * (index - 10));
  const score = (lag: number): number =>
    correlation(
      readGaps(mouths),
      mouths.map(({ timeMs }) => targetAt(timeMs - lag)),
    );
  return lags.reduce((best, lag) => (score(lag) > score(best) ? lag : best));
};

describe("a voice", () => {
  test("p, b and m: at least 88 % of them close the lips", () => {
    const closes = countShare(
      soundsNamed("p", "b", "m"),
      (sound) => Math.min(...readGaps(mouthsIn(SPOKEN, sound))) < CLOSED,
    );
    expect(closes).toBeGreaterThanOrEqual(0.88);
  });

  test("p, b and m of a photo that smiles: at least 88 % of them close the lips", () => {
    const mouths = recordMouth(SMILE, SPEECH);
    const closes = countShare(
      soundsNamed("p", "b", "m"),
      (sound) => Math.min(...readGaps(mouthsIn(mouths, sound))) < CLOSED,
    );
    expect(closes).toBeGreaterThanOrEqual(0.88);
  });

  test("a: at least 95 % of them open the lips by 6 % of the distance of the eyes", () => {
    const opens = countShare(soundsNamed("aa"), (sound) => Math.max(...readGaps(mouthsIn(SPOKEN, sound))) >= OPEN);
    expect(opens).toBeGreaterThanOrEqual(0.95);
  });

  test("silence: the lips are closed in at least 95 % of the pictures", () => {
    const silent = soundsNamed("pau").flatMap((sound) => mouthsIn(SPOKEN, sound, 30));
    expect(countShare(readGaps(silent), (gap) => gap < CLOSED)).toBeGreaterThanOrEqual(0.95);
  });

  test("oo against ee: the mouth is at least 5 % narrower", () => {
    const widths = (...names: string[]): number =>
      median(soundsNamed(...names).flatMap((sound) => mouthsIn(SPOKEN, sound).map(({ width }) => width)));
    expect(widths("uw", "w")).toBeLessThan(0.95 * widths("iy"));
  });

  test("the movement of the lips from one picture to the next: at most 8 pixels in 99 % of the pictures", () => {
    const mouths = recordMouth(FACE, SPEECH, { leadMs: 400 });
    const ways = mouths.slice(1).map(({ gap }, index) => Math.abs(gap - (mouths[index]?.gap ?? 0)) * FACE.eyeDistance);
    expect(ways.toSorted((a, b) => a - b)[Math.floor(0.99 * ways.length)]).toBeLessThanOrEqual(8);
  });

  test("known 100, 120 or 600 ms before it is heard: the lips are synchronous within 20 ms", () => {
    for (const leadMs of [100, 120, 600]) {
      expect(Math.abs(findLag(recordMouth(FACE, SPEECH, { leadMs })))).toBeLessThanOrEqual(20);
    }
  });

  test("20 dB quieter: the same openings of the lips", () => {
    const quiet = recordMouth(
      FACE,
      SPEECH.map((sample) => sample / 10),
    );
    expect(correlation(readGaps(SPOKEN), readGaps(quiet))).toBeGreaterThan(0.95);
  });

  test("with a pause of 90 ms, 700 ms or 5 s: closed lips, and synchronous within 20 ms in the second after it", () => {
    for (const lengthMs of [90, 700, 5000]) {
      const endMs = 2000 + lengthMs;
      const mouths = recordMouth(FACE, SPEECH, { pause: { fromMs: 2000, lengthMs } });
      const within = mouths.filter(({ timeMs }) => timeMs > 2060 && timeMs < endMs - 20);
      for (const { gap } of within) expect(gap).toBeLessThan(CLOSED);
      const after = mouths.filter(({ timeMs }) => timeMs > endMs && timeMs < endMs + 1000);
      const lag = findLag(after.map((mouth) => ({ ...mouth, timeMs: mouth.timeMs - lengthMs })));
      expect(Math.abs(lag)).toBeLessThanOrEqual(20);
    }
  });
});

test("sounds other than speech: the lips move less than a third as much", () => {
  const sine = (hertz: number, time: number): number => Math.sin((2 * Math.PI * hertz * time) / 48_000);
  let state = 1;
  const noise = (): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return state / 0x40000000 - 1;
  };
  const chord = (time: number): number =>
    1500 * (1 + 0.9 * sine(3, time)) * (sine(220, time) + sine(277, time) + sine(330, time));
  const sounds: Record<string, (time: number) => number> = {
    sine: (time) => 6000 * sine(440, time),
    noise: () => 6000 * noise(),
    chord,
    faint: () => 33 * noise(),
  };
  const usual = deviation(readGaps(SPOKEN));
  for (const [name, sound] of Object.entries(sounds)) {
    const mouths = recordMouth(
      FACE,
      Int16Array.from({ length: 48_000 * 6 }, (_, time) => sound(time)),
    );
    expect([name, deviation(readGaps(mouths)) < usual / 3]).toEqual([name, true]);
  }
});

test("an interruption in the middle of a vowel: the lips shut within 120 ms, without a jerk", () => {
  const clearMs = 2400;
  for (const face of [FACE, SMILE]) {
    const mouths = recordMouth(face, SPEECH, { clearMs, leadMs: 400 });
    const after = readGaps(mouths.filter(({ timeMs }) => timeMs > clearMs));
    const before = mouths.findLast(({ timeMs }) => timeMs < clearMs)?.gap ?? 0;
    expect(before).toBeGreaterThan(OPEN);
    const steps = [before, ...after].slice(0, 4).map((gap, index) => gap - (after[index] ?? 0));
    expect(Math.max(...steps) * face.eyeDistance).toBeLessThan(10);
    // The first three pictures close the mouth. Then it stays shut until the smile of the photo returns.
    expect(after[0]).toBeGreaterThan(CLOSED);
    for (const gap of after.slice(3, 12)) expect(gap).toBeLessThan(CLOSED);
  }
});

describe("silence", () => {
  const SILENCE = new Int16Array(48_000 * 6);

  test("6 s of silence: between 1 and 5 blinks, and the mouth of the photo", () => {
    for (const face of [FACE, SMILE]) {
      for (const seed of [1, 2, 3, 4, 5, 6, 7, 8]) {
        const mouths = recordMouth(face, SILENCE, { seed });
        const shut = mouths.filter(
          ({ pose }, index) => pose.blinkLeft > 0.9 && (mouths[index - 1]?.pose.blinkLeft ?? 0) <= 0.9,
        );
        expect(shut.length).toBeWithin(1, 6);
        expect(mouths.every(({ pose }) => pose.talk === 0)).toBe(true);
        expect(mouths.every(({ gap }) => Math.abs(gap - (face.lips.isOpen ? face.lips.gap : 0)) < CLOSED)).toBe(true);
      }
    }
  });
});
