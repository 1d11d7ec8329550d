/**
 * The spoken part of a text. Written texts contain markup, addresses, code and emoji, which are not spoken. All
 * functions are pure and take linear time, except for pairs of marks, which `MAX_TEXT_LENGTH` bounds.
 */
import type { Voice } from "./voices.ts";

/** In characters (code points). Requests with a longer text are refused. */
export const MAX_TEXT_LENGTH = 5000;

/** Steps in order: a pattern and its replacement. A code block without an end goes to the end of the text, as in CommonMark. */
const MARKUP: readonly (readonly [RegExp, string])[] = [
  [/\r\n?|[\v\f\u0085\u2028\u2029]/g, "\n"],
  [/```[\s\S]*?(?:```|$)/g, "\n"],
  [/~~~[\s\S]*?(?:~~~|$)/g, "\n"],
  [/<!--[\s\S]*?(?:-->|$)/g, " "],
  [/<(script|style|pre|code)\b[^<>]*>[\s\S]*?(?:<\/\1\s*>|$)/gi, " "],
  // An image is left out. A link is replaced by its text.
  [/!\[[^\]\n]*\](?:\((?:[^()\n]|\([^()\n]*\))*\)|\[[^\]\n]*\])/g, " "],
  [/\[([^\]\n]*)\](?:\((?:[^()\n]|\([^()\n]*\))*\)|\[[^\]\n]*\])/g, "$1"],
  [/<?\b(?:https?|ftp|mailto):[^\s<>]*[^\s<>.,;:!?'")\]}]>?/gi, " "],
  [/\bwww\.[^\s<>]*[^\s<>.,;:!?'")\]}]/gi, " "],
  // A block of HTML ends a sentence. Other tags are within one.
  [/<\/?(?:p|div|br|li|ul|ol|h[1-6]|tr|table|blockquote)\b[^<>]*>/gi, "\n"],
  [/<\/?[a-z][^<>]*>/gi, ""],
  // Words in a code span are spoken. Code is not.
  [/`([\p{L}\p{N}][\p{L}\p{N} '-]*)`/gu, "$1"],
  [/(`+)[^`\n]*\1/g, " "],
  [/^[ \t]*(?:>[ \t]?)+/gm, ""],
  // Headings, list items and table rows are separate sentences.
  [/^[ \t]*#{1,6}[ \t]+(.*)$/gm, "\n$1\n"],
  [/^[ \t]*[-*+•][ \t]+/gm, "\n"],
  [/^[ \t]*\||\|[ \t]*$/gm, "\n"],
  [/[ \t]*\|[ \t]*/g, ", "],
  [/^[ \t]*(\d{1,3})[.)][ \t]+/gm, "\n$1, "],
  // Marks of emphasis.
  [/(?<=^|[^\p{L}\p{N}])(\*{1,3}|_{1,3}|~~)(?=[\p{L}\p{N}"'“(])/gmu, ""],
  [/(?<=[\p{L}\p{N}"'”).!?,])(\*{1,3}|_{1,3}|~~)(?=$|[^\p{L}\p{N}])/gmu, ""],
  [/[*_`~^\\]/g, " "],
];

const ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " };

/** Emoji with skin tones, variations, flags, keycaps and joiners. */
const EMOJI =
  /(?:\p{Extended_Pictographic}|\p{Regional_Indicator}|\p{Emoji_Modifier}|\uFE0E|\uFE0F|\u20E3|[\u{E0020}-\u{E007F}])\u200D?/gu;
/** Control characters, marks of direction, and characters without a width. The two joiners belong to some scripts. */
const INVISIBLE = /[\p{Cc}\u00AD\u200B\u200E\u200F\u202A-\u202E\u2060-\u2069\uFEFF\uFFF9-\uFFFD]/gu;

const SPACE_BEFORE_MARK = / (?=[.,;:!?](?:\s|$))/g;
/** A line that ends with a punctuation mark, which a quotation mark or a bracket can follow. */
const HAS_END = /[.!?…。！？,;:]["'”’»)\]]*$/;

/**
 * The words of `text`, with one line for each paragraph, heading and item of a list. Empty when it has neither a spoken
 * letter nor a number.
 */
export const spokenText = (text: string): string => {
  let words = text.toWellFormed().normalize("NFC");
  for (const [pattern, replacement] of MARKUP) words = words.replace(pattern, replacement);
  const lines = words
    .replace(/&(amp|lt|gt|quot|apos|nbsp);/g, (_, name: string) => ENTITIES[name] ?? " ")
    .replace(EMOJI, " ")
    // A line without a punctuation mark at its end continues in the next line. An empty line begins a paragraph.
    .replace(/[ \t]*\n(?:[ \t]*\n)+/g, "\0")
    .replace(/\n/g, " ")
    .split("\0")
    .map((line) =>
      line
        .replace(INVISIBLE, "")
        // "!!!" is said as "!".
        .replace(/([^\p{L}\p{M}\p{N}\s.])\1{2,}|([!?])\2/gu, "$1$2")
        .replace(/\.{4,}/g, "...")
        .replace(/\s+/g, " ")
        .replace(SPACE_BEFORE_MARK, "")
        .trim(),
    );
  const said = lines.filter((line) => /[\p{L}\p{N}]/u.test(line));
  // A heading is not part of the sentence below it.
  return said.map((line, at) => (at === said.length - 1 || HAS_END.test(line) ? line : `${line}.`)).join("\n");
};

/** Signs that Flite does not know, as words or as signs that it knows. */
const ENGLISH: Record<string, string> = {
  "‘": "'",
  "’": "'",
  "‚": "'",
  "“": '"',
  "”": '"',
  "„": '"',
  "–": " - ",
  "—": " - ",
  "−": "-",
  "€": " euros ",
  "£": " pounds ",
  "¥": " yen ",
  "°": " degrees ",
  "×": " times ",
  "÷": " divided by ",
  ß: "ss",
  æ: "ae",
  Æ: "AE",
  œ: "oe",
  Œ: "OE",
  ø: "o",
  Ø: "O",
  ł: "l",
  Ł: "L",
  đ: "d",
  Đ: "D",
  þ: "th",
  ð: "d",
  ı: "i",
};

/** A text with its Latin letters and its signs in ASCII. Letters of other scripts stay. */
const romanize = (text: string): string =>
  text
    .replace(/[^\n -~]/gu, (sign) => ENGLISH[sign] ?? sign)
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .replaceAll("\u2044", "/");

/** The part of a spoken text that an English voice can say, in ASCII. Empty for a text in another script. */
export const englishText = (text: string): string => {
  const ascii = romanize(text)
    .replace(/[^\n -~]/gu, " ")
    .replace(/ +/g, " ")
    .replace(SPACE_BEFORE_MARK, "");
  return /[A-Za-z0-9]/.test(ascii) ? ascii.trim() : "";
};

/** The part of a written text that this voice says. Empty when nothing can be spoken. */
export const voiceText = (text: string, { provider }: Pick<Voice, "provider">): string => {
  const words = spokenText(text);
  return provider === "flite" ? englishText(words) : words;
};

/** Whether this voice leaves out words of a written text, because it does not know their letters. */
export const leavesOutWords = (text: string, { provider }: Pick<Voice, "provider">): boolean =>
  provider === "flite" && /(?![ -~])[\p{L}\p{N}]/u.test(romanize(spokenText(text)));
