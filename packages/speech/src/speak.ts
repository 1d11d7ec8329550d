/** From a text and a voice to speech at 48 kHz, for each kind of voice. */
import { codePointLength } from "@realtime-avatar/domain/text";
import { SpeechError } from "./errors.ts";
import { FLITE_SAMPLE_RATE, speakWithFlite } from "./flite.ts";
import { MAX_REQUEST_LENGTH, type SpeechTimeouts, speakWithProvider } from "./provider.ts";
import { createResampler } from "./resample.ts";
import { splitText } from "./sentences.ts";
import type { SpeechProvider, SpeechSettings } from "./settings.ts";
import { MAX_TEXT_LENGTH, voiceText } from "./text.ts";
import type { Voice } from "./voices.ts";

export type SpeakOptions = { signal?: AbortSignal | undefined; timeouts?: SpeechTimeouts };

/** The parts of a text, one request after another. */
async function* speakParts(
  provider: SpeechProvider,
  text: string,
  voice: Voice,
  options: SpeakOptions,
): AsyncGenerator<Int16Array> {
  for (const part of splitText(text, MAX_REQUEST_LENGTH)) yield* speakWithProvider(provider, part, voice, options);
}

/**
 * The speech of a written text, as it arrives: 16-bit PCM, mono, 48 kHz. Empty when the voice can speak no part of it
 * (`voiceText`).
 *
 * Throws a `SpeechError` (`voice_refused` for a voice whose provider is no longer set), a `RangeError` for a text of
 * more than `MAX_TEXT_LENGTH` characters, or the reason of `signal` when it is aborted.
 */
export async function* speak(
  text: string,
  voice: Voice,
  { provider, speakPiece }: Pick<SpeechSettings, "provider" | "speakPiece">,
  options: SpeakOptions = {},
): AsyncGenerator<Int16Array> {
  if (voice.provider !== "flite" && provider === null) throw new SpeechError("voice_refused");
  if (codePointLength(text) > MAX_TEXT_LENGTH) throw new RangeError(`The text exceeds ${MAX_TEXT_LENGTH} characters.`);
  const words = voiceText(text, voice);
  const isFlite = voice.provider === "flite" || provider === null;
  const resampler = createResampler(isFlite ? FLITE_SAMPLE_RATE : provider.sampleRate);
  const sound = isFlite
    ? speakWithFlite(words, voice, options.signal, speakPiece)
    : speakParts(provider, words, voice, options);
  for await (const pcm of sound) {
    const samples = resampler.push(pcm);
    if (samples.length > 0) yield samples;
  }
  const rest = resampler.flush();
  if (rest.length > 0) yield rest;
}

/** All of a speech in one piece. */
export const collectSpeech = async (speech: AsyncIterable<Int16Array>): Promise<Int16Array> => {
  const parts: Int16Array[] = [];
  for await (const part of speech) parts.push(part);
  const all = new Int16Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
};
