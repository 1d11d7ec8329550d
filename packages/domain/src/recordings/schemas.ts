/** Recordings of calls as the API shows them, in the shapes that the published SDK reads. */
import { type Static, Type } from "@sinclair/typebox";
import { AVATAR_IDENTITY, PERSON_IDENTITY } from "../calls/room.ts";
import type { CallMode } from "../calls/schemas.ts";
import type { RecordingId, SessionId } from "../id.ts";
import { defineList, Page } from "../page.ts";
import { ClosedObject, Count, DateTime, OneOf, Text } from "../schema.ts";
import type { RecordedMode } from "./modes.ts";

/** What a file has: sound, or sound and pictures. */
export const MEDIA_MODES = ["audio", "audio_video"] as const;
export type MediaMode = (typeof MEDIA_MODES)[number];
export const RECORDING_ROLES = ["user", "avatar"] as const;
export type RecordingRole = (typeof RECORDING_ROLES)[number];
export const RECORDING_STATUSES = ["pending", "recording", "processing", "ready", "failed", "expired"] as const;
export type RecordingStatus = (typeof RECORDING_STATUSES)[number];
export const RECORDING_ERRORS = ["recording_failed", "recording_unavailable"] as const;
export type RecordingError = (typeof RECORDING_ERRORS)[number];

const Id = Text({ minLength: 1, maxLength: 64 });

export const Recording = ClosedObject({
  sessionId: Id,
  recordingId: Id,
  mode: OneOf(MEDIA_MODES, { description: "`audio`: sound alone. `audio_video`: with the pictures of the avatar." }),
  createdAt: DateTime(),
  retainedUntil: DateTime({
    description: "When the file is deleted. The end of the call moves it by the length of the call.",
  }),
  participant: Type.Optional(
    ClosedObject(
      { participantIdentity: Text({ minLength: 1, maxLength: 160 }), role: OneOf(RECORDING_ROLES) },
      { description: "Who alone is heard. Left out when both are." },
    ),
  ),
  status: OneOf(RECORDING_STATUSES, {
    description:
      "`pending`: nothing was recorded so far. `recording`: the call is recorded. `processing`: the call has ended, and the file is made. `expired`: the file was deleted because of its age.",
  }),
  mediaType: Type.Optional(OneOf(["audio/mp4", "video/mp4"], { description: "Only of one that is `ready`." })),
  sizeBytes: Type.Optional(Count({ minimum: 1, description: "Only of one that is `ready`." })),
  durationMs: Type.Optional(Count({ description: "Only of one that is `ready`." })),
  mediaStartedAt: Type.Optional(DateTime({ description: "When its sound begins. Only of one that is `ready`." })),
  mediaEndedAt: Type.Optional(DateTime({ description: "When its sound ends. Only of one that is `ready`." })),
  errorCode: Type.Optional(
    OneOf(RECORDING_ERRORS, {
      description:
        "Only of one that has `failed`. `recording_unavailable`: nothing was recorded. `recording_failed`: the file could not be made.",
    }),
  ),
});
export type Recording = Static<typeof Recording>;

export const RECORDING_LIST = defineList("rec", {
  sessionId: Type.Optional(Text({ ...Id, description: "Include only recordings of this call." })),
});
export const RecordingPage = Page(Recording);

export const RecordingAccess = ClosedObject({
  recordingId: Id,
  url: Text({ minLength: 1, maxLength: 4096, description: "Serves the file until `expiresAt`. A secret." }),
  expiresAt: DateTime(),
});
export type RecordingAccess = Static<typeof RecordingAccess>;

/** A file that a call is to have. `role`: who alone is heard; null: both. */
export type PlannedRecording = { id: RecordingId; mode: MediaMode; role: RecordingRole | null };

/** The files of a call that is recorded in `recorded`. */
export const plannedRecordings = (
  recorded: RecordedMode,
  callMode: CallMode,
  createId: () => RecordingId,
): PlannedRecording[] => {
  const withPictures = callMode === "voice" ? "audio" : "audio_video";
  switch (recorded) {
    case "audio":
      return [{ id: createId(), mode: "audio", role: null }];
    case "audio_video":
      return [{ id: createId(), mode: withPictures, role: null }];
    case "participants":
      return [
        { id: createId(), mode: "audio", role: "user" },
        { id: createId(), mode: withPictures, role: "avatar" },
      ];
  }
};

/** The identity in the room of each role. */
export const PARTICIPANTS: Readonly<Record<RecordingRole, string>> = { user: PERSON_IDENTITY, avatar: AVATAR_IDENTITY };

const DAY_MS = 86_400_000;

/** A recording of a call that begins at `createdAt`. */
export const presentPlannedRecording = (
  { id, mode, role }: PlannedRecording,
  { sessionId, createdAt, retentionDays }: { sessionId: SessionId; createdAt: Date; retentionDays: number },
): Recording => ({
  sessionId,
  recordingId: id,
  mode,
  createdAt: createdAt.toISOString(),
  retainedUntil: new Date(createdAt.getTime() + retentionDays * DAY_MS).toISOString(),
  ...(role && { participant: { participantIdentity: PARTICIPANTS[role], role } }),
  status: "pending",
});
