/** The texts in a source file that people read: comments, string literals and, in a `.tsx` file, the texts between tags. */

export type SourceText = { kind: "comment" | "string" | "markup"; line: number; text: string };

/** A text of fewer words is a name, a code or a label, not a sentence. */
const MIN_WORDS = 3;

/** A slash after one of these begins a regular expression. After other characters it divides. */
const BEFORE_REGEXP = /(?:^|[=(,;:!&|?{}[+\-*%~^<>]|\b(?:return|case|typeof|in|of|await|yield|else|do))$/;

const TOKENS = {
  comment: /\/\/.*|\/\*[\s\S]*?\*\//y,
  string: /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/y,
  regexp: /\/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*/y,
};

const SQL_COMMENT = /(?:^[ \t]*--.*\n?)+|--.*|\/\*[\s\S]*?\*\//gm;

/** A comment without its marks. Lines that belong to one paragraph are joined. */
const commentText = (comment: string): string =>
  comment
    .replace(/^\/\*+|\*+\/$/g, "")
    .split("\n")
    .map((line) => line.replace(/^\s*(?:\*|\/\/|--)?\s?/, "").trim())
    .join("\n")
    .replace(/\n{2,}/g, ".\n")
    .replace(/\n+/g, " ")
    .trim();

const isProse = (text: string): boolean => (text.match(/\p{L}{2,}/gu) ?? []).length >= MIN_WORDS;

/** The index behind the template literal that begins at `start`. Adds the texts that it holds to `found`. */
const readTemplate = (
  source: string,
  start: number,
  add: (kind: SourceText["kind"], at: number, text: string) => void,
) => {
  let index = start + 1;
  let text = "";
  while (index < source.length && source[index] !== "`") {
    if (source[index] === "\\") index += 2;
    else if (source.startsWith("${", index)) {
      text += "…";
      index = readCode(source, index + 2, add, true);
    } else text += source[index++];
  }
  add("string", start, text);
  return index + 1;
};

/** Reads code up to its end, or up to the brace that closes it. */
const readCode = (
  source: string,
  start: number,
  add: (kind: SourceText["kind"], at: number, text: string) => void,
  isNested: boolean,
): number => {
  let index = start;
  let depth = 0;
  /** Neighbouring lines of comments: they are one text. */
  const lines: { at: number; text: string }[] = [];
  const flush = (): void => {
    if (lines[0] !== undefined) add("comment", lines[0].at, commentText(lines.map(({ text }) => text).join("\n")));
    lines.length = 0;
  };
  const match = (token: RegExp): string | undefined => {
    token.lastIndex = index;
    return token.exec(source)?.[0];
  };
  while (index < source.length) {
    const character = source[index] as string;
    const comment = character === "/" ? match(TOKENS.comment) : undefined;
    if (comment?.startsWith("//")) {
      lines.push({ at: index, text: comment });
      index += comment.length;
      continue;
    }
    if (!/\s/.test(character)) flush();
    if (comment !== undefined) {
      add("comment", index, commentText(comment));
      index += comment.length;
    } else if (character === '"' || character === "'") {
      const string = match(TOKENS.string);
      if (string !== undefined) add("string", index, string.slice(1, -1));
      index += string?.length ?? 1;
    } else if (character === "`") index = readTemplate(source, index, add);
    else if (character === "/" && BEFORE_REGEXP.test(source.slice(Math.max(0, index - 20), index).trimEnd()))
      index += match(TOKENS.regexp)?.length ?? 1;
    else if (isNested && character === "}" && depth === 0) return index + 1;
    else {
      if (character === "{") depth++;
      if (character === "}") depth--;
      index++;
    }
  }
  flush();
  return index;
};

/** The texts of `source`, which is the content of `file`. */
export const readTexts = (file: string, source: string): SourceText[] => {
  const found: SourceText[] = [];
  const add = (kind: SourceText["kind"], at: number, text: string): void => {
    if (isProse(text)) found.push({ kind, line: source.slice(0, at).split("\n").length, text });
  };
  if (file.endsWith(".sql")) {
    for (const { 0: comment, index } of source.matchAll(SQL_COMMENT)) add("comment", index, commentText(comment));
    return found;
  }
  readCode(source, 0, add, false);
  if (file.endsWith(".tsx"))
    for (const { 1: text = "", index } of source.matchAll(/>([^<>{}=;]+)(?=[<{])/g))
      add("markup", index, text.replace(/\s+/g, " ").trim());
  return found;
};
