/**
 * A sender whose write of an outcome fails, a sender whose leases are too short for an attempt, and an event whose body
 * cannot be made.
 */
import { expect, test } from "bun:test";
import { fileDatabase, fixture } from "@realtime-avatar/testing/fixture";
import { seedAvatar, seedCaller } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { SENDER_TIMING } from "./sender.ts";
import { deliveriesTo, seedSealedEndpoint, settled, startReceiver, startTestSender } from "./world.testing.ts";

const { db } = await fileDatabase();
const receiver = await fixture(startReceiver());

/** An endpoint with a delivery that is due. */
const due = async (path: string) => {
  const caller = await seedCaller(db);
  const url = `https://hooks.example.com:${receiver.port}${path}`;
  const endpoint = await seedSealedEndpoint(db, caller, { url, events: ["avatar.created"] });
  await seedAvatar(db, caller);
  return endpoint;
};

/** The database, with a callback before each call of a database function. */
const watched = (onCall: (name: string | undefined) => void): typeof db => ({
  ...db,
  run: async (text, parameters, name) => {
    onCall(name);
    return db.run(text, parameters, name);
  },
});

test("an outcome whose record has failed: recorded later; the event is sent once", async () => {
  const endpoint = await due("/unrecorded");
  let records = 0;
  const failing = watched((name) => {
    if (name === "finish_deliveries" && ++records === 1) throw new Error("no connection");
  });
  const sender = startTestSender(failing, { network: receiver.network });
  await until(() => records > 0);
  await sender.stop();
  expect(await deliveriesTo(db, endpoint.id)).toMatchObject([{ status: "delivered", attemptCount: 1 }]);
  expect(receiver.at("/unrecorded")).toHaveLength(1);
});

test("a lease that ends before an attempt would: nothing is sent", async () => {
  const endpoint = await due("/late");
  let claims = 0;
  const counting = watched((name) => {
    if (name === "claim_deliveries") claims++;
  });
  const timing = { ...SENDER_TIMING, leaseSeconds: 0 };
  const sender = startTestSender(counting, { network: receiver.network }, { timing });
  await until(() => claims > 3);
  await sender.stop();
  expect(receiver.at("/late")).toEqual([]);
  expect(await deliveriesTo(db, endpoint.id)).toMatchObject([{ status: "pending", attemptCount: 0 }]);
});

test("an event of a later version, whose body this worker cannot make: waits; the others are sent", async () => {
  const url = `https://hooks.example.com:${receiver.port}/`;
  const [bad, good] = [await seedCaller(db), await seedCaller(db)];
  const unknown = await seedSealedEndpoint(db, bad, { url });
  const endpoint = await seedSealedEndpoint(db, good, { url, events: ["avatar.created"] });
  await seedAvatar(db, bad);
  await Promise.all(Array.from({ length: 5 }, () => seedAvatar(db, good)));
  // All are claimed in one batch.
  await db.client`
    update webhook_deliveries set next_attempt_at = now(),
      event_type = case endpoint_id when ${unknown.id} then 'voice.created' else event_type end
    where endpoint_id in (${unknown.id}, ${endpoint.id})`;
  const sender = startTestSender(db, { network: receiver.network });
  expect((await settled(db, endpoint.id)).map(({ status }) => status)).toEqual(Array(5).fill("delivered"));
  expect(await deliveriesTo(db, unknown.id)).toMatchObject([{ status: "pending", attemptCount: 0 }]);
  await sender.stop();
  expect(sender.log.filter((line) => line.includes("failed to make the body of an event"))).toHaveLength(1);
  expect(sender.log.filter((line) => line.includes("failed to claim"))).toEqual([]);
});
