/** The places of a sender: each tenant has its share, and each place is freed. */
import { expect, test } from "bun:test";
import { fileDatabase, fixture } from "@realtime-avatar/testing/fixture";
import { seedAvatar, seedCaller } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { http, startServer } from "../remote/server.testing.ts";
import { seedSealedEndpoint, settled, startReceiver, startTestSender } from "./world.testing.ts";

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

test("a sender with two places, and receivers that accept, refuse, hang up or have no URL: each place is freed", async () => {
  const caller = await seedCaller(db);
  const receiver = await fixture(
    startReceiver(({ path }, response) => response.writeHead(Number(path.slice(1))).end("a response")),
  );
  const paths = ["204", "500", "404", "301"];
  const urls = [
    ...paths.map((path) => `https://hooks.example.com:${receiver.port}/${path}`),
    "https://hooks.example.com:1/",
    null,
  ];
  const endpoints = await Promise.all(
    urls.map((url) => seedSealedEndpoint(db, caller, { url, events: ["avatar.created"] })),
  );
  for (let count = 0; count < 3; count++) await seedAvatar(db, caller);
  const sender = startTestSender(db, { network: { ...receiver.network, ports: [receiver.port, 1] } }, { sends: 2 });
  const outcomes = await Promise.all(endpoints.map(({ id }) => settled(db, id)));
  expect(
    outcomes.map((deliveries) => deliveries.map(({ attempts }) => attempts[0]?.status ?? attempts[0]?.error)),
  ).toEqual([204, 500, 404, 301, "connection_failed", undefined].map((outcome) => [outcome, outcome, outcome]));
  await sender.stop();
});

test("tenants with hanging endpoints that could take every place, and another tenant: the latter is served before any of them times out", async () => {
  for (let tenant = 0; tenant < 8; tenant++) {
    const caller = await seedCaller(db);
    for (let i = 0; i < 16; i++)
      await seedSealedEndpoint(db, caller, { url: urlOf("/hang"), events: ["avatar.created"] });
    await seedAvatar(db, caller);
    await seedAvatar(db, caller);
  }
  const good = await seedCaller(db);
  const endpoint = await seedSealedEndpoint(db, good, { url: urlOf("/good"), events: ["avatar.created"] });
  // On a busy machine, this many TLS connections at once take longer than the second of other tests.
  const times = { connectMs: 60_000, totalMs: 60_000 };
  const sender = startTestSender(db, { network: server.network, ...times }, { sends: SENDS });
  await until(() => hanging.size >= SENDS / 2);
  await Promise.all(Array.from({ length: 5 }, () => seedAvatar(db, good)));
  expect((await settled(db, endpoint.id)).map(({ status }) => status)).toEqual(Array(5).fill("delivered"));
  expect(hanging.size).toBeLessThan(SENDS);
  await sender.stop();
});
