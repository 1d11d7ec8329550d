/** The events of transitions of usage sessions and calls: one event per transition, from every function. */
import { describe, expect, test } from "bun:test";
import { newId, type SessionId } from "@realtime-avatar/domain/id";
import { callRequest, readyAvatar, report, seedCall, sync } from "@realtime-avatar/testing/calls/calls";
import { PRICE, seedCaller, seedSession } from "@realtime-avatar/testing/credits";
import { mutate } from "@realtime-avatar/testing/credits/mutations";
import { serviceDatabase } from "@realtime-avatar/testing/fixture";
import { random } from "@realtime-avatar/testing/random-bytes";
import { newClaim, operatorOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { deliveredTypes, readEventTypes, seedEndpoint } from "@realtime-avatar/testing/webhooks/events";
import { confirmRoom, failCall, openCall, releaseCall } from "../calls/calls.ts";
import { endDueCalls, endLostCall, expireWorkers } from "../calls/reconcile.ts";
import { openUsageSession, releaseSession, reportUsage, sweepSessions } from "../credits/usage-sessions.ts";

const { db } = await serviceDatabase();
await mutate(db);
const { client } = db;

/** A tenant with a live key, and an endpoint for events of sessions. */
const world = async () => {
  const tenantId = await seedTenant(db, { live: 1000 * PRICE });
  const { caller } = await seedCaller(db, tenantId);
  await seedEndpoint(db, tenantId, { events: ["usage_session.*"] });
  return { tenantId, caller };
};

describe("the transitions of sessions", () => {
  const SHORT = ["usage_session.opened", "usage_session.ended"];
  const LONG = ["usage_session.opened", "usage_session.started", "usage_session.ended"];
  const use = (used: number) => ({ used, leaseSeconds: 60 });
  const engine = { isEngine: true, used: PRICE, reason: null };
  const expire = (id: SessionId) =>
    client`update usage_sessions set expires_at = now() - interval '1 second' where id = ${id}`;

  type World = Awaited<ReturnType<typeof world>> & { call: () => Promise<SessionId> };
  /** The ways in which a session begins and ends. */
  const PATHS: [name: string, events: string[], (world: World) => Promise<SessionId>][] = [
    [
      "reported twice and released twice",
      LONG,
      async ({ caller }) => {
        const id = await seedSession(db, caller);
        for (const used of [0, PRICE]) await reportUsage(db, id, use(used), caller);
        for (const _ of [1, 2]) await releaseSession(db, id, engine, caller, operatorOrigin());
        return id;
      },
    ],
    [
      "released before its start",
      SHORT,
      async ({ caller }) => {
        const id = await seedSession(db, caller);
        await releaseSession(db, id, { isEngine: false, used: null, reason: null }, caller, operatorOrigin());
        return id;
      },
    ],
    [
      "marked to end, and overdue later",
      LONG,
      async ({ caller, tenantId }) => {
        const id = await seedSession(db, caller);
        await reportUsage(db, id, use(0), caller);
        await releaseSession(db, id, { isEngine: false, used: null, reason: null }, caller, operatorOrigin());
        await expire(id);
        await Promise.all([sweepSessions(db, tenantId, operatorOrigin()), sweepSessions(db, null, operatorOrigin())]);
        return id;
      },
    ],
    [
      "released after its lease",
      SHORT,
      async ({ caller }) => {
        const id = await seedSession(db, caller);
        await expire(id);
        await releaseSession(db, id, engine, caller, operatorOrigin());
        return id;
      },
    ],
    [
      "a call that its worker starts and ends",
      LONG,
      async ({ call }) => {
        const id = await call();
        for (const used of [1, 12]) await sync(db, "worker", { calls: [report(id, "started", used)] });
        for (const _ of [1, 2]) await sync(db, "worker", { calls: [report(id, "ended", 20)] });
        return id;
      },
    ],
    [
      "a call whose first report is its end",
      LONG,
      async ({ call }) => {
        const id = await call();
        await sync(db, "worker", { calls: [report(id, "ended", 20)] });
        return id;
      },
    ],
    [
      "a call that its worker never started",
      SHORT,
      async ({ call }) => {
        const id = await call();
        await sync(db, "worker", { calls: [report(id, "ended", 0)] });
        return id;
      },
    ],
    [
      "a call that the caller ends",
      LONG,
      async ({ call, caller }) => {
        const id = await call();
        await sync(db, "worker", { calls: [report(id)] });
        for (const _ of [1, 2])
          await releaseCall(db, { kind: "session", id }, { reason: null }, caller, operatorOrigin(), null);
        return id;
      },
    ],
    [
      "a call that is released as a session",
      SHORT,
      async ({ call, caller }) => {
        const id = await call();
        await releaseSession(db, id, engine, caller, operatorOrigin());
        return id;
      },
    ],
    [
      "a call that must end",
      LONG,
      async ({ call }) => {
        const id = await call();
        await sync(db, "worker", { calls: [report(id)] });
        await client`update usage_sessions set must_end = true where id = ${id}`;
        await Promise.all([endDueCalls(db, 10, operatorOrigin()), endDueCalls(db, 10, operatorOrigin())]);
        return id;
      },
    ],
    [
      "a call whose worker is lost",
      SHORT,
      async ({ call }) => {
        const id = await call();
        await client`update fleet.avatar_workers set lease_until = now() - interval '1 second', synced_at = null`;
        await expireWorkers(db, operatorOrigin());
        return id;
      },
    ],
    [
      "a call whose room is lost",
      LONG,
      async ({ call, tenantId }) => {
        const id = await call();
        await sync(db, "worker", { calls: [report(id)] });
        await endLostCall(db, tenantId, id, "failed", operatorOrigin());
        await endLostCall(db, tenantId, id, "failed", operatorOrigin());
        return id;
      },
    ],
    [
      "a call whose room was not created",
      SHORT,
      async ({ caller, tenantId }) => {
        const request = callRequest(caller, await readyAvatar(db, caller));
        await openCall(db, request, caller, null);
        await failCall(db, tenantId, request.id, null, caller, operatorOrigin());
        expect(await confirmRoom(db, tenantId, request.id, request.roomName)).toBe("failed");
        return request.id;
      },
    ],
    [
      "a call that is overdue",
      SHORT,
      async ({ call, tenantId }) => {
        const id = await call();
        await expire(id);
        await sweepSessions(db, tenantId, operatorOrigin());
        return id;
      },
    ],
  ];

  test.each(PATHS)("a session that is %s: each transition sends one event", async (_, events, run) => {
    await client`delete from fleet.avatar_slots`;
    await client`delete from fleet.avatar_workers`;
    await sync(db, "worker");
    const one = await world();
    const call = async () => seedCall(db, one.caller, await readyAvatar(db, one.caller));
    const id = await run({ ...one, call });
    expect(await deliveredTypes(db, one.tenantId, id)).toEqual(events);
  });

  test("a refused, stale, queued or replayed session: no event", async () => {
    const { tenantId, caller } = await world();
    const { now, requestId } = operatorOrigin();
    const session = (maxSeconds = 10) => ({
      ...{
        id: newId("ses", now, random),
        environment: "live" as const,
        avatarId: null,
        maxSeconds,
        minSeconds: maxSeconds,
      },
      ...{
        price: PRICE,
        startSeconds: 60,
        metadata: {},
        entryId: newId("ent", now, random),
        requestId,
        createdAt: now,
      },
    });
    const first = session();
    expect((await openUsageSession(db, first, caller, newClaim("a"))).kind).toBe("written");
    expect((await openUsageSession(db, session(), caller, newClaim("a"))).kind).toBe("replayed");
    expect((await openUsageSession(db, session(), { ...caller, version: 9 })).kind).toBe("stale");
    expect((await openUsageSession(db, session(100_000), caller)).kind).toBe("insufficient_credits");
    await client`delete from fleet.avatar_slots`;
    const call = callRequest(caller, await readyAvatar(db, caller));
    expect((await openCall(db, call, caller, null)).kind).toBe("queued");
    await reportUsage(db, first.id, use(0), { ...caller, version: 9 });
    expect(await readEventTypes(db, tenantId)).toEqual([`usage_session.opened ${first.id} 1`]);
  });
});

test("concurrent reports and releases of sessions: one event for each start and each end", async () => {
  const { caller } = await world();
  const all = await Promise.all(Array.from({ length: 6 }, () => seedSession(db, caller)));
  const release = { isEngine: true, used: PRICE, reason: null };
  for (const used of [0, PRICE])
    await Promise.all(all.map((id) => reportUsage(db, id, { used, leaseSeconds: 60 }, caller)));
  for (const _ of [1, 2]) await Promise.all(all.map((id) => releaseSession(db, id, release, caller, operatorOrigin())));
  const rows = await client`
    select array_agg(type order by sequence) as types from webhook_events where target_id = any(${all}) group by target_id`;
  expect(rows.map(({ types }) => types)).toEqual(
    Array(6).fill(["usage_session.opened", "usage_session.started", "usage_session.ended"]),
  );
});
