/** The text of a turn: `POST /audio/transcriptions`. */
import type { Endpoint } from "@realtime-avatar/runtime/providers/endpoints";
import { ProviderError } from "./errors.ts";
import { type RequestLimits, requestBytes } from "./request.ts";

/** Longest text: a minute of speech has about 1,000 characters. */
export const MAX_HEARD_LENGTH = 4000;
export const TRANSCRIPTION_LIMITS: RequestLimits = { waitMs: 10_000, totalMs: 20_000, maxBytes: 256 * 1024 };

const HEADER_BYTES = 44;
const SAMPLE_BYTES = 2;

/** A WAV file of 16-bit PCM, mono. */
const encodeWav = (pcm: Int16Array, sampleRate: number): Uint8Array<ArrayBuffer> => {
  const file = new Uint8Array(HEADER_BYTES + pcm.byteLength);
  const view = new DataView(file.buffer);
  file.set(new TextEncoder().encode("RIFF    WAVEfmt "), 0);
  view.setUint32(4, file.length - 8, true);
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, sampleRate, true);
  view.setUint32(28, sampleRate * SAMPLE_BYTES, true);
  view.setUint16(32, SAMPLE_BYTES, true);
  view.setUint16(34, 8 * SAMPLE_BYTES, true);
  file.set(new TextEncoder().encode("data"), 36);
  view.setUint32(40, pcm.byteLength, true);
  file.set(new Uint8Array(pcm.buffer, pcm.byteOffset, pcm.byteLength), HEADER_BYTES);
  return file;
};

/** Hints for a recognizer: a language as ISO 639-1 (`en`), and likely words. */
export type TranscriptionHints = { language?: string | undefined; vocabulary?: string | undefined };
export type TranscriptionOptions = {
  sampleRate: number;
  hints: TranscriptionHints;
  signal: AbortSignal;
  limits?: RequestLimits;
};

const requestBody = ({ model }: Endpoint, sound: Int16Array, { sampleRate, hints }: TranscriptionOptions): FormData => {
  const form = new FormData();
  form.set("file", new Blob([encodeWav(sound, sampleRate)], { type: "audio/wav" }), "speech.wav");
  form.set("model", model);
  form.set("response_format", "json");
  if (hints.language) form.set("language", hints.language);
  if (hints.vocabulary) form.set("prompt", hints.vocabulary);
  return form;
};

const readText = (bytes: Uint8Array): string => {
  try {
    const { text } = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    if (typeof text === "string") return text.trim().slice(0, MAX_HEARD_LENGTH).toWellFormed();
  } catch {
    // Malformed JSON counts as a response without a text.
  }
  throw new ProviderError("stt", "malformed");
};

/** The text of `sound` (16-bit PCM, mono); empty when the sound has no words. Throws like `requestBytes`. */
export const transcribe = async (
  endpoint: Endpoint,
  sound: Int16Array,
  options: TranscriptionOptions,
): Promise<string> => {
  const { signal, limits = TRANSCRIPTION_LIMITS } = options;
  const body = requestBody(endpoint, sound, options);
  const parts: Uint8Array[] = [];
  const bytes = requestBytes({ provider: "stt", endpoint, path: "/audio/transcriptions", body, limits, signal });
  for await (const part of bytes) parts.push(part);
  return readText(Buffer.concat(parts));
};
