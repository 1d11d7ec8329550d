/**
 * Retries of a client: the retried requests, their delays, and the release of resources. The test itself provides the
 * responses.
 */
import { afterEach, beforeEach, describe, expect, type Mock, spyOn, test } from "bun:test";
import { getEventListeners } from "node:events";
import { type ClientOptions, createClient } from "./index.ts";
import { backoffMs, retryAfterMs, sleep } from "./wait.ts";

/** The pauses between attempts, as a share of their maximum. */
let share: Mock<() => number>;
beforeEach(() => {
  share = spyOn(Math, "random").mockReturnValue(0);
});
afterEach(() => share.mockRestore());

const apiKey = `rta_test_${"0".repeat(16)}_${"0".repeat(49)}`;

type Reply = { status: number; headers?: Record<string, string>; body?: string } | "no response";

/** A client whose attempts get these replies, in order. `sent`: the attempts. */
const clientWith = (replies: Reply[], options: Partial<ClientOptions> = {}) => {
  const sent: Request[] = [];
  const fetch = async (request: Request): Promise<Response> => {
    sent.push(request);
    const reply = replies.shift();
    if (reply === undefined) throw new Error("there are more attempts than replies");
    if (reply === "no response") throw new TypeError("the connection was closed");
    const { status, headers, body = "{}" } = reply;
    return new Response(body, { status, headers: { "content-type": "application/json", ...headers } });
  };
  const client = createClient({ baseUrl: "https://avatars.example.com", apiKey, fetch, ...options } as ClientOptions);
  return { client, sent };
};

const path = { id: "ava_1" };
type Client = ReturnType<typeof createClient>;
const CALLS: Record<string, (client: Client) => Promise<unknown>> = {
  GET: (client) => client.GET("/api/v1/avatars/{id}", { params: { path } }),
  POST: (client) => client.POST("/api/v1/avatars", { body: { displayName: "Ada", sourceKind: "image" } }),
  PATCH: (client) => client.PATCH("/api/v1/avatars/{id}", { params: { path }, body: { displayName: "Ada" } }),
  DELETE: (client) => client.DELETE("/api/v1/avatars/{id}", { params: { path } }),
};
const problem = (status: number, retryable: boolean, headers = {}): Reply => ({
  status,
  headers: { "content-type": "application/problem+json", ...headers },
  body: JSON.stringify({ code: "unavailable", detail: "d", requestId: "r", retryable, status }),
});

describe("an attempt that fails", () => {
  // A POST has an Idempotency-Key, so it is executed once. A repeated change or deletion would be reported as failed.
  const SAFE = ["GET", "POST"];
  const ALL = Object.keys(CALLS);
  test.each<[string, Reply, string[]]>([
    ["no response", "no response", SAFE],
    ["502 of a proxy", { status: 502, headers: { "content-type": "text/html" } }, SAFE],
    ["503 of a proxy", { status: 503, headers: { "content-type": "text/html" } }, SAFE],
    ["504 of a proxy", { status: 504, headers: { "content-type": "text/html" } }, SAFE],
    ["500 of a proxy", { status: 500, headers: { "content-type": "text/html" } }, []],
    ["429 of a proxy", { status: 429, headers: { "content-type": "text/html" } }, []],
    ["a retryable problem", problem(429, true), ALL],
    ["a problem that is not retryable", problem(503, false), []],
    ["a problem with another status than its response", { ...(problem(400, true) as object), status: 409 }, []],
  ])("%s: repeated only for methods that are safe to repeat", async (_, reply, again) => {
    const repeated: string[] = [];
    for (const [method, call] of Object.entries(CALLS)) {
      const { client, sent } = clientWith([reply, { status: 200 }]);
      await call(client).catch(() => {});
      if (sent.length === 2) repeated.push(method);
    }
    expect(repeated).toEqual(again);
  });

  test("the number of attempts: five by default, or maxAttempts", async () => {
    const attempts = async (options: Partial<ClientOptions>): Promise<number> => {
      const { client, sent } = clientWith(Array(9).fill("no response"), options);
      await client.GET("/api/v1/api-keys/self").catch(() => {});
      return sent.length;
    };
    expect(await Promise.all([attempts({}), attempts({ maxAttempts: 1 }), attempts({ maxAttempts: 2 })])).toEqual([
      5, 1, 2,
    ]);
  });

  test("the attempts of one call: share an id, an Idempotency-Key and a body; the next call: has another id and key", async () => {
    const { client, sent } = clientWith(["no response", "no response", { status: 201 }, { status: 201 }]);
    for (const displayName of ["Ada", "Bob"]) {
      await client.POST("/api/v1/avatars", { body: { displayName, sourceKind: "image" } });
    }
    const ids = sent.map(({ headers }) => `${headers.get("x-request-id")} ${headers.get("idempotency-key")}`);
    expect([ids[0], ids[0], ids[0] === ids[3]]).toEqual([ids[1], ids[2], false]);
    const bodies = await Promise.all(sent.map(async (request) => (await request.json()) as { displayName: string }));
    expect(bodies.map(({ displayName }) => displayName)).toEqual(["Ada", "Ada", "Ada", "Bob"]);
  });

  test("a Retry-After beyond the time of the call: thrown at once", async () => {
    const { client, sent } = clientWith([problem(429, true, { "retry-after": "31" })]);
    await expect(client.GET("/api/v1/api-keys/self")).rejects.toMatchObject({ code: "unavailable" });
    expect(sent).toHaveLength(1);
  });
});

test("Retry-After: seconds or a date, in milliseconds; 0 for an invalid value or a past date", () => {
  const of = (value?: string): number =>
    retryAfterMs(new Response(null, value === undefined ? {} : { headers: { "retry-after": value } }));
  expect([of(), of(""), of("soon"), of("-5"), of("1.5"), of("0"), of("7")]).toEqual([0, 0, 0, 0, 0, 0, 7000]);
  expect(of(new Date(0).toUTCString())).toBe(0);
  expect(of(new Date(Date.now() + 3_600_000).toUTCString())).toBeWithin(3_500_000, 3_600_001);
});

test("the pauses between attempts: at random, up to twice as long each time, and up to five seconds", () => {
  expect(backoffMs(5)).toBe(0);
  share.mockReturnValue(1);
  expect([1, 2, 3, 4, 5, 6].map(backoffMs)).toEqual([400, 800, 1600, 3200, 5000, 5000]);
});

describe("the signal of a caller", () => {
  const listeners = (signal: AbortSignal): number => getEventListeners(signal, "abort").length;

  test("after a call and after a wait: without a listener of the client", async () => {
    const { signal } = new AbortController();
    const { client } = clientWith([problem(503, true), "no response", { status: 200 }, { status: 404 }]);
    await client.GET("/api/v1/api-keys/self", { signal });
    expect(listeners(signal)).toBe(0);
    await client.GET("/api/v1/api-keys/self", { signal }).catch(() => {});
    await sleep(1, signal);
    expect(listeners(signal)).toBe(0);
  });

  test("aborted before or during a wait: the wait ends with its reason, and leaves no timer", async () => {
    const controller = new AbortController();
    const waits = [sleep(1e9, controller.signal), sleep(1e9, AbortSignal.abort("before"))];
    controller.abort("during");
    expect(await Promise.allSettled(waits)).toMatchObject([{ reason: "during" }, { reason: "before" }]);
    expect(listeners(controller.signal)).toBe(0);
  });
});
