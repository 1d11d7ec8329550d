/**
 * Detects whether the avatar's voice comes back. It does not come back with headphones, or in browsers that cancel
 * echoes. A canceller that finds no echo removes much of a person who speaks at the same time: the person is heard
 * after 0.3 to 0.7 s instead of 0.13 s. So the canceller's result is used only while an echo is possible.
 */
import { FRAME_SAMPLES } from "./echo-canceller.ts";
import { QUIET_POWER } from "./turn-detector.ts";

/** Times in frames of 10 ms. An echo with a longer delay than this cannot be cancelled. */
const MAX_DELAY = 50;
const DELAY_STEP = 10;
/** The person's sound must be quiet for this time. */
const QUIET = 40;
/** In the same time, the avatar must be loud for this time. */
const LOUD = 10;
/** Frames that are remembered: more than a second of unsent sound, and the frames whose echo can still come. */
const REMEMBERED = 512;
const MAX_AHEAD_MS = 2000;
/** About -40 dB: speech is above it, its pauses are below. */
const LOUD_POWER = 0.01 ** 2;
/** 6 dB above the noise of the room. */
const ABOVE_NOISE = 4;
/**
 * The noise of the room is the lowest power, which can rise by 6 dB a second. A muted microphone gives no information
 * about it.
 */
const NOISE_RISE = 10 ** (0.6 / 100);
const MUTED_POWER = 1e-9;

const measurePower = (samples: Float32Array): number => {
  let sum = 0;
  for (let index = 0; index < samples.length; index++) sum += (samples[index] as number) ** 2;
  return sum / samples.length;
};

export type EchoPresence = {
  /** Takes the avatar's sound: whole frames at 16 kHz. It is sent in `aheadMs`. */
  play(samples: Float32Array, aheadMs: number): void;
  /** Drops the sound that was not sent yet. */
  clear(): void;
  /** Takes 10 ms of the person's sound. */
  hear(frame: Float32Array): void;
  isAbsent(): boolean;
  /** Reports a false detection of the person: the sound may have been the avatar's. */
  doubt(): void;
};

export const createEchoPresence = (): EchoPresence => {
  /** Whether the avatar is loud, by frame. */
  const isLoud = new Uint8Array(REMEMBERED);
  let now = 0;
  let end = 0;
  let quietFrames = 0;
  let noise = 1;
  let isAbsent = false;

  const countLoud = (from: number, to: number): number => {
    let count = 0;
    for (let frame = Math.max(0, from); frame < to; frame++) count += isLoud[frame % REMEMBERED] as number;
    return count;
  };
  /** The avatar was loud enough to make an echo of any delay audible, and the person's sound was quiet. */
  const provesAbsence = (): boolean => {
    if (quietFrames < QUIET) return false;
    for (let delay = 0; delay <= MAX_DELAY; delay += DELAY_STEP) {
      if (countLoud(now - delay - QUIET, now - delay) < LOUD) return false;
    }
    return true;
  };
  return {
    play: (samples, aheadMs) => {
      const frames = Math.round(samples.length / FRAME_SAMPLES);
      const loud = measurePower(samples) >= LOUD_POWER ? 1 : 0;
      const start = now + Math.round(Math.min(MAX_AHEAD_MS, aheadMs) / 10);
      while (end < start) isLoud[end++ % REMEMBERED] = 0;
      if (end + frames > now + REMEMBERED / 2) return;
      for (let frame = 0; frame < frames; frame++) isLoud[end++ % REMEMBERED] = loud;
    },
    clear: () => {
      end = now;
    },
    hear: (frame) => {
      const power = measurePower(frame);
      if (power > MUTED_POWER) noise = Math.min(noise * NOISE_RISE, power);
      quietFrames = power < Math.max(QUIET_POWER, ABOVE_NOISE * noise) ? quietFrames + 1 : 0;
      if (end <= now) isLoud[now % REMEMBERED] = 0;
      now++;
      end = Math.max(end, now);
      if (!isAbsent && now % DELAY_STEP === 0) isAbsent = provesAbsence();
    },
    isAbsent: () => isAbsent,
    doubt: () => {
      isAbsent = false;
    },
  };
};
