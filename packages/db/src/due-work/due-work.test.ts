/** The due work of the queues, in tables of many rows that are due later. */
import { expect, test } from "bun:test";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import {
  expectIndexed,
  explainedSession,
  insertEndpointRows,
  insertKeyRows,
  insertRecordingRows,
  rowId,
} from "@realtime-avatar/testing/postgres/plans";
import { seedTenant } from "@realtime-avatar/testing/seeds";
import { type DueWork, findDueWork, type Queue } from "./due-work.ts";

const ROWS = 3000;
const NOTHING: DueWork = { jobs: false, deliveries: false, transcripts: false, recordings: false };

const database = await fileDatabase();
const { client } = database.db;
const { db, plans, explain } = await explainedSession(database.url);

test("an installation without work: nothing is due", async () => {
  expect(await findDueWork(db)).toEqual(NOTHING);
});

test("many rows that are due later: nothing is due; one entry of each index is read", async () => {
  const tenantId = await seedTenant(database.db);
  await client.unsafe(`
    ${insertKeyRows(tenantId, ROWS)}
    ${insertEndpointRows(ROWS)}
    ${insertRecordingRows(tenantId, ROWS)}
    update webhook_endpoints set recovery_next_at = now() + interval '1 hour', recovery_next_id = id, recovery_last_id = id;
    update webhook_deliveries set status = 'pending', next_attempt_at = now() + interval '1 hour';
    insert into jobs (tenant_id, id, environment, kind, target_id, generation, run_at, created_at)
      select '${tenantId}', ${rowId("job")}, 'live', 'process_asset', ${rowId("ast")}, 1, now() + interval '1 hour', now()
      from generate_series(1, ${ROWS}) i;
    insert into call_transcripts (tenant_id, session_id, receiver, due_at)
      select '${tenantId}', ${rowId("ses")}, 'x', case when i % 2 = 0 then now() + interval '1 hour' end
      from generate_series(1, ${ROWS}) i`);
  await client.unsafe("vacuum analyze");
  await explain();
  expect(await findDueWork(db)).toEqual(NOTHING);
  const all = expectIndexed(plans);
  for (const index of ["jobs_available_index", "webhook_deliveries_due_index", "webhook_endpoints_recovery_index"])
    expect(all).toContain(index);
  expect(all).toContain("call_transcripts_due_index");
  expect(all).toContain("call_recordings_due_index");
});

test.each<[string, Queue, table: string, column: string, lease: string | null]>([
  ["a job", "jobs", "jobs", "run_at", "leased_until"],
  ["a delivery", "deliveries", "webhook_deliveries", "next_attempt_at", "leased_until"],
  ["a recovery of an endpoint", "deliveries", "webhook_endpoints", "recovery_next_at", null],
  ["a transcript", "transcripts", "call_transcripts", "due_at", "leased_until"],
  ["a recording", "recordings", "call_recordings", "due_at", "leased_until"],
])("%s that is due: its queue; a leased one when its lease has ended", async (_, queue, table, column, lease) => {
  const set = (changes: string) => client.unsafe(`update ${table} set ${changes} where ${column} is not null`);
  await set(`${column} = now() - interval '1 second'`);
  expect(await findDueWork(db)).toEqual({ ...NOTHING, [queue]: true });
  if (lease !== null) {
    await set(`lease = 'one', ${lease} = now() + interval '1 hour'`);
    expect(await findDueWork(db)).toEqual(NOTHING);
    await set(`${lease} = now() - interval '1 second'`);
    expect(await findDueWork(db)).toEqual({ ...NOTHING, [queue]: true });
    await set(`lease = null, ${lease} = null`);
  }
  await set(`${column} = now() + interval '1 hour'`);
  expect(await findDueWork(db)).toEqual(NOTHING);
});
