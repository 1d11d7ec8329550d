/** Blinks. */
import { mix, smoothstep } from "../numbers.ts";
import { type Random, randomNormal } from "./random.ts";

/**
 * Blinks a minute of people in conversation: 26 in the mean, and between 10.5 and 32.5 for 95 % of them (Bentivoglio et
 * al., Movement Disorders 12, 1997). Few people blink much more often than the mean, and some blink much less often, so
 * the distance to the highest rate has a log-normal distribution.
 */
const HIGHEST_RATE = 34;
const RATE_DISTANCE = Math.log(7);
const RATE_DEVIATION = 0.6;
/** The same people blink 17 times a minute when they listen. */
const LISTENING = 26 / 17;
/** Intervals have a log-normal distribution. Deviation of their logarithm. */
const INTERVAL_DEVIATION = 0.5;
const LONGEST_SECONDS = 9;
const DOUBLE_SHARE = 0.06;
const DOUBLE_SECONDS = 0.36;

/** Seconds of the lid on its way down, shut, and on its way up. */
const DOWN = 0.08;
const SHUT = 0.04;
const UP = 0.18;

/** A third of the ends of phrases cause a blink, if the last blink was this long ago. */
const PHRASE_SHARE = 0.35;
const PHRASE_SECONDS = 1.6;

/** The blinks a minute of a person in conversation. */
export const randomBlinkRate = (random: Random): number =>
  Math.max(9, HIGHEST_RATE - Math.exp(RATE_DISTANCE + RATE_DEVIATION * randomNormal(random)));

/** How far the lids are shut, from 0 to 1, by the seconds since the begin of a blink. */
export const lidAt = (seconds: number): number => {
  if (seconds < DOWN) return smoothstep(0, DOWN, seconds);
  return 1 - smoothstep(DOWN + SHUT, DOWN + SHUT + UP, seconds);
};

export type Blinks = {
  /** How far the lids are shut. `talk`: 1 while the person speaks, 0 while the person listens. */
  at: (seconds: number, talk: number) => number;
  /** A phrase ended. */
  endPhrase: (seconds: number) => void;
};

export const createBlinks = (random: Random): Blinks => {
  const mean = 60 / randomBlinkRate(random);
  const findInterval = (talk: number): number => {
    if (random() < DOUBLE_SHARE) return DOUBLE_SECONDS;
    const deviation = Math.exp(INTERVAL_DEVIATION * randomNormal(random) - INTERVAL_DEVIATION ** 2 / 2);
    return Math.min(LONGEST_SECONDS, mean * mix(LISTENING, 1, talk) * deviation);
  };
  let last = Number.NEGATIVE_INFINITY;
  let next = 0.8 + 2.4 * random();
  return {
    at: (seconds, talk) => {
      if (seconds >= next) {
        last = seconds;
        next = seconds + Math.max(DOWN + SHUT + UP, findInterval(talk));
      }
      return lidAt(seconds - last);
    },
    endPhrase: (seconds) => {
      if (seconds - last < PHRASE_SECONDS || random() >= PHRASE_SHARE) return;
      next = Math.min(next, seconds + 0.05 + 0.1 * random());
    },
  };
};
