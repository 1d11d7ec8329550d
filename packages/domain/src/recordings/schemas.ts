/** Recordings of calls as the API shows them, in the shapes that the published SDK reads. */
import { type Static, Type } from "@sinclair/typebox";
import type { RecordingId } from "../id.ts";
import { defineList, Page } from "../page.ts";
import { ClosedObject, Count, DateTime, OneOf, Text } from "../schema.ts";

/** The media of a file: sound, or sound and pictures. */
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
    description: "Time at which the file is deleted. At the end of the call, it moves later by the length of the call.",
  }),
  participant: Type.Optional(
    ClosedObject(
      { participantIdentity: Text({ minLength: 1, maxLength: 160 }), role: OneOf(RECORDING_ROLES) },
      { description: "The side that is recorded. Absent if both are." },
    ),
  ),
  status: OneOf(RECORDING_STATUSES, {
    description:
      "`pending`: nothing was recorded so far. `recording`: the call is recorded. `processing`: after the call, the file is made. `expired`: the file was deleted because of its age.",
  }),
  mediaType: Type.Optional(OneOf(["audio/mp4", "video/mp4"], { description: "Only if the recording is `ready`." })),
  sizeBytes: Type.Optional(Count({ minimum: 1, description: "Only if the recording is `ready`." })),
  durationMs: Type.Optional(Count({ description: "Only if the recording is `ready`." })),
  mediaStartedAt: Type.Optional(DateTime({ description: "Begin of the sound. Only if the recording is `ready`." })),
  mediaEndedAt: Type.Optional(DateTime({ description: "End of the sound. Only if the recording is `ready`." })),
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

export const DeletedRecording = ClosedObject({ recordingId: Id, status: OneOf(["deleted"]) });
export type DeletedRecording = Static<typeof DeletedRecording>;

/** A file that a call is to have. `role`: the one side that is heard; null: both. */
export type PlannedRecording = { id: RecordingId; mode: MediaMode; role: RecordingRole | null };
