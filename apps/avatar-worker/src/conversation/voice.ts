/** Chooses the voice and the language model of a conversation. */
import type { CallInput } from "@realtime-avatar/domain/calls/schemas";
import type { AssignedCall } from "@realtime-avatar/domain/calls/worker-sync";
import { defaultVoice, findVoice, type Voice, type VoiceSettings } from "@realtime-avatar/speech/voices";
import type { ConversationSettings } from "./settings.ts";

/** The voice of the start of the call, else of the avatar, else the default. Unknown voices are skipped. */
export const chooseVoice = (
  { input, default_voice_id }: Pick<AssignedCall, "input" | "default_voice_id">,
  settings: VoiceSettings,
): Voice => {
  const find = (id: unknown): Voice | null => (typeof id === "string" ? findVoice(settings, id) : null);
  return find(input.voice?.["voice_id"]) ?? find(default_voice_id) ?? defaultVoice(settings);
};

/**
 * The model that the start of the call names, if the operator offers it. Otherwise the operator's model: a call that
 * moved from another worker can name a model that this worker lacks.
 */
export const chooseModel = (
  { llm }: Pick<CallInput, "llm">,
  { llm: { model }, models }: Pick<ConversationSettings, "llm" | "models">,
): string => models.find((name) => name === llm?.model) ?? model;
