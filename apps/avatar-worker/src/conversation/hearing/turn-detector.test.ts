import { describe, expect, test } from "bun:test";
import { pauseVerdict } from "./heard-text.ts";
import { NOISES } from "./testing/noises-testing.ts";
import { concat, createRandom, mix, type Said, say, silence } from "./testing/sounds-testing.ts";
import { detectTurns, filterEvents, kinds } from "./testing/turns-testing.ts";
import { type BargeIn, createTurnDetector, TURN_TIMES, type TurnEvent } from "./turn-detector.ts";

const SENTENCES = [
  ["I would like to book a table", "for four people on Friday evening."],
  ["Could you please tell me", "whether the kitchen is open after nine?"],
] as const satisfies readonly (readonly [Said, Said])[];
const BACKCHANNELS = ["Mm-hmm.", "Uh-huh.", "Yeah.", "Okay.", "Right."] as const;
const WINDOW_MS = 32;
const SILENT = { wasSpeaking: false, recentlySaid: "" };
const milliseconds = (sound: Float32Array): number => sound.length / 16;

describe("a turn", () => {
  const sentence = say("for four people on Friday evening.");

  test("a turn whose text looks whole: ends 350 ms after its last sound", () => {
    const events = detectTurns(sentence, { decide: () => "whole", recognizerMs: 120 });
    expect(kinds(events)).toEqual(["begin", "pause", "end"]);
    const [begin] = filterEvents(events, "begin");
    const [pause] = filterEvents(events, "pause");
    const [end] = filterEvents(events, "end");
    expect(begin?.atMs).toBeLessThan(TURN_TIMES.beginMs + 160);
    expect(end).toMatchObject({ pause: 1, reason: "whole", silenceMs: 352 });
    expect((end?.atMs ?? 0) - (pause?.atMs ?? 0)).toBe(224);
    // The end comes on time, although the likelihood of speech falls 60 to 130 ms late.
    const last = sentence.findLastIndex((value) => Math.abs(value) > 0.01) / 16;
    expect((end?.atMs ?? 0) - last).toBeLessThan(352 + 2 * WINDOW_MS);
    expect(end?.speechMs).toBeGreaterThan(milliseconds(sentence) - 300);
  });

  test("the sound of a pause: begins before the speech and contains all of it", () => {
    const [pause] = filterEvents(detectTurns(sentence), "pause");
    const sound = pause?.sound ?? new Int16Array();
    const loud = [...sound].findIndex((value) => Math.abs(value) > 1000);
    expect(loud).toBeGreaterThan(16 * 150);
    const seconds = sound.length / 16_000;
    expect(seconds).toBeGreaterThan(milliseconds(sentence) / 1000);
    expect(seconds).toBeLessThan(milliseconds(sentence) / 1000 + 0.6);
    const peak = sentence.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    expect(sound.reduce((most, value) => Math.max(most, Math.abs(value)), 0) / 32_768).toBeCloseTo(peak, 2);
  });

  test("a turn with an open text, or with no text yet: ends after 1.6 s", () => {
    for (const verdict of ["open", null] as const) {
      const events = detectTurns(sentence, { decide: () => verdict });
      expect(kinds(events)).toEqual(["begin", "pause", "end"]);
      expect(filterEvents(events, "end")[0]).toMatchObject({ reason: "silence", silenceMs: TURN_TIMES.openMs });
    }
  });

  test("a recognizer slower than 350 ms: the turn ends when its text is known", () => {
    const events = detectTurns(sentence, { decide: () => "whole", recognizerMs: 640 });
    const [pause] = filterEvents(events, "pause");
    const [end] = filterEvents(events, "end");
    expect((end?.atMs ?? 0) - (pause?.atMs ?? 0)).toBe(640);
  });

  test("an ignored text: no end, and the next turn does not contain its sound", () => {
    const events = detectTurns(concat(say("Mm-hmm."), silence(800), sentence), {
      decide: (pause) => (pause === 1 ? "ignored" : "whole"),
      recognizerMs: 120,
    });
    expect(kinds(events)).toEqual(["begin", "pause", "begin", "pause", "end"]);
    const [, second] = filterEvents(events, "pause");
    expect((second?.sound.length ?? 0) / 16).toBeLessThan(milliseconds(sentence) + 600);
  });

  test("a verdict on an old pause: changes nothing", () => {
    const parts = concat(say("Could you please tell me"), silence(500), say("whether the kitchen is open after nine?"));
    const events = detectTurns(parts, { decide: (pause) => (pause === 1 ? "whole" : null), recognizerMs: 1000 });
    expect(kinds(events)).toEqual(["begin", "pause", "resume", "pause", "end"]);
    expect(filterEvents(events, "end")[0]).toMatchObject({ pause: 2, reason: "silence" });
  });

  test("a person who speaks without a pause: a new turn begins after 60 s", () => {
    const spoken = concat(
      ...Array.from({ length: 45 }, () => say("whether the kitchen is open after nine?").subarray(2000, 31_000)),
    );
    expect(milliseconds(spoken)).toBeGreaterThan(61_000);
    const events = detectTurns(spoken, { decide: () => "whole" });
    const [end] = filterEvents(events, "end");
    const [pause] = filterEvents(events, "pause");
    expect(end).toMatchObject({ pause: 1, reason: "limit" });
    expect(end?.atMs).toBeLessThan(60_100);
    expect(pause?.sound.length).toBe(60_000 * 16);
    expect(kinds(events).slice(-3)).toEqual(["begin", "pause", "end"]);
  });

  test("flickering likelihoods that never make a turn: noise after 60 s", () => {
    const events: TurnEvent[] = [];
    let windows = 0;
    const vad = { hear: () => (windows++ % 2 === 0 ? 1 : 0), skip: () => {} };
    const detector = createTurnDetector({ vad, bargeIn: () => "none", onEvent: (event) => events.push(event) });
    const window = new Float32Array(512).fill(0.1);
    for (let index = 0; index < 1876; index++) detector.hear(window);
    expect(events).toEqual([{ kind: "noise", speechMs: 938 * WINDOW_MS }]);
  });
});

describe("pauses", () => {
  test("20 pauses of 0.3 to 1.3 s in a sentence, classified by their text: 20 turns", () => {
    const turns = Array.from({ length: 20 }, (_, index) => {
      const [first, second] = SENTENCES[index % 2] as (typeof SENTENCES)[number];
      const gain = [1, 0.5, 0.2][index % 3] as number;
      const sound = concat(say(first, gain), silence(300 + (1000 * index) / 19), say(second, gain));
      const decide = (pause: number) => pauseVerdict(pause === 1 ? first : `${first} ${second}`, SILENT);
      return filterEvents(detectTurns(sound, { decide, recognizerMs: 120, afterMs: 1000 }), "end").length;
    });
    expect(turns).toEqual(turns.map(() => 1));
  });

  test("pauses before the recognizer answers: one turn", () => {
    for (const pauseMs of [300, 600, 900, 1300]) {
      const [first, second] = SENTENCES[0];
      const events = detectTurns(concat(say(first), silence(pauseMs), say(second)));
      expect(kinds(events)).toEqual(["begin", "pause", "resume", "pause", "end"]);
      expect(filterEvents(events, "resume")[0]?.pause).toBe(1);
    }
  });
});

describe("noises and backchannels", () => {
  test("20 noises at two levels: no turn", () => {
    expect(Object.keys(NOISES).length).toBe(20);
    const begun: string[] = [];
    for (const [name, noise] of Object.entries(NOISES)) {
      for (const gain of [1, 0.4]) {
        const events = detectTurns(
          noise.map((value) => value * gain),
          { beforeMs: 500, afterMs: 700 },
        );
        if (kinds(events).includes("begin")) begun.push(`${name}, gain ${gain}`);
      }
    }
    expect(begun).toEqual([]);
  });

  const during = { wasSpeaking: true, recentlySaid: "We are open from nine to five." };

  test("20 backchannels while the avatar speaks, classified by their text: no turn ends", () => {
    const random = createRandom(7);
    for (let index = 0; index < 20; index++) {
      const text = BACKCHANNELS[index % 5] as Said;
      const sound = say(text, 0.3 + 0.7 * Math.abs(random()));
      const decide = () => pauseVerdict(text, during);
      const events = detectTurns(sound, { bargeIn: "usual", decide, recognizerMs: 120, afterMs: 1000 });
      expect(filterEvents(events, "end")).toEqual([]);
    }
  });

  test("a backchannel, then an interruption: one turn, of the interruption", () => {
    const sound = concat(say("Mm-hmm."), silence(600), say("Wait, stop please."));
    const decide = (pause: number) => pauseVerdict(pause === 1 ? "Mm-hmm." : "Wait, stop please.", during);
    const events = detectTurns(sound, { bargeIn: "usual", decide, recognizerMs: 120 });
    expect(filterEvents(events, "end").map(({ pause, reason }) => [pause, reason])).toEqual([[2, "whole"]]);
  });
});

describe("an interruption", () => {
  const INTERRUPTIONS = ["Wait, stop please.", "Could you please tell me", "I would like to book a table"] as const;

  /**
   * Milliseconds from the first loud sample to the event, for 12 interruptions. Each begins at another offset in a
   * window.
   */
  const latencies = (bargeIn: BargeIn): number[] =>
    Array.from({ length: 12 }, (_, index) => {
      const sound = say(INTERRUPTIONS[index % 3] as Said);
      const onset = sound.findIndex((value) => Math.abs(value) > 0.03);
      const spoken = concat(silence(index * 8), sound);
      const [begin] = filterEvents(detectTurns(spoken, { bargeIn, beforeMs: 500, afterMs: 0 }), "begin");
      return (begin?.atMs ?? Number.POSITIVE_INFINITY) - index * 8 - onset / 16;
    }).sort((a, b) => a - b);

  test("clear speech while the avatar speaks: interrupts it within 130 ms of sound", () => {
    const found = latencies("usual");
    expect(found[0]).toBeGreaterThan(50);
    expect(found.at(-1)).toBeLessThan(130);
  });

  test("clear speech while the canceller settles: within 260 ms; without a canceller: after 0.9 s", () => {
    const found = latencies("settling");
    expect(found[0]).toBeGreaterThan(TURN_TIMES.settlingBargeInMs - 2 * WINDOW_MS);
    expect(found.at(-1)).toBeLessThan(260);
    expect(latencies("careful")[0]).toBeGreaterThan(900);
  });

  test("20 noises at four levels and four offsets, while the avatar speaks: it continues without a gap", () => {
    const interrupted = Object.entries(NOISES).flatMap(([name, noise]) =>
      [0.25, 0.5, 1, 1.6].flatMap((gain) =>
        [0, 8, 16, 24].flatMap((offsetMs) => {
          const sound = concat(silence(offsetMs), mix(silence(milliseconds(noise)), noise, 0, gain));
          const events = kinds(detectTurns(sound, { bargeIn: "usual", beforeMs: 500, afterMs: 700 }));
          return events.includes("begin") ? [`${name}, ${gain}, ${offsetMs} ms`] : [];
        }),
      ),
    );
    expect(interrupted).toEqual([]);
  });
});
