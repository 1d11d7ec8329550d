/** Ids of voices. */
import { Text } from "../schema.ts";

const MIN_LENGTH = 8;
const MAX_LENGTH = 160;

/** The id of a voice that a request names. Any text: a voice can be taken away by the operator. */
export const VoiceId = (description: string) => Text({ minLength: MIN_LENGTH, maxLength: MAX_LENGTH, description });

/** The ids that a voice of the service can have: those that need no escape in a URL. */
const LISTED_ID = new RegExp(`^[A-Za-z0-9][A-Za-z0-9._-]{${MIN_LENGTH - 1},${MAX_LENGTH - 1}}$`);
export const isListedVoiceId = (text: string): boolean => LISTED_ID.test(text);
