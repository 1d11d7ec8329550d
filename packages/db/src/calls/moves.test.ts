/** Calls that start at a worker, or move to another one: each goes to a worker with the features, voice and model that it needs. */
import { describe, expect, test } from "bun:test";
import { MAX_CALL_SECONDS } from "@realtime-avatar/domain/calls/limits";
import { namedByStart } from "@realtime-avatar/domain/calls/start";
import { CONVERSATION, GROWTH, RECORDING } from "@realtime-avatar/domain/calls/worker-sync";
import { callRequest, endLease, readyAvatar, seedCall, sync } from "@realtime-avatar/testing/calls/calls";
import { recordingRequest } from "@realtime-avatar/testing/calls/recordings";
import { seedCaller } from "@realtime-avatar/testing/credits";
import { serviceDatabase } from "@realtime-avatar/testing/fixture";
import { operatorOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { openCall } from "./calls.ts";
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
  await client`delete from call_tickets`;
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
  test("its worker is lost, and only workers without the feature are free: waits, and moves when a worker with the feature is free", async () => {
    const ids = await world(request);
    await addWorker("two", 4, ...[GROWTH, RECORDING].filter((other) => other !== feature));
    await endLease(db, "one", 1);
    expect(await expire()).toMatchObject({ moved: 0, ended: 0, rooms: [] });
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

test("a call whose first worker is lost before a sync hands it out: only later losses count", async () => {
  const ids = await world(PLAIN);
  for (const [worker, next] of [
    ["one", "two"],
    ["two", "three"],
  ] as const) {
    await addWorker(next, 1);
    await endLease(db, worker, 1);
    expect((await expire()).moved).toBe(1);
    expect(await workersOf(ids)).toEqual([next]);
    await addWorker(next, 1);
  }
  await addWorker("four", 1);
  await endLease(db, "three", 1);
  expect(await expire()).toMatchObject({ moved: 0, waiting: 1 });
});

describe.each([
  ["a voice", { voice: { voice_id: "vox" } }, { voices: ["vox"], models: [] }, { voices: ["pox"], models: [] }],
  ["a model", { llm: { model: "m1" } }, { voices: [], models: ["m1"] }, { voices: [], models: ["m2"] }],
])("a call that names %s", (_, named, catalog, other) => {
  const request = () => ({
    input: { stt_mode: "server" as const, ...named },
    conversation: { price: 1, ...namedByStart(named as Parameters<typeof namedByStart>[0]) },
  });
  test("its worker is lost, and only a worker without it is free: waits, and moves when one with it is free", async () => {
    const ids = await world(request);
    await sync(db, "two", { slots: 4, features: [CONVERSATION], catalog: other });
    await endLease(db, "one", 1);
    expect(await expire()).toMatchObject({ moved: 0, ended: 0, waiting: 1 });
    await sync(db, "three", { slots: 1, features: [CONVERSATION], catalog });
    expect(await expire()).toMatchObject({ moved: 1, waiting: 0 });
    expect(await workersOf(ids)).toEqual(["three"]);
  });
});

describe("the start of a call of two hours", () => {
  const start = async () => {
    const { caller } = await seedCaller(db, await seedTenant(db, { live: 1_000_000 }), {});
    const request = callRequest(caller, await readyAvatar(db, caller), LONG());
    const { kind } = await openCall(db, request, caller, null);
    return [kind, (await workersOf([request.id]))[0]];
  };
  test("workers with and without growth are free: begins at one with it; then only one without: waits", async () => {
    await world();
    await addWorker("a", 4);
    await addWorker("two", 1, GROWTH);
    expect(await start()).toEqual(["written", "two"]);
    expect(await start()).toEqual(["queued", null]);
  });
  test("no live worker has growth: begins at one without it", async () => {
    await world();
    await addWorker("a", 1);
    await addWorker("two", 1, GROWTH);
    await endLease(db, "two");
    expect(await start()).toEqual(["written", "a"]);
  });
});

test("calls with and without needed features, with exactly enough slots: each gets a slot; calls without needs get the slots without features", async () => {
  const ids = await world(PLAIN, LONG, RECORDED, () => ({ ...LONG(), ...RECORDED() }));
  await addWorker("all", 1, GROWTH, RECORDING);
  await addWorker("grows", 1, GROWTH);
  await addWorker("records", 1, RECORDING);
  await addWorker("plain", 1);
  await endLease(db, "one", 1);
  expect((await expire()).moved).toBe(4);
  expect(await workersOf(ids)).toEqual(["plain", "grows", "records", "all"]);
});
