import { describe, expect, test } from "bun:test";
import { createHearing } from "./hearing.ts";
import { avatarVoice, type EchoPath, hearThrough } from "./testing/echo-testing.ts";
import { concat, mix, roomNoise, say, silence } from "./testing/sounds-testing.ts";
import type { TurnEvent, Verdict } from "./turn-detector.ts";

const PIECE = 320;
/** When the avatar begins to speak. */
const VOICE_AT_MS = 500;

/** Converts 16 kHz to the 48 kHz of a call, as 16-bit integers. */
const toCall = (samples: Float32Array): Int16Array =>
  Int16Array.from({ length: samples.length * 3 }, (_, index) => {
    const at = Math.floor(index / 3);
    const [before, after] = [samples[at] ?? 0, samples[at + 1] ?? samples[at] ?? 0];
    return Math.max(-32_768, Math.min(32_767, Math.round((before + ((after - before) * (index % 3)) / 3) * 32_768)));
  });

type Heard = { atMs: number; event: TurnEvent };
type Scene = {
  path: EchoPath | null;
  /** The person's speech and its start. */
  person?: { sound: Float32Array; atMs: number };
  hasCanceller?: boolean;
  decide?: (event: TurnEvent) => Verdict | null;
  aheadMs?: number;
  /** The echo begins at this time, when the person takes off the headphones. */
  echoFromMs?: number;
  /** The peak of a steady noise in the person's room. */
  noise?: number;
  voice?: Float32Array;
};

/** Returns the events of a call in which the avatar speaks. */
const hearScene = (scene: Scene): Heard[] => {
  const {
    path,
    person,
    hasCanceller = true,
    decide = () => null,
    aheadMs = 60,
    echoFromMs = 0,
    noise = 0.0014,
  } = scene;
  const voice = concat(silence(VOICE_AT_MS), scene.voice ?? avatarVoice(), silence(1500));
  const echo = path === null ? silence(voice.length / 16) : hearThrough(voice, path);
  echo.fill(0, 0, echoFromMs * 16);
  const own = person ? mix(echo, person.sound, person.atMs * 16) : echo;
  const [played, heard] = [toCall(voice), toCall(mix(own, roomNoise(own.length), 0, noise / 0.0014))];
  const events: Heard[] = [];
  let atMs = 0;
  const hearing = createHearing({
    isAvatarActive: () => atMs >= VOICE_AT_MS && atMs < voice.length / 16 - 1500,
    ...(!hasCanceller && { canceller: null }),
    onEvent: (event) => {
      events.push({ atMs, event });
      const verdict = decide(event);
      if (event.kind === "pause" && verdict) hearing.resolvePause(event.pause, verdict);
    },
  });
  const [step, ahead] = [PIECE * 3, aheadMs * 48];
  for (let at = -ahead; at + step <= heard.length; at += step) {
    // The avatar's sound is known `aheadMs` before it is sent.
    const next = played.subarray(at + ahead, at + ahead + step);
    if (next.length > 0 && next.some((value) => value !== 0)) hearing.play(next, aheadMs);
    atMs = (at + step) / 48;
    hearing.hear(at < 0 ? new Int16Array(step) : heard.subarray(at, at + step));
  }
  hearing.close();
  return events;
};
const begins = (events: readonly Heard[]): number[] =>
  events.flatMap(({ atMs, event }) => (event.kind === "begin" ? [atMs] : []));

/** Shorter than the full voice: the canceller has learned the path of the voice long before its end. */
const SHORT = avatarVoice().subarray(0, 5 * 16_000);

describe("the avatar's own voice", () => {
  test.each([0.15, 0.4, 0.8])("an echo after 120 ms with gain %p: no turn, no pause", (gain) => {
    expect(begins(hearScene({ voice: SHORT, path: { gain, delayMs: 120 } }))).toEqual([]);
    expect(begins(hearScene({ voice: SHORT, path: { gain, delayMs: 120, roomMs: 300 } }))).toEqual([]);
  });

  test.each([40, 250, 400])("an echo after %p ms: no turn, no pause", (delayMs) => {
    expect(begins(hearScene({ voice: SHORT, path: { gain: 0.4, delayMs } }))).toEqual([]);
  });

  test("an echo from a distorting loudspeaker, in a room: no turn, no pause", () => {
    expect(begins(hearScene({ voice: SHORT, path: { gain: 0.4, delayMs: 120, roomMs: 300, clip: 0.3 } }))).toEqual([]);
  });

  test("no canceller: the avatar hears itself", () => {
    const events = hearScene({ voice: SHORT, path: { gain: 0.4, delayMs: 120 }, hasCanceller: false });
    expect(begins(events).length).toBeGreaterThan(0);
  });
});

describe("a person who speaks while the avatar speaks", () => {
  const sound = say("Wait, stop please.", 1.5);

  test.each([0.15, 0.4])("an echo with gain %p: the person interrupts the avatar", (gain) => {
    for (const delayMs of [120, 300]) {
      const [begin = Number.POSITIVE_INFINITY] = begins(
        hearScene({ path: { gain, delayMs }, person: { sound, atMs: 4000 } }),
      );
      expect(begin).toBeGreaterThan(4000);
      expect(begin).toBeLessThan(5000);
    }
  });

  test("no echo: an interruption within 130 ms of sound, from the first second on", () => {
    const onset = sound.findIndex((value) => Math.abs(value) > 0.045) / 16;
    for (const atMs of [1250, 2500, 5600]) {
      const [begin = Number.NaN] = begins(hearScene({ path: null, person: { sound, atMs } }));
      expect(begin - atMs - onset).toBeLessThan(130);
    }
  });

  test("no echo, noise of -45 dB in the room: an interruption within 130 ms of sound", () => {
    for (const atMs of [2500, 5600]) {
      const [begin = Number.NaN] = begins(hearScene({ path: null, person: { sound, atMs }, noise: 0.01 }));
      expect(begin - atMs).toBeLessThan(300);
    }
  });
});

describe("an echo that begins in the middle of a call", () => {
  test.each([0.15, 0.4])("gain %p, its recognized text ignored: at most one pause", (gain) => {
    const path = { gain, delayMs: 120 };
    const events = hearScene({ path, echoFromMs: 4000, decide: () => "ignored" });
    expect(begins(events).length).toBeLessThanOrEqual(1);
    expect(begins(events).every((atMs) => atMs > 4000 && atMs < 5000)).toBe(true);
  });
});

describe("the sound of a call", () => {
  test("a turn while the avatar is silent: its sound at 16 kHz is that of the person", () => {
    const sound = say("for four people on Friday evening.");
    const events = hearScene({ path: null, voice: silence(4000), person: { sound, atMs: 600 } });
    const [pause] = events.flatMap(({ event }) => (event.kind === "pause" ? [event.sound] : []));
    const peak = (pause ?? new Int16Array()).reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    expect(peak / 32_768).toBeCloseTo(
      sound.reduce((most, value) => Math.max(most, Math.abs(value)), 0),
      1,
    );
  });

  test("pieces of any length: the same events", () => {
    const pcm = toCall(concat(silence(600), say("Okay."), silence(700)));
    const [whole, parts] = [pcm.length, 441].map((length) => {
      const events: TurnEvent[] = [];
      const hearing = createHearing({ isAvatarActive: () => false, onEvent: (event) => events.push(event) });
      for (let at = 0; at < pcm.length; at += length) hearing.hear(pcm.subarray(at, at + length));
      hearing.close();
      return events;
    });
    expect(whole?.map(({ kind }) => kind)).toEqual(["begin", "pause"]);
    expect(parts).toEqual(whole as TurnEvent[]);
  });
});
