/** The voices of the service, from the variables that all its processes share. */
import {
  DEFAULT_SAMPLE_RATE,
  FLITE_SETTINGS,
  OPENAI,
  parseVoices,
  SAMPLE_RATES,
  type SampleRate,
  type SpeechProvider,
  type SpeechSettings,
  VOICES_FORM,
} from "@realtime-avatar/speech/settings";
import { findVoice, type Voice } from "@realtime-avatar/speech/voices";
import { Secret } from "@realtime-avatar/storage/secret";
import { readVariable, refuse, type Variables } from "../config.ts";

/** What is only used with a provider. */
const PROVIDER_VARIABLES = ["TTS_API_KEY", "TTS_MODEL", "TTS_VOICES", "TTS_RATE"];

/** In `TTS_URL`: no provider, whatever else is set. */
const OFF = "off";

const readUrl = (variables: Variables): string | null =>
  readVariable<string | null>(
    variables,
    "TTS_URL",
    null,
    `an http:// or https:// URL without credentials or query, such as https://api.openai.com/v1, or ${OFF}`,
    (text) => {
      if (text === OFF) return text;
      const isUrl = /^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/.test(text) && URL.canParse(text);
      return isUrl ? text.replace(/\/+$/, "") : undefined;
    },
  );

/** 1 to 512 characters that a header can have. */
const readKey = (variables: Variables, name: string): Secret | null =>
  readVariable<Secret | null>(variables, name, null, "1 to 512 visible ASCII characters", (text) =>
    /^[\x21-\x7e]{1,512}$/.test(text) ? new Secret(text) : undefined,
  );

const readModel = (variables: Variables, fallback: string): string =>
  readVariable(variables, "TTS_MODEL", fallback, "1 to 160 visible ASCII characters", (text) =>
    /^[\x21-\x7e]{1,160}$/.test(text) ? text : undefined,
  );

const readRate = (variables: Variables): SampleRate =>
  readVariable<SampleRate>(variables, "TTS_RATE", DEFAULT_SAMPLE_RATE, `one of ${SAMPLE_RATES.join(", ")}`, (text) =>
    SAMPLE_RATES.find((rate) => String(rate) === text),
  );

const readVoices = (variables: Variables, fallback: readonly Voice[]): readonly Voice[] =>
  readVariable(variables, "TTS_VOICES", fallback, VOICES_FORM, parseVoices);

/** A server of the operator's choice, which needs a model and voices. */
const readServer = (variables: Variables, url: string): SpeechSettings => {
  for (const name of ["TTS_MODEL", "TTS_VOICES"]) {
    if (!variables[name]) refuse(variables, name, "set when TTS_URL is set");
  }
  const [apiKey, model] = [readKey(variables, "TTS_API_KEY"), readModel(variables, "")];
  return withVoices({ url, apiKey, model, sampleRate: readRate(variables) }, readVoices(variables, []));
};

/** OpenAI. Its key is sent to no other server. */
const readOpenAi = (variables: Variables, apiKey: Secret): SpeechSettings => {
  if (variables["TTS_API_KEY"]) refuse(variables, "TTS_API_KEY", "unset when TTS_URL is not set");
  const model = readModel(variables, OPENAI.model);
  return withVoices(
    { url: OPENAI.url, apiKey, model, sampleRate: readRate(variables) },
    readVoices(variables, OPENAI.voices),
  );
};

const withVoices = (provider: SpeechProvider, voices: readonly Voice[]): SpeechSettings => ({
  provider,
  voices,
  defaultVoiceId: voices[0]?.id ?? FLITE_SETTINGS.defaultVoiceId,
});

const readProvider = (variables: Variables): SpeechSettings => {
  const url = readUrl(variables);
  const openAiKey = readKey(variables, "OPENAI_API_KEY");
  if (url !== null && url !== OFF) return readServer(variables, url);
  if (url === null && openAiKey !== null) return readOpenAi(variables, openAiKey);
  if (!variables["TTS_URL"]) {
    for (const name of PROVIDER_VARIABLES) {
      if (variables[name]) refuse(variables, name, "unset when neither TTS_URL nor OPENAI_API_KEY is set");
    }
  }
  return FLITE_SETTINGS;
};

/**
 * The voices and their provider: with `TTS_URL` the server there, else with `OPENAI_API_KEY` OpenAI, else Flite alone. Throws a
 * `ConfigError` that names an invalid variable.
 */
export const readSpeechSettings = (variables: Variables): SpeechSettings => {
  const settings = readProvider(variables);
  const defaultVoiceId = readVariable(
    variables,
    "TTS_VOICE",
    settings.defaultVoiceId,
    "the id of a voice of Flite or of TTS_VOICES",
    (text) => findVoice(settings, text)?.id,
  );
  return { ...settings, defaultVoiceId };
};
