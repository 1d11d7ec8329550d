/** A speaking face: takes sound, draws pictures. */
import { createHearing } from "./hearing.ts";
import { createLife, type Life } from "./life.ts";
import { createShapeTrack } from "./shape-track.ts";
import { drawFace, type Face } from "./warp/face.ts";

/** The middle of the time that a picture is shown, after it is drawn, at 25 pictures a second. */
const MIDDLE_MS = 20;

/** All times are milliseconds of one monotonic clock of the caller. */
export type Speaker = {
  /**
   * Passes a piece of the voice. Call this as soon as the sound is known. A gap between two pieces is silence.
   *
   * If the sound is known 230 ms before it is heard, the lips are exact and smooth. From 115 ms on they are exact, but
   * open less and close faster. With less lead, they are late by the missing time.
   *
   * @param pcm 16 bit, 48 kHz, mono, of any length.
   * @param delayMs The time from `nowMs` until the first sample is heard.
   */
  hear: (pcm: Int16Array, delayMs: number, nowMs: number) => void;
  /**
   * Draws the picture that is shown from `nowMs` on for 40 ms: I420 of 512 × 512 pixels, into `picture` or a new array,
   * which is returned. Times must increase.
   */
  picture: (nowMs: number, picture?: Uint8Array) => Uint8Array;
  /** Interrupts the voice: drops the sound that is not heard yet, and closes the mouth within 120 ms. */
  clear: (nowMs: number) => void;
  /** Shows a person who thinks: the eyes glance away, and the person draws a breath. */
  think: Life["think"];
  gesture: Life["gesture"];
};

/** `seed`: an integer of 32 bits. The same seed, sound and times give the same pictures. */
export const createSpeaker = (face: Face, { seed }: { seed: number }): Speaker => {
  const track = createShapeTrack();
  const hearing = createHearing(track);
  const life = createLife(seed, face);
  return {
    hear: (pcm, delayMs, nowMs) => hearing.hear(pcm, nowMs + delayMs),
    picture: (nowMs, picture) => {
      const timeMs = nowMs + MIDDLE_MS;
      track.forgetBefore(timeMs);
      return drawFace(face, life.pose(timeMs, track), picture);
    },
    clear: (nowMs) => hearing.clear(nowMs + MIDDLE_MS),
    think: life.think,
    gesture: life.gesture,
  };
};
