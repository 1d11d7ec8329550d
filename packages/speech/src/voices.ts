/** The voices of the service: those of Flite, which come with it, and those of a provider that the operator has set. */

import type { VoiceProvider } from "@realtime-avatar/domain/voices/schemas";

export type Voice = {
  /** 8 to 160 characters, as `defaultVoiceId` and `voiceId` of requests. */
  id: string;
  /** For people. */
  name: string;
  /** A BCP 47 tag; null for a voice that speaks the language of the text. */
  language: string | null;
  provider: VoiceProvider;
  /** The provider's name for it, which is sent to the provider alone. */
  providerVoice: string;
};

/** The operator's settings of the list of voices. */
export type VoiceSettings = {
  /** The voices of the provider; empty without a provider. */
  voices: readonly Voice[];
  defaultVoiceId: string;
};

const flite = (providerVoice: string, name: string, language: string): Voice => ({
  id: `flite-${providerVoice}`,
  name,
  language,
  provider: "flite",
  providerVoice,
});

/** The voices that need no configuration. They speak English, and sound like a machine. */
export const FLITE_VOICES: readonly Voice[] = [
  flite("slt", "Flite slt (female, American)", "en-US"),
  flite("rms", "Flite rms (male, American)", "en-US"),
  flite("awb", "Flite awb (male, Scottish)", "en-GB"),
  flite("kal16", "Flite kal16 (male, American)", "en-US"),
];

/** The default voice without configuration. */
export const DEFAULT_FLITE_VOICE_ID = "flite-slt";

/** All voices, in the order of the list: those of the operator first. */
export const listVoices = ({ voices }: VoiceSettings): readonly Voice[] => [...voices, ...FLITE_VOICES];

/** The voice with this id, or null. */
export const findVoice = (settings: VoiceSettings, id: string): Voice | null =>
  listVoices(settings).find((voice) => voice.id === id) ?? null;

/** The voice for a request and an avatar without a voice. */
export const defaultVoice = (settings: VoiceSettings): Voice => {
  const voice = findVoice(settings, settings.defaultVoiceId);
  if (voice === null) throw new Error("The default voice is not in the list of voices.");
  return voice;
};
