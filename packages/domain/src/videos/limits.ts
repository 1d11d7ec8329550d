/** The limits of videos: the only place where they are written. */

/** The longest text, in code points. */
export const MAX_TEXT_LENGTH = 5000;
/** The longest audio, in seconds. */
export const MAX_AUDIO_SECONDS = 600;
/**
 * How many videos of a tenant, in each environment, may be queued or rendered at once, unless the operator changes it.
 */
export const DEFAULT_MAX_RUNNING_VIDEOS = 20;
/** A video that no worker has finished within this time has failed with `no_capacity`. */
export const MAX_WAITING_HOURS = 24;
