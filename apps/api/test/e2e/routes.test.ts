/** One battery for every route under /api/v1, present and future: who may come in, and in which order it is judged. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { connect } from "node:net";
import { seedKey, seedTenant } from "@realtime-avatar/db/testing";
import { PROBLEMS } from "@realtime-avatar/domain/problem";
import type { Scope } from "@realtime-avatar/domain/scope";
import { type Answer, readAnswer, requestInit, rowCounts, startApi, type TestApi, UUID_V7 } from "../support/api.ts";

// No test asserts a time: a slow disk must not fail one.
setDefaultTimeout(60_000);

let api: TestApi;
let everything: string;
let nothing: string;

beforeAll(async () => {
  api = await startApi();
  everything = await api.key();
  nothing = await api.key({ scopes: ["usage:read"] });
});
afterAll(() => api.close());

/** Every route there is, with the scope that it needs, and a body that it takes where it takes one. */
const ROUTES: Record<string, { scope: Scope | "any" | "none"; body?: object }> = {
  "GET /api/v1/api-keys": { scope: "api_keys:write" },
  "POST /api/v1/api-keys": { scope: "api_keys:write", body: { name: "x" } },
  "GET /api/v1/api-keys/self": { scope: "any" },
  "GET /api/v1/api-keys/:id": { scope: "api_keys:write" },
  "PATCH /api/v1/api-keys/:id": { scope: "api_keys:write", body: { name: "x" } },
  "DELETE /api/v1/api-keys/:id": { scope: "api_keys:write" },
  "POST /api/v1/api-keys/:id/rotate": { scope: "api_keys:write", body: {} },
  "GET /api/v1/audit-events": { scope: "api_keys:write" },
  "GET /api/v1/avatars": { scope: "avatars:read" },
  "POST /api/v1/avatars": { scope: "avatars:write", body: { displayName: "x", sourceKind: "image" } },
  "GET /api/v1/avatars/:id": { scope: "avatars:read" },
  "PATCH /api/v1/avatars/:id": { scope: "avatars:write", body: { displayName: "x" } },
  "DELETE /api/v1/avatars/:id": { scope: "avatars:write" },
  "POST /api/v1/leaked-keys": { scope: "none", body: { apiKey: "x" } },
};

/** Fills the parameter of a path. */
const withId = (path: string, id: string): string => path.replace(":id", id);
/** An id of the kind that a path asks for, and of nothing. */
const unknownId = (path: string): string => `${path.includes("avatars") ? "ava" : "key"}_01h455vb4pex5vsknk084sn02q`;
const allRoutes = () =>
  api.app.routes
    .filter(({ path }) => path.startsWith("/api/v1"))
    .map(({ method, path }) => {
      const { scope, body } = ROUTES[`${method} ${path}`] ?? { scope: "any" };
      return { method, path, url: withId(path, unknownId(path)), scope, body };
    });
/** The one route without credentials is left out. */
const routes = () => allRoutes().filter(({ scope }) => scope !== "none");
const withBody = () => allRoutes().filter(({ method }) => ["POST", "PUT", "PATCH"].includes(method));

const expectProblem = (answer: Answer, code: keyof typeof PROBLEMS): void => {
  const { status, title } = PROBLEMS[code];
  expect(answer.body).toMatchObject({ type: `/problems/${code}`, title, status, code });
  expect(answer.status).toBe(status);
  expect(answer.headers.get("content-type")).toBe("application/problem+json");
  expect(answer.body.requestId).toBe(answer.headers.get("x-request-id"));
  expect(typeof answer.body.detail).toBe("string");
  expect(typeof answer.body.retryable).toBe("boolean");
};

/** Bodies that would each be refused for another reason, if anyone looked at them. */
const hostileBodies: [string, Record<string, string>, string | Uint8Array | undefined][] = [
  ["no body", {}, undefined],
  ["an empty body", { "content-type": "application/json" }, ""],
  ["malformed JSON", { "content-type": "application/json" }, '{"name":'],
  ["a wrong media type", { "content-type": "text/xml" }, "<name/>"],
  ["a form", { "content-type": "application/x-www-form-urlencoded" }, "name=x"],
  ["a content encoding", { "content-type": "application/json", "content-encoding": "gzip" }, "{}"],
  ["invalid UTF-8", { "content-type": "application/json" }, new Uint8Array([0x7b, 0xff, 0x7d])],
  ["1 MiB of junk", { "content-type": "application/json" }, new Uint8Array(1024 * 1024)],
  ["unknown fields", { "content-type": "application/json" }, '{"no":"such field"}'],
];

const hostileCredentials: [string, string | undefined, keyof typeof PROBLEMS][] = [
  ["no credentials", undefined, "missing_api_key"],
  ["an empty header", "", "missing_api_key"],
  ["another scheme", "Basic dXNlcjpwYXNz", "missing_api_key"],
  ["a scheme alone", "Bearer", "missing_api_key"],
  [
    "a key without a scheme",
    "rta_live_0123456789ABCDEF_GHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvw3jxJMV",
    "missing_api_key",
  ],
  ["junk", "Bearer junk", "invalid_api_key"],
  [
    "an unknown key",
    "Bearer rta_live_0123456789ABCDEF_GHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvw3jxJMV",
    "invalid_api_key",
  ],
  [
    "a wrong checksum",
    "Bearer rta_live_0123456789ABCDEF_GHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvw3jxJMW",
    "invalid_api_key",
  ],
];

test("the routes are these, and one of them needs no credentials", () => {
  const found = allRoutes().map(({ method, path }) => `${method} ${path}`);
  expect(found.sort()).toEqual(Object.keys(ROUTES).sort());
  expect(allRoutes().length - routes().length).toBe(1);
});

describe("credentials come first", () => {
  test.each(hostileCredentials)("%s is 401, whatever the body is", async (_, authorization, code) => {
    const before = await rowCounts(api.database);
    for (const { method, url } of routes()) {
      for (const [, headers, body] of method === "GET" ? hostileBodies.slice(0, 1) : hostileBodies) {
        const all = { ...headers, ...(authorization === undefined ? {} : { authorization }) };
        const answer = await api.call(method, url, { headers: all, body });
        expectProblem(answer, code);
        expect(answer.headers.get("www-authenticate")).toBe(
          code === "missing_api_key"
            ? 'Bearer realm="realtime-avatar"'
            : 'Bearer realm="realtime-avatar", error="invalid_token"',
        );
      }
    }
    expect(await rowCounts(api.database)).toEqual(before);
  });

  test("unknown, malformed and wrong-checksum keys get the same words", async () => {
    for (const { method, url } of routes()) {
      const bodies = await Promise.all(
        hostileCredentials
          .filter(([, , code]) => code === "invalid_api_key")
          .map(async ([, authorization]) => {
            const { body } = await api.call(method, url, { headers: { authorization: authorization ?? "" } });
            return { ...body, requestId: null };
          }),
      );
      expect(new Set(bodies.map((body) => JSON.stringify(body))).size).toBe(1);
    }
  });

  test("a connection goes on to serve after a refused body, of any size", async () => {
    const { hostname, port } = new URL(api.url);
    for (const { method, url } of withBody().filter(({ scope }) => scope !== "none")) {
      for (const size of [10, 100_000, 1_000_000]) {
        const socket = connect(Number(port), hostname);
        const answers: string[] = [];
        const answered = (): Promise<unknown> => new Promise((resolve) => socket.once("data", resolve));
        socket.on("data", (chunk) => answers.push(chunk.toString().split("\r\n")[0] ?? ""));
        socket.write(`${method} ${url} HTTP/1.1\r\nHost: api\r\nContent-Length: ${size}\r\n\r\n${"x".repeat(size)}`);
        await answered();
        socket.write("GET /healthz HTTP/1.1\r\nHost: api\r\n\r\n");
        await answered();
        socket.destroy();
        expect(answers).toEqual(["HTTP/1.1 401 Unauthorized", "HTTP/1.1 200 OK"]);
      }
    }
  });

  test("the body of a stranger is not read", async () => {
    for (const { method, url } of withBody().filter(({ scope }) => scope !== "none")) {
      let pulled = 0;
      const body = new ReadableStream(
        {
          pull(controller) {
            pulled++;
            controller.enqueue(new Uint8Array(1024));
            if (pulled > 10_000) controller.close();
          },
        },
        { highWaterMark: 0 },
      );
      const request = new Request(api.url + url, { ...requestInit(method, { body }), duplex: "half" } as RequestInit);
      expectProblem(await readAnswer(await api.app.handle(request)), "missing_api_key");
      expect(pulled).toBe(0);
    }
  });
});

describe("then the scope", () => {
  test("a key without it is 403, whatever the body is, and is told what it lacks", async () => {
    const before = await rowCounts(api.database);
    for (const { method, url, scope } of routes().filter((route) => route.scope !== "any")) {
      for (const [, headers, body] of method === "GET" ? hostileBodies.slice(0, 1) : hostileBodies) {
        const answer = await api.call(method, url, { key: nothing, headers, body });
        expectProblem(answer, "insufficient_scope");
        const { requiredScope, grantedScopes } = answer.body;
        expect([requiredScope, grantedScopes]).toEqual([scope, ["usage:read"]]);
        expect(answer.headers.get("www-authenticate")).toBe(
          `Bearer realm="realtime-avatar", error="insufficient_scope", scope="${requiredScope}"`,
        );
        // The scope that it names is the one that was missing.
        const enough = await api.key({ environment: "live", scopes: [requiredScope] });
        expect((await api.call(method, url, { key: enough, headers, body })).status).not.toBe(403);
      }
    }
    expect((await rowCounts(api.database))[0]).toMatchObject({ avatars: before[0]?.["avatars"] });
  });
});

describe("then the body, step by step", () => {
  const large = "x".repeat(128 * 1024 + 1);

  test.each([
    "text/plain",
    "text/plain; application/json",
    "application/jsonfoo",
    "application/json5",
    "application/problem+json",
    "application/json; charset=utf-16",
    "application/json; charset=iso-8859-1",
    "application/json; charset=utf-8; charset=utf-8",
    "application/json; profile=x",
    "application/json, application/json",
    "multipart/form-data; boundary=x",
    "",
  ])("the media type %j is 415, before the size is looked at", async (type) => {
    for (const { method, url } of withBody()) {
      for (const body of ["{}", large]) {
        const answer = await api.call(method, url, { key: everything, body, headers: { "content-type": type } });
        expectProblem(answer, "unsupported_media_type");
      }
    }
  });

  test.each(["gzip", "identity", "br", "deflate, gzip"])("the content encoding %s is 415", async (encoding) => {
    for (const { method, url } of withBody()) {
      const headers = { "content-encoding": encoding };
      expectProblem(await api.call(method, url, { key: everything, body: "{}", headers }), "unsupported_media_type");
    }
  });

  test.each([
    "application/json",
    "APPLICATION/JSON",
    "application/json;charset=utf-8",
    "Application/Json ; Charset=UTF-8",
    'application/json; charset="utf-8"',
  ])("the media type %j is accepted", async (type) => {
    for (const { method, url } of withBody()) {
      const answer = await api.call(method, url, { key: everything, body: "{", headers: { "content-type": type } });
      expectProblem(answer, "malformed_json");
    }
  });

  test("more than 128 KiB is 413, before the syntax is looked at, with and without a declared length", async () => {
    const chunked = () =>
      new ReadableStream({
        start(controller) {
          for (let sent = 0; sent < large.length; sent += 4096)
            controller.enqueue(Buffer.from(large.slice(sent, sent + 4096)));
          controller.close();
        },
      });
    for (const { method, url } of withBody()) {
      expectProblem(await api.call(method, url, { key: everything, body: large }), "body_too_large");
      expectProblem(await api.call(method, url, { key: everything, body: chunked() }), "body_too_large");
      const fits = large.slice(1);
      expectProblem(await api.call(method, url, { key: everything, body: fits }), "malformed_json");
    }
  });

  test("what is not JSON is 400", async () => {
    for (const { method, url } of withBody()) {
      for (const body of ["", "{", "nul", "{'a':1}", "\ufeff{}", new Uint8Array([0xff])]) {
        expectProblem(await api.call(method, url, { key: everything, body }), "malformed_json");
      }
      const none = await api.call(method, url, { key: everything, headers: { "content-type": "application/json" } });
      expectProblem(none, "malformed_json");
    }
  });

  test("what has the wrong shape is 422, with every error at once", async () => {
    for (const { method, url } of withBody()) {
      for (const body of ["null", "[]", "5", '"x"', "true"]) {
        const answer = await api.call(method, url, { key: everything, body });
        expectProblem(answer, "validation_failed");
        expect(answer.body.errors).toMatchObject([{ pointer: "#", code: "wrong_type" }]);
      }
      const answer = await api.call(method, `${url}?dry=1&dry=2&x`, { key: everything, body: { one: 1, two: 2 } });
      expectProblem(answer, "validation_failed");
      expect(answer.body.errors).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ parameter: "dry", code: "unknown_parameter" }),
          expect.objectContaining({ parameter: "x", code: "unknown_parameter" }),
          expect.objectContaining({ pointer: "#/one", code: "unknown_field" }),
          expect.objectContaining({ pointer: "#/two", code: "unknown_field" }),
        ]),
      );
    }
  });
});

describe("then the query", () => {
  test("an unknown parameter is 422, whatever the path names", async () => {
    for (const { method, url, body } of allRoutes()) {
      const answer = await api.call(method, `${url}?dry=1&dry=2&${"x".repeat(200)}=%00`, { key: everything, body });
      expectProblem(answer, "validation_failed");
      expect(answer.body.errors).toEqual([
        { parameter: "dry", code: "unknown_parameter", detail: "Is not a known query parameter." },
        { parameter: "x".repeat(128), code: "unknown_parameter", detail: "Is not a known query parameter." },
      ]);
    }
  });
});

describe("then what the path names", () => {
  const withIds = () => routes().filter(({ path }) => path.includes(":id"));
  const bare = ({ status, body, headers }: Answer) => {
    const rest = Object.fromEntries([...headers].filter(([name]) => !["x-request-id", "date"].includes(name)));
    return { status, rest, body: { ...body, requestId: null } };
  };

  test("is 404 in the same bytes when it is malformed, unknown, another tenant's or of another world", async () => {
    const { db } = api.database;
    const inTest = await api.key({ scopes: ["*"] });
    const strangersTenant = await seedTenant(db);
    const strangers = (await seedKey(db, strangersTenant, { environment: "live", scopes: ["*"] })).secret.reveal();
    const created = async (key: string) => ({
      key: (await api.call("POST", "/api/v1/api-keys", { key, body: { name: "x", environment: "live" } })).body.id,
      ava: (await api.call("POST", "/api/v1/avatars", { key, body: { displayName: "x", sourceKind: "image" } })).body
        .id,
    });
    const own = await created(everything);
    const other = await created(strangers);
    const test = (
      await api.call("POST", "/api/v1/avatars", { key: inTest, body: ROUTES["POST /api/v1/avatars"]?.body })
    ).body.id;
    const malformed = [
      "x",
      "key_",
      "ava_",
      "%00",
      "%2e%2e",
      "%zz",
      `${own.key}x`,
      own.key.toUpperCase(),
      "a".repeat(5000),
    ];
    for (const { method, path, body } of withIds()) {
      const kind = path.includes("avatars") ? "ava" : "key";
      const ask = async (key: string, id: string) => bare(await api.call(method, withId(path, id), { key, body }));
      const missing = await ask(everything, unknownId(path));
      expect([missing.status, missing.body.code]).toEqual([404, "not_found"]);
      for (const id of [...malformed, own[kind === "ava" ? "key" : "ava"], other[kind]]) {
        expect(await ask(everything, id)).toEqual(missing);
      }
      // What is live is not there for a test key; what is in test is not there for a live one, keys aside.
      expect(await ask(inTest, own[kind])).toEqual(missing);
      if (kind === "ava") expect(await ask(everything, test)).toEqual(missing);
    }
    // And nothing has happened to any of it.
    const [events] = await db.client`
      select count(*) as number from audit_events where action not like '%.created' and actor_id is not null`;
    expect(events).toEqual({ number: "0" });
  });

  test("HEAD answers as GET does, without the body", async () => {
    const key = await api.key();
    const avatar = (await api.call("POST", "/api/v1/avatars", { key, body: ROUTES["POST /api/v1/avatars"]?.body })).body
      .id;
    const self = (await api.call("GET", "/api/v1/api-keys/self", { key })).body.id;
    for (const { path } of routes().filter(({ method }) => method === "GET")) {
      const url = withId(path, path.includes("avatars") ? avatar : self);
      const [get, head] = await Promise.all([api.call("GET", url, { key }), api.call("HEAD", url, { key })]);
      expect([get.status, head.status, head.text]).toEqual([200, 200, ""]);
      for (const name of ["etag", "content-type", "cache-control", "x-content-type-options"]) {
        expect(head.headers.get(name)).toBe(get.headers.get(name));
      }
      expect((await api.call("HEAD", url)).status).toBe(401);
    }
  });
});

describe("a route that is not there", () => {
  test.each([
    "/",
    "/api",
    "/api/v1",
    "/api/v1/",
    "/api/v2/avatars",
    "/api/v1/nothing",
    "/api/v1/avatars/",
    "/api/v1//avatars",
    "/API/V1/AVATARS",
    "/api/v1/avatars/../../../etc/passwd",
    "/%2e%2e/%2e%2e",
    "/api/v1/%00",
    "/%zz",
  ])("%s is 404, for a stranger and for a key", async (path) => {
    for (const key of [undefined, everything]) {
      const answer = await api.call("POST", path, { ...(key === undefined ? {} : { key }), body: "{" });
      expectProblem(answer, "not_found");
    }
  });

  test.each(["a", "api", "localhost", "[::1]", "xn--bcher-kva.example", "api:3000"])(
    "a route is found under the host %s",
    async (host) => {
      for (const { method, url } of routes()) {
        const request = new Request(`http://${host}${url}?x=/y`, { method });
        expectProblem(await readAnswer(await api.app.handle(request)), "missing_api_key");
      }
    },
  );

  test("another method is 405 with the methods that there are, before credentials are looked at", async () => {
    for (const url of new Set(allRoutes().map((route) => route.url))) {
      // `self` stands where an id may stand.
      const isAt = (path: string): boolean => path === url || withId(path, url.split("/")[4] ?? "") === url;
      const methods = new Set(allRoutes().flatMap(({ method, path }) => (isAt(path) ? [method] : [])));
      if (methods.has("GET")) methods.add("HEAD");
      for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"]) {
        if (methods.has(method)) continue;
        const answer = await api.call(method, url, method === "GET" ? {} : { body: "{" });
        expectProblem(answer, "method_not_allowed");
        expect(answer.headers.get("allow")).toBe([...methods].sort().join(", "));
      }
      if (!methods.has("HEAD")) {
        const head = await api.call("HEAD", url);
        expect([head.status, head.text, head.headers.get("allow")]).toEqual([405, "", [...methods].sort().join(", ")]);
      }
    }
  });
});

describe("every answer", () => {
  const everyKind = async (headers: Record<string, string> = {}): Promise<Answer[]> => {
    const [route] = withBody();
    if (!route) throw new Error("no route");
    const { method, url } = route;
    return Promise.all([
      api.call("GET", "/healthz", { headers }),
      api.call("GET", "/readyz", { headers }),
      api.call("GET", "/nothing", { headers }),
      api.call("PUT", url, { headers }),
      api.call(method, url, { headers }),
      api.call(method, url, { key: nothing, headers }),
      api.call(method, url, { key: everything, body: "{", headers }),
      api.call(method, url, { key: everything, body: {}, headers }),
      api.call(method, url, { key: everything, body: { name: "x" }, headers }),
    ]);
  };

  test("is not stored, not sniffed, and carries a request id of its own", async () => {
    const answers = await everyKind();
    for (const { headers } of answers) {
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("x-request-id")).toMatch(UUID_V7);
    }
    expect(new Set(answers.map(({ headers }) => headers.get("x-request-id"))).size).toBe(answers.length);
  });

  test("carries the caller's request id, if it is harmless", async () => {
    for (const id of ["a", "trace-1.2_3", "x".repeat(128)]) {
      for (const { headers } of await everyKind({ "x-request-id": id })) expect(headers.get("x-request-id")).toBe(id);
    }
    const key = everything;
    for (const id of [
      "",
      "x".repeat(129),
      "a b",
      "é",
      "a/b",
      "<script>",
      key,
      `x.${key}`,
      key.slice(0, 30),
      key.slice(4),
      key.toUpperCase(),
    ]) {
      const latin1 = Buffer.from(id).toString("latin1");
      for (const { headers } of await everyKind({ "x-request-id": latin1 })) {
        expect(headers.get("x-request-id")).toMatch(UUID_V7);
      }
    }
  });
});
