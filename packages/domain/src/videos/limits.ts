/** The limits of videos: the only place where they are written. */

/** The longest text, in code points. */
export const MAX_TEXT_LENGTH = 5000;
/** The longest audio, in seconds. */
export const MAX_AUDIO_SECONDS = 600;
/** Speech has 12 to 17 characters a second. With fewer, a text holds at least what it is charged. */
const CHARACTERS_A_SECOND = 8;
/** How many videos of a tenant, in each environment, may be queued or rendered at once, unless the operator says otherwise. */
export const DEFAULT_MAX_RUNNING_VIDEOS = 20;
/** A video that no worker has finished within this time has failed with `no_capacity`. */
export const MAX_WAITING_HOURS = 24;

/** For how many seconds a video holds credits that says `spoken`, which has at least one character. */
export const heldSeconds = (characters: number): number => Math.max(1, Math.ceil(characters / CHARACTERS_A_SECOND));
