/** The operator's settings of conversations: providers and limits of cost. */
import {
  CONVERSATION,
  DEFAULT_VOICE,
  MAX_CATALOG,
  type SyncRequest,
  TURNS,
} from "@realtime-avatar/domain/calls/worker-sync";
import { readInteger, readVariable, refuse, type Variables } from "@realtime-avatar/runtime/config";
import { readSpeechSettings } from "@realtime-avatar/runtime/config/speech";
import { type Endpoint, readProviderEndpoint } from "@realtime-avatar/runtime/providers/endpoints";
import { OPENAI, type SpeechSettings } from "@realtime-avatar/speech/settings";
import { listVoices } from "@realtime-avatar/speech/voices";
import { Secret } from "@realtime-avatar/storage/secret";

export type ConversationSettings = {
  /** The language model. */
  llm: Endpoint;
  /** The models that a start can name. The model of `llm` is the first. */
  models: readonly string[];
  /** The recognizer of speech. null: turns are typed. */
  stt: Endpoint | null;
  speech: SpeechSettings;
  /** The operator's instructions, placed before those of a call. */
  instructions: string;
  maxTokens: number;
  maxTurnsPerMinute: number;
};

const DEFAULT_INSTRUCTIONS =
  "You speak with a person in a video call. Answer in one to three short spoken sentences, without lists, markup or links.";
const MAX_INSTRUCTIONS_LENGTH = 8000;

/** The models of `LLM_MODELS`, each once. */
const readModels = (variables: Variables): readonly string[] =>
  readVariable<readonly string[]>(
    variables,
    "LLM_MODELS",
    [],
    `1 to ${MAX_CATALOG.models - 1} names of 1 to 160 visible ASCII characters, separated by commas`,
    (text) => {
      const models = [...new Set(text.split(",").map((name) => name.trim()))];
      const isValid = models.length < MAX_CATALOG.models && models.every((name) => /^[\x21-\x7e]{1,160}$/.test(name));
      return isValid ? models : undefined;
    },
  );

/** The settings of conversations. null: no language model is configured, and calls echo. */
export const readConversationSettings = (
  variables: Variables,
  speech = readSpeechSettings(variables),
): ConversationSettings | null => {
  const settings = {
    llm: readProviderEndpoint(variables, "LLM"),
    stt: readProviderEndpoint(variables, "STT"),
    speech,
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
  const models = readModels(variables);
  if (llm === null) {
    if (models.length > 0) refuse(variables, "LLM_MODELS", "unset without a language model");
    return null;
  }
  return { ...settings, llm, models: [...new Set([llm.model, ...models])] };
};

/** The supported fields of a start, for the conversation and for the avatar. */
export const conversationFeatures = ({ stt }: Pick<ConversationSettings, "stt">): readonly string[] => [
  ...[CONVERSATION, "instructions", "initial_context", "llm", "capabilities"],
  ...(stt ? ["transcription"] : []),
];

/** The voices and models that starts of calls can name at a worker. */
export const conversationCatalog = ({
  speech,
  models,
}: Pick<ConversationSettings, "speech" | "models">): NonNullable<SyncRequest["catalog"]> => ({
  voices: listVoices(speech).map(({ id }) => id),
  models: [...models],
});

/** Features of every worker: avatars speak with a voice. */
export const SPEECH_FEATURES: readonly string[] = [TURNS, "voice", DEFAULT_VOICE];

/** The providers as text for the log. Omits addresses, because an address can contain a secret. */
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
      ? { [Name in Exclude<keyof Type, "speakPiece">]: Packed<Type[Name]> }
      : Type;
/** The settings as a message to the process of a call, which cannot carry a `Secret` or a function. Must not be printed. */
export type PackedSettings = Packed<ConversationSettings>;

const packKey = <Server extends { apiKey: Secret | null }>(server: Server) => ({
  ...server,
  apiKey: server.apiKey?.reveal() ?? null,
});
const unpackKey = <Server extends { apiKey: string | null }>(server: Server) => ({
  ...server,
  apiKey: server.apiKey === null ? null : new Secret(server.apiKey),
});

export type PackedSpeech = Packed<SpeechSettings>;
export const packSpeech = ({ provider, speakPiece: _, ...others }: SpeechSettings): PackedSpeech => ({
  ...others,
  provider: provider && packKey(provider),
});
export const unpackSpeech = ({ provider, ...others }: PackedSpeech): SpeechSettings => ({
  ...others,
  provider: provider && unpackKey(provider),
});

export const packSettings = ({ llm, stt, speech, ...others }: ConversationSettings): PackedSettings => ({
  ...others,
  llm: packKey(llm),
  stt: stt && packKey(stt),
  speech: packSpeech(speech),
});

export const unpackSettings = ({ llm, stt, speech, ...others }: PackedSettings): ConversationSettings => ({
  ...others,
  llm: unpackKey(llm),
  stt: stt && unpackKey(stt),
  speech: unpackSpeech(speech),
});
