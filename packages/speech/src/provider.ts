/**
 * Speech from a server with OpenAI's API: `POST /audio/speech` with `response_format: "pcm"`. The server's response is
 * not trusted: its time and its bytes are bounded, no redirect is followed, and errors contain no part of it.
 */
import { SpeechError, type SpeechErrorCode } from "./errors.ts";
import type { SpeechProvider } from "./settings.ts";
import type { Voice } from "./voices.ts";

/** Longer sound for one request is malformed, because the speech of `MAX_REQUEST_LENGTH` characters is shorter. */
export const MAX_SOUND_SECONDS = 60;
/** The text of one request, in UTF-16 units. People speak 12 to 17 characters a second. */
export const MAX_REQUEST_LENGTH = 480;

/** How long the server may take. While the caller takes no sound, the time counts only for the total. */
export type SpeechTimeouts = {
  /** For the first byte, and for each further byte. */
  waitMs: number;
  totalMs: number;
};
export const SPEECH_TIMEOUTS: SpeechTimeouts = { waitMs: 10_000, totalMs: 120_000 };

const SAMPLE_BYTES = 2;
/** How files begin that a server sends in place of PCM: WAV, MP3, Ogg, FLAC, an HTML page, a JSON object. */
const FOREIGN = /^(?:RIFF|ID3|OggS|fLaC|\s*<(?:!DOCTYPE|html|\?xml)|\s*\{\s*")/i;
const FOREIGN_TYPE =
  /^(?:text\/|application\/(?:[\w.+-]*\+)?(?:json|xml)|audio\/(?:mpeg|mp3|wave?|x-wav|ogg|opus|aac|flac))/i;

const statusError = (status: number): SpeechErrorCode => {
  if (status === 408) return "voice_timeout";
  if (status === 429 || status >= 500) return "voice_busy";
  return status >= 400 ? "voice_refused" : "voice_malformed";
};

const requestSpeech = async (
  { url, apiKey, model }: SpeechProvider,
  body: { input: string; voice: string },
  signal: AbortSignal,
): Promise<Response> => {
  const response = await fetch(`${url}/audio/speech`, {
    method: "POST",
    // With this, a redirect is a response, and so differs from an unreachable server.
    redirect: "manual",
    headers: {
      "content-type": "application/json",
      accept: "audio/pcm, application/octet-stream",
      "accept-encoding": "identity",
      ...(apiKey && { authorization: `Bearer ${apiKey.reveal()}` }),
    },
    body: JSON.stringify({ model, ...body, response_format: "pcm" }),
    // An option of Bun: a compressed response is not unpacked, and then refused.
    decompress: false,
    signal,
  });
  const { status, headers, body: sound } = response;
  const isSound = !FOREIGN_TYPE.test(headers.get("content-type") ?? "") && !headers.get("content-encoding");
  if (status === 200 && isSound && sound !== null) return response;
  throw new SpeechError(statusError(response.status));
};

/** Turns chunks of bytes of any size into samples, and checks that they can be sound. */
const createSampleReader = (sampleRate: number) => {
  let bytesLeft = MAX_SOUND_SECONDS * sampleRate * SAMPLE_BYTES;
  let isEmpty = true;
  /** The first byte of a sample whose second byte is in the next chunk; empty when no sample is split. */
  let rest = new Uint8Array(0);
  return {
    read: (chunk: Uint8Array): Int16Array => {
      bytesLeft -= chunk.length;
      const bytes = new Uint8Array(rest.length + chunk.length);
      bytes.set(rest);
      bytes.set(chunk, rest.length);
      const isForeign = isEmpty && FOREIGN.test(new TextDecoder("latin1").decode(bytes.subarray(0, 64)));
      if (bytesLeft < 0 || isForeign) throw new SpeechError("voice_malformed");
      const length = Math.floor(bytes.length / SAMPLE_BYTES);
      if (length > 0) isEmpty = false;
      rest = bytes.slice(length * SAMPLE_BYTES);
      return new Int16Array(bytes.buffer, 0, length);
    },
    end: (): void => {
      if (isEmpty || rest.length > 0) throw new SpeechError("voice_malformed");
    },
  };
};

/** Ends a request when the server is late or the caller aborts it. */
const createLimits = ({ waitMs, totalMs }: SpeechTimeouts, caller: AbortSignal | undefined) => {
  const controller = new AbortController();
  const { signal } = controller;
  // Not `Promise.withResolvers`, which Node 20 does not have.
  const isAborted = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  isAborted.catch(() => {});
  const expire = (): void => controller.abort(new SpeechError("voice_timeout"));
  const cancel = (): void => controller.abort(caller?.reason);
  caller?.addEventListener("abort", cancel, { once: true });
  if (caller?.aborted) cancel();
  const total = setTimeout(expire, totalMs);
  let wait: ReturnType<typeof setTimeout> | undefined;
  return {
    signal,
    /** Waits for the server: at most `waitMs` since the last byte or the start. */
    next: <Result>(result: Promise<Result>): Promise<Result> => {
      wait ??= setTimeout(expire, waitMs);
      return Promise.race([result, isAborted]);
    },
    received: (): void => {
      clearTimeout(wait);
      wait = undefined;
    },
    /** Closes the connection as well, if the request runs. */
    end: (): void => {
      clearTimeout(wait);
      clearTimeout(total);
      caller?.removeEventListener("abort", cancel);
      controller.abort();
    },
  };
};

/**
 * The speech of a spoken text of at most `MAX_REQUEST_LENGTH`, as it arrives: 16-bit PCM, mono, at the rate of the
 * provider. The request ends when the caller stops iterating.
 *
 * Throws a `SpeechError`, or the reason of `signal` when it is aborted.
 */
export async function* speakWithProvider(
  provider: SpeechProvider,
  text: string,
  voice: Pick<Voice, "providerVoice">,
  { signal, timeouts = SPEECH_TIMEOUTS }: { signal?: AbortSignal | undefined; timeouts?: SpeechTimeouts } = {},
): AsyncGenerator<Int16Array> {
  const limits = createLimits(timeouts, signal);
  let hasResponse = false;
  try {
    const body = { input: text, voice: voice.providerVoice };
    const response = await limits.next(requestSpeech(provider, body, limits.signal));
    hasResponse = true;
    const reader = response.body?.getReader();
    const samples = createSampleReader(provider.sampleRate);
    for (;;) {
      const chunk = await limits.next(reader?.read() ?? Promise.reject(new SpeechError("voice_malformed")));
      limits.received();
      if (chunk.done) break;
      const pcm = samples.read(chunk.value);
      if (pcm.length > 0) yield pcm;
    }
    samples.end();
  } catch (error) {
    if (error instanceof SpeechError || error === signal?.reason) throw error;
    // The text of such an error can contain the address.
    throw new SpeechError(hasResponse ? "voice_malformed" : "voice_busy");
  } finally {
    limits.end();
  }
}
