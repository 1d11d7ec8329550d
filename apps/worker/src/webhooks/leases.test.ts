/** A sender whose write of an outcome fails, and one whose leases are too short for an attempt. */
import { expect, test } from "bun:test";
import { fileDatabase, fixture } from "@realtime-avatar/testing/fixture";
import { seedAvatar, seedCaller } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { SENDER_TIMING } from "./sender.ts";
import { deliveriesTo, seedSealedEndpoint, startReceiver, startTestSender } from "./world.testing.ts";

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

/** The database, with a function that is told of each call of a database function before it is made. */
const watched = (onCall: (name: string | undefined) => void): typeof db => ({
  ...db,
  run: async (text, parameters, name) => {
    onCall(name);
    return db.run(text, parameters, name);
  },
});

test("an outcome whose record has failed: is recorded later, and the event is sent once", async () => {
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
  const timing = { ...SENDER_TIMING, idleMs: 5, leaseSeconds: 0 };
  const sender = startTestSender(counting, { network: receiver.network }, { timing });
  await until(() => claims > 3);
  await sender.stop();
  expect(receiver.at("/late")).toEqual([]);
  expect(await deliveriesTo(db, endpoint.id)).toMatchObject([{ status: "pending", attemptCount: 0 }]);
});
