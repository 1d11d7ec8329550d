/** Whether the providers of conversations answer. */
import { readCommonConfig, readVariables } from "@realtime-avatar/runtime/config";
import { readSpeechSettings } from "@realtime-avatar/runtime/config/speech";
import {
  checkProviders,
  PROVIDERS,
  type Provider,
  type ProvidersHealth,
} from "@realtime-avatar/runtime/providers/check";
import { readProviderEndpoint } from "@realtime-avatar/runtime/providers/endpoints";

/**
 * Tries the providers of this environment, where the API has its own database: it starts an avatar worker then, which has no health
 * checks. `timeoutMs`: for each.
 */
export const checkOwnProviders = async (timeoutMs: number): Promise<ProvidersHealth> => {
  const { database } = readVariables(process.env, readCommonConfig);
  if (database.databaseUrl !== null) return {};
  const endpoints = readVariables(process.env, (variables) => ({
    llm: readProviderEndpoint(variables, "LLM"),
    stt: readProviderEndpoint(variables, "STT"),
    tts: readSpeechSettings(variables).provider,
  }));
  return checkProviders(endpoints, timeoutMs);
};

const NAMES: Record<Provider, string> = { llm: "language model", stt: "recognizer", tts: "voice" };

/** A line for each provider. */
export const providersTexts = (health: ProvidersHealth): string[] =>
  PROVIDERS.flatMap((provider) => (health[provider] ? [`${NAMES[provider]}: ${health[provider]}`] : []));
