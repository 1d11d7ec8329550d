/** The plans of the functions of recordings, with many calls and recordings: each reads a few entries of indexes. */
import { expect, test } from "bun:test";
import type { RecordingId, SessionId } from "@realtime-avatar/domain/id";
import { seedCaller } from "@realtime-avatar/testing/credits";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import {
  expectIndexed,
  explainedSession,
  insertEndpointRows,
  insertKeyRows,
  insertRecordingRows,
  rowId,
} from "@realtime-avatar/testing/postgres/plans";
import { operatorOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { findFragmentOwner, writeFragment } from "./fragments.ts";
import {
  claimRecordings,
  finishRecordings,
  forgetUnneededFiles,
  listUnneededFiles,
  postponeUnneededFiles,
  renewRecordings,
  sweepRecordings,
} from "./joining.ts";
import { deleteRecording, findRecording, listRecordings } from "./recordings.ts";
import { namedRecordingFiles } from "./stored.ts";

const ROWS = 3000;

const database = await fileDatabase({ isOne: true });
const { db, plans, explain } = await explainedSession(database.url);
const { client } = database.db;
const tenantId = await seedTenant(db, { live: 1_000_000_000 });
const { caller } = await seedCaller(db, tenantId);
await client.unsafe(`
  ${insertKeyRows(tenantId, ROWS)}
  insert into usage_sessions (tenant_id, id, environment, api_key_id, lineage, status, reserved, price, metadata, created_at,
      started_at, ended_at, expires_at, is_counted)
    select '${tenantId}', ${rowId("ses")}, 'live', ${rowId("key")}, array[${rowId("key")}], 'released', 1000, 1, '{}', now(), now(),
      now(), now() + interval '1 hour', false from generate_series(1, ${ROWS}) i;
  insert into calls (tenant_id, session_id, room_name, room, mode, input, max_seconds)
    select '${tenantId}', ${rowId("ses")}, 'r', 'exists', 'voice', '{}', 1 from generate_series(1, ${ROWS}) i;
  insert into fleet.avatar_slots (worker_id, n, tenant_id, session_id)
    select 'worker ' || i, 1, '${tenantId}', ${rowId("ses")} from generate_series(1, ${ROWS}) i;
  ${insertRecordingRows(tenantId, ROWS)}
  ${insertEndpointRows(ROWS)}
  analyze`);
await explain();

const session = (at: number) => `ses_01h455vb4p${String(at).padStart(16, "0")}` as SessionId;
const recording = (at: number) => `rec_01h455vb4p${String(at).padStart(16, "0")}` as RecordingId;
const fragment = { workerId: "worker 11", sessionId: session(11), generation: 1, n: 4, sizeBytes: 1 };
const page = { before: null, limit: 10 };

test.each([
  [
    "the owner of a fragment",
    async () => expect(await findFragmentOwner(db, fragment)).toMatchObject({ kind: "open" }),
  ],
  ["a fragment", async () => expect(await writeFragment(db, fragment)).toBe("written")],
  [
    "due recordings",
    async () => {
      await client`update call_recordings set due_at = now() where session_id = ${session(12)}`;
      await client`update recordings set ended_at = now() where session_id = ${session(12)}`;
      await client`update call_recordings set ended_at = now(), fragment_count = 4 where session_id = ${session(12)}`;
      const claim = { lease: "one", leaseSeconds: 60, after: "", limit: 16, perTenant: 4, busyTenants: [] };
      const [claimed] = await claimRecordings(db, claim);
      expect(claimed?.sessionId).toBe(session(12));
    },
  ],
  [
    "a lease",
    async () =>
      expect(await renewRecordings(db, { tenantId, sessionId: session(12) }, { lease: "one", leaseSeconds: 60 })).toBe(
        true,
      ),
  ],
  [
    "failed recordings",
    async () => {
      const outcome = { kind: "failed", code: "recording_failed" } as const;
      expect(await finishRecordings(db, { tenantId, sessionId: session(12) }, { lease: "one", outcome })).toBe(true);
    },
  ],
  [
    "old recordings",
    async () => {
      await client`update recordings set status = 'failed', error_code = 'recording_failed', ended_at = now(),
        retained_until = now() - interval '1 second' where id = ${recording(13)}`;
      await client`update recordings set status = 'expired', retained_until = now() - interval '8 days' where id = ${recording(14)}`;
      expect(await sweepRecordings(db, 10)).toBe(2);
    },
  ],
  [
    "unneeded files",
    async () => {
      const files = await listUnneededFiles(db, 10, new Date());
      expect(files).toHaveLength(10);
      await postponeUnneededFiles(db, files);
      await forgetUnneededFiles(db, files);
    },
  ],
  [
    "files of the store",
    async () => {
      const file = { tenantId, sessionId: session(15) };
      const fragment = { ...file, key: "recordings/a", generation: 1, n: 0 };
      const other = { ...file, key: "recordings/b", generation: null, n: null };
      expect(await namedRecordingFiles(db, [fragment, other])).toEqual(["recordings/a"]);
    },
  ],
  ["a recording", async () => expect(await findRecording(db, caller, recording(15))).not.toBeNull()],
  ["a list", async () => listRecordings(db, caller, { ...page, filters: {} })],
  ["a list of a call", async () => listRecordings(db, caller, { ...page, filters: { sessionId: session(15) } })],
  [
    "a deletion",
    async () =>
      expect(await deleteRecording(db, recording(16), caller, { ...operatorOrigin(), actor: caller })).toEqual({
        kind: "written",
      }),
  ],
] as [string, () => Promise<unknown>][])(
  "%s, explained: reads indexes, each by a part of a tenant",
  async (_, work) => {
    plans.length = 0;
    await work();
    expect(plans.length).toBeGreaterThan(0);
    expectIndexed(plans);
  },
);
