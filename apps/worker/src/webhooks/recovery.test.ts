/**
 * Recoveries of a host that refuses them: the number of requests that it gets. With a real receiver and a real sender.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import { recoverDeliveries } from "@realtime-avatar/db/webhooks/deliveries";
import { fileDatabase, fixture } from "@realtime-avatar/testing/fixture";
import { seedAvatar, seedCaller, seedOrigin } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { deliveriesTo, seedSealedEndpoint, startReceiver, startTestSender } from "./world.testing.ts";

// Tests do not assert times.
setDefaultTimeout(60_000);

const ENDPOINTS = 16;
const EVENTS = 4;

const { db } = await fileDatabase();

test("20 recoveries of 16 endpoints of one host that fails: one request until it works, then each event once", async () => {
  let status = 500;
  const receiver = await fixture(startReceiver((_, response) => response.writeHead(status).end()));
  const caller = await seedCaller(db);
  const endpoints = await Promise.all(
    Array.from({ length: ENDPOINTS }, (_, n) =>
      seedSealedEndpoint(db, caller, {
        url: `https://${n % 2 ? "hooks" : "Hooks"}.example.com${n % 4 > 1 ? "." : ""}:${receiver.port}/${n}`,
        events: ["avatar.created"],
      }),
    ),
  );
  const stored = async () => (await Promise.all(endpoints.map(({ id }) => deliveriesTo(db, id)))).flat();
  for (let n = 0; n < EVENTS; n++) await seedAvatar(db, caller);
  // Each delivery has had all of its attempts.
  await db.client`update webhook_deliveries set status = 'failed', next_attempt_at = null`;
  const sender = startTestSender(db, { network: receiver.network });

  for (let round = 0; round < 20; round++) {
    for (const { id } of endpoints) await recoverDeliveries(db, id, new Date(0), caller, seedOrigin(caller));
    await Bun.sleep(100);
  }
  await until(() => receiver.received.length > 0);
  const sentAgain = (await stored()).filter(({ attempts }) => attempts.length > 0);
  expect([sentAgain.length, new Set(receiver.received.map(({ headers }) => headers["webhook-id"])).size]).toEqual([
    1, 1,
  ]);

  status = 204;
  // The pause ends.
  await db.client`update webhook_hosts set next_release_at = now()`;
  await until(
    async () => (await stored()).filter((one) => one.status === "delivered").length >= ENDPOINTS * EVENTS - 1,
  );
  await sender.stop();
});
