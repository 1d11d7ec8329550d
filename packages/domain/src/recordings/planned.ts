/** The recordings of a call that begins. */
import { AVATAR_IDENTITY, PERSON_IDENTITY } from "../calls/room.ts";
import type { CallMode } from "../calls/schemas.ts";
import type { RecordingId, SessionId } from "../id.ts";
import type { RecordedMode } from "./modes.ts";
import type { PlannedRecording, Recording, RecordingRole } from "./schemas.ts";

/** The files of a call of `callMode` that is recorded in the mode `recorded`. */
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
