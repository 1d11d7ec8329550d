/** Recorded calls, for tests of the database and of the worker. */
import type { Caller } from "@realtime-avatar/db/callers/callers";
import { type CallRequest, releaseCall } from "@realtime-avatar/db/calls/calls";
import { type SentFragment, writeFragment } from "@realtime-avatar/db/recordings/fragments";
import type { CallMode } from "@realtime-avatar/domain/calls/schemas";
import { RECORDING } from "@realtime-avatar/domain/calls/worker-sync";
import { type AvatarId, newId, type RecordingId, type SessionId, type TenantId } from "@realtime-avatar/domain/id";
import type { RecordedMode } from "@realtime-avatar/domain/recordings/modes";
import { plannedRecordings } from "@realtime-avatar/domain/recordings/planned";
import type { TestDb } from "../database.ts";
import { random } from "../random-bytes.ts";
import { operatorOrigin } from "../seeds.ts";
import { report, seedCall, sync } from "./calls.ts";

/** The fields of a request for a call by which the call is recorded. */
export const recordingRequest = (
  mode: RecordedMode,
  callMode: CallMode = "avatar",
  retentionDays = 30,
): NonNullable<CallRequest["recording"]> => ({
  mode,
  retentionDays,
  files: plannedRecordings(mode, callMode, () => newId("rec", new Date(), random)),
});

/** Starts a recorded call, which a worker reports as started. Returns it with the ids of its recordings. */
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

/** Stores a fragment of a call, like a worker: by default the first fragment of the first generation. */
export const sendFragment = (
  db: TestDb,
  sessionId: SessionId,
  changes: Partial<SentFragment> = {},
): ReturnType<typeof writeFragment> =>
  writeFragment(db, { ...{ workerId: "one", sessionId, generation: 1, n: 0, sizeBytes: 1000 }, ...changes });

export const endCall = (db: TestDb, caller: Caller, id: SessionId) =>
  releaseCall(db, { kind: "session", id }, { reason: null }, caller, operatorOrigin(), null);

/** A live recording without its call: ready, without its file, or pending. */
export const seedRecording = async ({ client }: TestDb, tenantId: TenantId, isReady = true): Promise<RecordingId> => {
  const now = new Date();
  const [id, sessionId] = [newId("rec", now, random), newId("ses", now, random)];
  const row = { tenant_id: tenantId, id, environment: "live", session_id: sessionId, mode: "audio", created_at: now };
  const media = { duration_ms: 1000, media_started_at: now, media_ended_at: now, ended_at: now };
  const state = isReady ? { status: "ready", key: `recordings/${id}`, size_bytes: 1, ...media } : { status: "pending" };
  const retainedUntil = new Date(now.getTime() + 86_400_000);
  await client`insert into recordings ${client({ ...row, ...state, retained_until: retainedUntil })}`;
  return id;
};

/** Makes the recordings of calls older by some seconds. */
export const ageRecordings = async ({ client }: TestDb, seconds: number): Promise<void> => {
  await client`
    update call_recordings set due_at = due_at - make_interval(secs => ${seconds}),
      leased_until = leased_until - make_interval(secs => ${seconds}), created_at = created_at - make_interval(secs => ${seconds})`;
  await client`update recordings set retained_until = retained_until - make_interval(secs => ${seconds})`;
};
