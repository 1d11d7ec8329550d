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
