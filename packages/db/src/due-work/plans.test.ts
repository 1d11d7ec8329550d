/** The plan of the search for due work, in tables of many rows that are due later: one entry of each index is read. */
import { expect, test } from "bun:test";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { expectIndexed, explainedSession, insertQueueRows } from "@realtime-avatar/testing/postgres/plans";
import { seedTenant } from "@realtime-avatar/testing/seeds";
import { findDueWork } from "./due-work.ts";

const ROWS = 3000;

const database = await fileDatabase();
const { db, plans, explain } = await explainedSession(database.url);
await database.db.client.unsafe(insertQueueRows(await seedTenant(database.db), ROWS));
await database.db.client.unsafe("vacuum analyze");
await explain();

test("the queues, with many rows that are due later: read by their indexes", async () => {
  await findDueWork(db);
  const all = expectIndexed(plans);
  for (const index of [
    "jobs_available_index",
    "webhook_deliveries_due_index",
    "webhook_endpoints_recovery_index",
    "call_transcripts_due_index",
    "call_recordings_due_index",
  ])
    expect(all).toContain(index);
});
