import { beforeEach, describe, expect, test } from "bun:test";
import type { WebhookDeliveryId } from "@realtime-avatar/domain/id";
import { parseItems } from "@realtime-avatar/domain/page";
import type { WebhookDelivery } from "@realtime-avatar/domain/webhooks/schemas";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { findTestCaller, newClaim, seedCaller, seedKey, seedOrigin } from "@realtime-avatar/testing/seeds";
import { claimSome, newTarget, seedEndpoint, seedEvents, testQueue } from "@realtime-avatar/testing/webhooks/seeds";
import { findStoredResponse } from "../idempotency/idempotency-keys.ts";
import { findDelivery, insertTestDelivery, listDeliveries, recoverDeliveries, resendDelivery } from "./deliveries.ts";
import { updateEndpoint } from "./endpoints.ts";
import { freezeBodies } from "./sending.ts";

const { db } = await fileDatabase();
const queue = testQueue(db);
beforeEach(queue.clear);

const ALL = { filters: {}, before: null, limit: 100 };
const listed = async (...args: Parameters<typeof listDeliveries>) =>
  parseItems<WebhookDelivery>(await listDeliveries(...args));

describe("the list of deliveries", () => {
  test("by each filter, and by all filters: newest first, in the form of JSON.stringify", async () => {
    const caller = await seedCaller(db);
    const [one, other] = [await seedEndpoint(db, caller), await seedEndpoint(db, caller, { events: ["avatar.*"] })];
    const [a, b] = [newTarget(), newTarget()];
    await seedEvents(db, caller, [a, b]);
    await seedEvents(db, caller, [a], 1, "asset.ready");
    const held = await claimSome(db);
    await freezeBodies(
      db,
      held.map((delivery) => ({ ...delivery, body: '{"a":"\u2028é"}' })),
    );
    await queue.finish(held.slice(0, 1), "failed");
    const all = await listed(db, caller, ALL);
    expect(all.map(({ id }) => id)).toEqual(
      all
        .map(({ id }) => id)
        .toSorted()
        .reverse(),
    );
    expect(all).toHaveLength(5);
    const { items } = await listDeliveries(db, caller, ALL);
    expect(items).toBe(all.map((delivery) => JSON.stringify(delivery)).join());
    for (const delivery of all) expect(await findDelivery(db, caller, delivery.id as never)).toEqual(delivery);
    for (const [filters, isListed] of [
      [{ endpointId: one.id }, ({ endpointId }: WebhookDelivery) => endpointId === one.id],
      [{ endpointId: other.id, targetId: a }, (d: WebhookDelivery) => d.endpointId === other.id && d.targetId === a],
      [{ status: "failed" }, ({ status }: WebhookDelivery) => status === "failed"],
      [{ eventType: "asset.ready" }, ({ eventType }: WebhookDelivery) => eventType === "asset.ready"],
    ] as const) {
      const found = await listed(db, caller, { ...ALL, filters });
      expect(found).toEqual(all.filter(isListed));
      expect(found.length).toBeGreaterThan(0);
    }
    const page = await listDeliveries(db, caller, { ...ALL, limit: 2 });
    const rest = await listed(db, caller, { ...ALL, before: page.next as WebhookDeliveryId });
    expect([...parseItems<WebhookDelivery>(page), ...rest]).toEqual(all);
  });

  test("of another tenant or environment: not found, and not sent again", async () => {
    const [caller, stranger] = [await seedCaller(db), await seedCaller(db)];
    const endpoint = await seedEndpoint(db, caller);
    await seedEvents(db, caller, [newTarget()]);
    const { id } = await queue.claimOne();
    const { secret } = await seedKey(db, caller.tenantId, { environment: "test", scopes: ["*"] });
    for (const other of [stranger, await findTestCaller(db, secret.keyId)]) {
      const origin = seedOrigin(other);
      expect(await listed(db, other, ALL)).toEqual([]);
      expect(await findDelivery(db, other, id)).toBeNull();
      expect(await resendDelivery(db, id, other, origin, newClaim("s"))).toEqual({ kind: "not_found" });
      expect(await insertTestDelivery(db, endpoint.id, other, origin, newClaim("t"))).toEqual({ kind: "not_found" });
      const since = new Date(0);
      expect(await recoverDeliveries(db, endpoint.id, since, other, origin, newClaim("r"))).toEqual({
        kind: "not_found",
      });
    }
    expect((await listed(db, caller, ALL)).length).toBe(1);
  });
});

describe("a delivery that is sent again", () => {
  test.each(["delivered", "failed", "retry"] as const)(
    "after %s: due now, with the same event and body",
    async (outcome) => {
      const caller = await seedCaller(db);
      await seedEndpoint(db, caller);
      await seedEvents(db, caller, [newTarget()]);
      const first = await queue.claimOne();
      await freezeBodies(db, [{ ...first, body: "b" }]);
      await queue.finish([first], outcome);
      expect(await resendDelivery(db, first.id, caller, seedOrigin(caller))).toEqual({ kind: "written" });
      const second = await queue.claimOne();
      const same = ({ id, eventId, body }: typeof first) => ({ id, eventId, body });
      expect(same(second)).toEqual({ ...same(first), body: "b" });
      expect(second.attemptCount).toBe(0);
      await queue.finish([second], "delivered");
      expect((await findDelivery(db, caller, first.id))?.attempts).toHaveLength(2);
    },
  );

  test("during an attempt: the attempt continues, and the schedule begins anew", async () => {
    const caller = await seedCaller(db);
    await seedEndpoint(db, caller);
    await seedEvents(db, caller, [newTarget()]);
    const held = await queue.claimOne();
    expect(await resendDelivery(db, held.id, caller, seedOrigin(caller))).toEqual({ kind: "written" });
    expect(await claimSome(db)).toEqual([]);
    expect(await queue.finish([held], "retry")).toBe(1);
    expect(await queue.statuses()).toEqual({ pending: 1 });
  });

  test("during its last attempt, which fails: due at once, and the schedule begins anew", async () => {
    const caller = await seedCaller(db);
    await seedEndpoint(db, caller);
    await seedEvents(db, caller, [newTarget()]);
    const first = await queue.claimOne();
    await queue.finish([first], "retry", { delayMs: 0 });
    const last = await queue.claimOne();
    expect(last.attemptCount).toBe(1);
    await resendDelivery(db, last.id, caller, seedOrigin(caller));
    expect(await queue.finish([last], "failed")).toBe(1);
    const again = await queue.claimOne();
    expect([again.id, again.attemptCount]).toEqual([first.id, 1]);
    expect(await queue.finish([again], "failed")).toBe(1);
    expect(await queue.statuses()).toEqual({ failed: 1 });
  });

  test("canceled, while its endpoint is disabled: canceled again", async () => {
    const caller = await seedCaller(db);
    const endpoint = await seedEndpoint(db, caller);
    await seedEvents(db, caller, [newTarget()]);
    await updateEndpoint(db, endpoint.id, { status: "disabled" }, { versions: null }, caller, seedOrigin(caller));
    expect(await claimSome(db)).toEqual([]);
    const [{ id = "" } = {}] = await listed(db, caller, ALL);
    await resendDelivery(db, id as WebhookDeliveryId, caller, seedOrigin(caller));
    expect(await queue.statuses()).toEqual({ pending: 1 });
    expect(await claimSome(db)).toEqual([]);
    expect(await queue.statuses()).toEqual({ canceled: 1 });
  });
});

describe("a test of an endpoint", () => {
  test("of an endpoint that selects other events: sent only to it, with the next sequence", async () => {
    const caller = await seedCaller(db);
    const endpoint = await seedEndpoint(db, caller, { events: ["avatar.*"] });
    await seedEndpoint(db, caller);
    for (const sequence of [1, 2]) {
      const outcome = await insertTestDelivery(db, endpoint.id, caller, seedOrigin(caller));
      if (outcome.kind !== "written") throw new Error(outcome.kind);
      const delivery = await queue.claimOne();
      expect(delivery).toMatchObject({
        id: outcome.deliveryId,
        endpointId: endpoint.id,
        eventType: "webhook_endpoint.test",
        targetId: endpoint.id,
        sequence,
      });
      await queue.finish([delivery], "delivered");
    }
  });

  test("twenty tests at once: each has its own sequence", async () => {
    const caller = await seedCaller(db);
    const endpoint = await seedEndpoint(db, caller);
    await Promise.all(
      Array.from({ length: 20 }, () => insertTestDelivery(db, endpoint.id, caller, seedOrigin(caller))),
    );
    const sequences = (await listed(db, caller, ALL)).map(({ sequence }) => sequence).sort((a, b) => a - b);
    expect(sequences).toEqual(Array.from({ length: 20 }, (_, n) => n + 1));
  });

  test("twice with one Idempotency-Key: one delivery, whose id the replay has", async () => {
    const caller = await seedCaller(db);
    const colleague = await seedCaller(db, caller.tenantId);
    const endpoint = await seedEndpoint(db, caller);
    const claim = newClaim("test");
    const attempt = () => insertTestDelivery(db, endpoint.id, caller, seedOrigin(caller), claim);
    const [first, second] = [await attempt(), await attempt()];
    if (first.kind !== "written") throw new Error(first.kind);
    const { deliveryId } = first;
    expect(second).toMatchObject({ kind: "replayed", responseFields: { deliveryId } });
    expect(await findStoredResponse(db, caller, claim)).toMatchObject({ responseFields: { deliveryId } });
    expect(await listed(db, caller, ALL)).toHaveLength(1);
    // Another key of the tenant, with the same Idempotency-Key: another delivery, and each replay has its own.
    const other = await insertTestDelivery(db, endpoint.id, colleague, seedOrigin(colleague), claim);
    if (other.kind !== "written") throw new Error(other.kind);
    expect(await attempt()).toMatchObject({ kind: "replayed", responseFields: { deliveryId } });
    const again = await insertTestDelivery(db, endpoint.id, colleague, seedOrigin(colleague), claim);
    expect(again).toMatchObject({ kind: "replayed", responseFields: { deliveryId: other.deliveryId } });
    expect(await listed(db, caller, ALL)).toHaveLength(2);
  });
});
