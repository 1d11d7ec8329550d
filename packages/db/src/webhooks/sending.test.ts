import { beforeEach, describe, expect, test } from "bun:test";
import type { UpdateWebhookEndpoint } from "@realtime-avatar/domain/webhooks/schemas";
import { mutate } from "@realtime-avatar/testing/credits/mutations";
import type { TestDb } from "@realtime-avatar/testing/database";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { sessionAt } from "@realtime-avatar/testing/postgres/clock";
import { ofOneDatabase } from "@realtime-avatar/testing/postgres/one-database";
import { whileHeld } from "@realtime-avatar/testing/postgres/waits";
import { seedAvatar, seedCaller, seedOrigin } from "@realtime-avatar/testing/seeds";
import {
  claimSome,
  deliveryAttempt,
  type HeldDelivery,
  newTarget,
  seedEndpoint,
  seedEvents,
  testQueue,
} from "@realtime-avatar/testing/webhooks/seeds";
import { findDelivery } from "./deliveries.ts";
import { deleteEndpoint, findEndpoint, rotateEndpointSecret, updateEndpoint } from "./endpoints.ts";
import { freezeBodies, webhookStats } from "./sending.ts";

const database = await fileDatabase();
const { db } = database;
await mutate(db);
const queue = testQueue(db);
const { finish, claimOne, passTime, statuses } = queue;
const { client } = db;

// Each test starts with an empty queue, because a claim serves all tenants.
beforeEach(queue.clear);

describe("a delivery", () => {
  test("an event, sent at once: claimed once, its body frozen, delivered", async () => {
    const caller = await seedCaller(db);
    const endpoint = await seedEndpoint(db, caller, { events: ["avatar.*"] });
    const avatar = await seedAvatar(db, caller);
    const delivery = await claimOne();
    expect(delivery).toMatchObject({
      tenantId: caller.tenantId,
      endpointId: endpoint.id,
      eventType: "avatar.created",
      targetId: avatar.id,
      sequence: 1,
      body: null,
      attemptCount: 0,
      url: endpoint.url,
      previousSecret: null,
    });
    expect(Buffer.from(delivery.secret).equals(endpoint.secret)).toBe(true);
    expect(await claimSome(db)).toEqual([]);
    const { tenantId, eventId } = delivery;
    expect(await freezeBodies(db, [{ tenantId, eventId, body: "first" }])).toEqual(["first"]);
    expect(await freezeBodies(db, [{ tenantId, eventId, body: "second" }])).toEqual(["first"]);
    expect(await finish([delivery], "delivered")).toBe(1);
    const found = await findDelivery(db, caller, delivery.id);
    expect(found).toMatchObject({
      status: "delivered",
      body: "first",
      nextAttemptAt: null,
      attempts: [{ status: 200 }],
    });
    expect(await webhookStats(db)).toEqual({ due: 0, pending: 0, oldestDueSeconds: 0, disabledEndpoints: 0 });
  });

  // A time is stored in milliseconds, and PostgreSQL rounds it. So a time in the second half of a millisecond would be
  // stored as the next millisecond.
  ofOneDatabase.each(["000", "499", "500", "999"])(
    "one and several events, %s microseconds after a millisecond: due at once",
    async (microseconds) => {
      const caller = await seedCaller(db);
      await seedEndpoint(db, caller);
      const now = await sessionAt(database, `2026-01-01T00:00:00.123${microseconds}Z`);
      await seedEvents(now, caller, [newTarget()]);
      expect(await claimSome(now)).toHaveLength(1);
      await seedEvents(now, caller, [newTarget(), newTarget()]);
      expect(await claimSome(now)).toHaveLength(2);
      await now.close();
    },
  );

  test("a delivery whose lease has run out: claimed again with the same ids and body; the first worker is ignored", async () => {
    const caller = await seedCaller(db);
    await seedEndpoint(db, caller);
    await seedEvents(db, caller, [newTarget()]);
    const first = await claimOne();
    await freezeBodies(db, [{ ...first, body: "b" }]);
    await passTime();
    const second = await claimOne();
    expect([second.id, second.eventId, second.body]).toEqual([first.id, first.eventId, "b"]);
    expect(await finish([first], "failed")).toBe(0);
    expect(await statuses()).toEqual({ pending: 1 });
    expect(await finish([second], "delivered")).toBe(1);
    expect(await statuses()).toEqual({ delivered: 1 });
  });

  test("a delivery after a failed attempt: claimed again after its pause, with the number of attempts", async () => {
    const caller = await seedCaller(db);
    await seedEndpoint(db, caller);
    await seedEvents(db, caller, [newTarget()]);
    await finish([await claimOne()], "retry", { delayMs: 3_600_000 });
    expect(await claimSome(db)).toEqual([]);
    await passTime();
    expect((await claimOne()).attemptCount).toBe(1);
  });

  test("a delivery with 25 attempts: shows the newest 20, the oldest of them first", async () => {
    const caller = await seedCaller(db);
    await seedEndpoint(db, caller);
    await seedEvents(db, caller, [newTarget()]);
    for (let n = 0; n < 25; n++) {
      await finish([await claimOne()], "retry", { attempt: { ...deliveryAttempt(500), durationMs: n } });
      await passTime();
    }
    const { id } = await claimOne();
    const found = await findDelivery(db, caller, id);
    expect(found?.attempts.map(({ durationMs }) => durationMs)).toEqual(Array.from({ length: 20 }, (_, n) => n + 5));
  });

  test("an endpoint without a URL: delivered without an attempt", async () => {
    const caller = await seedCaller(db);
    await seedEndpoint(db, caller, { url: null });
    await seedEvents(db, caller, [newTarget()]);
    const delivery = await claimOne();
    expect(delivery.url).toBeNull();
    await finish([delivery], "delivered", { attempt: null });
    expect(await findDelivery(db, caller, delivery.id)).toMatchObject({ status: "delivered", attempts: [] });
  });
});

describe("a claim", () => {
  test("200 due deliveries of one tenant, and one of another: both are served by the next claim", async () => {
    const [many, one] = [await seedCaller(db), await seedCaller(db)];
    for (const caller of [many, one]) await seedEndpoint(db, caller);
    await seedEvents(db, many, Array.from({ length: 200 }, newTarget));
    await seedEvents(db, one, [newTarget()]);
    const claimed = await claimSome(db, { limit: 5 });
    expect(claimed.filter(({ tenantId }) => tenantId === one.tenantId)).toHaveLength(1);
    expect(claimed).toHaveLength(5);
  });

  test("three tenants with three endpoints each: equal shares, within the limit of each endpoint", async () => {
    const callers = await Promise.all([1, 2, 3].map(() => seedCaller(db)));
    for (const caller of callers) {
      for (let n = 0; n < 3; n++) await seedEndpoint(db, caller);
      await seedEvents(db, caller, Array.from({ length: 20 }, newTarget));
    }
    const counted = (claimed: HeldDelivery[], key: "tenantId" | "endpointId") =>
      Object.values(Object.groupBy(claimed, (one) => one[key])).map((list) => list?.length);
    const claimed = await claimSome(db, { limit: 18 });
    expect(counted(claimed, "tenantId")).toEqual([6, 6, 6]);
    expect(counted(claimed, "endpointId")).toEqual([2, 2, 2, 2, 2, 2, 2, 2, 2]);
    const more = [...claimed, ...(await claimSome(db, { perEndpoint: 4, perTenant: 10 }))];
    expect(counted(more, "tenantId")).toEqual([10, 10, 10]);
    expect(counted(more, "endpointId").every((count) => Number(count) <= 4)).toBe(true);
    expect(await claimSome(db, { perEndpoint: 4, perTenant: 10 })).toEqual([]);
  });

  test("a tenant with a low limit of open deliveries: its endpoints are served in turn", async () => {
    const caller = await seedCaller(db);
    for (let n = 0; n < 4; n++) await seedEndpoint(db, caller);
    await seedEvents(db, caller, Array.from({ length: 4 }, newTarget));
    const served: string[] = [];
    for (let n = 0; n < 8; n++) {
      const [delivery] = await claimSome(db, { perTenant: 1 });
      if (!delivery) throw new Error("no delivery");
      served.push(delivery.endpointId);
      await finish([delivery], "delivered");
    }
    expect(new Set(served.slice(0, 4)).size).toBe(4);
    expect(served.slice(4)).toEqual(served.slice(0, 4));
  });

  test("more tenants than a claim examines: each is served before a tenant is served again", async () => {
    const callers = await Promise.all(Array.from({ length: 12 }, () => seedCaller(db)));
    for (const caller of callers) {
      await seedEndpoint(db, caller);
      await seedEvents(db, caller, [newTarget(), newTarget(), newTarget()]);
    }
    const served: string[] = [];
    for (let n = 0; n < 9; n++) served.push(...(await claimSome(db, { limit: 4 })).map(({ tenantId }) => tenantId));
    for (const round of [0, 12, 24]) expect(new Set(served.slice(round, round + 12)).size).toBe(12);
  });

  test("an endpoint that changes between two attempts: the next attempt has its new URL and secrets", async () => {
    const caller = await seedCaller(db);
    const endpoint = await seedEndpoint(db, caller);
    await seedEvents(db, caller, [newTarget()]);
    await finish([await claimOne()], "retry");
    await updateEndpoint(
      db,
      endpoint.id,
      { url: "https://b.example/h" },
      { versions: null },
      caller,
      seedOrigin(caller),
    );
    const before = await findEndpoint(db, caller, endpoint.id);
    if (!before) throw new Error("no endpoint");
    const rotated = {
      ...before,
      version: before.version + 1,
      secret: new Uint8Array([1]),
      previousSecret: before.secret,
      previousSecretExpiresAt: new Date(Date.now() + 60_000),
    };
    expect(await rotateEndpointSecret(db, rotated, caller, seedOrigin(caller))).toEqual({ kind: "written" });
    await passTime();
    const second = await claimOne();
    expect(second.url).toBe("https://b.example/h");
    expect([...second.secret]).toEqual([1]);
    expect(Buffer.from(second.previousSecret ?? []).equals(endpoint.secret)).toBe(true);
    await client`update webhook_endpoints set previous_secret_expires_at = now() - interval '1 second'`;
    await passTime();
    expect((await claimOne()).previousSecret).toBeNull();
  });

  test.each([
    ["disabled", { status: "disabled" }],
    ["deleted", null],
    ["no longer interested in avatars", { events: ["asset.*"] }],
  ] as const)("an endpoint that is %s: its due and parked deliveries are canceled", async (_, changes) => {
    const caller = await seedCaller(db);
    const endpoint = await seedEndpoint(db, caller, { ordered: true });
    const target = newTarget();
    await seedEvents(db, caller, [target], 3);
    await finish([await claimOne()], "retry");
    expect(await statuses()).toEqual({ pending: 1, "pending waits": 2 });
    const write = [{ versions: null }, caller, seedOrigin(caller)] as const;
    if (changes === null) await deleteEndpoint(db, endpoint.id, ...write);
    else await updateEndpoint(db, endpoint.id, changes as UpdateWebhookEndpoint, ...write);
    // Not canceled before its next attempt.
    expect(await claimSome(db)).toEqual([]);
    await passTime();
    for (let n = 0; n < 3; n++) expect(await claimSome(db)).toEqual([]);
    expect(await statuses()).toEqual({ canceled: 3 });
  });

  test("an endpoint that is disabled while deliveries of three resources end: at the next claim all parked deliveries are canceled, without a deadlock", async () => {
    const caller = await seedCaller(db);
    const endpoint = await seedEndpoint(db, caller, { ordered: true });
    await seedEvents(db, caller, [newTarget(), newTarget(), newTarget(), newTarget()], 3);
    const held = await claimSome(db, { limit: 3 });
    await updateEndpoint(db, endpoint.id, { status: "disabled" }, { versions: null }, caller, seedOrigin(caller));
    // The next delivery of each resource whose first one is held, in the order of their locks.
    const next = await client<{ id: string }[]>`
      select id from webhook_deliveries where sequence = 2 and target_id in ${client(held.map(({ targetId }) => targetId))}
      order by tenant_id, id`;
    const lockSecond = ({ client: holder }: TestDb) =>
      holder`select from webhook_deliveries where id = ${next[1]?.id as string} for no key update`;
    const claim = async () => {
      expect(await claimSome(db)).toEqual([]);
    };
    expect(await whileHeld(database, lockSecond, () => finish(held, "delivered"), claim)).toBe(3);
    for (let n = 0; n < 4; n++) expect(await claimSome(db)).toEqual([]);
    expect(await statuses()).toEqual({ canceled: 9, delivered: 3 });
  });

  test("an endpoint that is enabled again before the next attempt: the attempt is made", async () => {
    const caller = await seedCaller(db);
    const endpoint = await seedEndpoint(db, caller);
    await seedEvents(db, caller, [newTarget()]);
    await finish([await claimOne()], "retry");
    for (const status of ["disabled", "enabled"] as const) {
      await updateEndpoint(db, endpoint.id, { status }, { versions: null }, caller, seedOrigin(caller));
    }
    await passTime();
    expect((await claimOne()).attemptCount).toBe(1);
  });
});

describe("an ordered endpoint", () => {
  test("events of one resource: sent one after the other, also while the first waits for its next attempt", async () => {
    const caller = await seedCaller(db);
    await seedEndpoint(db, caller, { ordered: true });
    const [a, b] = [newTarget(), newTarget()];
    await seedEvents(db, caller, [a, b], 3);
    const first = await claimSome(db);
    expect(first.map(({ sequence }) => sequence)).toEqual([1, 1]);
    const [ofA, ofB] = [a, b].map((target) => first.filter(({ targetId }) => targetId === target)) as [
      HeldDelivery[],
      HeldDelivery[],
    ];
    await finish(ofA, "retry", { delayMs: 3_600_000 });
    await finish(ofB, "delivered");
    const second = await claimOne();
    expect([second.targetId, second.sequence]).toEqual([b, 2]);
    await finish([second], "failed");
    const third = await claimOne();
    expect([third.targetId, third.sequence]).toEqual([b, 3]);
    await finish([third], "delivered");
    expect(await claimSome(db)).toEqual([]);
    await client`update webhook_deliveries set next_attempt_at = now() where status = 'pending' and not waits`;
    for (const sequence of [1, 2, 3]) {
      const next = await claimOne();
      expect([next.targetId, next.sequence]).toEqual([a, sequence]);
      await finish([next], "delivered");
    }
    expect(await statuses()).toEqual({ delivered: 5, failed: 1 });
  });

  test("1,000 events after one that waits, and one of another resource: only the one of the other resource is claimed; then no event is examined", async () => {
    const caller = await seedCaller(db);
    await seedEndpoint(db, caller, { ordered: true });
    const [a, b] = [newTarget(), newTarget()];
    await seedEvents(db, caller, [a], 1000);
    await seedEvents(db, caller, [b]);
    await finish(
      (await claimSome(db)).filter(({ targetId }) => targetId === a),
      "retry",
      { delayMs: 3_600_000 },
    );
    const claimed: HeldDelivery[] = [];
    for (let n = 0; n < 5; n++) claimed.push(...(await claimSome(db)));
    expect(claimed.map(({ targetId }) => targetId)).toEqual([b]);
    expect(await statuses()).toEqual({ pending: 2, "pending waits": 999 });
    expect((await webhookStats(db)).due).toBe(0);
  });

  test("order that is switched on and off while events are sent: no event stays parked", async () => {
    const caller = await seedCaller(db);
    const endpoint = await seedEndpoint(db, caller);
    const target = newTarget();
    await seedEvents(db, caller, [target], 4);
    const [first] = await claimSome(db, { limit: 1 });
    const change = (ordered: boolean) =>
      updateEndpoint(db, endpoint.id, { ordered }, { versions: null }, caller, seedOrigin(caller));
    await change(true);
    expect(await claimSome(db)).toEqual([]);
    expect(await statuses()).toEqual({ pending: 1, "pending waits": 3 });
    await change(false);
    await finish([first as HeldDelivery], "delivered");
    await finish(await claimSome(db), "delivered");
    expect(await statuses()).toEqual({ delivered: 4 });
  });

  test("an event that is claimed while its predecessor ends: unchanged, and sent after that end", async () => {
    const caller = await seedCaller(db);
    const endpoint = await seedEndpoint(db, caller);
    await seedEvents(db, caller, [newTarget()], 2);
    const [first] = (await claimSome(db, { limit: 1 })) as [HeldDelivery];
    await updateEndpoint(db, endpoint.id, { ordered: true }, { versions: null }, caller, seedOrigin(caller));
    const end = (holder: TestDb) =>
      holder.client`update webhook_deliveries set status = 'delivered', lease = null, leased_until = null, next_attempt_at = null
        where id = ${first.id}`;
    expect(await whileHeld(database, end, () => claimSome(db), undefined, null)).toEqual([]);
    expect(await statuses()).toEqual({ delivered: 1, pending: 1 });
    expect((await claimOne()).sequence).toBe(2);
  });

  test("order that is switched off while the first event waits for its next attempt: the others are sent", async () => {
    const caller = await seedCaller(db);
    const endpoint = await seedEndpoint(db, caller, { ordered: true });
    await seedEvents(db, caller, [newTarget()], 4);
    const first = await claimOne();
    expect(await claimSome(db)).toEqual([]);
    await finish([first], "retry");
    expect(await statuses()).toEqual({ pending: 1, "pending waits": 3 });
    await updateEndpoint(db, endpoint.id, { ordered: false }, { versions: null }, caller, seedOrigin(caller));
    expect((await claimSome(db)).map(({ sequence }) => sequence)).toEqual([2, 3, 4]);
  });
});
