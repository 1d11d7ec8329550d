/** Classifies a recognized text: a turn of the person, or ignored. */
import { looksWhole } from "./looks-whole.ts";
import type { Verdict } from "./turn-detector.ts";

export type HeardText = { kind: "turn" } | { kind: "ignored"; why: "noise" | "backchannel" | "own_words" };

export type HeardDuring = {
  /** Whether the avatar was still speaking when the person began to speak. */
  wasSpeaking: boolean;
  /** The avatar's last words. */
  recentlySaid: string;
};

/** Recognizers write the texts below for sound without speech. A text that is longer than this is speech. */
const MAX_NOISE_CHARACTERS = 80;
const NOISE_TEXTS = [
  /^[\p{P}\p{S}\s]*$/u,
  /^[([*♪][^)\]*♪]*[)\]*♪]\W*$/u,
  /^you\W*$/i,
  /^(?:thanks?|thank you)(?: so much| very much)? for (?:watching|listening)\W*$/i,
  /^(?:subtitles?|captions?) (?:provided )?by\b/i,
  /\bamara\.org\b/i,
];

/** Backchannels: sounds and words by which a listener shows attention, in several languages. They need no answer. */
const SOUNDS = /^(?:m{2,}|m+h+m+|hm+|h?uh|huh|u+m+|u+h+|a+h+|o+h+|ah?a|aha|ajá|ага|угу)$/u;
const PHRASES = [
  ..."i see|got it|of course|makes sense|fair enough|ach so|très bien|ah bon|je vois|d accord|va bene|tá bom".split(
    "|",
  ),
];
const FOLLOWING_WORDS = new Set([
  ..."yeah yep yup yes ok okay right sure alright exactly indeed great good nice cool true wow".split(" "),
  ..."ja jo genau stimmt klar gut verstehe achso".split(" "),
  ..."oui ouais bien voilà sí vale claro ya bueno entiendo sì certo esatto capisco già".split(" "),
  ..."sim tá isso entendi oké precies inderdaad goed да хорошо".split(" "),
  ..."はい うん ええ そう そうですか なるほど 嗯 对 好 好的 네 응".split(" "),
]);
const MAX_BACKCHANNEL_WORDS = 4;

/** A text with fewer groups of three letters is too short to tell its speaker. */
const MIN_TRIGRAMS = 6;
const OWN_SHARE = 0.65;

const splitWords = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];

/** Groups of three letters, without the spaces: for an echo, a recognizer splits the words differently. */
const trigramsOf = (text: string): Set<string> => {
  const letters = [...splitWords(text).join("")];
  return new Set(
    Array.from({ length: Math.max(0, letters.length - 2) }, (_, at) => letters.slice(at, at + 3).join("")),
  );
};

export const isNoiseText = (text: string): boolean => {
  const trimmed = text.trim();
  return trimmed.length <= MAX_NOISE_CHARACTERS && NOISE_TEXTS.some((pattern) => pattern.test(trimmed));
};

export const isBackchannel = (text: string): boolean => {
  const words = splitWords(text);
  if (words.length === 0 || words.length > MAX_BACKCHANNEL_WORDS) return false;
  const spaced = ` ${words.join(" ")} `;
  const rest = PHRASES.reduce((left, phrase) => left.replaceAll(` ${phrase} `, " "), spaced);
  return splitWords(rest).every((word) => SOUNDS.test(word) || FOLLOWING_WORDS.has(word));
};

/** Whether the avatar has said most of the heard text. */
export const areOwnWords = (heard: string, said: string): boolean => {
  const [found, known] = [trigramsOf(heard), trigramsOf(said)];
  if (found.size < MIN_TRIGRAMS) return false;
  return [...found].filter((trigram) => known.has(trigram)).length / found.size >= OWN_SHARE;
};

/** Backchannels are ignored only while the avatar speaks: "Yes." after its question is an answer. */
export const classifyHeard = (text: string, { wasSpeaking, recentlySaid }: HeardDuring): HeardText => {
  if (isNoiseText(text)) return { kind: "ignored", why: "noise" };
  if (wasSpeaking && isBackchannel(text)) return { kind: "ignored", why: "backchannel" };
  if (areOwnWords(text, recentlySaid)) return { kind: "ignored", why: "own_words" };
  return { kind: "turn" };
};

/** Classifies the text of a pause for the turn detector. `language`: the language of the call, if it is known. */
export const pauseVerdict = (text: string, during: HeardDuring, language?: string): Verdict => {
  if (classifyHeard(text, during).kind === "ignored") return "ignored";
  return looksWhole(text, language) ? "whole" : "open";
};
