/** The limits of the film in which an idle loop is searched. */

/** The seconds from the beginning of the pictures. */
export const SEARCHED_SECONDS = 15;
/** The size of all frames, as ffmpeg writes them: 85 kB each. Most have 30 to 50 kB. */
export const MAX_FRAMES_BYTES = 32 * 2 ** 20;
