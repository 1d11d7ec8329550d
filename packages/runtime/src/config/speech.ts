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
import { readVariable, refuse, type Variables } from "../config.ts";
import { OFF, readProviderKey, readProviderModel, readProviderUrl } from "./provider.ts";

/** Each variable is read separately, so that one error names all invalid values. */
const readAll = (variables: Variables) => ({
  url: readProviderUrl(variables, "TTS_URL"),
  apiKey: readProviderKey(variables, "TTS_API_KEY"),
  openAiKey: readProviderKey(variables, "OPENAI_API_KEY"),
  model: readProviderModel(variables, "TTS_MODEL"),
  voices: readVariable<readonly Voice[] | null>(variables, "TTS_VOICES", null, VOICES_FORM, parseVoices),
  sampleRate: readVariable<SampleRate>(
    variables,
    "TTS_RATE",
    DEFAULT_SAMPLE_RATE,
    `one of ${SAMPLE_RATES.join(", ")}`,
    (text) => SAMPLE_RATES.find((rate) => String(rate) === text),
  ),
});

const withVoices = (provider: SpeechProvider, voices: readonly Voice[]): SpeechSettings => ({
  provider,
  voices,
  defaultVoiceId: voices[0]?.id ?? FLITE_SETTINGS.defaultVoiceId,
});

const readProvider = (variables: Variables): SpeechSettings => {
  const { url, apiKey, openAiKey, model, voices, sampleRate } = readAll(variables);
  const refuseIf = (isWrong: boolean, names: readonly string[], form: string): void => {
    for (const name of isWrong ? names : []) refuse(variables, name, form);
  };
  const set = ["TTS_API_KEY", "TTS_MODEL", "TTS_VOICES"].filter((name) => variables[name]);
  if (url === OFF) return FLITE_SETTINGS;
  if (url !== null) {
    const needed = ["TTS_MODEL", "TTS_VOICES"].filter((name) => !set.includes(name));
    refuseIf(true, needed, "set when TTS_URL is set");
    return withVoices({ url, apiKey, model: model ?? "", sampleRate }, voices ?? []);
  }
  const isUrlUnset = !variables["TTS_URL"];
  if (openAiKey === null) {
    refuseIf(isUrlUnset && !variables["OPENAI_API_KEY"], set, "unset when neither TTS_URL nor OPENAI_API_KEY is set");
    return FLITE_SETTINGS;
  }
  // `OPENAI_API_KEY` is sent only to OpenAI, and OpenAI gets no other key.
  refuseIf(isUrlUnset && apiKey !== null, ["TTS_API_KEY"], "unset when TTS_URL is not set");
  const provider = { url: OPENAI.url, apiKey: openAiKey, model: model ?? OPENAI.model, sampleRate };
  return withVoices(provider, voices ?? OPENAI.voices);
};

/**
 * The voices and their provider: the server at `TTS_URL`; without it, OpenAI if `OPENAI_API_KEY` is set; otherwise
 * Flite alone. Throws a `ConfigError` that names an invalid variable.
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
