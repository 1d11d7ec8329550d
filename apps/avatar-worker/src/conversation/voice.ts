/** The voice and the language model of a conversation. */
import type { CallInput } from "@realtime-avatar/domain/calls/schemas";
import type { AssignedCall } from "@realtime-avatar/domain/calls/worker-sync";
import { defaultVoice, findVoice, type Voice, type VoiceSettings } from "@realtime-avatar/speech/voices";
import type { ConversationSettings } from "./settings.ts";

/** The voice that the start of the call names, else that of the avatar, else the default. A voice that does not exist is skipped. */
export const chooseVoice = (
  { input, default_voice_id }: Pick<AssignedCall, "input" | "default_voice_id">,
  settings: VoiceSettings,
): Voice => {
  const find = (id: unknown): Voice | null => (typeof id === "string" ? findVoice(settings, id) : null);
  return find(input.voice?.["voice_id"]) ?? find(default_voice_id) ?? defaultVoice(settings);
};

/** The model that the start of the call names, if the operator offers it: a call that moves here may name another one. Else the operator's. */
export const chooseModel = (
  { llm }: Pick<CallInput, "llm">,
  { llm: { model }, models }: Pick<ConversationSettings, "llm" | "models">,
): string => models.find((name) => name === llm?.model) ?? model;
