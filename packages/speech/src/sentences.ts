/** Cuts a text into pieces that are spoken one after another: at the ends of sentences, so that each has its melody. */

export type SentenceOptions = {
  /** The longest piece, in UTF-16 units. A longer sentence is cut at a comma, else at a space. */
  maxLength?: number;
  /** From this length on, the first piece may end at a comma: speech begins sooner. */
  firstClauseLength?: number | null;
};

const DEFAULT_MAX_LENGTH = 240;
const FIRST_CLAUSE_LENGTH = 24;
/** A shorter sentence is spoken together with the next one: "Yes." */
const MIN_LENGTH = 12;

/** A closing quotation mark or bracket, which can follow the end of a sentence. */
const CLOSING = /["'”’»)\]]/;
/** Words that end with a full stop and rarely end a sentence. */
const ABBREVIATION =
  /(?:^|[\s("'“.])(?:Mr|Mrs|Ms|Dr|Prof|Rev|St|Sr|Jr|vs|cf|ca|No|Nr|approx|e\.g|i\.e|z\.B|d\.h|bzw|\p{Lu})\.$/u;

/** The end of the sentence with its mark at `index`: undefined for another character, null if later text decides it. */
const endAt = (text: string, index: number, isComplete: boolean): number | null | undefined => {
  const sign = text[index] as string;
  if (sign === "\n") return index + 1;
  if ("。！？".includes(sign)) return index + 1;
  if (!".!?…".includes(sign)) return undefined;
  let end = index + 1;
  while (end < text.length && (CLOSING.test(text[end] as string) || ".!?…".includes(text[end] as string))) end++;
  if (end === text.length) return isComplete ? end : null;
  if (!/\s/.test(text[end] as string)) return undefined;
  return sign === "." && ABBREVIATION.test(text.slice(Math.max(0, index - 12), index + 1)) ? undefined : end;
};

/** The end of the first sentence that completes a piece of at least `minLength`; -1 if it is not known yet. */
const sentenceEnd = (text: string, minLength: number, isComplete: boolean): number => {
  for (let index = 0; index < text.length; index++) {
    const end = endAt(text, index, isComplete);
    if (end === null) return -1;
    if (end === undefined) continue;
    if (text.slice(0, end).trim().length >= minLength) return end;
    index = end - 1;
  }
  return -1;
};

const clauseEnd = (text: string, minLength: number): number => {
  const clause = /[,;:](?=\s)|[，；：、]|\s[–—-](?=\s)/g;
  clause.lastIndex = minLength - 1;
  const match = clause.exec(text);
  return match === null ? -1 : match.index + match[0].length;
};

/** Where a text without a sentence's end is cut: at its last comma in the second half, else at its last space, else anywhere. */
const forcedEnd = (text: string, maxLength: number): number => {
  const head = text.slice(0, maxLength);
  const comma = Math.max(...[", ", "; ", ": "].map((sign) => head.lastIndexOf(sign)));
  if (comma > maxLength / 2) return comma + 1;
  const space = head.lastIndexOf(" ");
  if (space > 0) return space;
  // Never splits a surrogate pair.
  return /[\uD800-\uDBFF]$/.test(head) ? maxLength - 1 : maxLength;
};

export type SentenceSplitter = {
  /** The pieces that are complete with this text. */
  push(text: string): string[];
  /** The rest. */
  end(): string[];
};

/** Cuts a text that arrives in parts. Holds at most a piece and a part. */
export const createSentenceSplitter = ({
  maxLength = DEFAULT_MAX_LENGTH,
  firstClauseLength = FIRST_CLAUSE_LENGTH,
}: SentenceOptions = {}): SentenceSplitter => {
  let rest = "";
  let isFirst = true;
  const nextEnd = (isComplete: boolean): number => {
    const window = rest.slice(0, maxLength + 1);
    const isWhole = isComplete && window.length === rest.length;
    let end = sentenceEnd(window, isFirst ? 1 : MIN_LENGTH, isWhole);
    if (isFirst && firstClauseLength !== null && (end === -1 || end > firstClauseLength)) {
      const clause = clauseEnd(window, firstClauseLength);
      if (clause !== -1 && (end === -1 || clause < end)) end = clause;
    }
    if (end !== -1 && end <= maxLength) return end;
    if (rest.length > maxLength) return forcedEnd(rest, maxLength);
    return isComplete ? rest.length : -1;
  };
  const take = (isComplete: boolean): string[] => {
    const pieces: string[] = [];
    while (rest !== "") {
      const end = nextEnd(isComplete);
      if (end === -1) break;
      const piece = rest.slice(0, end).trim();
      rest = rest.slice(end).trimStart();
      if (piece === "") continue;
      pieces.push(piece);
      isFirst = false;
    }
    return pieces;
  };
  return {
    push: (text) => {
      rest = (rest + text).trimStart();
      return take(false);
    },
    end: () => take(true),
  };
};

/** Cuts a whole text into pieces of at most `maxLength` UTF-16 units, each with as many whole sentences as it can hold. */
export const splitText = (text: string, maxLength: number): string[] => {
  const splitter = createSentenceSplitter({ maxLength, firstClauseLength: null });
  const pieces: string[] = [];
  for (const sentence of [...splitter.push(text), ...splitter.end()]) {
    const last = pieces.at(-1);
    if (last !== undefined && last.length + 1 + sentence.length <= maxLength) {
      pieces[pieces.length - 1] = `${last} ${sentence}`;
    } else pieces.push(sentence);
  }
  return pieces;
};
