/** The rooms of calls: missing rooms, rooms to delete, and recorded deletions. */
import { expect, test } from "bun:test";
import { callRequest, readyAvatar, report, seedCall, sync } from "@realtime-avatar/testing/calls/calls";
import { seedCaller } from "@realtime-avatar/testing/credits";
import { mutate } from "@realtime-avatar/testing/credits/mutations";
import { session } from "@realtime-avatar/testing/database";
import { fixture, serviceDatabase } from "@realtime-avatar/testing/fixture";
import { operatorOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { findCreditDrift } from "../credits/invariants.ts";
import { openCall } from "./calls.ts";
import { compareRooms, endLostCall, listRoomsToDelete, markRoomsGone, readInstance } from "./reconcile.ts";

const database = await serviceDatabase();
const { db } = database;
await mutate(db);
const { client } = db;

const world = async () => {
  await client`delete from fleet.avatar_slots`;
  await client`delete from fleet.avatar_workers`;
  await client`update calls set room = 'gone'`;
  const tenantId = await seedTenant(db, { live: 1_000_000 });
  const { caller } = await seedCaller(db, tenantId);
  const avatarId = await readyAvatar(db, caller);
  await sync(db, "one");
  return { tenantId, caller, avatarId, seed: () => seedCall(db, caller, avatarId) };
};

test("rooms of open calls: missing when not listed; of ended calls: listed until they are deleted", async () => {
  const one = await world();
  const id = await one.seed();
  const request = callRequest(one.caller, one.avatarId);
  await openCall(db, request, one.caller, null);
  await sync(db, "one", { calls: [report(id)] });
  const prefix = "rta-test-";
  const both = [id, request.id].map((session) => prefix + session);
  expect(await compareRooms(db, prefix, [...both, `${prefix}ses_other`])).toEqual({
    stray: [`${prefix}ses_other`],
    missing: [],
  });
  // The room of the second call is still being created.
  expect(await compareRooms(db, prefix, [])).toEqual({
    stray: [],
    missing: [{ tenantId: one.tenantId, sessionId: id, roomName: `rta-test-${id}`, isStarted: true }],
  });
  expect(await listRoomsToDelete(db, 10)).toEqual([]);
  expect(await endLostCall(db, one.tenantId, id, "failed", operatorOrigin())).toBe(`rta-test-${id}`);
  expect(await endLostCall(db, one.tenantId, id, "failed", operatorOrigin())).toBeNull();
  expect(await client`select session_id from fleet.avatar_slots where session_id = ${id}`).toHaveLength(0);
  const room = { tenantId: one.tenantId, sessionId: id, roomName: `rta-test-${id}` };
  expect(await listRoomsToDelete(db, 10)).toEqual([room]);
  await markRoomsGone(db, [room]);
  expect(await listRoomsToDelete(db, 10)).toEqual([]);
  expect(await findCreditDrift(db, one.tenantId, 10)).toEqual([]);
});

test("rooms that another process also records: skipped, and listed again if that process fails", async () => {
  const one = await world();
  const rooms = [await one.seed(), await one.seed()].map((sessionId) => ({ tenantId: one.tenantId, sessionId }));
  for (const { sessionId } of rooms) await endLostCall(db, one.tenantId, sessionId, "failed", operatorOrigin());
  const holder = await fixture(session(database.url));
  await holder.client`begin`;
  await markRoomsGone(holder, rooms.slice(0, 1));
  await markRoomsGone(db, rooms);
  await holder.client`rollback`;
  expect(await listRoomsToDelete(db, 10)).toMatchObject(rooms.slice(0, 1));
});

test("the instance: the same each time", async () => {
  const instance = await readInstance(db);
  expect(instance).toMatch(/^[0-9a-f]{12}$/);
  expect(await readInstance(db)).toBe(instance);
});
