/**
 * The number of seconds for which the video of a text holds credits. The charge never exceeds the hold, so the estimate
 * must not be low.
 */
import { codePointLength } from "../text.ts";
import { MAX_AUDIO_SECONDS } from "./limits.ts";

/** Speech has 12 to 17 characters a second. */
const CHARACTERS_A_SECOND = 8;

/** Characters that take longer to speak than a letter of a word, with the number of letters that each counts as. */
const LONGER: readonly (readonly [pattern: RegExp, counts: number])[] = [
  [/\p{Nd}/gu, 3],
  // Signs that are spoken as words.
  [/[&@%#+=/<>~^|\p{Sc}]/gu, 4],
  // Single letters and words without a vowel are spelled.
  [/(?<!\p{L})(?:\p{L}|[b-df-hj-np-tv-xz]+)(?!\p{L})/giu, 4],
  [/\p{Lu}{2,}/gu, 2],
  // Characters that are a syllable or a word.
  [/\p{Script=Han}/gu, 3],
  [/[\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}]/gu, 2],
];

/** The seconds for `spoken`, which has at least one character: at most those of the longest video. */
export const heldSeconds = (spoken: string): number => {
  let characters = codePointLength(spoken);
  for (const [pattern, counts] of LONGER) {
    for (const [match] of spoken.matchAll(pattern)) characters += codePointLength(match) * (counts - 1);
  }
  // One more second for the silence before and after a sound of full length.
  return Math.min(MAX_AUDIO_SECONDS + 1, Math.max(1, Math.ceil(characters / CHARACTERS_A_SECOND)));
};
