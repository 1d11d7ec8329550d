import { expect, test } from "bun:test";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { insertQueueRows } from "@realtime-avatar/testing/postgres/plans";
import { seedTenant } from "@realtime-avatar/testing/seeds";
import { type DueWork, findDueWork, type Queue } from "./due-work.ts";

const NOTHING: DueWork = { jobs: false, deliveries: false, transcripts: false, recordings: false };

const { db } = await fileDatabase();
const { client } = db;

test("queues without rows: nothing is due", async () => {
  expect(await findDueWork(db)).toEqual(NOTHING);
});

test("queues whose rows are due later: nothing is due", async () => {
  await client.unsafe(insertQueueRows(await seedTenant(db), 10));
  expect(await findDueWork(db)).toEqual(NOTHING);
});

test.each<[string, Queue, table: string, column: string, hasLease: boolean]>([
  ["a job", "jobs", "jobs", "run_at", true],
  ["a delivery", "deliveries", "webhook_deliveries", "next_attempt_at", true],
  ["a recovery of an endpoint", "deliveries", "webhook_endpoints", "recovery_next_at", false],
  ["a transcript", "transcripts", "call_transcripts", "due_at", true],
  ["a recording", "recordings", "call_recordings", "due_at", true],
])("%s that is due: its queue; a leased one when its lease has ended", async (_, queue, table, column, hasLease) => {
  const set = (changes: string) => client.unsafe(`update ${table} set ${changes} where ${column} is not null`);
  await set(`${column} = now() - interval '1 second'`);
  expect(await findDueWork(db)).toEqual({ ...NOTHING, [queue]: true });
  if (hasLease) {
    await set("lease = 'one', leased_until = now() + interval '1 hour'");
    expect(await findDueWork(db)).toEqual(NOTHING);
    await set("leased_until = now() - interval '1 second'");
    expect(await findDueWork(db)).toEqual({ ...NOTHING, [queue]: true });
    await set("lease = null, leased_until = null");
  }
  await set(`${column} = now() + interval '1 hour'`);
  expect(await findDueWork(db)).toEqual(NOTHING);
});
