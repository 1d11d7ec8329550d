import { describe, expect, test } from "bun:test";
import { areOwnWords, classifyHeard, isBackchannel, isNoiseText, pauseVerdict } from "./heard-text.ts";

const SAID = "We are open from nine to five. On Friday evening there is a table for four people by the window.";

describe("text that a recognizer writes for noise", () => {
  test.each([
    "",
    " ",
    "...",
    "[Music]",
    "(coughing)",
    "*sighs*",
    "♪ ♪",
    "♪♪♪",
    "you",
    "You.",
    "Thanks for watching!",
    "[BLANK_AUDIO]",
  ])("%p: noise", (text) =>
    expect(classifyHeard(text, { wasSpeaking: false, recentlySaid: "" })).toEqual({ kind: "ignored", why: "noise" }),
  );

  test.each(["Bye.", "Thank you.", "You are right.", "No.", "I like [that] song", "Music, please.", "5"])(
    "%p: speech",
    (text) => expect(isNoiseText(text)).toBe(false),
  );
});

describe("a backchannel", () => {
  test.each([
    ...[
      "Mm-hmm.",
      "MMHMM",
      "Mmhm.",
      "Mhm",
      "Mmm.",
      "Hmm…",
      "Uh-huh.",
      "Uh huh",
      "Yeah.",
      "Yeah, yeah.",
      "Yes.",
      "Okay.",
      "OK",
      "Right.",
      "Sure!",
    ],
    ...[
      "I see.",
      "Ah, okay.",
      "Oh, right.",
      "Aha!",
      "Got it.",
      "Genau.",
      "Ja, ja.",
      "Ach so.",
      "D'accord.",
      "Sí, claro.",
      "はい。",
    ],
  ])("%p: ignored while the avatar speaks, a turn otherwise", (text) => {
    expect(classifyHeard(text, { wasSpeaking: true, recentlySaid: SAID })).toEqual({
      kind: "ignored",
      why: "backchannel",
    });
    expect(classifyHeard(text, { wasSpeaking: false, recentlySaid: SAID })).toEqual({ kind: "turn" });
  });

  test.each([
    ...[
      "Wait.",
      "Stop.",
      "No.",
      "Wait, stop please.",
      "Yes, but not on Friday.",
      "Okay, stop.",
      "Right now.",
      "What?",
      "Hold on.",
    ],
    ...["I see a problem", "Yeah yeah yeah yeah yeah.", "Sorry?", "Nein.", "好的，但是"],
  ])("%p: a turn while the avatar speaks", (text) => {
    expect(classifyHeard(text, { wasSpeaking: true, recentlySaid: "" })).toEqual({ kind: "turn" });
  });
});

describe("the avatar's own words", () => {
  test.each([
    "There is a table for four people.",
    "there's a table for four people by the window",
    "We're open from 9 to 5. On Friday evening, there is",
    "Fridayevening there is a table",
  ])("%p: ignored", (text) => {
    expect(classifyHeard(text, { wasSpeaking: false, recentlySaid: SAID })).toEqual({
      kind: "ignored",
      why: "own_words",
    });
  });

  test.each([
    "On Saturday, please, for two.",
    "Friday",
    "for four",
    "Is the kitchen open on Sundays as well?",
    "That is perfect, thank you.",
  ])("%p: a turn", (text) =>
    expect(classifyHeard(text, { wasSpeaking: false, recentlySaid: SAID })).toEqual({ kind: "turn" }),
  );

  test("a repeated letter, and a text in another script: no error", () => {
    expect(areOwnWords("aaaaaaaaaaaaaaaa", SAID)).toBe(false);
    expect(areOwnWords("明天晚上有四个人的桌子吗", "明天晚上有四个人的桌子")).toBe(true);
  });
});

test("the verdict for the detector: ignored, whole or open", () => {
  const during = { wasSpeaking: true, recentlySaid: SAID };
  expect(pauseVerdict("Mm-hmm.", during)).toBe("ignored");
  expect(pauseVerdict("Wait, stop please.", during)).toBe("whole");
  expect(pauseVerdict("I would like to book a table for", during)).toBe("open");
  expect(pauseVerdict("Ich komme, weil.", during, "de")).toBe("open");
});

test("texts of 4,000 characters: classified at once", () => {
  const start = performance.now();
  for (const text of ["m".repeat(4000), "m ".repeat(2000), "♪".repeat(4000), "(".repeat(4000), "mh".repeat(2000)]) {
    classifyHeard(text, { wasSpeaking: true, recentlySaid: text });
    isBackchannel(text);
  }
  expect(performance.now() - start).toBeLessThan(5000);
});
