/** Senders that die, and many of them at once. */
import { expect, test } from "bun:test";
import { fileDatabase, fixture } from "@realtime-avatar/testing/fixture";
import { source, startProcess } from "@realtime-avatar/testing/processes";
import { seedAvatar, seedCaller } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { Webhook } from "standardwebhooks";
import { deliveriesTo, seedSealedEndpoint, settled, startReceiver, startTestSender } from "./world.testing.ts";

const database = await fileDatabase();
const { db } = database;
/** Responses wait for this promise. */
let canRespond = Promise.resolve();
const receiver = await fixture(
  startReceiver((_, response) => void canRespond.then(() => response.writeHead(204).end())),
);
const urlOf = (path: string): string => `https://hooks.example.com:${receiver.port}${path}`;
/** The connections to this database that wait for a lock. */
const waiting = () => db.client<{ pid: number }[]>`
  select pid from pg_stat_activity
  where datname = current_database() and pid in (select pid from pg_locks where not granted)`;

test("a worker, killed after the response and before its record: the event is sent again, with the same id and bytes", async () => {
  const caller = await seedCaller(db);
  const endpoint = await seedSealedEndpoint(db, caller, { url: urlOf("/killed"), events: ["avatar.created"] });
  await seedAvatar(db, caller);
  const locked = Promise.withResolvers<void>();
  canRespond = locked.promise;
  await db.client.begin(async (transaction) => {
    const worker = startProcess(source("apps/worker/src/webhooks/process.testing.ts"), {
      DATABASE_URL: database.url,
      RECEIVER_PORT: String(receiver.port),
      RECEIVER_CA: receiver.network.ca ?? "",
    });
    await until(() => receiver.at("/killed").length > 0);
    await transaction`select from webhook_deliveries where endpoint_id = ${endpoint.id} for update`;
    locked.resolve();
    // The worker has the response. Its record waits for the row.
    await until(async () => (await waiting()).length > 0);
    worker.kill("SIGKILL");
    await worker.exited;
    // Otherwise the server would still run the waiting statement, although its client is gone.
    const end = () => transaction`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`;
    await until(async () => (await end()).length === 0);
  });
  const [held] = await deliveriesTo(db, endpoint.id);
  expect(held).toMatchObject({ status: "pending", attempts: [] });
  await db.client`update webhook_deliveries set leased_until = now() where endpoint_id = ${endpoint.id}`;
  const sender = startTestSender(db, { network: receiver.network });
  expect(await settled(db, endpoint.id)).toMatchObject([{ status: "delivered", attempts: [{ status: 204 }] }]);
  await sender.stop();
  const [first, second, ...others] = receiver.at("/killed");
  expect(others).toEqual([]);
  expect([second?.body, second?.headers["webhook-id"]]).toEqual([first?.body, first?.headers["webhook-id"]]);
  for (const message of [first, second]) {
    new Webhook(endpoint.signingSecret).verify(message?.body ?? "", message?.headers ?? {});
  }
});

test("three senders at once: each event is sent once", async () => {
  const caller = await seedCaller(db);
  const endpoint = await seedSealedEndpoint(db, caller, { url: urlOf("/three"), events: ["avatar.created"] });
  await Promise.all(Array.from({ length: 60 }, () => seedAvatar(db, caller)));
  const senders = [1, 2, 3].map(() => startTestSender(db, { network: receiver.network }));
  const delivered = await settled(db, endpoint.id);
  await Promise.all(senders.map((sender) => sender.stop()));
  expect(delivered).toHaveLength(60);
  const ids = receiver.at("/three").map(({ headers }) => headers["webhook-id"] ?? "");
  expect(ids.sort()).toEqual(delivered.map(({ eventId }) => eventId).sort());
});
