/** Whether the providers of conversations respond: one free request to each. */
import type { Endpoint } from "./endpoints.ts";

/** The language model, the recognizer of speech, and the voice. */
export const PROVIDERS = ["llm", "stt", "tts"] as const;
export type Provider = (typeof PROVIDERS)[number];

/** `refused`: the key, or the address. `busy`: 429, or 500 and above. */
export type ProviderHealth = "ok" | "refused" | "busy" | "timeout" | "unreachable";

/** null: not configured. */
export type ProviderEndpoints = { [Name in Provider]?: Pick<Endpoint, "url" | "apiKey"> | null };
/** The configured providers. */
export type ProvidersHealth = { [Name in Provider]?: ProviderHealth };

const CHECK_MS = 5000;

const healthOf = (status: number): ProviderHealth => {
  if (status === 408 || status === 504) return "timeout";
  if (status === 429 || status >= 500) return "busy";
  // A server that lacks this route has responded, so it works.
  return status < 300 || status === 404 || status === 405 ? "ok" : "refused";
};

/** Asks a provider for its models: `GET /models`. Follows no redirect, and reads no body. */
const checkProvider = async (
  { url, apiKey }: Pick<Endpoint, "url" | "apiKey">,
  timeoutMs: number,
): Promise<ProviderHealth> => {
  try {
    const response = await fetch(`${url}/models`, {
      redirect: "manual",
      headers: apiKey ? { authorization: `Bearer ${apiKey.reveal()}` } : {},
      signal: AbortSignal.timeout(timeoutMs),
    });
    await response.body?.cancel();
    return healthOf(response.status);
  } catch (error) {
    return error instanceof Error && error.name === "TimeoutError" ? "timeout" : "unreachable";
  }
};

/** The health of each configured provider. */
export const checkProviders = async (endpoints: ProviderEndpoints, timeoutMs = CHECK_MS): Promise<ProvidersHealth> => {
  const configured = PROVIDERS.flatMap((name) => {
    const endpoint = endpoints[name];
    return endpoint ? [{ name, endpoint }] : [];
  });
  const checked = await Promise.all(
    configured.map(async ({ name, endpoint }) => [name, await checkProvider(endpoint, timeoutMs)] as const),
  );
  return Object.fromEntries(checked);
};
