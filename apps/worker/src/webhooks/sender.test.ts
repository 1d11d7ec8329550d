/** The sender against receivers that verify with the libraries of Standard Webhooks. */
import { expect, test } from "bun:test";
import { fileDatabase, fixture } from "@realtime-avatar/testing/fixture";
import { seedAvatar, seedCaller } from "@realtime-avatar/testing/seeds";
import { Webhook } from "standardwebhooks";
import { seedSealedEndpoint, settled, startReceiver, startTestSender } from "./world.testing.ts";

const { db } = await fileDatabase();
const receiver = await fixture(startReceiver());
const sender = startTestSender(db, { network: receiver.network });
await fixture({ close: () => sender.stop() });
const urlOf = (path: string): string => `https://hooks.example.com:${receiver.port}${path}`;

test("an event, of a new avatar: delivered once, verified by the library, with the avatar as the API presents it", async () => {
  const caller = await seedCaller(db);
  const endpoint = await seedSealedEndpoint(db, caller, { url: urlOf("/first") });
  const avatar = await seedAvatar(db, caller);
  const [delivery] = await settled(db, endpoint.id);
  expect(delivery).toMatchObject({ status: "delivered", attempts: [{ status: 204, error: null, responseBody: "" }] });
  const [message] = receiver.at("/first");
  const event = new Webhook(endpoint.signingSecret).verify(message?.body ?? "", message?.headers ?? {});
  expect(event).toMatchObject({ type: "avatar.created", data: { id: avatar.id, object: "avatar", sequence: 1 } });
});
