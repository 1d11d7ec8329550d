/** Moves of calls to another worker: long and recorded calls go to workers with the features that they need. */
import { describe, expect, test } from "bun:test";
import { MAX_CALL_SECONDS } from "@realtime-avatar/domain/calls/limits";
import { GROWTH, RECORDING } from "@realtime-avatar/domain/calls/worker-sync";
import { endLease, readyAvatar, seedCall, sync } from "@realtime-avatar/testing/calls/calls";
import { recordingRequest } from "@realtime-avatar/testing/calls/recordings";
import { seedCaller } from "@realtime-avatar/testing/credits";
import { serviceDatabase } from "@realtime-avatar/testing/fixture";
import { operatorOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { expireWorkers } from "./reconcile.ts";

const { db } = await serviceDatabase();
const { client } = db;
const PLAIN = () => ({});
const LONG = () => ({ maxSeconds: 1800, growth: { longestSeconds: 7200, defaultLimit: MAX_CALL_SECONDS } });
const RECORDED = () => ({ recording: recordingRequest("audio") });

/** Worker `one` with these calls, and no slots for others. */
const world = async (...requests: (() => object)[]) => {
  await client`delete from fleet.avatar_slots`;
  await client`delete from fleet.avatar_workers`;
  await client`delete from call_recordings`;
  const { caller } = await seedCaller(db, await seedTenant(db, { live: 1_000_000 }), {});
  const avatarId = await readyAvatar(db, caller);
  await sync(db, "one", { slots: requests.length, features: [GROWTH, RECORDING] });
  const ids: string[] = [];
  for (const request of requests) ids.push(await seedCall(db, caller, avatarId, request()));
  return ids;
};
const addWorker = (id: string, slots: number, ...features: string[]) => sync(db, id, { slots, features });
/** The workers of the calls, in order; null of an ended call. */
const workersOf = async (ids: readonly string[]) => {
  const rows = await client`select session_id, worker_id from fleet.avatar_slots where session_id is not null`;
  return ids.map((id) => rows.find((row) => row["session_id"] === id)?.["worker_id"] ?? null);
};
const expire = () => expireWorkers(db, operatorOrigin());

describe.each([
  ["a call of two hours", LONG, GROWTH],
  ["a recorded call", RECORDED, RECORDING],
])("%s", (_, request, feature) => {
  test("its worker is lost, and only workers without the feature are free: waits, and moves when one with the feature is free", async () => {
    const ids = await world(request);
    await addWorker("two", 4, ...[GROWTH, RECORDING].filter((other) => other !== feature));
    await endLease(db, "one", 1);
    expect(await expire()).toEqual({ moved: 0, ended: 0, rooms: [] });
    expect(await workersOf(ids)).toEqual(["one"]);
    await addWorker("three", 1, feature);
    expect((await expire()).moved).toBe(1);
    expect(await workersOf(ids)).toEqual(["three"]);
  });

  test("only workers without the feature are free until its worker has been silent for 15 seconds: ends", async () => {
    const ids = await world(request);
    await addWorker("two", 4);
    await endLease(db, "one");
    expect(await expire()).toMatchObject({ moved: 0, ended: 1 });
    expect(await workersOf(ids)).toEqual([null]);
  });

  test("its worker stops: handed over to a worker with the feature", async () => {
    const ids = await world(request);
    await addWorker("a", 4);
    await addWorker("two", 4, feature);
    await sync(db, "one", { slots: 0, calls: [] });
    expect((await expire()).moved).toBe(1);
    expect(await workersOf(ids)).toEqual(["two"]);
  });
});

test("calls with and without needs, just enough slots: each call gets a slot, those without needs the plain ones", async () => {
  const ids = await world(PLAIN, LONG, RECORDED, () => ({ ...LONG(), ...RECORDED() }));
  await addWorker("all", 1, GROWTH, RECORDING);
  await addWorker("grows", 1, GROWTH);
  await addWorker("records", 1, RECORDING);
  await addWorker("plain", 1);
  await endLease(db, "one", 1);
  expect((await expire()).moved).toBe(4);
  expect(await workersOf(ids)).toEqual(["plain", "grows", "records", "all"]);
});
