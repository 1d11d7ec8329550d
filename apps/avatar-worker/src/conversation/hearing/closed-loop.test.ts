/**
 * The closed loop: the avatar pauses and continues according to the sound that it hears, in a room where its voice
 * comes back. The recognizer returns the true words.
 */
import { describe, expect, test } from "bun:test";
import { pauseVerdict } from "./heard-text.ts";
import { createHearing } from "./hearing.ts";
import { avatarVoice } from "./testing/echo-testing.ts";
import { roomNoise, say } from "./testing/sounds-testing.ts";
import type { TurnEvent } from "./turn-detector.ts";

const PER_MS = 48;
const STEP_MS = 20;
const STEP = STEP_MS * PER_MS;
/** Queued sound that is not sent yet. */
const AHEAD_MS = 60;
const AHEAD = AHEAD_MS * PER_MS;
const RECOGNIZER_MS = 120;
const OWN_WORDS = "Could you please tell me whether the kitchen is open after nine? I would like to book a table.";

const toCall = (samples: Float32Array): Float32Array =>
  Float32Array.from({ length: samples.length * 3 }, (_, index) => samples[Math.floor(index / 3)] ?? 0);
const voice = toCall(avatarVoice());
const noise = toCall(roomNoise(16_000));

type Scene = {
  gain: number;
  delayMs: number;
  echoFromMs: number;
  person?: { text: "Wait, stop please." | "Mm-hmm." | "Okay."; atMs: number };
};
type Outcome = { pauses: number[]; answers: string[]; hasSaidAll: boolean };

/** Runs a call until 3 s after the avatar has said all, or after an answer. */
const holdCall = ({ gain, delayMs, echoFromMs, person }: Scene): Outcome => {
  const outcome: Outcome = { pauses: [], answers: [], hasSaidAll: false };
  const sent = new Float32Array(40_000 * PER_MS);
  const spoken = person && toCall(say(person.text, 1.5));
  const personAt = (person?.atMs ?? 0) * PER_MS;
  const texts = new Map<number, string>();
  const due: { atMs: number; pause: number }[] = [];
  let [nowMs, said, isPlaying, endMs] = [0, 0, true, 40_000];

  const recognize = (): string => (person && nowMs > person.atMs + 100 ? person.text : OWN_WORDS);
  const hearing = createHearing({
    isAvatarActive: () => said < voice.length,
    onEvent: (event: TurnEvent) => {
      if (event.kind === "begin") {
        outcome.pauses.push(nowMs);
        if (isPlaying) said = Math.max(0, said - AHEAD);
        isPlaying = false;
        sent.fill(0, nowMs * PER_MS);
        hearing.clear();
      }
      if (event.kind === "pause") {
        texts.set(event.pause, recognize());
        due.push({ atMs: nowMs + RECOGNIZER_MS, pause: event.pause });
      }
      if (event.kind === "end") {
        outcome.answers.push(texts.get(event.pause) ?? "");
        endMs = nowMs;
      }
      if (event.kind === "noise") isPlaying = true;
    },
  });
  for (; nowMs < endMs; nowMs += STEP_MS) {
    for (const { pause } of due.filter(({ atMs }) => atMs === nowMs)) {
      const verdict = pauseVerdict(texts.get(pause) ?? "", {
        wasSpeaking: said < voice.length,
        recentlySaid: OWN_WORDS,
      });
      hearing.resolvePause(pause, verdict);
      if (verdict === "ignored") isPlaying = true;
    }
    const start = nowMs * PER_MS;
    if (isPlaying && said < voice.length) {
      const piece = voice.subarray(said, said + STEP);
      sent.set(piece, start + AHEAD);
      hearing.play(
        Int16Array.from(piece, (value) => value * 32_767),
        AHEAD_MS,
      );
      said += STEP;
    }
    if (said >= voice.length && !outcome.hasSaidAll) {
      outcome.hasSaidAll = true;
      endMs = Math.min(endMs, nowMs + 3000);
    }
    const heard = Int16Array.from({ length: STEP }, (_, index) => {
      const at = start + index;
      const echo = nowMs >= echoFromMs ? gain * (sent[at - delayMs * PER_MS] ?? 0) : 0;
      const own = spoken ? (spoken[at - personAt] ?? 0) : 0;
      return Math.max(-1, Math.min(1, echo + own + (noise[at % noise.length] ?? 0))) * 32_767;
    });
    hearing.hear(heard);
  }
  hearing.close();
  return outcome;
};

describe("an avatar whose voice comes back as an echo", () => {
  test.each([0.15, 0.4, 0.8])(
    "gain %p, from the start: it says all without a pause, and does not answer itself",
    (gain) => {
      expect(holdCall({ gain, delayMs: 120, echoFromMs: 0 })).toEqual({ pauses: [], answers: [], hasSaidAll: true });
    },
  );

  test.each([0.15, 0.4, 0.8])("gain %p, from the middle of the call: it says all, with no answer to itself", (gain) => {
    const { pauses, answers, hasSaidAll } = holdCall({ gain, delayMs: 120, echoFromMs: 4000 });
    expect([answers, hasSaidAll]).toEqual([[], true]);
    expect(pauses.length).toBeLessThanOrEqual(2);
  });

  test.each([0, 0.15])('gain %p: "Wait, stop please." interrupts it; one answer', (gain) => {
    const person = { text: "Wait, stop please.", atMs: 5000 } as const;
    const { pauses, answers, hasSaidAll } = holdCall({ gain, delayMs: 120, echoFromMs: 0, person });
    expect([answers, hasSaidAll]).toEqual([["Wait, stop please."], false]);
    expect(pauses[0]).toBeGreaterThan(5000);
    expect(pauses[0]).toBeLessThan(6200);
  });

  test.each(["Mm-hmm.", "Okay."] as const)("%p while it speaks: it pauses at most once and says all", (text) => {
    for (const gain of [0, 0.15]) {
      const { pauses, answers, hasSaidAll } = holdCall({
        gain,
        delayMs: 120,
        echoFromMs: 0,
        person: { text, atMs: 5000 },
      });
      expect([answers, hasSaidAll]).toEqual([[], true]);
      expect(pauses.length).toBeLessThanOrEqual(1);
    }
  });
});
