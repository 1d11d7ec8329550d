/** Failing endpoints, and the sweep of deliveries. */
import { beforeEach, describe, expect, test } from "bun:test";
import { mutate } from "@realtime-avatar/testing/credits/mutations";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { seedCaller, seedOrigin } from "@realtime-avatar/testing/seeds";
import {
  claimSome,
  finishedDelivery,
  type HeldDelivery,
  newTarget,
  plannedEndpoint,
  seedEndpoint,
  seedEvents,
  testQueue,
} from "@realtime-avatar/testing/webhooks/seeds";
import { disableEndpoint, findEndpoint, updateEndpoint } from "./endpoints.ts";
import { type DeliveryOutcome, finishDeliveries, freezeBodies, sweepDeliveries, webhookStats } from "./sending.ts";

const { db } = await fileDatabase();
await mutate(db);
const queue = testQueue(db);
const { finish, claimOne, passTime, statuses } = queue;
const { client } = db;

// Each test starts with an empty queue, because a claim serves all tenants.
beforeEach(queue.clear);

describe("an endpoint that fails", () => {
  const failingSince = async () => (await client`select failing_since from webhook_endpoints`)[0]?.["failing_since"];

  test("after failures and a success: failing since the first failure after the last success", async () => {
    const caller = await seedCaller(db);
    await seedEndpoint(db, caller);
    await seedEvents(db, caller, [newTarget(), newTarget(), newTarget()]);
    const [a, b, c] = (await claimSome(db)) as [HeldDelivery, HeldDelivery, HeldDelivery];
    await finish([a], "retry");
    const since = await failingSince();
    expect(since).not.toBeNull();
    await finish([b], "failed");
    expect(await failingSince()).toEqual(since);
    await finish([c], "delivered");
    expect(await failingSince()).toBeNull();
  });

  test("five days without a success: disabled, with an audit event and an event for the other endpoints", async () => {
    const caller = await seedCaller(db);
    const endpoint = await seedEndpoint(db, caller, { events: ["avatar.*"] });
    const other = await seedEndpoint(db, caller, { events: ["webhook_endpoint.*"] });
    await seedEvents(db, caller, [newTarget(), newTarget()]);
    const [a, b] = (await claimSome(db)) as [HeldDelivery, HeldDelivery];
    await finish([a], "retry");
    await client`update webhook_endpoints set failing_since = now() - interval '4 days 23 hours' where id = ${endpoint.id}`;
    await finish([b], "retry");
    expect(await findEndpoint(db, caller, endpoint.id)).toMatchObject({ status: "enabled" });
    await client`update webhook_endpoints set failing_since = now() - interval '5 days' where id = ${endpoint.id}`;
    await passTime();
    await finish(await claimSome(db), "failed");
    expect(await findEndpoint(db, caller, endpoint.id)).toMatchObject({
      status: "disabled",
      disabledReason: "failing",
      version: 2,
    });
    const audit = await client`
      select action, actor_id, environment, changed_fields from audit_events
      where target_id = ${endpoint.id} and action = 'webhook_endpoint.disabled'`;
    expect([...audit]).toEqual([
      { action: "webhook_endpoint.disabled", actor_id: null, environment: "live", changed_fields: ["status"] },
    ] as never[]);
    const told = await claimOne();
    expect([told.endpointId, told.eventType, told.targetId]).toEqual([
      other.id,
      "webhook_endpoint.disabled",
      endpoint.id,
    ]);
    expect((await webhookStats(db)).disabledEndpoints).toBe(1);
  });

  test("five days after the first failure, with a success in between: not disabled", async () => {
    const caller = await seedCaller(db);
    const endpoint = await seedEndpoint(db, caller);
    await seedEvents(db, caller, [newTarget(), newTarget()]);
    const [a, b] = (await claimSome(db)) as [HeldDelivery, HeldDelivery];
    await finish([a], "retry");
    await client`update webhook_endpoints set failing_since = now() - interval '6 days'`;
    await finish([b], "delivered");
    await passTime();
    await finish([await claimOne()], "failed");
    expect(await findEndpoint(db, caller, endpoint.id)).toMatchObject({ status: "enabled" });
  });

  test("five days after the first failure, with a delivery that a worker hands back unsent: not disabled", async () => {
    const caller = await seedCaller(db);
    const endpoint = await seedEndpoint(db, caller);
    await seedEvents(db, caller, [newTarget()]);
    await client`update webhook_endpoints set failing_since = now() - interval '6 days'`;
    await finish([await claimOne()], "retry", { attempt: null });
    expect(await findEndpoint(db, caller, endpoint.id)).toMatchObject({ status: "enabled" });
    await passTime();
    await finish([await claimOne()], "retry");
    expect(await findEndpoint(db, caller, endpoint.id)).toMatchObject({ status: "disabled" });
  });

  test("a response with 410: disabled at once; after its owner enables it, failures count anew", async () => {
    const caller = await seedCaller(db);
    const endpoint = await seedEndpoint(db, caller);
    await seedEvents(db, caller, [newTarget()]);
    await finish([await claimOne()], "gone");
    expect(await statuses()).toEqual({ failed: 1 });
    const gone = { status: "disabled", disabledReason: "gone" };
    expect(await findEndpoint(db, caller, endpoint.id)).toMatchObject(gone);
    const update = (status: "enabled" | "disabled", version: string) =>
      updateEndpoint(db, endpoint.id, { status }, { versions: [version] }, caller, seedOrigin(caller));
    // Its owner disables it again. The reason is unchanged.
    expect(await update("disabled", "2")).toMatchObject({ kind: "written", endpoint: gone });
    const enabled = await update("enabled", "3");
    expect(enabled).toMatchObject({
      kind: "written",
      endpoint: { status: "enabled", disabledReason: null, failingSince: null },
    });
  });

  test.each<DeliveryOutcome[]>([
    ["gone", "retry", "failed"],
    ["failed", "retry", "gone"],
  ])("410 in one batch with other failures, %s, %s, %s: disabled at once", async (...outcomes) => {
    const caller = await seedCaller(db);
    const endpoint = await seedEndpoint(db, caller);
    await seedEvents(
      db,
      caller,
      outcomes.map(() => newTarget()),
    );
    const held = await claimSome(db);
    const finished = outcomes.map((outcome, at) => finishedDelivery(held[at] as HeldDelivery, outcome));
    expect(await finishDeliveries(db, finished, seedOrigin())).toBe(3);
    expect(await findEndpoint(db, caller, endpoint.id)).toMatchObject({ status: "disabled", disabledReason: "gone" });
  });

  test("a response with 429: nothing is sent until the pause ends, and its queue causes no alert", async () => {
    const caller = await seedCaller(db);
    const endpoint = await seedEndpoint(db, caller);
    await seedEvents(db, caller, [newTarget(), newTarget()]);
    const [a, b] = (await claimSome(db)) as [HeldDelivery, HeldDelivery];
    await finish([a], "retry", { slowMs: 60_000 });
    await finish([b], "retry", { slowMs: 10 });
    await passTime();
    await client`update webhook_deliveries set next_attempt_at = now() - interval '1 hour'`;
    expect(await claimSome(db)).toEqual([]);
    expect(await webhookStats(db)).toMatchObject({ due: 2, oldestDueSeconds: 0 });
    await client`update webhook_endpoints set slow_until = now() - interval '1 second' where id = ${endpoint.id}`;
    expect((await webhookStats(db)).oldestDueSeconds).toBeGreaterThanOrEqual(3600);
    expect(await claimSome(db)).toHaveLength(2);
    expect(await webhookStats(db)).toMatchObject({ due: 0, pending: 2, oldestDueSeconds: 0 });
  });

  test("disabled by the operator: disabled once, with the reason and an audit event", async () => {
    const caller = await seedCaller(db);
    const endpoint = await seedEndpoint(db, caller);
    const disable = () => disableEndpoint(db, caller.tenantId, endpoint.id, seedOrigin());
    expect(await disable()).toMatchObject({ kind: "written", endpoint: { disabledReason: "operator", version: 2 } });
    expect(await disable()).toMatchObject({ kind: "unchanged", endpoint: { disabledReason: "operator", version: 2 } });
    const { id } = plannedEndpoint(caller);
    expect(await disableEndpoint(db, caller.tenantId, id, seedOrigin())).toEqual({ kind: "not_found" });
  });
});

describe("the sweep", () => {
  const swept = (limit = 1000, days = 31) => sweepDeliveries(db, limit, new Date(Date.now() + days * 86_400_000));
  const events = async () =>
    (
      await client<{ text: string }[]>`
        select type || ' ' || sequence || ' ' || coalesce(body, '-') as text from webhook_events order by target_id, sequence`
    ).map(({ text }) => text);
  const deliverAll = async () => {
    for (;;) {
      const claimed = await claimSome(db);
      if (claimed.length === 0) return;
      await freezeBodies(
        db,
        claimed.map((one) => ({ ...one, body: `b${one.sequence}` })),
      );
      await finish(claimed, "delivered");
    }
  };

  test("deliveries that are 30 days old: deleted in batches, except pending or locked ones", async () => {
    const caller = await seedCaller(db);
    await seedEndpoint(db, caller);
    await seedEvents(db, caller, Array.from({ length: 5 }, newTarget));
    await deliverAll();
    await seedEvents(db, caller, [newTarget()]);
    const held = await claimOne();
    expect(await swept(1000, 29)).toBe(0);
    const [locked] = await client`select id from webhook_deliveries where status = 'delivered' limit 1`;
    await client.begin(async (other) => {
      await other`select from webhook_deliveries where id = ${locked?.["id"]} for update`;
      expect(await swept(3)).toBe(3);
      expect(await swept(3)).toBe(1);
    });
    expect(await swept()).toBe(1);
    expect(await statuses()).toEqual({ pending: 1 });
    expect(await finish([held], "delivered")).toBe(1);
  });

  test("the last event of a resource that can still change: keeps its sequence, without its body", async () => {
    const caller = await seedCaller(db);
    await seedEndpoint(db, caller);
    await seedEndpoint(db, caller);
    const [a, b] = [newTarget(), newTarget()];
    await seedEvents(db, caller, [a, b], 2);
    await seedEvents(db, caller, [b], 1, "avatar.deleted");
    await deliverAll();
    expect(await events()).toHaveLength(5);
    // One of the two deliveries of each event remains, so the events remain.
    await client`delete from webhook_deliveries where endpoint_id = (select max(endpoint_id) from webhook_deliveries)`;
    expect(await swept()).toBe(5);
    expect(await events()).toEqual(["avatar.updated 2 -"]);
    await seedEvents(db, caller, [a]);
    expect((await claimSome(db)).map(({ sequence }) => sequence)).toEqual([3, 3]);
    await passTime();
    await deliverAll();
    await swept();
    expect(await events()).toEqual(["avatar.updated 3 -"]);
  });
});
