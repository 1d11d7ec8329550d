/** The codes of the `error` of a failed asset. The documents are generated from this list. */
export const ASSET_ERROR_CODES = {
  /** The file itself. */
  file: [
    "unsupported_type",
    "asset_kind_mismatch",
    "content_type_mismatch",
    "empty",
    "too_large",
    "not_decodable",
    "inspection_failed",
  ],
  image: ["too_many_pixels", "too_many_frames"],
  video: ["no_video_track", "resolution_too_high", "frame_rate_too_high"],
  audio: ["no_audio_track", "unexpected_video_track"],
  videoOrAudio: ["codec_not_allowed", "too_short", "too_long"],
  /** The fetch from `remoteUrl`. */
  import: [
    "invalid_url",
    "https_required",
    "credentials_not_allowed",
    "port_not_allowed",
    "ip_address_not_allowed",
    "host_not_public",
    "host_not_found",
    "connection_failed",
    "connection_lost",
    "timed_out",
    "canceled",
    "certificate_not_valid",
    "too_many_redirects",
    "unexpected_status",
    "invalid_response",
    "encoding_not_allowed",
  ],
  /** No file arrived within a day; an error of the service. Database functions write these two codes. */
  service: ["not_uploaded", "internal"],
} as const;
export type AssetErrorCode = (typeof ASSET_ERROR_CODES)[keyof typeof ASSET_ERROR_CODES][number];
