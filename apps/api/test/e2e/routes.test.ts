/**
 * One battery of tests for every route under /api/v1, present and future: the callers that it accepts, and the order of
 * its checks.
 */
import { describe, expect, test } from "bun:test";
import { connect } from "node:net";
import type { Scope } from "@realtime-avatar/domain/api-keys/scope";
import type { PROBLEMS } from "@realtime-avatar/domain/problem";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { AMPLE_CREDITS, type Answer, readAnswer, requestInit, rowCounts, startApi } from "../support/api.ts";
import { encodeForm, filePart, formType, PNG } from "../support/forms.ts";
import { seedPerson } from "../support/people/people.ts";
import { bare, expectProblem, listRoutes, ROUTES, resourceKind, unknownId, withId } from "../support/routes.ts";

const api = await startApi();
const everything = await api.key();
/** Two keys with one scope each. For each route, one of them lacks the scope. */
const readsUsage = await api.key({ scopes: ["usage:read"] });
const readsAvatars = await api.key({ scopes: ["avatars:read"] });
/** For the routes that only people may call. */
const owner = await seedPerson(api, "owner");

const allRoutes = () => listRoutes(api);
/** The routes that need credentials. */
const routes = () => allRoutes().filter(({ scope }) => scope !== "none");
/** The routes that a key may call. */
const keyRoutes = () => routes().filter(({ scope }) => scope !== "person");
/** Sends a request with sufficient credentials for the route: of a key, or of an owner. */
const ask = (
  { method, scope }: { method: string; scope: string },
  url: string,
  { headers = {}, body }: { headers?: Record<string, string>; body?: unknown } = {},
): Promise<Answer> =>
  scope === "person"
    ? owner.call(method, url, body, headers)
    : api.call(method, url, { key: everything, headers, body });
const withAnyBody = () => allRoutes().filter(({ method }) => ["POST", "PUT", "PATCH"].includes(method));
/** The routes with a JSON body. */
const withBody = () => withAnyBody().filter(({ isForm, isSigned }) => !isForm && !isSigned);
const FORM = { body: encodeForm([filePart(PNG)]), headers: { "content-type": formType() } };

/** Bodies that would each be refused for another reason, if they were checked. */
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

/** Some of the bodies in turn, so that all are used over the routes and credentials. None for a GET. */
const bodiesFor = (method: string, turn: number) =>
  method === "GET" ? hostileBodies.slice(0, 1) : hostileBodies.filter((_, at) => (at + turn) % 3 === 0);

const hostileCredentials: [string, string | undefined, keyof typeof PROBLEMS][] = [
  ["no credentials", undefined, "missing_api_key"],
  ["an empty header", "", "missing_api_key"],
  ["another scheme", "Basic dXNlcjpwYXNz", "missing_api_key"],
  ["a scheme alone", "Bearer", "missing_api_key"],
  ["a scheme without a space", "BearerX", "missing_api_key"],
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

test("the routes, compared with the table: equal, nine without credentials", () => {
  const found = allRoutes().map(({ method, path }) => `${method} ${path}`);
  expect(found.sort()).toEqual(Object.keys(ROUTES).sort());
  expect(allRoutes().length - routes().length).toBe(9);
});

describe("the first check: authentication", () => {
  test.each(hostileCredentials)(
    "credentials, %s: 401 on every route, with any body",
    async (_, authorization, code) => {
      const before = await rowCounts(api.database);
      const first = hostileCredentials.findIndex(([, given]) => given === authorization);
      for (const [at, { method, url }] of routes().entries()) {
        for (const [, headers, body] of bodiesFor(method, first + at)) {
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
    },
  );

  test("unknown, malformed and wrong keys, on every route: the same bytes", async () => {
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

  test("a connection, after a refused body: serves the next request", async () => {
    const { hostname, port } = new URL(api.url);
    for (const { method, url } of withAnyBody().filter(({ scope }) => scope !== "none")) {
      for (const size of [10, 1_000_000]) {
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

  test("a body, without credentials: not read", async () => {
    for (const { method, url } of withAnyBody().filter(({ scope }) => scope !== "none")) {
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

test("a key, without the route's scope: 403 that names the scope, with any body", async () => {
  const before = await rowCounts(api.database);
  for (const [at, { method, url, scope }] of keyRoutes()
    .filter((route) => route.scope !== "any")
    .entries()) {
    const key = scope === "usage:read" ? readsAvatars : readsUsage;
    const granted = scope === "usage:read" ? "avatars:read" : "usage:read";
    for (const [, headers, body] of bodiesFor(method, at)) {
      const answer = await api.call(method, url, { key, headers, body });
      expectProblem(answer, "insufficient_scope");
      const { requiredScope, grantedScopes } = answer.body;
      expect([requiredScope, grantedScopes]).toEqual([scope, [granted]]);
      expect(answer.headers.get("www-authenticate")).toBe(
        `Bearer realm="realtime-avatar", error="insufficient_scope", scope="${requiredScope}"`,
      );
      // Each of the named scopes is enough.
      const [, named = ""] = /^This operation needs the scope (.+)\.$/.exec(answer.body.detail) ?? [];
      const scopes = named.split(" or ") as Scope[];
      expect(scopes[0]).toBe(requiredScope);
      for (const one of scopes) {
        const enough = await api.key({ environment: "live", scopes: [one] });
        expect((await api.call(method, url, { key: enough, headers, body })).status).not.toBe(403);
      }
    }
  }
  expect((await rowCounts(api.database))[0]).toMatchObject({ avatars: before[0]?.["avatars"] });
});

describe("the third check: the body", () => {
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
  ])("a body, of the media type %j: 415 before the size", async (type) => {
    for (const route of withBody()) {
      const { url } = route;
      for (const body of ["{}", large]) {
        const answer = await ask(route, url, { body, headers: { "content-type": type } });
        expectProblem(answer, "unsupported_media_type");
      }
    }
  });

  test.each(["gzip", "identity", "br", "deflate, gzip"])("a body, with content encoding %s: 415", async (encoding) => {
    for (const route of withBody()) {
      const { url } = route;
      const headers = { "content-encoding": encoding };
      expectProblem(await ask(route, url, { body: "{}", headers }), "unsupported_media_type");
    }
  });

  test.each([
    "application/json",
    "APPLICATION/JSON",
    "application/json;charset=utf-8",
    "Application/Json ; Charset=UTF-8",
    'application/json; charset="utf-8"',
  ])("a body, of the media type %j: accepted", async (type) => {
    for (const route of withBody()) {
      const { url } = route;
      const answer = await ask(route, url, { body: "{", headers: { "content-type": type } });
      expectProblem(answer, "malformed_json");
    }
  });

  test("a body, above 128 KiB, declared or not: 413 before the syntax", async () => {
    const chunked = () =>
      new ReadableStream({
        start(controller) {
          for (let sent = 0; sent < large.length; sent += 4096)
            controller.enqueue(Buffer.from(large.slice(sent, sent + 4096)));
          controller.close();
        },
      });
    for (const route of withBody()) {
      const { url } = route;
      expectProblem(await ask(route, url, { body: large }), "body_too_large");
      expectProblem(await ask(route, url, { body: chunked() }), "body_too_large");
      const fits = large.slice(1);
      expectProblem(await ask(route, url, { body: fits }), "malformed_json");
    }
  });

  test("a body, not JSON: 400", async () => {
    for (const route of withBody()) {
      const { url, isBodyOptional, path } = route;
      for (const body of [...(isBodyOptional ? [] : [""]), "{", "nul", "{'a':1}", "\ufeff{}", new Uint8Array([0xff])]) {
        expectProblem(await ask(route, url, { body }), "malformed_json");
      }
      const none = await ask(route, url, { headers: { "content-type": "application/json" } });
      if (!isBodyOptional) expectProblem(none, "malformed_json");
      // This service has no OIDC provider.
      else if (path.includes(":id") || path.includes("/oidc/")) expectProblem(none, "not_found");
      else expect([200, 201]).toContain(none.status);
    }
  });

  test("a body, of the wrong shape: 422 with every error", async () => {
    for (const route of withBody()) {
      const { url } = route;
      for (const body of ["null", "[]", "5", '"x"', "true"]) {
        const answer = await ask(route, url, { body });
        expectProblem(answer, "validation_failed");
        expect(answer.body.errors).toMatchObject([{ pointer: "#", code: "wrong_type" }]);
      }
      const answer = await ask(route, `${url}?dry=1&dry=2&x`, { body: { one: 1, two: 2 } });
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

test("an unknown parameter, on every route: 422, for any path", async () => {
  for (const route of allRoutes().filter(({ isSigned, isRedirect }) => !isSigned && !isRedirect)) {
    const { url, body, isForm } = route;
    const sent = isForm ? FORM : { body };
    const answer = await ask(route, `${url}?dry=1&dry=2&${"x".repeat(200)}=%00`, sent);
    expectProblem(answer, "validation_failed");
    expect(answer.body.errors).toEqual([
      {
        parameter: "dry",
        code: "unknown_parameter",
        detail: expect.stringMatching(/^Is not a known query parameter\. Known: [a-zA-Z, ]+\.$/),
      },
      {
        parameter: "x".repeat(128),
        code: "unknown_parameter",
        detail: expect.stringMatching(/^Is not a known query parameter\. Known: [a-zA-Z, ]+\.$/),
      },
    ]);
  }
});

describe("the last check: the path", () => {
  const withIds = () => keyRoutes().filter(({ path }) => path.includes(":id"));
  test("an id, malformed, unknown, of another tenant or environment: 404 in the same bytes", async () => {
    const { db } = api.database;
    const inTest = await api.key({ scopes: ["*", "usage:write"] });
    const foreignTenant = await seedTenant(db, { live: AMPLE_CREDITS });
    const foreignKey = (await seedKey(db, foreignTenant, { environment: "live", scopes: ["*"] })).secret.reveal();
    const endpoint = async (key: string) =>
      (await api.call("POST", "/api/v1/webhook-endpoints", { key, body: { url: null } })).body.id;
    const video = async (key: string) => {
      const body = { displayName: "x", sourceKind: "image" };
      const avatarId = (await api.call("POST", "/api/v1/avatars", { key, body })).body.id;
      await db.client`update avatars set status = 'ready' where id = ${avatarId}`;
      return (await api.call("POST", "/api/v1/videos", { key, body: { avatarId, text: "Hello." } })).body.id;
    };
    const created = async (key: string) => ({
      vid: await video(key),
      whe: await endpoint(key),
      whd: (await api.call("POST", `/api/v1/webhook-endpoints/${await endpoint(key)}/test`, { key })).body.id,
      ses: (await api.call("POST", "/api/v1/usage/sessions", { key, body: { maxSessionSeconds: 1 } })).body.sessionId,
      key: (await api.call("POST", "/api/v1/api-keys", { key, body: { name: "x", environment: "live" } })).body.id,
      ast: (await api.call("POST", "/api/v1/assets", { key, ...FORM })).body.id,
      ava: (await api.call("POST", "/api/v1/avatars", { key, body: { displayName: "x", sourceKind: "image" } })).body
        .id,
    });
    const own = await created(everything);
    const other = await created(foreignKey);
    const test = await created(inTest);
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
      const kind = resourceKind(path) as keyof typeof own;
      const ask = async (key: string, id: string) => bare(await api.call(method, withId(path, id), { key, body }));
      const missing = await ask(everything, unknownId(path));
      expect([missing.status, missing.body.code]).toEqual([404, "not_found"]);
      expect(missing.body.detail).toContain("The API key is for the live environment");
      for (const id of [...malformed, own[kind === "ava" ? "key" : "ava"], other[kind]]) {
        // A path that is not in its normal form matches no route, so no key is looked up.
        if (id.startsWith("%")) expect((await ask(everything, id)).body.detail).not.toContain("environment");
        else expect(await ask(everything, id)).toEqual(missing);
      }
      // Live resources are unknown to a test key. Test resources are unknown to a live key, except keys.
      const missingInTest = await ask(inTest, unknownId(path));
      expect(missingInTest.body.detail).toContain("The API key is for the test environment");
      expect(await ask(inTest, own[kind])).toEqual(missingInTest);
      if (kind !== "key") expect(await ask(everything, test[kind])).toEqual(missing);
    }
    // No request has changed anything.
    const [events] = await db.client`
      select count(*) as number from audit_events where action not like '%.created' and actor_id is not null`;
    expect(events).toEqual({ number: "0" });
    const [sessions] =
      await db.client`select count(*) as number from usage_sessions where status <> 'reserved' and video_id is null`;
    expect(sessions).toEqual({ number: "0" });
    const [videos] = await db.client`select count(*) as number from videos where status <> 'queued'`;
    expect(videos).toEqual({ number: "0" });
  });
});
