/** The key and the start of a call on the page: the requests to the service, without a service. */
import { afterEach, expect, spyOn, test } from "bun:test";
import { ApiProblem, createClient } from "@realtime-avatar/client";
import { createKey, releaseCall, revokeKey, startCall } from "./call.ts";

type Reply = { status?: number; headers?: Record<string, string>; body: unknown };
type Sent = { url: string; method: string; headers: Headers; body: Record<string, unknown>; keepalive: boolean };

/** Answers requests in order, and records them. */
const recordRequests = (replies: Reply[]) => {
  const sent: Sent[] = [];
  const fetch = async (input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> => {
    const request = input instanceof Request ? input : new Request(new URL(String(input), "https://a.example"), init);
    const text = await request.clone().text();
    const { url, method, headers } = request;
    const body = text === "" ? {} : JSON.parse(text);
    sent.push({ url: new URL(url).pathname, method, headers, body, keepalive: init.keepalive === true });
    const { status = 200, headers: more, body: reply } = replies.shift() ?? { body: {} };
    const responseHeaders = { "content-type": "application/json", ...more };
    return new Response(JSON.stringify(reply), { status, headers: responseHeaders });
  };
  return { sent, fetch };
};
let restore = (): void => {};
afterEach(() => restore());
/** Answers and records requests that are sent without a client. */
const recordFetch = (replies: Reply[]): Sent[] => {
  const { sent, fetch } = recordRequests(replies);
  const spy = spyOn(globalThis, "fetch").mockImplementation(fetch as typeof globalThis.fetch);
  restore = () => spy.mockRestore();
  return sent;
};

const KEY = { id: "key_1", environment: "test", secret: "rta_test_x" } as const;
const DATE = "Fri, 20 Nov 2026 12:00:00 GMT";

test.each([
  ["the price of the newest call", [{ priceCreditMicrosPerSecond: 2_000_000 }], 1_200_000_000],
  ["the default price before the first call", [], 600_000_000],
])(
  "the key of a call, %s: ten minutes of one call, for half an hour by the clock of the service",
  async (_, calls, cap) => {
    const page = { data: calls, nextCursor: null };
    const { sent, fetch } = recordRequests([
      { headers: { date: DATE }, body: page },
      { status: 201, body: { id: "key_1", apiKey: "rta_live_x" } },
    ]);
    const client = createClient({ baseUrl: "https://a.example", cookieEnvironment: "live", fetch });
    expect(await createKey(client, "live")).toEqual({ id: "key_1", environment: "live", secret: "rta_live_x" });
    expect(sent[1]?.body).toEqual({
      name: "Try a call",
      environment: "live",
      scopes: ["realtime:write"],
      spendLimitCreditMicros: cap,
      maxConcurrentSessions: 1,
      expiresAt: "2026-11-20T12:30:00.000Z",
    });
  },
);

test("a page that is left: revokes its key, in its environment, with a request that outlives the page", async () => {
  const sent = recordFetch([{ body: {} }]);
  await revokeKey(KEY);
  expect(sent).toMatchObject([{ url: "/api/v1/api-keys/key_1", method: "DELETE", keepalive: true }]);
  expect(sent[0]?.headers.get("realtime-avatar-environment")).toBe("test");
});

test("a call that the person ends: released by hand, so that no list says that a program ended it", async () => {
  const sent = recordFetch([{ body: {} }]);
  await releaseCall(KEY, "ses_1");
  expect(sent).toMatchObject([
    { url: expect.stringMatching(/\/release$/), method: "POST", body: { session_id: "ses_1", reason: "manual" } },
  ]);
});

const queued = (id: string, position: number): Reply => ({
  status: 429,
  body: { queue_ticket_id: id, queue_position: position, queue_size: 5, recommended_retry_ms: 0 },
});

test("a call that waits for a slot: keeps its place, and reports it", async () => {
  const sent = recordFetch([queued("tkt_1", 2), queued("tkt_1", 1), { status: 201, body: { session_id: "ses_1" } }]);
  const places: number[][] = [];
  const { signal } = new AbortController();
  const grant = await startCall(KEY, "ava_1", { signal, onQueued: (...place) => places.push(place) });
  expect(grant.session_id).toBe("ses_1");
  expect(places).toEqual([
    [2, 5],
    [1, 5],
  ]);
  const request = { avatar_id: "ava_1", capabilities: [], transcription: {} };
  const waiting = { ...request, queue_ticket_id: "tkt_1" };
  expect(sent.map(({ body }) => body)).toEqual([request, waiting, waiting]);
  for (const { headers } of sent) expect(headers.get("authorization")).toBe("Bearer rta_test_x");
});

test("a waiting call that is given up: its place is freed", async () => {
  const sent = recordFetch([queued("tkt_1", 2)]);
  const given = new AbortController();
  const call = startCall(KEY, "ava_1", { signal: given.signal, onQueued: () => given.abort("gone") });
  expect(await call.catch((reason: unknown) => reason)).toBe("gone");
  expect(sent.slice(1)).toMatchObject([
    { url: expect.stringMatching(/\/release$/), body: { queue_ticket_id: "tkt_1" } },
  ]);
});

test("a call that is refused, with 402 or by a rate limit: thrown as the problem", async () => {
  for (const status of [402, 429] as const) {
    recordFetch([{ status, body: { code: "refused", detail: "d", requestId: "r", status } }]);
    const { signal } = new AbortController();
    const error = await startCall(KEY, "ava_1", { signal, onQueued: () => {} }).catch((reason: unknown) => reason);
    expect([error instanceof ApiProblem, (error as ApiProblem).status]).toEqual([true, status]);
    restore();
  }
});
