import { describe, expect, test } from "bun:test";
import { looksWhole } from "./looks-whole.ts";

/** Texts of a recognizer for whole sentences. */
const WHOLE = [
  ...["What is the weather like in Paris today?", "Thank you, that is very kind.", "Can you help me book a table?"],
  ...["I live in a small town near the sea.", "Stop, please.", "Yes.", "No.", "No, I do not think so.", "Okay!"],
  ...["My name is John Miller.", "How much does it cost?", "Tell me a story about a dragon.", "Thank you.", "At nine."],
  ...["Where are you from?", "What is this about?", "Yes, it is.", "I like that.", "He said “Stop.”", "Who is she?"],
];
/** Texts of a recognizer for sentences that break off. Some recognizers add a full stop. */
const OPEN = [
  ...[
    "What is the weather like in",
    "What is the weather like in?",
    "I would like to know if you.",
    "Can you help me with the",
  ],
  ...["Can you help me with the.", "I live in a small town and.", "My name is", "My name is.", "It depends on the."],
  ...[
    "Well, I was thinking that maybe...",
    "Well, I was thinking that maybe.",
    "Tell me about.",
    "The number is five, five,",
  ],
  ...[
    "So if I want to, um.",
    "So if I want to…",
    "Because.",
    "And then I",
    "I'm looking for Dr.",
    "",
    "  ",
    "...",
    "?",
  ],
];

describe("whether a text looks whole", () => {
  test.each(WHOLE)("%p: whole", (text) => {
    expect([looksWhole(text), looksWhole(text, "en-US")]).toEqual([true, true]);
  });

  test.each(OPEN)("%p: open", (text) => {
    expect([looksWhole(text), looksWhole(text, "en")]).toEqual([false, false]);
  });

  test.each([
    ["de", "Ich möchte einen Tisch bestellen.", "Ich möchte einen Tisch für."],
    ["de-AT", "Mein Name ist Huber.", "Ich komme, weil."],
    ["fr", "Je voudrais réserver une table.", "Je voudrais réserver une table pour."],
    ["es", "¿Qué tiempo hace hoy?", "Quiero reservar una mesa para."],
    ["it", "Vorrei prenotare un tavolo.", "Vorrei prenotare un tavolo per."],
    ["pt-BR", "Quero reservar uma mesa.", "Quero reservar uma mesa para."],
    ["nl", "Ik wil een tafel reserveren.", "Ik wil een tafel voor."],
    ["ja", "今日の天気はどうですか？", "今日の天気は"],
  ])("%s: %p is whole, %p is open", (language, whole, open) => {
    expect([looksWhole(whole, language), looksWhole(open, language)]).toEqual([true, false]);
  });

  test("a language without a list: a statement with a short last word is open; a single word and a question are whole", () => {
    expect(looksWhole("Chciałbym zarezerwować stolik na.", "pl")).toBe(false);
    expect(looksWhole("Chciałbym zarezerwować stolik.", "pl")).toBe(true);
    expect(looksWhole("Tak.", "pl")).toBe(true);
    expect(looksWhole("Która jest godzina, co?", "pl")).toBe(true);
    // The text names no language and has no common English word.
    expect(looksWhole("Chciałbym zarezerwować stolik na.")).toBe(false);
    expect(looksWhole("Haluaisin varata pöydän nyt.")).toBe(false);
  });

  test("a text of 4,000 characters: classified at once", () => {
    const start = performance.now();
    for (const text of ["a".repeat(4000), "'".repeat(4000), "mm ".repeat(1333), ".".repeat(4000)]) looksWhole(text);
    expect(performance.now() - start).toBeLessThan(5000);
  });
});
