/** Why a provider of a conversation has failed. */
import { PROVIDERS, type Provider } from "@realtime-avatar/runtime/providers/check";
import { SpeechError } from "@realtime-avatar/speech/errors";

export { PROVIDERS, type Provider };

export const FAILURES = [
  /** The provider refuses the request: the key, the model, or what is sent. Also a redirect, which is not followed. */
  "refused",
  /** Too many requests, or the provider cannot work or be reached now. */
  "busy",
  "timeout",
  /** The response does not follow the API, is too large, or is incomplete. */
  "malformed",
] as const;
export type Failure = (typeof FAILURES)[number];

/** Has nothing that the provider sent, no address, no key and no text: it can be logged. */
export class ProviderError extends Error {
  override readonly name = "ProviderError";

  constructor(
    readonly provider: Provider,
    readonly why: Failure,
    /** The server does not take a request of this form. */
    readonly isBadRequest = false,
  ) {
    super(`${provider}: ${why}`);
  }
}

/** The same for an error of a voice. Others stay as they are. */
export const voiceError = (error: unknown): unknown =>
  error instanceof SpeechError ? new ProviderError("tts", error.code.slice("voice_".length) as Failure) : error;
