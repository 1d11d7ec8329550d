import { expect, test } from "bun:test";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { originOf, seedAvatar, seedCaller } from "@realtime-avatar/testing/seeds";
import { claimSome, finishedOf, seedEndpoint } from "@realtime-avatar/testing/webhooks";
import { findDelivery } from "./deliveries.ts";
import { finishDeliveries, freezeBodies, webhookStats } from "./sending.ts";

const { db } = await fileDatabase();

test("an event, sent at once: claimed once, its body frozen, delivered", async () => {
  const caller = await seedCaller(db);
  const endpoint = await seedEndpoint(db, caller, { events: ["avatar.*"] });
  const avatar = await seedAvatar(db, caller);
  const [delivery, ...others] = await claimSome(db);
  if (!delivery) throw new Error("no delivery");
  expect(others).toEqual([]);
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
  expect(await finishDeliveries(db, [finishedOf(delivery, "delivered")], originOf())).toBe(1);
  const found = await findDelivery(db, caller, delivery.id);
  expect(found).toMatchObject({ status: "delivered", body: "first", nextAttemptAt: null, attempts: [{ status: 200 }] });
  expect(await webhookStats(db)).toEqual({ due: 0, pending: 0, oldestDueSeconds: 0, disabledEndpoints: 0 });
});
