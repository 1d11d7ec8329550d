/** Watches the providers of conversations by a free request to each once a minute. */
import {
  checkProviders,
  PROVIDERS,
  type ProviderHealth,
  type ProvidersHealth,
} from "@realtime-avatar/runtime/providers/check";
import type { ConversationSettings } from "../settings.ts";
import type { Provider } from "./errors.ts";

const CHECK_MS = 60_000;

export type ProviderWatch = {
  /** The result of the last check; empty before the first one. */
  health(): ProvidersHealth;
  stop(): void;
};

/**
 * `onChange`: called when a provider's health differs from the check before. Before the first check, all count as `ok`.
 */
export const watchProviders = (
  { llm, stt, speech }: ConversationSettings,
  onChange: (provider: Provider, health: ProviderHealth) => void,
  checkMs = CHECK_MS,
): ProviderWatch => {
  let current: ProvidersHealth = {};
  let isStopped = false;
  let isChecking = false;
  const check = async (): Promise<void> => {
    // Checks do not overlap, so that an older result cannot replace a newer one.
    if (isChecking) return;
    isChecking = true;
    const next = await checkProviders({ llm, stt, tts: speech.provider });
    isChecking = false;
    if (isStopped) return;
    const before = current;
    current = next;
    for (const provider of PROVIDERS) {
      const health = current[provider];
      if (health !== undefined && health !== (before[provider] ?? "ok")) onChange(provider, health);
    }
  };
  void check();
  const timer = setInterval(check, checkMs);
  timer.unref();
  return {
    health: () => current,
    stop: () => {
      isStopped = true;
      clearInterval(timer);
    },
  };
};
