/** Calls under a role that has the rights of `grantService`, and no other. */
import { expect, test } from "bun:test";
import { callRequest, readyAvatar, report, seedCall, sync } from "@realtime-avatar/testing/calls";
import { seedCaller } from "@realtime-avatar/testing/credits";
import { fileDatabase, fileRole } from "@realtime-avatar/testing/fixture";
import { claimOf, operatorOrigin, originOf, seedTenant } from "@realtime-avatar/testing/seeds";
import { findCreditDrift } from "../credits/invariants.ts";
import { grantService } from "../grant.ts";
import { failCall, openCall, releaseCall } from "./calls.ts";
import { findCallFile, listWorkers, listWorkersWithWork } from "./fleet.ts";
import {
  countFleet,
  endDueCalls,
  endLostCall,
  expireWorkers,
  listOpenRooms,
  listRoomsToDelete,
  markRoomsGone,
  readInstance,
} from "./reconcile.ts";

const database = await fileDatabase();
const owner = database.db.client;
const db = await fileRole(database);
await owner`revoke create on schema public from public`;
await grantService(database.url, db.role);

test("the role, with calls: starts, reports, moves, ends and lists them, and keeps workers and tickets", async () => {
  const tenantId = await seedTenant(database.db, { live: 1000 });
  const { caller } = await seedCaller(database.db, tenantId);
  const avatarId = await readyAvatar(database.db, caller);
  await sync(db, "worker");
  await sync(db, "other");
  const [moved, failed] = [await seedCall(db, caller, avatarId), callRequest(caller, avatarId)];
  await openCall(db, failed, caller, claimOf("call"));
  await failCall(db, caller.tenantId, failed.id, claimOf("call"), caller, operatorOrigin());
  for (const worker of ["worker", "other"]) await sync(db, worker, { calls: [report(moved)] });
  expect(await listWorkersWithWork(db, ["worker"])).toEqual([]);
  await owner`update fleet.avatar_workers set lease_until = now() where id in (
    select worker_id from fleet.avatar_slots where session_id = ${moved})`;
  expect((await expireWorkers(db, operatorOrigin())).moved).toBe(1);
  const [worker] = await listWorkers(db);
  expect(await findCallFile(db, worker?.id ?? "", moved)).toMatchObject({ avatarId });
  await owner`update usage_sessions set must_end = true where id = ${moved}`;
  expect((await endDueCalls(db, 10, operatorOrigin())).ended).toBe(1);
  const released = await seedCall(db, caller, avatarId);
  expect(await listOpenRooms(db)).toHaveLength(1);
  const queued = callRequest(caller, avatarId, { testOutcome: "queued" });
  expect((await openCall(db, queued, caller, null)).kind).toBe("queued");
  expect(await countFleet(db)).toEqual({ slots: 2, usedSlots: 1, openCalls: 1, tickets: 1 });
  for (const target of [
    { kind: "ticket", id: queued.newTicketId },
    { kind: "session", id: released },
  ] as const) {
    await releaseCall(db, target, { reason: null }, caller, originOf(caller), claimOf(target.id));
  }
  const lost = await seedCall(db, caller, avatarId);
  expect(await endLostCall(db, caller.tenantId, lost, "failed", operatorOrigin())).not.toBeNull();
  await markRoomsGone(db, await listRoomsToDelete(db, 10));
  expect(await listRoomsToDelete(db, 10)).toEqual([]);
  expect(await readInstance(db)).not.toBe("");
  await sync(db, worker?.id ?? "", { slots: 0 });
  await expireWorkers(db, operatorOrigin());
  expect(await listWorkers(db)).toEqual([]);
  expect(await findCreditDrift(db, caller.tenantId, 10)).toEqual([]);
});
