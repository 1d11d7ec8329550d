/** Why a provider of a conversation has failed. */
import { PROVIDERS, type Provider } from "@realtime-avatar/runtime/providers/check";
import { SpeechError } from "@realtime-avatar/speech/errors";

export { PROVIDERS, type Provider };

export const FAILURES = [
  /**
   * The provider refuses the request, because of the key, the model or the content. A redirect counts too, because it
   * is not followed.
   */
  "refused",
  /** Too many requests, or the provider is unavailable or unreachable. */
  "busy",
  "timeout",
  /** The response does not follow the API, is too large, or is incomplete. */
  "malformed",
] as const;
export type Failure = (typeof FAILURES)[number];

/** Safe to log: contains no data of the provider, no address, no key and no text. */
export class ProviderError extends Error {
  override readonly name = "ProviderError";

  constructor(
    readonly provider: Provider,
    readonly why: Failure,
    /** Whether the server refuses the form of the request (HTTP 400). */
    readonly isBadRequest = false,
  ) {
    super(`${provider}: ${why}`);
  }
}

/** Converts an error of a voice into a `ProviderError`. Other errors stay unchanged. */
export const voiceError = (error: unknown): unknown =>
  error instanceof SpeechError ? new ProviderError("tts", error.code.slice("voice_".length) as Failure) : error;
