/** Watches the providers of conversations: a request to each once a minute, which costs nothing. */
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
  /** As of the last check; empty before the first one. */
  health(): ProvidersHealth;
  stop(): void;
};

/** `onChange`: the health of a provider is not that of the check before; before the first one, all are `ok`. */
export const watchProviders = (
  { llm, stt, speech }: ConversationSettings,
  onChange: (provider: Provider, health: ProviderHealth) => void,
  checkMs = CHECK_MS,
): ProviderWatch => {
  let current: ProvidersHealth = {};
  let isStopped = false;
  let isChecking = false;
  const check = async (): Promise<void> => {
    // One after another: the result of an earlier one must not come later.
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
