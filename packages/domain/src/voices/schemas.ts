/** Voices, as the API lists them. `packages/speech` has the voices. */
import { type Static, Type } from "@sinclair/typebox";
import { Page } from "../page.ts";
import { ClosedObject, Nullable, OneOf, Text } from "../schema.ts";
import { MAX_URL_LENGTH } from "../text.ts";

const MIN_ID_LENGTH = 8;
const MAX_ID_LENGTH = 160;
/** The maximum number of an operator's voices, beside those that come with the service. */
export const MAX_OPERATOR_VOICES = 200;
const MAX_VOICES = MAX_OPERATOR_VOICES + 10;

/** The id of a voice that a request names. It can be any text, because the operator can remove a voice. */
export const VoiceId = (description: string) =>
  Text({ minLength: MIN_ID_LENGTH, maxLength: MAX_ID_LENGTH, description });

/** The ids that a listed voice can have. They need no escape in a URL. */
export const LISTED_VOICE_ID = new RegExp(`^[A-Za-z0-9][A-Za-z0-9._-]{${MIN_ID_LENGTH - 1},${MAX_ID_LENGTH - 1}}$`);
export const isListedVoiceId = (text: string): boolean => LISTED_VOICE_ID.test(text);

/** The source of the sound: Flite, in the process; or a server with OpenAI's `/audio/speech`. */
export const VOICE_PROVIDERS = ["flite", "openai"] as const;
export type VoiceProvider = (typeof VOICE_PROVIDERS)[number];

export const Voice = ClosedObject({
  id: VoiceId("The voice that `defaultVoiceId` of an avatar names."),
  name: Text({ minLength: 1, maxLength: 160, description: "Name to show to people." }),
  language: Nullable(Text({ minLength: 2, maxLength: 35 }), {
    description: "A BCP 47 tag; null for a voice that speaks the language of the text.",
  }),
  provider: OneOf(VOICE_PROVIDERS, {
    description: "`flite`: comes with the service; `openai`: a server with OpenAI's API, which the operator has set.",
  }),
  isDefault: Type.Boolean({ description: "Whether this is the default voice." }),
  sampleUrl: Text({
    minLength: 1,
    maxLength: MAX_URL_LENGTH,
    description: "Address of a short WAV file of this voice, with the same authorization as the list.",
  }),
});
export type Voice = Static<typeof Voice>;
export const VoicePage = Page(Voice, { maximum: MAX_VOICES });
export type VoicePage = Static<typeof VoicePage>;
