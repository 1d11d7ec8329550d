/** The voice of a conversation. */
import type { AssignedCall } from "@realtime-avatar/domain/calls/worker-sync";
import { defaultVoice, findVoice, type Voice, type VoiceSettings } from "@realtime-avatar/speech/voices";

/** The voice that the start of the call names, else that of the avatar, else the default. A voice that does not exist is skipped. */
export const chooseVoice = (
  { input, default_voice_id }: Pick<AssignedCall, "input" | "default_voice_id">,
  settings: VoiceSettings,
): Voice => {
  const find = (id: unknown): Voice | null => (typeof id === "string" ? findVoice(settings, id) : null);
  return find(input.voice?.["voice_id"]) ?? find(default_voice_id) ?? defaultVoice(settings);
};
