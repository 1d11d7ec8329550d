import { expect, test } from "bun:test";
import { PATTERNS, SUFFIX, splitSentences } from "./patterns.ts";
import { readTexts } from "./texts.ts";

const names = (sentence: string): string[] =>
  PATTERNS.filter(({ matches }) => matches.test(sentence)).map(({ name }) => name);

test.each([
  ["Who joins a second time replaces the first.", ["subject"]],
  ["What comes later is in the next response.", ["subject"]],
  ["that of the event", ["subject"]],
  ["that job fails after five attempts", []],
  ["What does a call cost?", []],
  ["The error says what was sent, and of what kind.", ["object"]],
  ["There is none.", ["there is none"]],
  ["A room of its own", ["of its own"]],
  ["So many holders are needed to take all", ["so many"]],
  ["Nobody has joined.", ["somebody"]],
  ["No request is sent without a key", ["double negation"]],
  ["tried again, and it stops", ["two facts"]],
  ["The event id, but for its last digit", ["but for"]],
  ["Judges the caller", ["private word"]],
  [`${"word ".repeat(41)}`, ["long sentence"]],
  ["Revokes the key and its descendant keys.", []],
])("the sentence %p: the patterns %j", (sentence, patterns) => {
  expect(names(sentence)).toEqual(patterns);
});

test("an exported function with the suffix Of: found; a local one or a type is not", () => {
  const source = "export const stepOf = 1;\nexport function endOf() {}\nconst localOf = 1;\nexport type PageOf = 1;\n";
  expect([...source.matchAll(SUFFIX)].map(([, name]) => name)).toEqual(["stepOf", "endOf"]);
});

test("a colon, a semicolon, a full stop: each ends a sentence", () => {
  expect(splitSentences("One fact: another. A third; a fourth")).toEqual([
    "One fact:",
    "another.",
    "A third;",
    "a fourth",
  ]);
});

test("TypeScript: comments, strings and templates are read; code, regular expressions and short names are not", () => {
  const source = `
/** First line of a comment,
 *  second line. */
const one = a / b; // One of two comments,
// the second line.
const two = /"not a string here" \\/\\/ nor a comment/.test("a string of words");
const three = \`a template \${f("with a nested string", \`and a nested template\`)} to its end\`;
const four = "short"; /* a comment in a block */`;
  expect(readTexts("a.ts", source)).toEqual([
    { kind: "comment", line: 2, text: "First line of a comment, second line." },
    { kind: "comment", line: 4, text: "One of two comments, the second line." },
    { kind: "string", line: 6, text: "a string of words" },
    { kind: "string", line: 7, text: "with a nested string" },
    { kind: "string", line: 7, text: "and a nested template" },
    { kind: "string", line: 7, text: "a template … to its end" },
    { kind: "comment", line: 8, text: "a comment in a block" },
  ]);
});

test("a .tsx file: the texts between tags are read", () => {
  expect(readTexts("a.tsx", "<p className={x}>\n  Enter the URL\n  of your server.\n</p>")).toEqual([
    { kind: "markup", line: 1, text: "Enter the URL of your server." },
  ]);
});

test("SQL: neighbouring lines of comments are one text, code is not read", () => {
  expect(
    readTexts("a.sql", "-- First line of a comment,\n-- second line.\nselect 'a string of words'; -- to the end\n"),
  ).toEqual([
    { kind: "comment", line: 1, text: "First line of a comment, second line." },
    { kind: "comment", line: 3, text: "to the end" },
  ]);
});
