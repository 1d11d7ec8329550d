/**
 * Rules for the events of any sound. The likelihoods of speech are scripted, so that thousands of calls run in a
 * second.
 */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type BargeIn, createTurnDetector, TURN_TIMES, type TurnEvent, type Verdict } from "./turn-detector.ts";
import { WINDOW_SAMPLES } from "./vad.ts";

const WINDOW_MS = 32;
const MAX_SAMPLES = TURN_TIMES.maxTurnMs * 16;

type Part = { likelihood: number; windows: number; bargeIn: BargeIn };
type Answer = { verdict: Verdict; afterWindows: number } | null;

const parts = fc.array(
  fc.record({
    likelihood: fc.constantFrom(0, 0.1, 0.4, 0.6, 0.95),
    windows: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 80 })),
    bargeIn: fc.constantFrom<BargeIn>("none", "usual", "settling", "careful"),
  }),
  { maxLength: 40 },
);
const answers = fc.array(
  fc.option(
    fc.record({
      verdict: fc.constantFrom<Verdict>("whole", "open", "ignored"),
      afterWindows: fc.integer({ min: 0, max: 60 }),
    }),
  ),
  { minLength: 1, maxLength: 20 },
);

type Logged = { kind: "event"; event: TurnEvent } | { kind: "verdict"; pause: number; verdict: Verdict };

/** Runs a call that ends with silence. Returns its events and the effective verdicts, in order. */
const run = (script: readonly Part[], texts: readonly Answer[]): Logged[] => {
  const log: Logged[] = [];
  const due: { window: number; pause: number; verdict: Verdict }[] = [];
  let [likelihood, window, bargeIn] = [0, 0, "none" as BargeIn];
  const detector = createTurnDetector({
    vad: { hear: () => likelihood, skip: () => {} },
    bargeIn: () => bargeIn,
    onEvent: (event) => {
      log.push({ kind: "event", event });
      const answer = event.kind === "pause" ? texts[event.pause % texts.length] : null;
      if (event.kind === "pause" && answer) {
        const { verdict, afterWindows } = answer;
        if (afterWindows > 0) due.push({ window: window + afterWindows, pause: event.pause, verdict });
        else decide(event.pause, verdict);
      }
    },
  });
  const decide = (pause: number, verdict: Verdict): void => {
    log.push({ kind: "verdict", pause, verdict });
    detector.resolvePause(pause, verdict);
  };
  const sound = new Float32Array(WINDOW_SAMPLES).fill(0.1);
  for (const part of [...script, { likelihood: 0, windows: 120, bargeIn: "none" as const }]) {
    ({ likelihood, bargeIn } = part);
    for (let index = 0; index < part.windows; index++) {
      window++;
      for (const { pause, verdict } of due.filter((one) => one.window === window)) decide(pause, verdict);
      detector.hear(sound);
    }
  }
  return log;
};

/** Replays the log, and throws when an event is out of order. Returns the final state. */
const follow = (log: readonly Logged[]) => {
  let state: "idle" | "speaking" | { pause: number; verdict: Verdict | null } = "idle";
  let pauses = 0;
  const expectState = (isRight: boolean, event: TurnEvent): void => {
    if (!isRight) throw new Error(`${event.kind} while ${JSON.stringify(state)}`);
  };
  for (const logged of log) {
    if (logged.kind === "verdict") {
      if (typeof state !== "object" || state.pause !== logged.pause) continue;
      state = logged.verdict === "ignored" ? "idle" : { pause: state.pause, verdict: logged.verdict };
      continue;
    }
    const { event } = logged;
    switch (event.kind) {
      case "noise":
        expectState(state === "idle", event);
        break;
      case "begin":
        expectState(state === "idle", event);
        state = "speaking";
        break;
      case "pause":
        expectState(state === "speaking" && event.pause === pauses + 1, event);
        expect(event.sound.length).toBeLessThanOrEqual(MAX_SAMPLES);
        state = { pause: ++pauses, verdict: null };
        break;
      case "resume":
        expectState(typeof state === "object" && state.pause === event.pause, event);
        state = "speaking";
        break;
      case "end":
        expectState(typeof state === "object" && state.pause === event.pause, event);
        if (event.reason === "whole") {
          expectState(typeof state === "object" && state.verdict === "whole", event);
          expect(event.silenceMs).toBeGreaterThanOrEqual(11 * WINDOW_MS);
        }
        if (event.reason === "silence") expect(event.silenceMs).toBe(TURN_TIMES.openMs);
        state = "idle";
        break;
    }
  }
  return state;
};

describe("the events of any sound", () => {
  test("2,000 calls: events in order, each turn ended or ignored once, no open turn after 1.6 s of silence", () => {
    let ends = 0;
    fc.assert(
      fc.property(parts, answers, (script, texts) => {
        const log = run(script, texts);
        expect(follow(log)).toBe("idle");
        ends += log.filter((one) => one.kind === "event" && one.event.kind === "end").length;
      }),
      { numRuns: 2000, seed: 46 },
    );
    expect(ends).toBeGreaterThan(1000);
  });

  test("the same sound: the same events", () => {
    fc.assert(
      fc.property(parts, answers, (script, texts) => {
        expect(run(script, texts)).toEqual(run(script, texts));
      }),
      { numRuns: 50, seed: 47 },
    );
  });

  test("200 turns: constant memory", () => {
    const turn: Part[] = [
      { likelihood: 0.95, windows: 200, bargeIn: "none" },
      { likelihood: 0, windows: 60, bargeIn: "none" },
    ];
    const measure = (): number => {
      Bun.gc(true);
      const { heapUsed, external } = process.memoryUsage();
      return heapUsed + external;
    };
    let likelihood = 0;
    const { hear } = createTurnDetector({
      vad: { hear: () => likelihood, skip: () => {} },
      bargeIn: () => "none",
      onEvent: () => {},
    });
    const sound = new Float32Array(WINDOW_SAMPLES).fill(0.1);
    const repeat = (turns: number): void => {
      for (let index = 0; index < turns; index++) {
        for (const part of turn) {
          likelihood = part.likelihood;
          for (let window = 0; window < part.windows; window++) hear(sound);
        }
      }
    };
    repeat(50);
    const before = measure();
    repeat(200);
    // The sound of three turns.
    expect(measure() - before).toBeLessThan(1024 * 1024);
  });
});
