/** The operator's settings of voices. The variables are read by `@realtime-avatar/runtime/config/speech`. */
import { isListedVoiceId, MAX_OPERATOR_VOICES } from "@realtime-avatar/domain/voices/schemas";
import type { Secret } from "@realtime-avatar/storage/secret";
import type { SpeakPiece } from "./flite.ts";
import { DEFAULT_FLITE_VOICE_ID, FLITE_VOICES, type Voice, type VoiceSettings } from "./voices.ts";

/** A server with OpenAI's API of `/audio/speech`. */
export type SpeechProvider = {
  /** The base, such as `https://api.openai.com/v1`, without a slash at its end. */
  url: string;
  /** Sent as a bearer token; null for a server without keys. */
  apiKey: Secret | null;
  model: string;
  /** The rate of its PCM in samples a second. The API does not report it. */
  sampleRate: SampleRate;
};

export type SpeechSettings = VoiceSettings & {
  /** null: the voices of Flite alone. */
  provider: SpeechProvider | null;
  /** Runs Flite. Without it, Flite blocks the thread that wants the speech. */
  speakPiece?: SpeakPiece;
};

/** The rates that sound can have, in samples a second. */
export const SAMPLE_RATES = [8000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000] as const;
export type SampleRate = (typeof SAMPLE_RATES)[number];
/** The rate of OpenAI, and of most servers with its API. */
export const DEFAULT_SAMPLE_RATE = 24_000;

/** Without configuration. */
export const FLITE_SETTINGS: SpeechSettings = { provider: null, voices: [], defaultVoiceId: DEFAULT_FLITE_VOICE_ID };

/** The settings that follow from `OPENAI_API_KEY` alone. */
export const OPENAI = {
  url: "https://api.openai.com/v1",
  model: "gpt-4o-mini-tts",
  voices: ["alloy", "ash", "coral", "echo", "fable", "nova", "onyx", "sage", "shimmer"].map(
    (name): Voice => ({
      id: `openai-${name}`,
      name: `OpenAI ${name}`,
      language: null,
      provider: "openai",
      providerVoice: name,
    }),
  ),
} as const;

const MAX_NAME_LENGTH = 160;
const FIELDS = new Set(["voice", "name", "language"]);

const isName = (value: unknown): value is string =>
  typeof value === "string" && /^[^\p{C}]+$/u.test(value) && value.length <= MAX_NAME_LENGTH;
/** The accepted part of BCP 47: `en`, `pt-BR`, `zh-Hant-TW`. */
const isLanguage = (value: unknown): value is string =>
  typeof value === "string" && /^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$/.test(value);

const parseVoice = (id: string, value: unknown): Voice | undefined => {
  const fields = typeof value === "string" ? { voice: value } : value;
  if (typeof fields !== "object" || fields === null || Array.isArray(fields)) return undefined;
  const { voice, name = id, language = null } = fields as Record<string, unknown>;
  const isKnown = Object.keys(fields).every((field) => FIELDS.has(field));
  const isTaken = FLITE_VOICES.some((flite) => flite.id === id);
  if (!isKnown || isTaken || !isListedVoiceId(id) || !isName(voice) || !isName(name)) return undefined;
  if (language !== null && !isLanguage(language)) return undefined;
  return { id, name, language, provider: "openai", providerVoice: voice };
};

/** The form of `TTS_VOICES`, for error messages. */
export const VOICES_FORM = `a JSON object of 1 to ${MAX_OPERATOR_VOICES} voices: ids of 8 to 160 letters, digits, ".", "_" and "-" that are not those of Flite, each with the provider's name ("af_heart") or {"voice", "name", "language"}`;

/** Parses `TTS_VOICES`. Returns `undefined` for another form. The first one is the default voice. */
export const parseVoices = (text: string): readonly Voice[] | undefined => {
  let entries: [string, unknown][];
  try {
    const json: unknown = JSON.parse(text);
    if (typeof json !== "object" || json === null || Array.isArray(json)) return undefined;
    entries = Object.entries(json);
  } catch {
    return undefined;
  }
  if (entries.length === 0 || entries.length > MAX_OPERATOR_VOICES) return undefined;
  const voices = entries.map(([id, value]) => parseVoice(id, value));
  return voices.every((voice) => voice !== undefined) ? voices : undefined;
};
