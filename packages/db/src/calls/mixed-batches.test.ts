/** Calls in one report or one pass: each has its own outcome, at any position in the batch. */
import { expect, test } from "bun:test";
import type { ReportedCall } from "@realtime-avatar/domain/calls/worker-sync";
import type { SessionId } from "@realtime-avatar/domain/id";
import { ageCalls, endLease, readyAvatar, report, seedCall, sync } from "@realtime-avatar/testing/calls/calls";
import { seedCaller } from "@realtime-avatar/testing/credits";
import { serviceDatabase } from "@realtime-avatar/testing/fixture";
import { operatorOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { findCreditDrift } from "../credits/invariants.ts";
import { endDueCalls, expireWorkers } from "./reconcile.ts";

const { db } = await serviceDatabase();
const { client } = db;

const world = async () => {
  await client`delete from fleet.avatar_slots`;
  await client`delete from fleet.avatar_workers`;
  await client`update calls set room = 'gone'`;
  const tenantId = await seedTenant(db, { live: 1_000_000, test: 1_000_000 });
  const { caller, record } = await seedCaller(db, tenantId);
  const avatarId = await readyAvatar(db, caller);
  await sync(db, "one", { slots: 8 });
  const seed = (changes = {}) => seedCall(db, caller, avatarId, changes);
  return { tenantId, caller, record, avatarId, seed };
};

/** The stored state of a call. `counts`: whether its seconds count now. */
type State = {
  status: string;
  used: number;
  reason: string | null;
  room: string;
  counts: boolean;
  worker: string | null;
};
const stateOf = async (id: SessionId): Promise<State> => {
  const [row] = await client`
    select status, used::integer, reason, room, counts_from is not null as counts,
      (select worker_id from fleet.avatar_slots slot where slot.session_id = session.id) as worker
    from usage_sessions session join calls on session_id = id where id = ${id}`;
  return { ...row } as State;
};
const open = { status: "started", reason: null, room: "exists", counts: true, worker: "one" };
const ended = { status: "released", room: "delete", worker: null };

const orders: [string, <One>(all: readonly One[]) => One[]][] = [
  ["in one order", (all) => [...all]],
  ["in the reverse order", (all) => all.toReversed()],
];

test.each(orders)("a report of calls in every state, %s: writes each as reported", async (_, order) => {
  const { tenantId, seed } = await world();
  const members: [before: ReportedCall["state"] | null, now: (id: SessionId) => ReportedCall, after: Partial<State>][] =
    [
      [null, (id) => report(id, "joined", 0), { ...open, status: "reserved", used: 0, counts: false }],
      [null, (id) => report(id, "started", 5), { ...open, used: 5 }],
      ["started", (id) => report(id, "joining", 9), { ...open, used: 9, counts: false }],
      ["started", (id) => report(id, "ended", 40, { reason: "idle" }), { ...ended, used: 40, reason: "idle" }],
      [
        "started",
        (id) => report(id, "ended", 7, { reason: "session_cap" }),
        { ...ended, used: 7, reason: "session_cap" },
      ],
      [null, (id) => report(id, "ended", 0), { ...ended, status: "failed", used: 0, reason: "failed" }],
      // Of an earlier generation: another worker has the call.
      ["started", (id) => report(id, "ended", 90, { generation: 7 }), { ...open, used: 1 }],
    ];
  const ids: SessionId[] = [];
  while (ids.length < members.length) ids.push(await seed());
  const before = members.flatMap(([state], at) => (state ? [report(ids[at] as SessionId, state, 1)] : []));
  await sync(db, "one", { slots: 8, calls: before });
  const calls = members.map(([, now], at) => now(ids[at] as SessionId));
  const { rooms } = await sync(db, "one", { slots: 8, calls: order(calls) });
  for (const [at, [, , after]] of members.entries()) expect(await stateOf(ids[at] as SessionId)).toMatchObject(after);
  expect(rooms.toSorted()).toEqual([3, 4, 5].map((at) => `rta-test-${ids[at]}`).toSorted());
  expect(await findCreditDrift(db, tenantId, 10)).toEqual([]);
});

test("a pass over calls that are due for every reason, and one that is not due: each due call ends for its reason", async () => {
  const { tenantId, record, seed, avatarId } = await world();
  const { caller: child } = await seedCaller(db, tenantId, {}, record);
  const { caller: inTest } = await seedCaller(db, tenantId, { environment: "test" }, record);
  const all = {
    cap: await seed(),
    credits: await seed({ price: 10_000 }),
    ofKey: await seedCall(db, child, avatarId),
    asked: await seed(),
    lost: await seedCall(db, inTest, await readyAvatar(db, inTest), { metadata: { test_outcome: "worker_lost" } }),
    goesOn: await seed(),
  };
  const ids = Object.values(all);
  await sync(db, "one", { slots: 8, calls: ids.map((id) => report(id, "started", 2)) });
  expect(await endDueCalls(db, 100, operatorOrigin())).toEqual({ ended: 0, rooms: [] });
  await ageCalls(db, [all.cap, all.credits], 104);
  await client`update api_keys set revoked_at = now() where id = ${child.id}`;
  await client`update usage_sessions set must_end = true where id = ${all.asked}`;
  await ageCalls(db, [all.lost], 30);
  const { ended: count, rooms } = await endDueCalls(db, 100, operatorOrigin());
  expect([count, rooms.toSorted()]).toEqual([
    5,
    ids
      .slice(0, 5)
      .map((id) => `rta-test-${id}`)
      .toSorted(),
  ]);
  expect(await stateOf(all.cap)).toMatchObject({ ...ended, reason: "session_cap", used: 100 });
  expect(await stateOf(all.credits)).toMatchObject({ ...ended, reason: "out_of_credits", used: 990_000 });
  expect(await stateOf(all.ofKey)).toMatchObject({ ...ended, reason: "key_ended" });
  expect(await stateOf(all.asked)).toMatchObject({ ...ended, reason: "user_ended" });
  // The reported usage, not the time by the clock.
  expect(await stateOf(all.lost)).toMatchObject({ ...ended, reason: "failed", used: 2 });
  expect(await stateOf(all.goesOn)).toMatchObject(open);
  expect(await findCreditDrift(db, tenantId, 10)).toEqual([]);
});

test.each(orders)(
  "calls of a lost worker, some of which have moved before, %s: each moves or ends",
  async (_, order) => {
    const { tenantId, seed } = await world();
    const ids = [await seed(), await seed(), await seed(), await seed()];
    await sync(db, "one", { slots: 8, calls: ids.map((id, at) => report(id, "started", 10 + at)) });
    const movedBefore = order(ids).slice(0, 2);
    await client`update calls set generation = 2 where session_id = any (${movedBefore as string[]})`;
    for (const [at, id] of ids.entries()) await ageCalls(db, [id], 30 + 20 * at);
    await sync(db, "two", { slots: 1 });
    await endLease(db, "one");
    expect(await expireWorkers(db, operatorOrigin())).toMatchObject({ moved: 1, ended: 3 });
    const states = await Promise.all(ids.map(stateOf));
    const isMoved = (at: number): boolean => states[at]?.worker === "two";
    expect(ids.filter((_, at) => isMoved(at))).toHaveLength(1);
    for (const [at, id] of ids.entries()) {
      if (isMoved(at)) expect([movedBefore.includes(id), states[at]?.status]).toEqual([false, "started"]);
      else expect(states[at]).toMatchObject({ ...ended, reason: "failed" });
      // Charged by the clock until the last sync, 16 seconds ago. The calls are 21 seconds apart, so that a busy
      // machine does not affect the result.
      expect(states[at]?.used).toBeWithin(23 + 21 * at, 23 + 21 * (at + 1));
    }
    expect(await findCreditDrift(db, tenantId, 10)).toEqual([]);
  },
);
