import { describe, expect, test } from "bun:test";
import { createEchoCanceller, type EchoCanceller, FRAME_SAMPLES } from "./echo-canceller.ts";
import { hearThrough } from "./testing/echo-testing.ts";
import { concat, mix, roomNoise, say } from "./testing/sounds-testing.ts";

/** 20 ms. */
const PIECE = 320;
const power = (samples: Float32Array): number => samples.reduce((sum, value) => sum + value ** 2, 0) / samples.length;

const open = (): EchoCanceller => {
  const canceller = createEchoCanceller();
  if (canceller === null) throw new Error("The library has no echo canceller.");
  return canceller;
};
const sentence = say("whether the kitchen is open after nine?", 1.5);
const voice = concat(sentence, sentence, sentence);
const microphone = mix(hearThrough(voice, { gain: 0.4, delayMs: 60 }), roomNoise(voice.length));
const LAST = 2 * sentence.length;

const clean = (canceller: EchoCanceller, sound: Float32Array): void => {
  for (let at = 0; at + FRAME_SAMPLES <= sound.length; at += FRAME_SAMPLES) {
    canceller.clean(sound.subarray(at, at + FRAME_SAMPLES));
  }
};

/**
 * Plays the sentence three times, each piece `aheadMs` before it is sent. Returns the power that is left of the last
 * one.
 */
const measureLeft = (canceller: EchoCanceller, aheadMs: number): number => {
  const cleaned = microphone.slice();
  const ahead = (aheadMs / 20) * PIECE;
  for (let at = -ahead; at + PIECE <= cleaned.length; at += PIECE) {
    const next = voice.subarray(at + ahead, at + ahead + PIECE);
    if (next.length > 0) canceller.play(next, aheadMs);
    clean(canceller, at < 0 ? new Float32Array(PIECE) : cleaned.subarray(at, at + PIECE));
  }
  return power(cleaned.subarray(LAST)) / power(microphone.subarray(LAST));
};

describe("the echo canceller", () => {
  test.each([0, 60])(
    "a voice known %p ms before it is sent: at most a thousandth of its echo's power is left",
    (aheadMs) => {
      const canceller = open();
      expect(measureLeft(canceller, aheadMs)).toBeLessThan(0.001);
      canceller.close();
    },
  );

  test("a voice cleared before it is sent: the person's sound stays", () => {
    const canceller = open();
    const person = say("Okay.");
    canceller.play(voice.subarray(0, 3200), 200);
    canceller.clear();
    const cleaned = person.slice();
    clean(canceller, cleaned);
    expect(power(cleaned) / power(person)).toBeGreaterThan(0.5);
    canceller.close();
  });

  test("a second after the avatar's last sound: it rests and changes no sample", () => {
    const canceller = open();
    const frame = microphone.slice(0, FRAME_SAMPLES);
    const isChanged = (): boolean => {
      const cleaned = frame.slice();
      canceller.clean(cleaned);
      return cleaned.some((value, index) => value !== frame[index]);
    };
    expect(isChanged()).toBe(false);
    canceller.play(voice.subarray(0, PIECE), 0);
    expect(Array.from({ length: 102 }, isChanged)).toEqual(Array.from({ length: 102 }, () => true));
    expect(isChanged()).toBe(false);
    canceller.close();
  });

  test("closed twice, then used: no effect", () => {
    const canceller = open();
    canceller.close();
    canceller.close();
    canceller.play(voice.subarray(0, PIECE), 0);
    const frame = microphone.slice(0, FRAME_SAMPLES);
    canceller.clean(frame);
    expect(frame).toEqual(microphone.slice(0, FRAME_SAMPLES));
  });

  test("more sound at once than it keeps, and a time that is too long: no error", () => {
    const canceller = open();
    canceller.play(concat(voice, voice), 1_000_000);
    const frame = microphone.slice(0, FRAME_SAMPLES);
    canceller.clean(frame);
    expect(frame.every((value) => Math.abs(value) <= 1)).toBe(true);
    canceller.close();
  });

  test("no microphone sound while the avatar speaks for a minute: no error, and in step afterwards", () => {
    const canceller = open();
    for (let second = 0; second < 60; second++) canceller.play(voice.subarray(0, 16_000), 0);
    canceller.clear();
    expect(measureLeft(canceller, 0)).toBeLessThan(0.001);
    canceller.close();
  });
});
