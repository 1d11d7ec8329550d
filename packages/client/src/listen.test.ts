/** Listening beside a service. `apps/api/test/e2e/webhooks.system.test.ts` has it with a worker, and forwards events. */
import { expect, test } from "bun:test";
import { createClient } from "./index.ts";
import { listen } from "./listen.ts";
import { serviceOfFile } from "./testing.ts";

const { service, apiKey } = await serviceOfFile();

test("a tenant with many other deliveries: each look reads one page, and the endpoint is removed at the end", async () => {
  const ending = new AbortController();
  const cursors: (string | null)[] = [];
  const client = createClient({
    baseUrl: service.url,
    apiKey,
    fetch: async (request) => {
      const { pathname, searchParams } = new URL(request.url);
      if (pathname !== "/api/v1/webhook-deliveries") return fetch(request);
      // As the service responds when none of the newest 5,000 deliveries is one of the endpoint.
      cursors.push(searchParams.get("cursor"));
      if (cursors.length === 3) ending.abort();
      if (cursors.length > 3) throw new Error("there are more looks");
      return Response.json({ data: [], nextCursor: `after-${cursors.length}` });
    },
  });
  const forwardTo = "http://localhost:1/";
  await listen({ client, forwardTo, signal: ending.signal, onReady: () => {}, onForwarded: () => {} });
  expect(cursors).toEqual([null, null, null]);
  expect(await Array.fromAsync(client.list("/api/v1/webhook-endpoints"))).toEqual([]);
});

test("a delivery that has no body yet: is forwarded when it has one", async () => {
  const ending = new AbortController();
  const bodies = [null, '{"type":"avatar.created"}'];
  const client = createClient({
    baseUrl: service.url,
    apiKey,
    fetch: async (request) => {
      if (new URL(request.url).pathname !== "/api/v1/webhook-deliveries") return fetch(request);
      const delivery = {
        id: "whd_1",
        eventId: "evt_1",
        eventType: "avatar.created",
        createdAt: "2026-01-01T00:00:00Z",
      };
      return Response.json({ data: [{ ...delivery, body: bodies.shift() }], nextCursor: null });
    },
  });
  const forwarded: string[] = [];
  const program = async (request: Request): Promise<Response> => {
    forwarded.push(await request.text());
    ending.abort();
    return new Response();
  };
  const options = { client, forwardTo: "http://localhost:1/", signal: ending.signal, fetch: program };
  await listen({ ...options, onReady: () => {}, onForwarded: () => {} });
  expect(forwarded).toEqual(['{"type":"avatar.created"}']);
});
