/** A worker that shares its slots among shards: its slots in one shard. */
import { expect, test } from "bun:test";
import { SHARED_SLOTS, type SyncRequest } from "@realtime-avatar/domain/calls/worker-sync";
import { callRequest, endLease, readyAvatar, report, seedCall, sync } from "@realtime-avatar/testing/calls/calls";
import { seedCaller } from "@realtime-avatar/testing/credits";
import { mutate } from "@realtime-avatar/testing/credits/mutations";
import { serviceDatabase } from "@realtime-avatar/testing/fixture";
import { whileHeld } from "@realtime-avatar/testing/postgres/waits";
import { operatorOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { openCall } from "./calls.ts";
import { hasAvatarWorker, listWorkers } from "./fleet.ts";
import { expireWorkers } from "./reconcile.ts";

const database = await serviceDatabase();
const { db } = database;
await mutate(db);
const { client } = db;

const world = async () => {
  await client`delete from fleet.avatar_slots`;
  await client`delete from fleet.avatar_workers`;
  await client`delete from call_tickets`;
  const tenantId = await seedTenant(db, { live: 1_000_000 });
  const { caller } = await seedCaller(db, tenantId);
  const avatarId = await readyAvatar(db, caller);
  return {
    caller,
    seed: () => seedCall(db, caller, avatarId),
    start: (changes = {}) => openCall(db, callRequest(caller, avatarId, changes), caller, null),
  };
};
const shared = (slots: number, request: Partial<SyncRequest> = {}, worker = "one") =>
  sync(db, worker, { slots, features: ["echo", SHARED_SLOTS], ...request });
const slotsOf = async (worker = "one") => {
  const rows = await client<{ n: number; taken: boolean }[]>`
    select n, session_id is not null as taken from fleet.avatar_slots where worker_id = ${worker} order by n`;
  return rows.map(({ n, taken }) => (taken ? `${n} taken` : `${n}`));
};

test("a worker of one shard: gets no shared slots", async () => {
  await world();
  expect((await sync(db, "one")).shared).toBeNull();
});

test("without slots here: the worker keeps its lease, a start waits, and the worker is informed; with a slot: it gets the call", async () => {
  const { start } = await world();
  expect((await shared(0)).shared).toEqual({ slots: 0, waiting: 0 });
  expect(await hasAvatarWorker(db)).toBe(true);
  const [worker] = await listWorkers(db);
  expect(worker?.leaseUntil.getTime()).toBeGreaterThan(Date.now() + 5000);
  const queued = await start();
  expect(queued.kind).toBe("queued");
  expect((await shared(0)).shared).toEqual({ slots: 0, waiting: 1 });
  expect((await shared(1)).shared).toEqual({ slots: 1, waiting: 1 });
  expect((await start({ ticketId: queued.kind === "queued" ? queued.place.ticketId : null })).kind).toBe("written");
  expect((await shared(1)).shared).toEqual({ slots: 1, waiting: 0 });
  // Its last sync does not name the feature.
  await sync(db, "one", { slots: 0 });
  expect((await listWorkers(db))[0]?.leaseUntil.getTime()).toBeLessThanOrEqual(Date.now());
});

test("fewer slots than calls: the calls stay, and a freed slot is not used again", async () => {
  const { seed, start } = await world();
  await shared(3);
  const [first, second, third] = [await seed(), await seed(), await seed()];
  const calls = [first, second, third].map((id) => report(id));
  expect((await shared(1, { calls })).shared).toEqual({ slots: 3, waiting: 0 });
  expect(await slotsOf()).toEqual(["1 taken", "2 taken", "3 taken"]);
  await client`update fleet.avatar_slots set tenant_id = null, session_id = null where session_id = ${third}`;
  expect((await start()).kind).toBe("queued");
  expect((await shared(1, { calls: calls.slice(0, 2) })).shared).toEqual({ slots: 2, waiting: 1 });
  expect(await slotsOf()).toEqual(["1 taken", "2 taken"]);
});

test("slots that are taken out of order: as many as the worker reports; the free slots have the lowest numbers", async () => {
  const { seed } = await world();
  await shared(3);
  const ids = [await seed(), await seed(), await seed()];
  await client`update fleet.avatar_slots set tenant_id = null, session_id = null where n <= 2`;
  const calls = [report(ids[2] as never)];
  expect((await shared(2, { calls })).shared?.slots).toBe(2);
  expect(await slotsOf()).toEqual(["1", "3 taken"]);
  expect((await shared(1, { calls })).shared?.slots).toBe(1);
  expect(await slotsOf()).toEqual(["3 taken"]);
  expect((await shared(4, { calls })).shared?.slots).toBe(4);
  expect(await slotsOf()).toEqual(["1", "2", "3 taken", "4"]);
});

test("a slot that a concurrent start takes: stays and is counted", async () => {
  await world();
  await shared(2);
  const take = ({ client: holder }: typeof db) => holder`select from fleet.avatar_slots where n = 2 for update`;
  const during = await whileHeld(database, take, () => shared(0), undefined, null);
  expect(during.shared?.slots).toBe(1);
  expect((await shared(0)).shared?.slots).toBe(0);
});

test("a worker without a slot here and without the voice of a call: the call is refused and does not wait", async () => {
  const { start } = await world();
  await shared(0, { catalog: { voices: ["ada"], models: ["small"] } });
  const naming = (voiceId: string) => start({ conversation: { price: 2, voiceId, model: null } });
  expect(await naming("bob")).toEqual({ kind: "unsupported", fields: ["voice"] });
  expect((await naming("ada")).kind).toBe("queued");
});

test("a worker with slots in other shards, lost with its call: counted as a loss; the call moves once", async () => {
  const { seed } = await world();
  await shared(1);
  const id = await seed();
  for (const [at, [worker, next]] of [["one", "two"] as const, ["two", "three"] as const].entries()) {
    await shared(0, { calls: [report(id, "started", 1, { generation: at + 1 })] }, worker);
    await endLease(db, worker);
    await shared(1, {}, next);
    await expireWorkers(db, operatorOrigin());
    const { start } = await shared(1, {}, next);
    expect(start).toMatchObject(at === 0 ? [{ generation: 2, isHandedOver: false, lostProcesses: 1 }] : []);
  }
});
