import { expect, test } from "bun:test";
import { FLITE_VOICES } from "../voices.ts";
import { readFliteSample } from "./flite-samples.ts";
import { sampleText } from "./sample-texts.ts";
import { makeSample } from "./write-files.ts";

test.each(FLITE_VOICES)("the sample of $id, compared with the voice's speech: the same bytes", async (voice) => {
  const sample = await readFliteSample(voice.id);
  expect(sample).toEqual(new Uint8Array(await makeSample(voice)));
  expect(new TextDecoder().decode(sample.subarray(0, 4))).toBe("RIFF");
});

test("the sample of another voice: refused", () => {
  for (const id of ["openai-alloy", "constructor"]) expect(readFliteSample(id)).rejects.toThrow("no sample");
});

test.each([
  ["fr-FR", /^Bonjour/],
  ["zh-Hant-TW", /^你好/],
  ["en-GB", /^Hello/],
  ["xx", /^Hello/],
  ["constructor", /^Hello/],
  [null, /^Hello/],
])("the text of a sample, in %s: in that language, or in English", (language, words) => {
  expect(sampleText(language)).toMatch(words);
});
