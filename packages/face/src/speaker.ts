/** A speaking face: takes sound, draws pictures. */
import { createHearing } from "./hearing.ts";
import { createLife, type Life } from "./life.ts";
import type { LoopFilm } from "./loop/loop-film.ts";
import { clamp, smoothstep } from "./numbers.ts";
import { createShapeTrack } from "./shape-track.ts";
import { drawFace, type Face } from "./warp/face.ts";
import { createFilm, drawFilm, type Film } from "./warp/film.ts";

/** The time from the drawing of a picture to the middle of its display, at 25 pictures a second. */
const MIDDLE_MS = 20;
/** Before a film begins, the head returns to its place in the photo within this time. */
const REST_MS = 600;

/** All times are milliseconds of one monotonic clock of the caller. */
export type Speaker = {
  /**
   * Passes a piece of the voice. Call this as soon as the sound is known. A gap between two pieces is silence.
   *
   * If the sound is known 230 ms before it is heard, the lips are exact and smooth. From 115 ms on they are exact, but
   * open less and close faster. With less time, they are late by the difference.
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
  /**
   * From now on, head and eyes are those of a loop, whose first frame is the photo: it begins as soon as the head is back at
   * its place in the photo and the eyes are open. While the loop has no frame, the photo is drawn.
   */
  show: (loop: LoopFilm) => void;
};

/** The loop that a speaker shows. */
type Showing = { loop: LoopFilm; film: Film };

/**
 * Below any visible movement: the share of the head's movement that remains while the loop waits for the end of a
 * blink.
 */
const NEARLY_STILL = 1e-3;

/** `seed`: an integer of 32 bits. The same seed, sound and times give the same pictures. */
export const createSpeaker = (face: Face, { seed }: { seed: number }): Speaker => {
  const track = createShapeTrack();
  const hearing = createHearing(track);
  const life = createLife(seed, face);
  let showing: Showing | null = null;
  let lastMs = Number.NEGATIVE_INFINITY;
  /** The share of the movements of the photo: 0 while a loop is shown. */
  let own = 1;
  let isShut = false;
  const updateOwn = (passedMs: number): void => {
    const isShown = showing !== null && !showing.loop.hasFailed();
    const next = clamp(own + (isShown ? -passedMs : passedMs) / REST_MS);
    own = next === 0 && own > 0 && isShut ? NEARLY_STILL : next;
  };
  const draw = (timeMs: number, picture: Uint8Array | undefined): Uint8Array => {
    const pose = life.pose(timeMs, track, smoothstep(0, 1, own));
    isShut = pose.blinkRight > 0;
    const frame = own === 0 ? showing?.loop.next() : null;
    return showing && frame ? drawFilm(showing.film, frame, pose, picture) : drawFace(face, pose, picture);
  };
  return {
    hear: (pcm, delayMs, nowMs) => hearing.hear(pcm, nowMs + delayMs),
    picture: (nowMs, picture) => {
      const timeMs = nowMs + MIDDLE_MS;
      track.forgetBefore(timeMs);
      updateOwn(Math.min(REST_MS, Math.max(0, timeMs - lastMs)));
      lastMs = timeMs;
      return draw(timeMs, picture);
    },
    clear: (nowMs) => hearing.clear(nowMs + MIDDLE_MS),
    think: life.think,
    gesture: life.gesture,
    show: (loop) => {
      showing = { loop, film: createFilm(face) };
      // Before the first picture, the head is at its place in the photo.
      if (lastMs === Number.NEGATIVE_INFINITY) own = 0;
    },
  };
};
