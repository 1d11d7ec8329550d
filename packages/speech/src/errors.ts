/** The errors of speech. */

/** Each code, and whether the same request can succeed when it is repeated. */
export const SPEECH_ERRORS = {
  /** The provider refuses the request: the key, the model, the voice, or the text. */
  voice_refused: { isRepeatable: false, message: "The voice provider refused the request." },
  /** Too many requests, or the provider cannot work or be reached now. */
  voice_busy: { isRepeatable: true, message: "The voice provider is busy or not available." },
  voice_timeout: { isRepeatable: true, message: "The voice provider did not respond in time." },
  /** The response is not sound, is too large, or is incomplete. */
  voice_malformed: { isRepeatable: true, message: "The voice provider sent no valid sound." },
} as const;
export type SpeechErrorCode = keyof typeof SPEECH_ERRORS;

/** It can be logged and shown: it contains no bytes of the provider, no address, no key and no text. */
export class SpeechError extends Error {
  override readonly name = "SpeechError";

  constructor(readonly code: SpeechErrorCode) {
    super(SPEECH_ERRORS[code].message);
  }

  get isRepeatable(): boolean {
    return SPEECH_ERRORS[this.code].isRepeatable;
  }
}
