import { expect, test } from "bun:test";
import { createSentenceSplitter, type SentenceOptions, splitText } from "./sentences.ts";

/** The pieces of a text that arrives in parts of `size` UTF-16 units. */
const stream = (text: string, size: number, options?: SentenceOptions): string[] => {
  const splitter = createSentenceSplitter(options);
  const pieces: string[] = [];
  for (let at = 0; at < text.length; at += size) pieces.push(...splitter.push(text.slice(at, at + size)));
  return [...pieces, ...splitter.end()];
};

test.each([
  ["It is late. We should go home now.", ["It is late.", "We should go home now."]],
  [
    "Dr. Smith left Washington D.C. in 2020. Mr. J. Doe paid 3.50 dollars.",
    ["Dr. Smith left Washington D.C. in 2020.", "Mr. J. Doe paid 3.50 dollars."],
  ],
  ["One. Yes. That is what I meant.", ["One.", "Yes. That is what I meant."]],
  ['He asked: "Are you sure?" Then he left us.', ['He asked: "Are you sure?"', "Then he left us."]],
  ["What?! Nothing at all... Well, then go.", ["What?!", "Nothing at all...", "Well, then go."]],
  ["日本語です。とても元気ですかとても？はい。", ["日本語です。", "とても元気ですかとても？", "はい。"]],
  ["First line\nSecond line", ["First line", "Second line"]],
  ["", []],
  [" \n ", []],
])("sentences, of %j, in parts of any size: %j", (text, pieces) => {
  for (const size of [1, 2, 7, 1000]) expect(stream(text, size)).toEqual(pieces);
});

test("the first piece, a long sentence: ends at a comma from 24 characters on", () => {
  const text = "Well, I think that this is right, and we go on. Then, if you like, we stop here.";
  expect(stream(text, 3)).toEqual([
    "Well, I think that this is right,",
    "and we go on.",
    "Then, if you like, we stop here.",
  ]);
  expect(stream(text, 3, { firstClauseLength: null })).toEqual([
    "Well, I think that this is right, and we go on.",
    "Then, if you like, we stop here.",
  ]);
});

test("the first piece, of a text that arrives: complete as soon as the next word begins", () => {
  const splitter = createSentenceSplitter();
  expect(splitter.push("It is 3.")).toEqual([]);
  expect(splitter.push("5 degrees.")).toEqual([]);
  expect(splitter.push(" Now")).toEqual(["It is 3.5 degrees."]);
  expect(splitter.end()).toEqual(["Now"]);
});

test.each([
  ["without a space", "a".repeat(700), [240, 240, 220]],
  ["with spaces", "abcd ".repeat(100).trim(), [239, 239, 19]],
  ["of characters outside the BMP", "😀".repeat(200), [240, 160]],
])("a sentence that is too long, %s: cut, without losing a character", (_, text, lengths) => {
  for (const size of [1, 1000]) {
    const pieces = stream(text, size, { firstClauseLength: null });
    expect(pieces.map(({ length }) => length)).toEqual(lengths);
    expect(pieces.join("").replaceAll(" ", "")).toBe(text.replaceAll(" ", ""));
    expect(pieces.every((piece) => piece.isWellFormed())).toBe(true);
  }
});

test.each([20, 21, 240, 241])("text outside the BMP, cut at %i UTF-16 units: no character is divided", (maxLength) => {
  // The first letter moves the characters by one unit.
  for (const text of ["😀".repeat(300), `a${"😀".repeat(300)}`]) {
    const all = [...splitText(text, maxLength), ...stream(text, 7, { maxLength })];
    expect(all.filter((piece) => piece.length > maxLength || !piece.isWellFormed())).toEqual([]);
    expect(all.join("")).toBe(text + text);
  }
});

test("a whole text: pieces of as many sentences as fit, and each word once", () => {
  const text = Array.from({ length: 40 }, (_, index) => `This is sentence ${index}.`).join(" ");
  const pieces = splitText(text, 200);
  expect(pieces.join(" ")).toBe(text);
  expect(pieces.every((piece) => piece.length <= 200 && piece.endsWith("."))).toBe(true);
  expect(pieces.length).toBeLessThan(8);
});
