import { expect, test } from "bun:test";
import { englishText, leavesOutWords, MAX_TEXT_LENGTH, spokenText, voiceText } from "./text.ts";

test.each([
  ["Hello **world**, *you* and ~~them~~.", "Hello world, you and them."],
  ["See [our site](https://a.example/b_(c)) now.", "See our site now."],
  ["![a chart](chart.png) The chart.", "The chart."],
  ["Visit https://a.example/b?c=d, or www.b.example.", "Visit, or."],
  ["<https://a.example> is it", "is it"],
  ["# Title\nSome text\nthat goes on.", "Title.\nSome text that goes on."],
  ["- one\n- two\n\nEnd", "one.\ntwo.\nEnd"],
  ["1. first\n2) second", "1, first.\n2, second"],
  ["> quoted\n> text", "quoted text"],
  ["| a | b |\n|---|---|\n| 1 | 2 |", "a, b.\n1, 2"],
  ["Before\n```js\nrun();\n```\nafter", "Before.\nafter"],
  ["Before\n\n```\nno end", "Before"],
  ["Run `npm install`, not `rm -rf /`.", "Run npm install, not."],
  ["<p>Hi <b>you</b></p><script>alert(1)</script>", "Hi you"],
  ["A <!-- hidden --> B", "A B"],
  ["a &amp; b &lt; c", "a & b < c"],
  ["snake_case, 3*4, C++ and #1", "snake case, 3 4, C++ and #1"],
  ["2 < 3 and 4 > 1", "2 < 3 and 4 > 1"],
  ["Hi 👋🏽 there 👩‍👩‍👧 1️⃣ 🇩🇪!!!", "Hi there 1!"],
  ["wait....... what??", "wait... what?"],
  ["\u202Eright\u202C \u200Bleft\uFEFF", "right left"],
  ["می\u200Cخواهم", "می\u200Cخواهم"],
  ["日本語です。元気？", "日本語です。元気？"],
  ["half\uD83D", "half"],
])("spoken text of %j: %j", (text, words) => {
  expect(spokenText(text)).toBe(words);
});

test.each([
  "",
  " \n",
  "**",
  "---",
  "🎉 🎉",
  "```\ncode\n```",
  "https://a.example",
  "<br/><hr>",
  "![a](b)",
  "...",
  "`x = 1;`",
  "\u200B",
])("spoken text of markup, code or emoji alone (%j): empty", (text) => {
  expect(spokenText(text)).toBe("");
});

test.each([
  ["Café “naïve” – ½ ﬁ", 'Cafe "naive" - 1/2 fi'],
  ["5€, £3, 20°C", "5 euros, pounds 3, 20 degrees C"],
  ["Straße, Ærø, Łódź", "Strasse, AEro, Lodz"],
  ["one\ntwo", "one\ntwo"],
  ["日本 and English", "and English"],
  ["日本語です。", ""],
  ["%", ""],
])("spoken text of an English voice, %j: %j", (text, words) => {
  expect(englishText(text)).toBe(words);
});

test("spoken text in another script: empty for Flite, all for a provider", () => {
  expect(voiceText("**Привет**", { provider: "flite" })).toBe("");
  expect(voiceText("**Привет**", { provider: "openai" })).toBe("Привет");
});

test.each([
  ["Café “naïve” – ½ ﬁ, 5€, Łódź 🎉 **x**", false],
  ["Hello 世界", true],
  ["Привет, shop", true],
  ["Room ٣", true],
  ["The same [link](https://世界.example)", false],
])("the text %j: words that Flite leaves out: %p; a provider leaves out no words", (text, isPart) => {
  expect(leavesOutWords(text, { provider: "flite" })).toBe(isPart);
  expect(leavesOutWords(text, { provider: "openai" })).toBe(false);
});

// A pattern that tries all pairs of marks at each step would take minutes for these.
test.each([
  "[",
  "![",
  "(",
  "`",
  "~",
  "*",
  "_",
  "<a ",
  "<!--",
  "| ",
  "\n ",
  " ",
  "> ",
  "[a](",
  "http:",
  "&",
  "1️⃣",
  "<script>",
])("spoken text of a text full of %j: at most as long", (mark) => {
  const text = mark.repeat(MAX_TEXT_LENGTH / mark.length);
  expect(spokenText(text).length).toBeLessThanOrEqual(text.length);
});
