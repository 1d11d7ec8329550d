/** The codes of the failures of videos. The documents are generated from this list. */

/** The text of the response for each code. A renderer may give a more specific text. */
export const VIDEO_ERRORS = {
  voice_refused: "The provider of the voice refused the request. The operator must check its settings.",
  voice_busy: "The provider of the voice had no capacity. Create the video again later.",
  voice_timeout: "The provider of the voice did not respond in time. Create the video again later.",
  voice_malformed: "The response of the provider of the voice was not valid sound. Tell the operator.",
  audio_silent: "The audio has no sound. Use another recording.",
  audio_too_long: "The audio is too long. Cut it.",
  audio_malformed: "The audio cannot be decoded. Convert it to WAV.",
  audio_unsupported: "This installation cannot decode this type of audio. Convert it to WAV.",
  audio_unavailable: "The audio asset was deleted before the video was rendered. Upload it again.",
  avatar_unavailable: "The avatar was deleted or disabled before the video was rendered.",
  no_capacity: "No worker has rendered the video in time. Create it again, or ask the operator for more workers.",
  quota_exceeded: "The file does not fit into the quota of assets. Delete assets, and create the video again.",
  key_ended: "The key that created the video, or an ancestor of it, was revoked.",
  session_ended: "The usage session of the video was ended before the video was ready.",
  internal: "The video could not be rendered, for a reason that is not in its input. Create it again.",
} as const satisfies Record<string, string>;
export type VideoErrorCode = keyof typeof VIDEO_ERRORS;
export const VIDEO_ERROR_CODES = Object.keys(VIDEO_ERRORS) as VideoErrorCode[];
