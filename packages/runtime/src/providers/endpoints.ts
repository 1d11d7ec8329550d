/** The servers of conversations with OpenAI's API: the language model and the recognizer of speech, from variables. */
import { OPENAI } from "@realtime-avatar/speech/settings";
import type { Secret } from "@realtime-avatar/storage/secret";
import { OFF, readProviderKey, readProviderModel, readProviderUrl } from "../config/provider.ts";
import { refuse, type Variables } from "../config.ts";

/** A server with OpenAI's API. `apiKey`: null for a server without keys. */
export type Endpoint = { url: string; apiKey: Secret | null; model: string };

/** The defaults for OpenAI's servers. */
const OPENAI_MODELS = { LLM: "gpt-4.1-mini", STT: "gpt-4o-mini-transcribe" } as const;

/** The server at `<prefix>_URL`; without it, OpenAI if `OPENAI_API_KEY` is set; otherwise null. */
export const readProviderEndpoint = (variables: Variables, prefix: keyof typeof OPENAI_MODELS): Endpoint | null => {
  const [urlName, keyName, modelName] = [`${prefix}_URL`, `${prefix}_API_KEY`, `${prefix}_MODEL`];
  const url = readProviderUrl(variables, urlName);
  const apiKey = readProviderKey(variables, keyName);
  const model = readProviderModel(variables, modelName);
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
  // `OPENAI_API_KEY` is sent only to OpenAI, and OpenAI gets no other key.
  if (isUrlUnset && apiKey !== null) refuse(variables, keyName, `unset when ${urlName} is not set`);
  return { url: OPENAI.url, apiKey: openAiKey, model: model ?? OPENAI_MODELS[prefix] };
};
