/**
 * Listening with a simulated service. `apps/api/test/e2e/webhooks.system.test.ts` tests it with a worker, and forwards
 * events.
 */
import { expect, test } from "bun:test";
import { createClient } from "./index.ts";
import { type Forwarded, forwardedLine, listen } from "./listen.ts";
import { serviceOfFile } from "./testing.ts";

const { service, apiKey } = await serviceOfFile();

test("a tenant with many other deliveries: each poll reads one page; the endpoint is removed at the end", async () => {
  const ending = new AbortController();
  const cursors: (string | null)[] = [];
  const client = createClient({
    baseUrl: service.url,
    apiKey,
    fetch: async (request) => {
      const { pathname, searchParams } = new URL(request.url);
      if (pathname !== "/api/v1/webhook-deliveries") return fetch(request);
      // The response of the service when none of the newest 5,000 deliveries belongs to the endpoint.
      cursors.push(searchParams.get("cursor"));
      if (cursors.length === 3) ending.abort();
      if (cursors.length > 3) throw new Error("there are more polls");
      return Response.json({ data: [], nextCursor: `after-${cursors.length}` });
    },
  });
  const forwardTo = "http://localhost:1/";
  await listen({ client, forwardTo, signal: ending.signal, onReady: () => {}, onForwarded: () => {} });
  expect(cursors).toEqual([null, null, null]);
  expect(await Array.fromAsync(client.list("/api/v1/webhook-endpoints"))).toEqual([]);
});

test("a delivery without a body: forwarded once it has a body", async () => {
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

/**
 * Listens to a service that returns these pages of deliveries, for one poll after another. The program responds with
 * `statuses`.
 */
const listenTo = async (looks: object[][][], statuses: (number | null)[]) => {
  const ending = new AbortController();
  const requests: string[] = [];
  const sent: { request: Request; body: string }[] = [];
  const forwarded: Forwarded[] = [];
  let pages: object[][] = [];
  const fetch = async (request: Request): Promise<Response> => {
    const { pathname, searchParams } = new URL(request.url);
    requests.push(`${request.method} ${pathname}`);
    if (request.method === "POST") return Response.json({ id: "whe_1", secret: SECRET }, { status: 201 });
    if (request.method === "DELETE") return Response.json({ id: "whe_1" });
    const at = Number(searchParams.get("cursor") ?? 0);
    if (at === 0 && looks.length === 0) ending.abort();
    if (at === 0) pages = looks.shift() ?? [];
    return Response.json({ data: pages[at] ?? [], nextCursor: at + 1 < pages.length ? String(at + 1) : null });
  };
  const program = async (request: Request): Promise<Response> => {
    sent.push({ request, body: await request.text() });
    const status = statuses.shift();
    if (status === null) throw new Error("the program is not running");
    return new Response(null, { status: status ?? 200 });
  };
  const client = createClient({ baseUrl: "https://a.example", apiKey, fetch });
  const options = { client, forwardTo: "http://localhost:1/hooks", signal: ending.signal, fetch: program };
  const onForwarded = (event: Forwarded) => void forwarded.push(event);
  await listen({ ...options, onReady: (secret) => expect(secret).toBe(SECRET), onForwarded });
  return { requests, sent, forwarded };
};
const SECRET = `whsec_${Buffer.from("s".repeat(32)).toString("base64")}`;
const delivery = (id: string, createdAt = "2026-01-01T00:00:00Z") => ({
  ...{ id, eventId: `evt_${id}`, eventType: "avatar.created", createdAt, body: `{"id":"${id}"}` },
});

test("deliveries: forwarded once, oldest first, with the signature of the service; redirects are not followed", async () => {
  const { requests, sent, forwarded } = await listenTo([[[delivery("b"), delivery("a")]]], [204, null]);
  expect(forwarded).toEqual([
    { id: "evt_a", type: "avatar.created", status: 204 },
    { id: "evt_b", type: "avatar.created", status: null },
  ]);
  expect(forwarded.map(forwardedLine)).toEqual(["evt_a avatar.created 204\n", "evt_b avatar.created no response\n"]);
  const [{ request, body } = { request: new Request("http://x"), body: "" }] = sent;
  const timestamp = request.headers.get("webhook-timestamp");
  const content = `evt_a.${timestamp}.{"id":"a"}`;
  const signature = new Bun.CryptoHasher("sha256", "s".repeat(32)).update(content).digest("base64");
  expect([body, request.method, request.redirect]).toEqual(['{"id":"a"}', "POST", "manual"]);
  expect(request.headers.get("webhook-id")).toBe("evt_a");
  expect(request.headers.get("webhook-signature")).toBe(`v1,${signature}`);
  expect(Math.abs(Number(timestamp) - Date.now() / 1000)).toBeLessThan(600);
  expect(requests.at(-1)).toBe("DELETE /api/v1/webhook-endpoints/whe_1");
});

test("a poll: goes back to a minute before the newest delivery, and no further", async () => {
  const at = (seconds: number): string => new Date(Date.parse("2026-01-01T00:10:00Z") + 1000 * seconds).toISOString();
  const first = [[delivery("new", at(0))]];
  // After the newest delivery, the service lists one from the minute before it, an older one, and a page that is not
  // read.
  const second = [
    [delivery("new", at(0)), delivery("late", at(-60)), delivery("old", at(-61))],
    [delivery("older", at(-30))],
  ];
  const { forwarded, requests } = await listenTo([first, second], []);
  expect(forwarded.map(({ id }) => id)).toEqual(["evt_new", "evt_late"]);
  expect(requests.filter((request) => request.startsWith("GET"))).toHaveLength(3);
});

test("a listing that fails: thrown; the endpoint is removed", async () => {
  const requests: string[] = [];
  const fetch = async (request: Request): Promise<Response> => {
    requests.push(request.method);
    if (request.method === "POST") return Response.json({ id: "whe_1", secret: SECRET }, { status: 201 });
    return request.method === "GET" ? new Response("gone", { status: 400 }) : Response.json({});
  };
  const client = createClient({ baseUrl: "https://a.example", apiKey, fetch });
  const { signal } = new AbortController();
  const listening = listen({
    client,
    forwardTo: "http://localhost:1/",
    signal,
    onReady: () => {},
    onForwarded: () => {},
  });
  await expect(listening).rejects.toThrow("is not one of the service");
  expect(requests).toEqual(["POST", "GET", "DELETE"]);
});
