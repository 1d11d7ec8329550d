/** Tenants with many endpoints that hang: each tenant has its share of the places. */
import { expect, test } from "bun:test";
import { fileDatabase, fixture } from "@realtime-avatar/testing/fixture";
import { seedAvatar, seedCaller } from "@realtime-avatar/testing/seeds";
import { http, startServer } from "../remote/server.testing.ts";
import { seedSealedEndpoint, settled, startTestSender, until } from "./world.testing.ts";

const { db } = await fileDatabase();
const hanging = new Set<unknown>();
const server = await fixture(
  startServer((path, socket) => {
    if (path === "/good") socket.write(http(200, { "Content-Length": 0 }));
    else hanging.add(socket);
  }),
);
const urlOf = (path: string): string => `https://files.example.com:${server.port}${path}`;
const SENDS = 64;

test("tenants, whose endpoints hang and could take every place, and another tenant: it is served before one of them is given up", async () => {
  for (let tenant = 0; tenant < 8; tenant++) {
    const caller = await seedCaller(db);
    for (let i = 0; i < 16; i++)
      await seedSealedEndpoint(db, caller, { url: urlOf("/hang"), events: ["avatar.created"] });
    await seedAvatar(db, caller);
    await seedAvatar(db, caller);
  }
  const good = await seedCaller(db);
  const endpoint = await seedSealedEndpoint(db, good, { url: urlOf("/good"), events: ["avatar.created"] });
  // On a busy machine, so many TLS connections at once take more than the second of other tests.
  const times = { connectMs: 60_000, totalMs: 60_000 };
  const sender = startTestSender(db, { network: server.network, ...times }, { sends: SENDS });
  await until(() => hanging.size >= SENDS / 2);
  await Promise.all(Array.from({ length: 5 }, () => seedAvatar(db, good)));
  expect((await settled(db, endpoint.id)).map(({ status }) => status)).toEqual(Array(5).fill("delivered"));
  expect(hanging.size).toBeLessThan(SENDS);
  await sender.stop();
});
