/** The limits of the film in which an idle loop is searched. */

/** How much of the film is searched, from the beginning of its pictures. */
export const SEARCHED_SECONDS = 15;
/** The maximum size of all frames together, as ffmpeg writes them: 85 kB for each. Most frames have 30 to 50 kB. */
export const MAX_FRAMES_BYTES = 32 * 2 ** 20;
