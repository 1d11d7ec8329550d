import { expect, test } from "bun:test";
import { VoiceId } from "@realtime-avatar/domain/voices/schemas";
import { FLITE_SETTINGS, OPENAI, parseVoices } from "./settings.ts";
import { defaultVoice, FLITE_VOICES, findVoice, listVoices } from "./voices.ts";

test("the list of voices, without configuration: those of Flite, and flite-slt is the default", () => {
  expect(listVoices(FLITE_SETTINGS)).toEqual(FLITE_VOICES);
  expect(defaultVoice(FLITE_SETTINGS).id).toBe("flite-slt");
});

test("the voices of an operator, in the list: first, and found by their id", () => {
  const voices = parseVoices('{"narrator-1": "af_heart"}') ?? [];
  const settings = { ...FLITE_SETTINGS, voices };
  expect(listVoices(settings).map(({ id }) => id)).toEqual(["narrator-1", ...FLITE_VOICES.map(({ id }) => id)]);
  expect(findVoice(settings, "narrator-1")?.providerVoice).toBe("af_heart");
  for (const id of ["af_heart", "", "slt", "constructor", "__proto__"]) expect(findVoice(settings, id)).toBeNull();
});

test("the ids of all voices: unique, and valid as defaultVoiceId", () => {
  const ids = [...FLITE_VOICES, ...OPENAI.voices].map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  const { minLength = 0, maxLength = 0 } = VoiceId("");
  for (const { length } of ids) expect(length).toBeWithin(minLength, maxLength + 1);
});

test("TTS_VOICES, with names alone or with further fields: voices in their order", () => {
  const text = `{"kokoro-heart": {"voice": "af_heart", "name": "Heart", "language": "en-US"}, "kokoro-emma": "bf_emma"}`;
  expect(parseVoices(text)).toEqual([
    { id: "kokoro-heart", name: "Heart", language: "en-US", provider: "openai", providerVoice: "af_heart" },
    { id: "kokoro-emma", name: "kokoro-emma", language: null, provider: "openai", providerVoice: "bf_emma" },
  ]);
  expect(parseVoices(`{"${"a".repeat(160)}": "x"}`)).toHaveLength(1);
});

test.each([
  ["no JSON", "af_heart"],
  ["a list", '["narrator-1"]'],
  ["null", "null"],
  ["none", "{}"],
  ["a short id", '{"short-1": "x"}'],
  ["a long id", `{"${"a".repeat(161)}": "x"}`],
  ["an id that a URL would have to escape", '{"narrator/1": "x"}'],
  ["an id that begins with a dot", '{"..narrator": "x"}'],
  ["the id of a voice of Flite", '{"flite-slt": "x"}'],
  ["a voice without a name", '{"narrator-1": ""}'],
  ["a number", '{"narrator-1": 5}'],
  ["null as a voice", '{"narrator-1": null}'],
  ["an unknown field", '{"narrator-1": {"voice": "x", "model": "y"}}'],
  ["an object without the voice", '{"narrator-1": {"name": "x"}}'],
  ["a control character", '{"narrator-1": "a\\nb"}'],
  ["a bad language", '{"narrator-1": {"voice": "x", "language": "English"}}'],
  ["too many", JSON.stringify(Object.fromEntries(Array.from({ length: 201 }, (_, at) => [`narrator-${at}`, "x"])))],
])("TTS_VOICES, %s: refused", (_, text) => {
  expect(parseVoices(text)).toBeUndefined();
});
