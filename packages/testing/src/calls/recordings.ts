/** Calls that are recorded, for tests of the database and of what joins their fragments. */
import type { Caller } from "@realtime-avatar/db/callers/callers";
import { type CallRequest, releaseCall } from "@realtime-avatar/db/calls/calls";
import { type SentFragment, writeFragment } from "@realtime-avatar/db/recordings/fragments";
import type { CallMode } from "@realtime-avatar/domain/calls/schemas";
import { RECORDING } from "@realtime-avatar/domain/calls/worker-sync";
import { type AvatarId, newId, type RecordingId, type SessionId } from "@realtime-avatar/domain/id";
import type { RecordedMode } from "@realtime-avatar/domain/recordings/modes";
import { plannedRecordings } from "@realtime-avatar/domain/recordings/schemas";
import type { TestDb } from "../database.ts";
import { random } from "../random-bytes.ts";
import { operatorOrigin } from "../seeds.ts";
import { report, seedCall, sync } from "./calls.ts";

/** What a request for a call has that is to be recorded. */
export const recordingRequest = (
  mode: RecordedMode,
  callMode: CallMode = "avatar",
  retentionDays = 30,
): NonNullable<CallRequest["recording"]> => ({
  mode,
  retentionDays,
  files: plannedRecordings(mode, callMode, () => newId("rec", new Date(), random)),
});

/** Starts a recorded call that a worker has and has started, and returns it with the ids of its recordings. */
export const seedRecordedCall = async (
  db: TestDb,
  caller: Caller,
  avatarId: AvatarId,
  mode: RecordedMode = "audio",
  { worker = "one", ...changes }: Partial<CallRequest> & { worker?: string } = {},
): Promise<{ id: SessionId; recordings: RecordingId[] }> => {
  const recording = recordingRequest(mode, changes.mode);
  await sync(db, worker, { slots: 10, features: [RECORDING] });
  const id = await seedCall(db, caller, avatarId, { recording, ...changes });
  await sync(db, worker, { slots: 10, features: [RECORDING], calls: [report(id)] });
  return { id, recordings: recording.files.map((file) => file.id) };
};

/** The worker stores a fragment of a call: by default the first one of the first generation. */
export const sendFragment = (
  db: TestDb,
  sessionId: SessionId,
  changes: Partial<SentFragment> = {},
): ReturnType<typeof writeFragment> =>
  writeFragment(db, { ...{ workerId: "one", sessionId, generation: 1, n: 0, sizeBytes: 1000 }, ...changes });

export const endCall = (db: TestDb, caller: Caller, id: SessionId) =>
  releaseCall(db, { kind: "session", id }, { reason: null }, caller, operatorOrigin(), null);

/** As if so many seconds had passed for the recordings of calls. */
export const ageRecordings = async ({ client }: TestDb, seconds: number): Promise<void> => {
  await client`
    update call_recordings set due_at = due_at - make_interval(secs => ${seconds}),
      leased_until = leased_until - make_interval(secs => ${seconds}), created_at = created_at - make_interval(secs => ${seconds})`;
  await client`update recordings set retained_until = retained_until - make_interval(secs => ${seconds})`;
};
