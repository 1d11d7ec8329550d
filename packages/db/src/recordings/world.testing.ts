/** A tenant whose calls are recorded, for the tests of this folder. */
import type { RecordingId, SessionId } from "@realtime-avatar/domain/id";
import type { Recording } from "@realtime-avatar/domain/recordings/schemas";
import { readyAvatar } from "@realtime-avatar/testing/calls/calls";
import { endCall, seedRecordedCall } from "@realtime-avatar/testing/calls/recordings";
import { seedCaller } from "@realtime-avatar/testing/credits";
import type { TestDb } from "@realtime-avatar/testing/database";
import { operatorOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { deliveredTypes, seedEndpoint } from "@realtime-avatar/testing/webhooks/events";
import { claimRecordings } from "./joining.ts";
import { deleteRecording, findRecording } from "./recordings.ts";

/** The features of a worker that records. */
export const FEATURES = ["recording"];

const CLAIM = { lease: "one", leaseSeconds: 60, after: "", limit: 16, perTenant: 4, busyTenants: [] };
export const claim = (db: TestDb, changes = {}) => claimRecordings(db, { ...CLAIM, ...changes });
export type Claimed = Awaited<ReturnType<typeof claim>>[number];

/** The claim of the only due call. */
export const claimOne = async (db: TestDb): Promise<Claimed> => {
  const [claimed, ...others] = await claim(db);
  if (!claimed || others.length > 0) throw new Error("the number of due calls is not one");
  return claimed;
};

/** A new tenant with a webhook endpoint. Deletes the calls and workers of earlier tests. */
export const newWorld = async (db: TestDb) => {
  const { client } = db;
  await client`delete from fleet.avatar_slots`;
  await client`delete from fleet.avatar_workers`;
  for (const table of ["call_tickets", "call_recordings", "recording_fragments", "recordings", "unneeded_files"]) {
    await client.unsafe(`delete from ${table}`);
  }
  const tenantId = await seedTenant(db, { live: 1_000_000, test: 1_000_000 });
  await seedEndpoint(db, tenantId);
  const { caller } = await seedCaller(db, tenantId, { environment: "live" });
  const avatarId = await readyAvatar(db, caller);
  const find = async (id: RecordingId | undefined, owner = caller): Promise<Recording | null> =>
    (await findRecording(db, owner, id as RecordingId))?.recording ?? null;
  return {
    ...{ tenantId, caller, avatarId, find },
    start: (...[mode, changes]: [mode?: "audio" | "participants", changes?: object]) =>
      seedRecordedCall(db, caller, avatarId, mode, changes),
    end: (id: SessionId) => endCall(db, caller, id),
    remove: (id: RecordingId | undefined, by = caller) =>
      deleteRecording(db, id as RecordingId, by, { ...operatorOrigin(), actor: by }),
    events: (id: RecordingId | undefined) => deliveredTypes(db, tenantId, id as string),
    rows: async () => {
      const [row] = await client`
        select (select count(*)::integer from call_recordings) as calls,
          (select count(*)::integer from recording_fragments) as fragments,
          (select count(*)::integer from recordings) as recordings`;
      return `${row?.["calls"]} ${row?.["fragments"]} ${row?.["recordings"]}`;
    },
  };
};
