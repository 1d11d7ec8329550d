import { describe, expect, test } from "bun:test";
import { createSpeechQueue, type Outcome, type SpeechOutput, type SpeechQueue } from "./speech-queue.ts";

const SAMPLES_PER_MS = 48;
const FRAME_SAMPLES = 960;

/** An output on a simulated clock. Each sample is a distinct number, so that a test can identify it. */
const createOutput = () => {
  let queue: number[] = [];
  let sent: number[] = [];
  let previewed: number[] = [];
  const output: SpeechOutput = {
    play: (pcm) => queue.push(...pcm),
    queuedMs: () => queue.length / SAMPLES_PER_MS,
    preview: (pcm) => previewed.push(pcm[0] as number),
    clear: () => {
      queue = [];
      previewed = [];
    },
  };
  return {
    output,
    /** Sends the queued sound of the next `ms` milliseconds. */
    pass: (ms: number) => sent.push(...queue.splice(0, ms * SAMPLES_PER_MS)),
    sent: () => sent,
    previewed: () => previewed,
    forget: () => {
      sent = [];
    },
  };
};

const sound = (ms: number, value: number): Int16Array => new Int16Array(ms * SAMPLES_PER_MS).fill(value);
const run = (queue: SpeechQueue, out: ReturnType<typeof createOutput>, ms: number): void => {
  for (let passed = 0; passed < ms; passed += 10) {
    queue.step();
    out.pass(10);
  }
  queue.step();
};

const start = () => {
  const out = createOutput();
  const queue = createSpeechQueue(out.output);
  const outcomes: Outcome[] = [];
  const said: string[] = [];
  const open = () =>
    queue.open({ onPiece: (text) => said.push(text), onFinished: (outcome) => outcomes.push(outcome) });
  return { out, queue, outcomes, said, open };
};

describe("a segment of speech", () => {
  test("two pieces: all sound in order, finished once after the last sound", () => {
    const { out, queue, outcomes, said, open } = start();
    const segment = open();
    const [first, second] = [segment.add("One two."), segment.add("Three four.")];
    first.push(sound(50, 1));
    first.push(sound(53, 1));
    first.end();
    second.push(sound(70, 2));
    second.end();
    segment.close();
    run(queue, out, 150);
    expect(outcomes).toEqual([]);
    run(queue, out, 100);
    expect(outcomes).toEqual([{ heard: "One two. Three four.", isInterrupted: false }]);
    expect(said).toEqual(["One two.", "One two. Three four."]);
    expect(out.sent().filter((value) => value === 1).length).toBe(103 * SAMPLES_PER_MS);
    expect(out.sent().length % FRAME_SAMPLES).toBe(0);
    expect(out.sent().indexOf(2)).toBeGreaterThan(out.sent().lastIndexOf(1));
  });

  test("sound ahead: 100 ms queued for output, 140 ms more known to the renderer", () => {
    const { out, queue, open } = start();
    const piece = open().add("Hello.");
    piece.push(Int16Array.from({ length: 100 * FRAME_SAMPLES }, (_, index) => Math.floor(index / FRAME_SAMPLES)));
    queue.step();
    expect(out.output.queuedMs()).toBe(100);
    expect(out.previewed()).toEqual(Array.from({ length: 12 }, (_, index) => index));
    run(queue, out, 200);
    expect(out.previewed()).toEqual(Array.from({ length: 22 }, (_, index) => index));
  });

  test("paused: silent at once; resumed: continues with the first unsent sound", () => {
    const { out, queue, open } = start();
    const piece = open().add("Hello.");
    piece.push(Int16Array.from({ length: 50 * FRAME_SAMPLES }, (_, index) => Math.floor(index / FRAME_SAMPLES)));
    run(queue, out, 200);
    queue.pause();
    const before = out.sent().length;
    run(queue, out, 300);
    expect(out.sent().length).toBe(before);
    queue.resume();
    run(queue, out, 400);
    const frames = out.sent().filter((_, index) => index % FRAME_SAMPLES === 0);
    expect(frames).toEqual(frames.map((_, index) => index));
    expect(frames.length).toBeGreaterThan(25);
  });

  test("interrupted, with complete and incomplete sound: the heard words", () => {
    for (const isComplete of [true, false]) {
      const { out, queue, outcomes, open } = start();
      const text = "one two three four five six seven eight nine ten";
      const segment = open();
      const piece = segment.add(text);
      // The length of the text at 15 characters a second.
      piece.push(sound(3200, 1));
      if (isComplete) piece.end();
      run(queue, out, 1600);
      queue.cutOff();
      expect(outcomes).toEqual([{ heard: "one two three four five", isInterrupted: true }]);
      piece.push(sound(100, 2));
      piece.end();
      segment.close();
      out.forget();
      run(queue, out, 500);
      expect(out.sent()).toEqual([]);
      expect(outcomes.length).toBe(1);
    }
  });

  test("a piece whose sound broke off: its words up to the end of the sound", () => {
    const { out, queue, outcomes, open } = start();
    const segment = open();
    const piece = segment.add("one two three four five six seven eight nine ten");
    piece.push(sound(1600, 1));
    piece.end(true);
    segment.close();
    run(queue, out, 2000);
    expect(outcomes).toEqual([{ heard: "one two three four five", isInterrupted: false }]);
  });

  test("much waiting sound: no room until it is said or dropped", async () => {
    const { out, queue, open } = start();
    const segment = open();
    const piece = segment.add("Long.");
    await segment.room();
    piece.push(sound(15_100, 1));
    let hasRoom = false;
    const waiting = segment.room().then(() => {
      hasRoom = true;
    });
    queue.step();
    await Promise.resolve();
    expect(hasRoom).toBe(false);
    run(queue, out, 200);
    await waiting;
    piece.push(sound(15_100, 1));
    const cut = segment.room();
    queue.cutOff();
    await cut;
  });
});

/** A generator of random numbers: the same seed gives the same numbers (mulberry32). */
const createRandom = (seed: number) => {
  let state = seed;
  return (below: number): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
};

describe("interruptions", () => {
  test("10,000 operations at random moments: each segment is finished exactly once, with spoken words, and no sound is lost or repeated", () => {
    const random = createRandom(7);
    const out = createOutput();
    const queue = createSpeechQueue(out.output);
    const words = "alpha bravo charlie delta echo foxtrot golf hotel".split(" ");
    let faults = 0;
    for (let round = 0; round < 10_000; round++) {
      const outcomes: Outcome[] = [];
      const texts: string[] = [];
      const segment = queue.open({ onPiece: () => {}, onFinished: (outcome) => outcomes.push(outcome) });
      out.forget();
      const pieces: ReturnType<typeof segment.add>[] = [];
      let counter = 0;
      const steps = 1 + random(25);
      for (let step = 0; step < steps; step++) {
        const action = random(9);
        if (action === 0) {
          pieces.at(-1)?.end(random(4) === 0);
          texts.push(Array.from({ length: 1 + random(6) }, () => words[random(8)]).join(" "));
          pieces.push(segment.add(texts.at(-1) ?? ""));
        }
        if (action < 4) pieces.at(-1)?.push(new Int16Array(FRAME_SAMPLES).fill(++counter));
        if (action === 4) queue.pause();
        if (action === 5) queue.resume();
        if (action === 6) segment.close();
        if (action > 3) run(queue, out, random(8) * 10);
      }
      const isCut = random(2) === 0;
      if (isCut) queue.cutOff();
      else {
        pieces.at(-1)?.end();
        segment.close();
        queue.resume();
        run(queue, out, 1500);
      }
      queue.resume();
      const [outcome] = outcomes;
      const all = texts.join(" ");
      const frames = out.sent().filter((_, index) => index % FRAME_SAMPLES === 0);
      const isInOrder = frames.every((value, index) => index === 0 || value >= (frames[index - 1] as number));
      if (outcomes.length !== 1 || !isInOrder || (outcome?.heard.length ?? 0) > all.length) faults++;
    }
    expect(faults).toBe(0);
    expect(queue.isActive()).toBe(false);
  });
});
