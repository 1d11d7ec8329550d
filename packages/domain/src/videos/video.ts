/** A video: its creation, its API representation, and the outcome of a deletion that was not executed. */
import type { Environment } from "../environment.ts";
import {
  type ApiKeyId,
  type AssetId,
  type AvatarId,
  type CreditEntryId,
  isId,
  type JobId,
  newId,
  type RandomBytes,
  type SessionId,
  type TenantId,
  type VideoId,
} from "../id.ts";
import { jsonText } from "../json-text.ts";
import { type FieldError, notFound, validationFailed } from "../problem.ts";
import { codePointLength } from "../text.ts";
import { heldSeconds } from "./held.ts";
import type { CreateVideo, NewVideo, Video } from "./schemas.ts";

/** A video as stored. */
export type VideoRecord = Omit<
  Video,
  | "id"
  | "tenantId"
  | "avatarId"
  | "audioAssetId"
  | "assetId"
  | "sessionId"
  | "createdBy"
  | "createdAt"
  | "updatedAt"
  | "durationSeconds"
  | "videoUrl"
> & {
  id: VideoId;
  tenantId: TenantId;
  avatarId: AvatarId;
  audioAssetId: AssetId | null;
  /** Null once the file is deleted. */
  assetId: AssetId | null;
  sessionId: SessionId;
  /** The key that created it. */
  apiKeyId: ApiKeyId;
  durationMs: number | null;
  /** Incremented by every change; the value of the ETag. */
  version: number;
  createdAt: Date;
  updatedAt: Date;
};

/** A requested video, with the ids of its rows. */
export type PlannedVideo = {
  id: VideoId;
  environment: Environment;
  avatarId: AvatarId;
  text: string | null;
  audioAssetId: AssetId | null;
  /** The voice that the request names. */
  voiceId: string | null;
  /** For how many seconds the text holds credits; null for audio, whose length only the database knows. */
  seconds: number | null;
  metadata: Record<string, unknown>;
  sessionId: SessionId;
  jobId: JobId;
  entryId: CreditEntryId;
  createdAt: Date;
};

/** The errors of a request for a video that its schema does not find. `spoken` is the spoken part of the text. */
export const videoErrors = (
  { text, audioAssetId, voiceId }: CreateVideo,
  { spoken, hasVoice }: { spoken: string; hasVoice: (id: string) => boolean },
): FieldError[] => {
  const errors: FieldError[] = [];
  const add = (field: string, code: FieldError["code"], detail: string) =>
    errors.push({ pointer: `#/${field}`, code, detail });
  if (text === undefined && audioAssetId === undefined) {
    add("text", "required", "Exactly one of `text` and `audioAssetId` is required.");
  } else if (text !== undefined && audioAssetId !== undefined) {
    add("audioAssetId", "not_allowed", "Exactly one of `text` and `audioAssetId` is required.");
  } else if (text !== undefined && spoken === "") {
    add(
      "text",
      "nothing_to_say",
      "Nothing of the text can be spoken. Write words in letters that the voice knows, not only markup, links or emoji.",
    );
  }
  if (voiceId !== undefined && audioAssetId !== undefined) {
    add("voiceId", "not_allowed", "Must not be set with `audioAssetId`: the audio has its own voice.");
  } else if (voiceId !== undefined && !hasVoice(voiceId)) {
    add("voiceId", "unsupported_voice", "No such voice exists. `GET /api/v1/voices` lists the voices.");
  }
  return errors;
};

const NO_AUDIO =
  "The asset does not exist in the environment of the calling key. Check the id, or upload the file first.";
/** The problem of an audio asset that is refused. */
export const refusedAudio = (code: FieldError["code"], detail: string = NO_AUDIO) =>
  validationFailed([{ pointer: "#/audioAssetId", code, detail }]);

/**
 * The video that `request` asks for, which has no `videoErrors`. Throws the problem `not_found` when `avatarId` is not the id of an
 * avatar, and `validation_failed` when `audioAssetId` is not that of an asset.
 */
export const plannedVideo = (
  request: CreateVideo,
  { spoken, environment, now, random }: { spoken: string; environment: Environment; now: Date; random: RandomBytes },
): PlannedVideo => {
  const { avatarId, text = null, audioAssetId = null, voiceId = null, metadata = {} } = request;
  if (!isId("ava", avatarId)) throw notFound();
  if (audioAssetId !== null && !isId("ast", audioAssetId)) throw refusedAudio("asset_not_found");
  return {
    id: newId("vid", now, random),
    environment,
    avatarId,
    text,
    audioAssetId,
    voiceId,
    seconds: text === null ? null : heldSeconds(spoken),
    metadata,
    sessionId: newId("ses", now, random),
    jobId: newId("job", now, random),
    entryId: newId("ent", now, random),
    createdAt: now,
  };
};

/** The API representation of a video that is about to be created, without the fields that only the write knows. */
export const presentNewVideo = (
  planned: PlannedVideo,
  { tenantId, id: createdBy }: { tenantId: TenantId; id: ApiKeyId },
): NewVideo => ({
  id: planned.id,
  tenantId,
  environment: planned.environment,
  avatarId: planned.avatarId,
  text: planned.text,
  audioAssetId: planned.audioAssetId,
  status: "queued",
  progress: 0,
  assetId: null,
  videoUrl: null,
  durationSeconds: null,
  billedSeconds: null,
  billedCreditMicros: null,
  sessionId: planned.sessionId,
  error: null,
  metadata: planned.metadata,
  createdBy,
  createdAt: planned.createdAt.toISOString(),
  updatedAt: planned.createdAt.toISOString(),
});

/**
 * The API representation of a video without a file. `VIDEO` of the database has the representation for reads and lists.
 */
export const presentVideo = (record: VideoRecord): Video => ({
  id: record.id,
  tenantId: record.tenantId,
  environment: record.environment,
  avatarId: record.avatarId,
  text: record.text,
  audioAssetId: record.audioAssetId,
  status: record.status,
  progress: record.progress,
  assetId: record.assetId,
  videoUrl: null,
  durationSeconds: record.durationMs === null ? null : record.durationMs / 1000,
  billedSeconds: record.billedSeconds,
  billedCreditMicros: record.billedCreditMicros,
  sessionId: record.sessionId,
  error: record.error,
  metadata: record.metadata,
  createdBy: record.apiKeyId,
  createdAt: record.createdAt.toISOString(),
  updatedAt: record.updatedAt.toISOString(),
  voiceId: record.voiceId,
  reservedCreditMicros: record.reservedCreditMicros,
  warnings: record.warnings,
});

/** The compact JSON of a video, or of a new one. `metadata` may be large, so its cached text is used. */
export const videoText = ({ metadata, ...others }: NewVideo): string =>
  `${JSON.stringify(others).slice(0, -1)},"metadata":${jsonText(metadata)}}`;

/** The maximum length of a usage session's `user_id`. */
const MAX_USER_ID = 500;
/** The metadata of the usage session of a video: its end user, a filter of the list of sessions. */
export const sessionMetadata = ({ user_id: userId }: Record<string, unknown>): Record<string, string> =>
  typeof userId === "string" && codePointLength(userId) <= MAX_USER_ID ? { user_id: userId } : {};
