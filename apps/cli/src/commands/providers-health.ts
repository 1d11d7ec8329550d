/** Whether the providers of conversations respond. */
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
 * Checks the providers of this environment if the API runs on its embedded database. The API then starts an avatar
 * worker, which has no health checks. `timeoutMs`: for each provider.
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
