/** The client against a running service, behind a gateway that injects failures. */
import { beforeEach, describe, expect, test } from "bun:test";
import { until } from "@realtime-avatar/testing/until";
import { ApiProblem, createClient, NoResponse, UnexpectedResponse } from "./index.ts";
import { type CallOutcome, serviceOfFile, startGateway } from "./testing.ts";

const { service, gateway, apiKey, client } = await serviceOfFile();
let names = 0;
/** A unique name. */
const newName = (): string => `avatar ${++names}`;
const body = (displayName: string) => ({ displayName, sourceKind: "image" as const });
const create = (displayName: string, of = client) => of.POST("/api/v1/avatars", { body: body(displayName) });

beforeEach(() => {
  gateway.outcomes = [];
  gateway.calls = [];
});

/** A response of the gateway itself, with this JSON or text. */
const gatewayResponse = (status: number, value: unknown, type = "problem+json", headers = {}): CallOutcome => ({
  status,
  headers: { "content-type": `application/${type}`, ...headers },
  body: typeof value === "string" ? value : JSON.stringify(value),
});
const PROBLEM = { code: "unavailable", detail: "d", requestId: "r", retryable: true, status: 400 };

/** The error that a call throws. Fails when the call succeeds. */
const thrown = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => Promise.reject(new Error("nothing was thrown")),
    (reason: unknown) => reason,
  );

describe("the calls of the client", () => {
  test("an avatar, created, read, changed, listed and deleted: the service's responses", async () => {
    const created = await create("Ada");
    expect([created.response.status, created.data.displayName, created.data.status]).toEqual([201, "Ada", "draft"]);
    const path = { id: created.data.id };
    const etag = created.response.headers.get("etag") ?? "";
    const changed = await client.PATCH("/api/v1/avatars/{id}", {
      params: { path, header: { "If-Match": etag } },
      body: { metadata: { team: "sales", nested: { deep: [1, null] } } },
    });
    expect(changed.data.metadata).toEqual({ team: "sales", nested: { deep: [1, null] } });
    const read = await client.GET("/api/v1/avatars/{id}", { params: { path } });
    expect(read.data).toEqual(changed.data);
    const deleted = await client.DELETE("/api/v1/avatars/{id}", { params: { path } });
    expect(deleted.data.status).toBe("deleted");
    const self = await client.GET("/api/v1/api-keys/self");
    expect(apiKey).toStartWith(self.data.redactedKey.replace("****", ""));
  });

  test("a list as a file, whose first response is cut off: complete; in parts: each part has the cursor of the next", async () => {
    const own = createClient({ baseUrl: gateway.url, apiKey: await service.key() });
    await own.POST("/api/v1/avatars", { body: body("=1+1") });
    await own.POST("/api/v1/avatars", { body: body("=1+1") });
    gateway.outcomes = ["half"];
    const { data, nextCursor } = await own.csv("/api/v1/audit-events.csv", { action: "avatar.created" });
    const whole = await data.text();
    expect([nextCursor, gateway.calls.length]).toEqual([null, 4]);
    expect(whole.split("\r\n").length).toBeGreaterThanOrEqual(4);
    const rows: string[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const query = { action: "avatar.created" as const, limit: 1, ...(cursor !== undefined && { cursor }) };
      const part = await own.csv("/api/v1/audit-events.csv", query);
      const [, row = ""] = (await part.data.text()).split("\r\n");
      rows.push(row);
      cursor = part.nextCursor;
    }
    expect(rows).toEqual(whole.split("\r\n").slice(1, -1));
    const error = await thrown(own.csv("/api/v1/audit-events.csv", { limit: 0 }));
    expect(error).toMatchObject({ code: "validation_failed" });
  });

  test("a list, read to its end: every page, each requested only when its items are needed", async () => {
    const own = createClient({ baseUrl: gateway.url, apiKey: await service.key() });
    const expected: string[] = [];
    for (let count = 0; count < 5; count++)
      expected.unshift(
        (await own.POST("/api/v1/avatars", { body: { ...body("listed"), sourceKind: "video" } })).data.id,
      );
    gateway.calls = [];
    const found: string[] = [];
    for await (const { id, sourceKind } of own.list("/api/v1/avatars", { sourceKind: "video", limit: 2 })) {
      expect(sourceKind).toBe("video");
      found.push(id);
      if (found.length === 3) expect(gateway.calls.length).toBe(2);
    }
    expect(found.slice(0, 5)).toEqual(expected);
    for await (const event of own.list("/api/v1/audit-events")) {
      expect(event.action).toBe("avatar.created");
      break;
    }
  });

  test("a POST without an Idempotency-Key: gets a key; with a key: keeps it; a GET: has no key", async () => {
    await create(newName());
    await create(newName());
    await client.POST("/api/v1/avatars", { params: { header: { "Idempotency-Key": "mine" } }, body: body(newName()) });
    await client.POST("/api/v1/leaked-keys", { body: { apiKey: "x" } });
    await client.GET("/api/v1/api-keys/self");
    const keys = gateway.calls.map(({ headers }) => headers["idempotency-key"]);
    expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/);
    expect(new Set(keys).size).toBe(5);
    expect(keys.slice(2)).toEqual(["mine", expect.any(String), undefined]);
    expect(gateway.calls.every(({ headers }) => headers["x-request-id"] !== undefined)).toBe(true);
  });
});

describe("the errors of the client", () => {
  test("a problem, received: thrown, discriminated by its code", async () => {
    const reader = createClient({ baseUrl: gateway.url, apiKey: await service.key(["avatars:read"]) });
    const error = await thrown(create("x", reader));
    if (!(error instanceof ApiProblem)) throw error;
    expect(error).toBeInstanceOf(Error);
    if (error.code !== "insufficient_scope") throw error;
    const needed: string = error.requiredScope;
    expect([needed, error.status, error.name]).toEqual(["avatars:write", 403, "ApiProblem"]);
    expect(error.message).toBe(`insufficient_scope: ${error.detail} (request ${error.requestId})`);

    const invalid = await thrown(create(""));
    if (!(invalid instanceof ApiProblem) || invalid.code !== "validation_failed") throw invalid;
    expect(invalid.errors.map(({ pointer }) => pointer)).toEqual(["#/displayName"]);
    expect(gateway.calls.length).toBe(2);
  });

  test("a proxy's response or a 304, received: thrown", async () => {
    gateway.outcomes = [{ status: 404 }];
    const unexpected = await thrown(client.GET("/api/v1/api-keys/self"));
    expect(unexpected).toBeInstanceOf(UnexpectedResponse);
    expect((unexpected as UnexpectedResponse).response.status).toBe(404);
    expect(await (unexpected as UnexpectedResponse).response.text()).toBe("<h1>Gateway</h1>");
    gateway.outcomes = [{ status: 413 }];
    const tooLarge = await thrown(create(newName()));
    expect(tooLarge).toBeInstanceOf(UnexpectedResponse);
    expect((tooLarge as Error).message).toEndWith("(status 413: the proxy in front of it allows only smaller bodies).");
    gateway.outcomes = [gatewayResponse(400, "no JSON")];
    expect(await thrown(client.GET("/api/v1/api-keys/self"))).toBeInstanceOf(UnexpectedResponse);
    const { data, response } = await create(newName());
    const header = { "If-None-Match": response.headers.get("etag") ?? "" };
    const known = await thrown(client.GET("/api/v1/avatars/{id}", { params: { path: { id: data.id }, header } }));
    expect((known as UnexpectedResponse).response.status).toBe(304);
  });

  test("a malformed problem or success, received: thrown", async () => {
    const malformed = [
      { type: "about:blank", title: "upstream", status: 400 },
      { ...PROBLEM, retryable: "true" },
      { ...PROBLEM, status: 503 },
      { ...PROBLEM, requestId: 5 },
      '"text"',
      [],
      null,
      {},
    ];
    for (const body of malformed) {
      gateway.outcomes = [gatewayResponse(400, body)];
      gateway.calls = [];
      const error = await thrown(create(newName()));
      expect(error).toBeInstanceOf(UnexpectedResponse);
      expect((error as UnexpectedResponse).idempotencyKey).toBe(String(gateway.calls[0]?.headers["idempotency-key"]));
      expect(gateway.calls.length).toBe(1);
    }
    const hostile = '{"toString":1,"name":"N","stack":5,"message":"m","__proto__":{"x":1},"constructor":{},';
    const text = JSON.stringify({ ...PROBLEM, code: "not_found", retryable: false }).replace("{", hostile);
    gateway.outcomes = [gatewayResponse(400, text)];
    const error = await thrown(create(newName()));
    expect(error).toBeInstanceOf(ApiProblem);
    expect(String(error)).toBe("ApiProblem: not_found: d (request r)");
    for (const body of ["", "<html>portal</html>", "{"]) {
      gateway.outcomes = [gatewayResponse(200, body, "json")];
      expect(await thrown(create(newName()))).toBeInstanceOf(UnexpectedResponse);
    }
    gateway.outcomes = [{ status: 200, body: "{}" }];
    expect(await thrown(create(newName()))).toBeInstanceOf(UnexpectedResponse);
  });

  test("a list with a repeating cursor: rejects", async () => {
    const page = (nextCursor?: string): CallOutcome => gatewayResponse(200, { data: [], nextCursor }, "json");
    const all = () => Array.fromAsync(client.list("/api/v1/avatars"));
    gateway.outcomes = [page("a"), page("b"), page("b"), page("b")];
    expect(await thrown(all())).toBeInstanceOf(UnexpectedResponse);
    gateway.outcomes = [page()];
    expect(await all()).toEqual([]);
  });

  test("a path that leads to another host or path: an error before anything is sent", async () => {
    type Loose = (path: string, init?: object) => Promise<{ response: Response }>;
    const get = client.GET as unknown as Loose;
    for (const path of [":1/echo", ".example.org/x", "@example.org/", "http://example.org/", ""]) {
      expect(await thrown(get(path))).toBeInstanceOf(TypeError);
    }
    for (const id of ["", ".", "..", undefined]) {
      expect(await thrown(get("/api/v1/avatars/{id}", { params: { path: { id } } }))).toBeInstanceOf(TypeError);
    }
    expect(gateway.calls).toEqual([]);
    const foreign = { fetch: () => Promise.reject(new Error("never")), baseUrl: "http://127.0.0.1:1" };
    expect((await get("/api/v1/api-keys/self", foreign)).response.status).toBe(200);
    const error = await thrown(get("/api/v1/avatars/{id}", { params: { path: { id: "../api-keys/self" } } }));
    expect(error).toMatchObject({ code: "not_found" });
  });

  test("a redirect, received: thrown, not followed", async () => {
    const elsewhere = await startGateway(service.url);
    gateway.outcomes = [{ status: 307, headers: { location: `${elsewhere.url}/api/v1/avatars` } }];
    const error = await thrown(create(newName()));
    expect((error as UnexpectedResponse).response.status).toBe(307);
    expect(elsewhere.calls).toEqual([]);
    elsewhere.close();
  });

  test("an error and a client, printed: without the key", async () => {
    gateway.outcomes = [{ status: 404 }];
    const nowhere = createClient({ baseUrl: "http://127.0.0.1:1", apiKey, maxAttempts: 1 });
    const errors = [
      await thrown(client.GET("/api/v1/api-keys/self")),
      await thrown(create("")),
      await thrown(nowhere.GET("/api/v1/api-keys/self")),
    ];
    for (const value of [...errors, client]) {
      expect(Bun.inspect(value)).not.toContain(apiKey);
      expect(String(value) + JSON.stringify(value)).not.toContain(apiKey);
    }
  });
});

describe("the retries of the client", () => {
  const unavailable: CallOutcome = { status: 503 };

  test.each<[string, CallOutcome[]]>([
    ["lost responses", ["lost", "lost"]],
    ["truncated responses", ["half", "half"]],
    ["gateway errors", [{ status: 502 }, { status: 504 }, unavailable]],
    ["all of these", ["lost", { status: 502 }, "half"]],
  ])("a create, despite %s: executed once", async (_, outcomes) => {
    gateway.outcomes = [...outcomes];
    const name = newName();
    const { data, response } = await create(name);
    expect([response.status, data.displayName, await service.count(name)]).toEqual([201, name, 1]);
    expect(gateway.calls.length).toBe(outcomes.length + 1);
    expect(new Set(gateway.calls.map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
  });

  test("the creation of a key whose response is lost: the replay has the same secret", async () => {
    gateway.outcomes = ["lost"];
    const { data, response } = await client.POST("/api/v1/api-keys", {
      body: { name: "once", environment: "live", scopes: ["*"] },
    });
    expect(response.headers.get("idempotent-replayed")).toBe("true");
    const withNewKey = createClient({ baseUrl: gateway.url, apiKey: data.apiKey });
    expect((await withNewKey.GET("/api/v1/api-keys/self")).data.id).toBe(data.id);
  });

  test("a read whose response is lost: retried; a change: retried only if it was not executed", async () => {
    const { data } = await create(newName());
    const params = { path: { id: data.id } };
    gateway.outcomes = ["lost", { status: 502 }];
    expect((await client.GET("/api/v1/avatars/{id}", { params })).data.id).toBe(data.id);

    gateway.outcomes = ["lost"];
    gateway.calls = [];
    const change = () => client.PATCH("/api/v1/avatars/{id}", { params, body: { displayName: newName() } });
    const lost = await thrown(change());
    expect(lost).toBeInstanceOf(NoResponse);
    expect((lost as NoResponse).idempotencyKey).toBeNull();
    gateway.outcomes = [unavailable];
    expect(await thrown(change())).toBeInstanceOf(UnexpectedResponse);
    expect(gateway.calls.length).toBe(2);

    const problem = (code: string, retryable: boolean): CallOutcome =>
      gatewayResponse(503, { ...PROBLEM, code, status: 503, retryable }, undefined, { "retry-after": "0" });
    gateway.outcomes = [problem("unavailable", true)];
    expect((await change()).response.status).toBe(200);
    gateway.outcomes = [problem("outcome_unknown", false)];
    expect(await thrown(change())).toMatchObject({ code: "outcome_unknown" });
  });

  test("a refused request, of each status: not retried", async () => {
    for (const status of [400, 401, 403, 404, 409, 412, 422, 500, 501]) {
      gateway.outcomes = [{ status }];
      gateway.calls = [];
      expect(await thrown(create(newName()))).toMatchObject({ response: { status } });
      expect(gateway.calls.length).toBe(1);
    }
  });

  test("a create, after maxAttempts failures: the error has its Idempotency-Key", async () => {
    const name = newName();
    const twice = createClient({ baseUrl: gateway.url, apiKey, maxAttempts: 2 });
    gateway.outcomes = ["lost", "lost"];
    const error = await thrown(create(name, twice));
    if (!(error instanceof NoResponse)) throw error;
    expect(gateway.calls.length).toBe(2);
    expect(gateway.calls.map(({ headers }) => headers["x-request-id"])).toEqual([error.requestId, error.requestId]);
    const header = { "Idempotency-Key": error.idempotencyKey ?? "" };
    const { response } = await twice.POST("/api/v1/avatars", { params: { header }, body: body(name) });
    expect([response.headers.get("idempotent-replayed"), await service.count(name)]).toEqual(["true", 1]);
  });
});

describe("the waiting of the client", () => {
  test("a wait, with Retry-After: lasts as long; skipped if it exceeds the deadline", async () => {
    const limited = (value: string): CallOutcome =>
      gatewayResponse(429, { ...PROBLEM, code: "rate_limited", status: 429 }, undefined, { "retry-after": value });
    gateway.outcomes = [limited("1")];
    const startedAt = performance.now();
    await client.GET("/api/v1/api-keys/self");
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(995);

    gateway.calls = [];
    for (const value of ["3600", new Date(Date.now() + 3_600_000).toUTCString()]) {
      gateway.outcomes = [limited(value)];
      expect(await thrown(client.GET("/api/v1/api-keys/self"))).toMatchObject({ code: "rate_limited" });
    }
    expect(gateway.calls.length).toBe(2);
    for (const value of ["", "soon", "-5", new Date(0).toUTCString()]) {
      gateway.outcomes = [limited(value)];
      expect((await client.GET("/api/v1/api-keys/self")).response.status).toBe(200);
    }
  });

  test("an attempt, longer than attemptTimeoutMs: aborted, and the next attempt starts", async () => {
    const hasty = createClient({ baseUrl: gateway.url, apiKey, attemptTimeoutMs: 1000 });
    for (const outcome of ["hang", "drip"] as const) {
      gateway.outcomes = [outcome];
      const name = newName();
      const { response } = await create(name, hasty);
      expect([response.status, await service.count(name)]).toEqual([201, 1]);
    }
  });

  test("a call, longer than timeoutMs: aborted", async () => {
    const hasty = createClient({ baseUrl: gateway.url, apiKey, timeoutMs: 300 });
    gateway.outcomes = ["hang", "hang"];
    const error = await thrown(create(newName(), hasty));
    expect(error).toBeInstanceOf(NoResponse);
    expect(gateway.calls.length).toBe(1);
    const deaf = createClient({ baseUrl: gateway.url, apiKey, timeoutMs: 300, fetch: () => new Promise(() => {}) });
    expect(await thrown(deaf.GET("/api/v1/api-keys/self"))).toBeInstanceOf(NoResponse);
    for (const wrong of [0, -1, 1.5, 2 ** 31, Number.POSITIVE_INFINITY, Number.NaN]) {
      expect(() => createClient({ baseUrl: gateway.url, apiKey, timeoutMs: wrong })).toThrow("timeoutMs must be");
    }
  });

  test("a request, aborted during an attempt or between two: ends with the reason", async () => {
    const reason = new Error("aborted");
    gateway.outcomes = ["hang"];
    const controller = new AbortController();
    const call = thrown(client.GET("/api/v1/api-keys/self", { signal: controller.signal }));
    await until(() => gateway.calls.length > 0, { pollMs: 5 });
    controller.abort(reason);
    expect(await call).toBe(reason);

    gateway.outcomes = [{ status: 503, headers: { "retry-after": "20" } }];
    gateway.calls = [];
    const second = new AbortController();
    const waiting = thrown(client.GET("/api/v1/api-keys/self", { signal: second.signal }));
    await until(() => gateway.calls.length > 0, { pollMs: 5 });
    await Bun.sleep(50);
    second.abort(reason);
    expect(await waiting).toBe(reason);
    expect(await thrown(client.GET("/api/v1/api-keys/self", { signal: AbortSignal.abort(reason) }))).toBe(reason);
  });
});

describe("a malformed key", () => {
  test.each([
    "",
    "x",
    "rta_live_short",
    "Bearer rta_live_0123456789ABCDEF_GHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvw3jxJMV",
  ])("a malformed key, %p: refused, and not in the error", (wrong) => {
    expect(() => createClient({ baseUrl: gateway.url, apiKey: wrong })).toThrow("apiKey must be a full API key");
  });
});

test("ten callers, a third of the requests failing: each avatar is created once", async () => {
  let seed = 17;
  const random = (): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
  const pass: CallOutcome[] = Array(6).fill("pass");
  const outcomes: CallOutcome[] = ["lost", "half", { status: 502 }, ...pass];
  gateway.outcomes = Array.from({ length: 400 }, () => outcomes[Math.floor(random() * outcomes.length)] ?? "pass");
  const patient = createClient({ baseUrl: gateway.url, apiKey, maxAttempts: 20 });
  const displayNames = Array.from({ length: process.env["LONG"] === "1" ? 100 : 15 }, newName);
  const queue = [...displayNames];
  await Promise.all(
    Array.from({ length: 10 }, async () => {
      for (let name = queue.shift(); name !== undefined; name = queue.shift()) await create(name, patient);
    }),
  );
  const counts = await Promise.all(displayNames.map((name) => service.count(name)));
  expect(counts.filter((count) => count !== 1)).toEqual([]);
});
