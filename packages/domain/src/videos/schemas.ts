/** The request and response schemas of videos. */
import { type Static, type TUnsafe, Type } from "@sinclair/typebox";
import { CreateAvatar } from "../avatars/schemas.ts";
import { ENVIRONMENTS } from "../environment.ts";
import { defineList, Page } from "../page.ts";
import { ClosedObject, Count, DateTime, JsonObject, Nullable, OneOf, Text } from "../schema.ts";
import { MAX_URL_LENGTH } from "../text.ts";
import { VIDEO_ERROR_CODES, type VideoErrorCode } from "./errors.ts";
import { MAX_AUDIO_SECONDS, MAX_TEXT_LENGTH } from "./limits.ts";
import { VIDEO_STATUSES } from "./status.ts";

/** Maximum size of `metadata`, as compact JSON in UTF-8. */
const MAX_METADATA_BYTES = 32 * 1024;
/** The maximum number of warnings of a video. */
export const MAX_WARNINGS = 16;
export const MAX_WARNING_LENGTH = 500;

const id = (description?: string) => Text({ minLength: 1, maxLength: 64, ...(description && { description }) });

/** Fields that requests and responses share. */
const fields = {
  text: Text({
    minLength: 1,
    maxLength: MAX_TEXT_LENGTH,
    description: "The text that the avatar speaks. Markup, links and emoji are not spoken.",
  }),
  voiceId: Text({ ...CreateAvatar.properties.defaultVoiceId, description: "Id of the voice that says the text." }),
  metadata: JsonObject({
    "x-maxBytes": MAX_METADATA_BYTES,
    description: `Your own data, at most ${MAX_METADATA_BYTES} bytes as compact JSON in UTF-8. A \`user_id\` that is text is also that of the usage session.`,
  }),
};

export const CreateVideo = ClosedObject({
  avatarId: id("The avatar. It must be `ready`."),
  text: Type.Optional(fields.text),
  audioAssetId: Type.Optional(
    Text({
      minLength: 1,
      maxLength: 160,
      description: `Id of an asset of the kind \`audio\`, of at most ${MAX_AUDIO_SECONDS} seconds, in the place of \`text\`.`,
    }),
  ),
  voiceId: Type.Optional(fields.voiceId),
  metadata: Type.Optional(fields.metadata),
});
export type CreateVideo = Static<typeof CreateVideo>;

const ERROR_CODE = Text({
  minLength: 1,
  maxLength: 64,
  description: `One of: ${VIDEO_ERROR_CODES.join(", ")}. Later versions may add others.`,
});
const VideoError = ClosedObject({
  // Not an `enum`: during an upgrade, the older version reads what the newer one has written.
  code: ERROR_CODE as TUnsafe<VideoErrorCode> & typeof ERROR_CODE,
  detail: Text({
    minLength: 1,
    maxLength: 500,
    description: "The cause of the failure, and how a person can solve it.",
  }),
});
export type VideoError = Static<typeof VideoError>;

/** The fields of a new video that only its write knows. */
const decided = {
  voiceId: Nullable(fields.voiceId, {
    description:
      "The voice that says the text: the voice of the request, of the avatar, or of the service; null with audio.",
  }),
  reservedCreditMicros: Count({
    description: "Credits that the video holds while it is queued or rendered: the upper bound of its charge.",
  }),
  warnings: Type.Array(Text({ minLength: 1, maxLength: MAX_WARNING_LENGTH }), {
    minItems: 0,
    maxItems: MAX_WARNINGS,
    description: "Deviations from the request that do not prevent the video.",
  }),
};

const known = {
  id: id(),
  tenantId: id(),
  environment: OneOf(ENVIRONMENTS),
  avatarId: id(),
  text: Nullable(fields.text, { description: "Null with audio, and for a deleted video." }),
  audioAssetId: Nullable(Text({ minLength: 1, maxLength: 160 })),
  status: OneOf(VIDEO_STATUSES, { description: "A new video is `queued`." }),
  progress: Type.Number({ minimum: 0, maximum: 1, description: "The part of the video that is rendered: 0 to 1." }),
  assetId: Nullable(id(), {
    description: "The asset with the file; null before the video is `ready`, and once the file is deleted.",
  }),
  videoUrl: Nullable(Text({ minLength: 1, maxLength: MAX_URL_LENGTH }), {
    description: "Public address of the file; null without `assetId`.",
  }),
  durationSeconds: Nullable(Type.Number({ minimum: 0, maximum: 86_400 }), { description: "Null before `ready`." }),
  billedSeconds: Nullable(Count(), { description: "The seconds that were charged; null while the video is running." }),
  billedCreditMicros: Nullable(Count(), { description: "The charge; null while the video is running." }),
  sessionId: id("The usage session that holds the credits, and is charged."),
  error: Nullable(VideoError, { description: "Why the video is `failed`; otherwise null." }),
  metadata: fields.metadata,
  createdBy: id("The key that created the video."),
  createdAt: DateTime(),
  updatedAt: DateTime(),
};

export const Video = ClosedObject({ ...known, ...decided });
export type Video = Static<typeof Video>;

/** A video that is about to be created: `Video` without the fields that only the write knows. */
export const NewVideo = ClosedObject(known);
export type NewVideo = Static<typeof NewVideo>;

/** The fields of `Video` that only the write of a new video knows. */
export type DecidedFields = Omit<Video, keyof NewVideo>;

/** `GET /api/v1/videos` */
export const VIDEO_LIST = defineList("vid", {
  status: Type.Optional(OneOf(VIDEO_STATUSES)),
  avatarId: Type.Optional(id("Include only videos of this avatar.")),
});
export const VideoPage = Page(Video);
