/** The samples of voices: read or made once, and cached in memory. */
import { Problem } from "@realtime-avatar/domain/problem";
import { SpeechError } from "@realtime-avatar/speech/errors";
import { type SpeechTimeouts, speakWithProvider } from "@realtime-avatar/speech/provider";
import { readFliteSample } from "@realtime-avatar/speech/samples/flite-samples";
import { sampleText } from "@realtime-avatar/speech/samples/sample-texts";
import type { SpeechSettings } from "@realtime-avatar/speech/settings";
import type { Voice } from "@realtime-avatar/speech/voices";
import { encodeWav } from "@realtime-avatar/speech/wav";

/** Longer samples are cut. At 48 kHz, this is 1 MB. */
const MAX_SAMPLE_SECONDS = 10;
/** Room for 130 samples of five seconds at 24 kHz. */
const MAX_CACHE_BYTES = 32 * 1024 * 1024;
/**
 * Maximum number of samples that are made at once, so that a caller of all voices does not exhaust the provider's
 * limit.
 */
const MAX_IN_PROGRESS = 4;
/** How long a voice is not requested again after its provider failed. */
const FAILURE_MS = 5000;
const TIMEOUTS: SpeechTimeouts = { waitMs: 10_000, totalMs: 20_000 };

export type VoiceSamples = {
  /**
   * Returns a WAV file. Throws the problem `unavailable` when the provider fails, or when too many samples are being
   * made.
   */
  read(voice: Voice): Promise<Uint8Array>;
};

const unavailable = (detail: string, cause?: unknown): Problem =>
  new Problem("unavailable", detail, { retryable: true, retryAfterSeconds: FAILURE_MS / 1000 }, { cause });

/** The first seconds of the provider's sound. */
const makeSample = async ({ provider }: SpeechSettings, voice: Voice): Promise<Uint8Array> => {
  if (voice.provider === "flite") return readFliteSample(voice.id);
  if (provider === null) throw new SpeechError("voice_refused");
  const samples = new Int16Array(MAX_SAMPLE_SECONDS * provider.sampleRate);
  let length = 0;
  for await (const pcm of speakWithProvider(provider, sampleText(voice.language), voice, { timeouts: TIMEOUTS })) {
    const part = pcm.subarray(0, samples.length - length);
    samples.set(part, length);
    length += part.length;
    if (length === samples.length) break;
  }
  return encodeWav(samples.subarray(0, length), provider.sampleRate);
};

/** `now` is a clock in milliseconds. */
export const createVoiceSamples = (
  settings: SpeechSettings,
  { now = () => performance.now(), maxBytes = MAX_CACHE_BYTES }: { now?: () => number; maxBytes?: number } = {},
): VoiceSamples => {
  /** The samples by voice, the least recently requested first. */
  const cache = new Map<string, Uint8Array>();
  const inProgress = new Map<string, Promise<Uint8Array>>();
  const failedAt = new Map<string, number>();
  let bytes = 0;

  const keep = (id: string, sample: Uint8Array): void => {
    cache.set(id, sample);
    bytes += sample.length;
    for (const [oldest, { length }] of cache) {
      if (bytes <= maxBytes) break;
      cache.delete(oldest);
      bytes -= length;
    }
  };

  const make = async (voice: Voice): Promise<Uint8Array> => {
    try {
      const sample = await makeSample(settings, voice);
      keep(voice.id, sample);
      return sample;
    } catch (error) {
      if (!(error instanceof SpeechError)) throw error;
      failedAt.set(voice.id, now());
      throw unavailable("The provider of this voice is not available at present.", error);
    } finally {
      inProgress.delete(voice.id);
    }
  };

  return {
    read: async (voice) => {
      const cached = cache.get(voice.id);
      if (cached !== undefined) {
        cache.delete(voice.id);
        cache.set(voice.id, cached);
        return cached;
      }
      const running = inProgress.get(voice.id);
      if (running !== undefined) return running;
      if (now() - (failedAt.get(voice.id) ?? Number.NEGATIVE_INFINITY) < FAILURE_MS) {
        throw unavailable("The provider of this voice has just failed.");
      }
      if (inProgress.size >= MAX_IN_PROGRESS) throw unavailable("Too many samples are being made. Try again shortly.");
      const sample = make(voice);
      inProgress.set(voice.id, sample);
      return sample;
    },
  };
};
