/** Writes the samples of the voices of Flite: `bun packages/speech/src/samples/write-files.ts`. A test compares them. */
import { join } from "node:path";
import { FLITE_SAMPLE_RATE, speakWithFlite } from "../flite.ts";
import { collectSpeech } from "../speak.ts";
import { FLITE_VOICES, type Voice } from "../voices.ts";
import { encodeWav } from "../wav.ts";
import { sampleText } from "./sample-texts.ts";

export const makeSample = async (voice: Voice): Promise<Uint8Array> =>
  encodeWav(await collectSpeech(speakWithFlite(sampleText(voice.language), voice)), FLITE_SAMPLE_RATE);

if (import.meta.main) {
  for (const voice of FLITE_VOICES) await Bun.write(join(import.meta.dir, `${voice.id}.wav`), await makeSample(voice));
}
