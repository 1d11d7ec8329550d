/** Videos for tests, written like the API. */
import type { Caller } from "@realtime-avatar/db/callers/callers";
import type { Db } from "@realtime-avatar/db/connection/pool";
import type { Claim } from "@realtime-avatar/db/idempotency/idempotency-keys";
import { type CreateVideoOutcome, createVideo, type VideoTerms } from "@realtime-avatar/db/videos/videos";
import { type AssetRecord, generatedAsset } from "@realtime-avatar/domain/assets/asset";
import type { AvatarId } from "@realtime-avatar/domain/id";
import { newId } from "@realtime-avatar/domain/id";
import { type PlannedVideo, plannedVideo, type VideoRecord } from "@realtime-avatar/domain/videos/video";
import { PRICE } from "../credits.ts";
import { random } from "../random-bytes.ts";
import { seedOrigin } from "../seeds.ts";

/** 24 characters, for which a video holds three seconds. */
export const TEXT = "This is said by the face";

/** The terms of videos in tests. */
export const TERMS: VideoTerms = {
  voiceIds: ["flite-slt", "flite-rms"],
  defaultVoiceId: "flite-slt",
  price: PRICE,
  maxVideos: 20,
};

/** A video of the caller, not written yet. By default, the avatar says `TEXT`. */
export const newVideo = (caller: Caller, avatarId: AvatarId, fields: Partial<PlannedVideo> = {}): PlannedVideo => ({
  ...plannedVideo({ avatarId, text: TEXT }, { spoken: TEXT, environment: caller.environment, now: new Date(), random }),
  ...fields,
});

/** Creates a video, and returns it with the outcome. */
export const seedVideo = async (
  db: Db,
  caller: Caller,
  avatarId: AvatarId,
  {
    terms = {},
    claim = null,
    ...fields
  }: Partial<PlannedVideo> & { terms?: Partial<VideoTerms>; claim?: Claim | null } = {},
): Promise<{ video: PlannedVideo; outcome: CreateVideoOutcome }> => {
  const video = newVideo(caller, avatarId, fields);
  const outcome = await createVideo(db, video, { ...TERMS, ...terms }, caller, seedOrigin(caller), claim);
  return { video, outcome };
};

/** The asset of a rendered video of three seconds, rounded up; by default of 1000 bytes. */
export const videoFile = (
  { tenantId, environment }: Pick<VideoRecord, "tenantId" | "environment">,
  fields: Partial<AssetRecord> = {},
): AssetRecord => {
  const now = new Date();
  const owner = { id: newId("ast", now, random), tenantId, environment, now };
  const file = { contentType: "video/mp4", sizeBytes: 1000, sha256: "0".repeat(64), durationMs: 2100 };
  return { ...generatedAsset(owner, file, random), ...fields };
};
