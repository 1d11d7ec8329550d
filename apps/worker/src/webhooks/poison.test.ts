/** An event whose body cannot be made. */
import { expect, test } from "bun:test";
import { fileDatabase, fixture } from "@realtime-avatar/testing/fixture";
import { seedAvatar, seedCaller } from "@realtime-avatar/testing/seeds";
import { deliveriesTo, seedSealedEndpoint, settled, startReceiver, startTestSender } from "./world.testing.ts";

const { db } = await fileDatabase();
const receiver = await fixture(startReceiver());
const url = `https://hooks.example.com:${receiver.port}/`;

test("an event of a later version, whose body this worker cannot make: it waits, and the others are sent", async () => {
  const [bad, good] = [await seedCaller(db), await seedCaller(db)];
  const unknown = await seedSealedEndpoint(db, bad, { url });
  const endpoint = await seedSealedEndpoint(db, good, { url, events: ["avatar.created"] });
  await seedAvatar(db, bad);
  await Promise.all(Array.from({ length: 5 }, () => seedAvatar(db, good)));
  // All are claimed together.
  await db.client`
    update webhook_deliveries set next_attempt_at = now(),
      event_type = case endpoint_id when ${unknown.id} then 'voice.created' else event_type end`;
  const sender = startTestSender(db, { network: receiver.network });
  expect((await settled(db, endpoint.id)).map(({ status }) => status)).toEqual(Array(5).fill("delivered"));
  expect(await deliveriesTo(db, unknown.id)).toMatchObject([{ status: "pending", attemptCount: 0 }]);
  await sender.stop();
  expect(sender.log.filter((line) => line.includes("failed to make the body of an event"))).toHaveLength(1);
  expect(sender.log.filter((line) => line.includes("failed to claim"))).toEqual([]);
});
