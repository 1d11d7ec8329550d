/** The recorded media of a call, in the words of the published SDK. */

/**
 * `audio`: the person and the avatar, mixed. `audio_video`: the same, with the pictures of the avatar. `participants`: a file for
 * each of the two, that of the avatar with its pictures unless the call is one of `voice`. The camera of the person is not subscribed to.
 */
export const RECORDED_MODES = ["audio", "audio_video", "participants"] as const;
export type RecordedMode = (typeof RECORDED_MODES)[number];
