/** The operator's settings of conversations: the providers, and the bounds of their cost. */
import { DEFAULT_VOICE } from "@realtime-avatar/domain/calls/worker-sync";
import { readInteger, readVariable, refuse, type Variables } from "@realtime-avatar/runtime/config";
import { OFF, readProviderKey, readProviderModel, readProviderUrl } from "@realtime-avatar/runtime/config/provider";
import { readSpeechSettings } from "@realtime-avatar/runtime/config/speech";
import { OPENAI, type SpeechSettings } from "@realtime-avatar/speech/settings";
import { Secret } from "@realtime-avatar/storage/secret";

/** A server with OpenAI's API. `apiKey`: null for a server without keys. */
export type Endpoint = { url: string; apiKey: Secret | null; model: string };

export type ConversationSettings = {
  /** The language model. */
  llm: Endpoint;
  /** The recognizer of speech. null: turns are typed. */
  stt: Endpoint | null;
  speech: SpeechSettings;
  /** The operator's own, which stand before those of a call. */
  instructions: string;
  maxTokens: number;
  maxTurnsPerMinute: number;
};

/** What OpenAI's servers are asked for without another setting. */
const OPENAI_MODELS = { LLM: "gpt-4.1-mini", STT: "gpt-4o-mini-transcribe" } as const;

const DEFAULT_INSTRUCTIONS =
  "You speak with a person in a video call. Answer in one to three short spoken sentences, without lists, markup or links.";
const MAX_INSTRUCTIONS_LENGTH = 8000;

/** The settings of a provider. */
type ProviderVariables = { url: string | null; apiKey: Secret | null; model: string | null };

/** With `<prefix>_URL` the server there, else with `OPENAI_API_KEY` OpenAI, else none. */
const chooseEndpoint = (
  variables: Variables,
  prefix: keyof typeof OPENAI_MODELS,
  { url, apiKey, model }: ProviderVariables,
): Endpoint | null => {
  const [urlName, keyName, modelName] = [`${prefix}_URL`, `${prefix}_API_KEY`, `${prefix}_MODEL`];
  const openAiKey = readProviderKey(variables, "OPENAI_API_KEY");
  if (url === OFF) return null;
  if (url !== null) {
    if (!variables[modelName]) refuse(variables, modelName, `set when ${urlName} is set`);
    return { url, apiKey, model: model ?? "" };
  }
  const isUrlUnset = !variables[urlName];
  if (openAiKey === null) {
    const isUnset = isUrlUnset && !variables["OPENAI_API_KEY"];
    const useless = [keyName, modelName].filter((name) => isUnset && variables[name]);
    for (const name of useless) refuse(variables, name, `unset when neither ${urlName} nor OPENAI_API_KEY is set`);
    return null;
  }
  // The key of OpenAI is sent to OpenAI alone, and no other key is.
  if (isUrlUnset && apiKey !== null) refuse(variables, keyName, `unset when ${urlName} is not set`);
  return { url: OPENAI.url, apiKey: openAiKey, model: model ?? OPENAI_MODELS[prefix] };
};

/** The settings of conversations; null without a language model: calls echo then. */
export const readConversationSettings = (variables: Variables): ConversationSettings | null => {
  const settings = {
    llm: chooseEndpoint(variables, "LLM", {
      url: readProviderUrl(variables, "LLM_URL"),
      apiKey: readProviderKey(variables, "LLM_API_KEY"),
      model: readProviderModel(variables, "LLM_MODEL"),
    }),
    stt: chooseEndpoint(variables, "STT", {
      url: readProviderUrl(variables, "STT_URL"),
      apiKey: readProviderKey(variables, "STT_API_KEY"),
      model: readProviderModel(variables, "STT_MODEL"),
    }),
    speech: readSpeechSettings(variables),
    instructions: readVariable(
      variables,
      "LLM_INSTRUCTIONS",
      DEFAULT_INSTRUCTIONS,
      `1 to ${MAX_INSTRUCTIONS_LENGTH} characters`,
      (text) => (text.length <= MAX_INSTRUCTIONS_LENGTH ? text : undefined),
    ),
    maxTokens: readInteger(variables, "LLM_MAX_TOKENS", 400, [16, 4096]),
    maxTurnsPerMinute: readInteger(variables, "LLM_MAX_TURNS_PER_MINUTE", 20, [1, 600]),
  };
  const { llm } = settings;
  return llm && { ...settings, llm };
};

/** The fields of the start of a call that a conversation uses, and of the avatar. */
export const conversationFeatures = ({ stt }: Pick<ConversationSettings, "stt">): readonly string[] => [
  ...["instructions", "initial_context", "voice", DEFAULT_VOICE, "capabilities"],
  ...(stt ? ["transcription"] : []),
];

/** The providers, for the log: an address can contain a secret. */
export const describeProviders = ({ llm, stt, speech: { provider } }: ConversationSettings) => {
  const describe = (server: Pick<Endpoint, "url" | "model"> | null) =>
    server && { isOpenAi: server.url === OPENAI.url, model: server.model };
  return { languageModel: describe(llm), recognizer: describe(stt), voice: describe(provider) };
};

type Packed<Type> = Type extends Secret
  ? string
  : Type extends readonly unknown[]
    ? Type
    : Type extends object
      ? { [Name in keyof Type]: Packed<Type[Name]> }
      : Type;
/** The settings in a message to the process of a call, which cannot carry a `Secret`. Not to be printed. */
export type PackedSettings = Packed<ConversationSettings>;

const packKey = <Server extends { apiKey: Secret | null }>(server: Server) => ({
  ...server,
  apiKey: server.apiKey?.reveal() ?? null,
});
const unpackKey = <Server extends { apiKey: string | null }>(server: Server) => ({
  ...server,
  apiKey: server.apiKey === null ? null : new Secret(server.apiKey),
});

export const packSettings = ({ llm, stt, speech, ...others }: ConversationSettings): PackedSettings => ({
  ...others,
  llm: packKey(llm),
  stt: stt && packKey(stt),
  speech: { ...speech, provider: speech.provider && packKey(speech.provider) },
});

export const unpackSettings = ({ llm, stt, speech, ...others }: PackedSettings): ConversationSettings => ({
  ...others,
  llm: unpackKey(llm),
  stt: stt && unpackKey(stt),
  speech: { ...speech, provider: speech.provider && unpackKey(speech.provider) },
});
