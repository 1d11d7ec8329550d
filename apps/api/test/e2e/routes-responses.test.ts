/** Responses of every route under /api/v1, and of unknown routes. */
import { describe, expect, test } from "bun:test";
import { type Answer, readAnswer, startApi, UUID_V7 } from "../support/api.ts";

import { expectProblem, listRoutes, unknownId, withId } from "../support/routes.ts";

const api = await startApi();
const everything = await api.key();
const limited = await api.key({ scopes: ["usage:read"] });

const allRoutes = () => listRoutes(api);
/** The routes that need credentials. */
const routes = () => allRoutes().filter(({ scope }) => scope !== "none");
const withBody = () =>
  allRoutes().filter(
    ({ method, isForm, isSigned }) => !isForm && !isSigned && ["POST", "PUT", "PATCH"].includes(method),
  );

describe("an unknown route", () => {
  test.each([
    "/api",
    "/api/v1",
    "/api/v1/",
    "/api/v2/avatars",
    "/api/v1/nothing",
    "/api/v1/avatars/",
    "/api/v1//avatars",
    "/API/V1/AVATARS",
    "/api/v1/avatars/../../../etc/passwd",
    "/api/v1/%00",
    "/%zz",
  ])("an unknown path, %s: 404 with and without a key", async (path) => {
    for (const key of [undefined, everything]) {
      const answer = await api.call("POST", path, { ...(key === undefined ? {} : { key }), body: "{" });
      expectProblem(answer, "not_found");
    }
  });

  test.each(["a", "api", "localhost", "[::1]", "xn--bcher-kva.example", "api:3000"])(
    "a route, under the host %s: found",
    async (host) => {
      for (const { method, url } of routes()) {
        const request = new Request(`http://${host}${url}?x=/y`, { method });
        expectProblem(await readAnswer(await api.app.handle(request)), "missing_api_key");
      }
    },
  );

  test("a route, another method: 405 with the allowed ones, before authentication", async () => {
    for (const url of new Set(allRoutes().map((route) => route.url))) {
      // `self` can stand in place of an id.
      const isAt = (path: string): boolean =>
        [
          path,
          path.replace(":token", "x"),
          withId(path, unknownId(path)),
          withId(path, url.split("/")[4] ?? ""),
        ].includes(url);
      const reached = new Set(allRoutes().flatMap(({ method, path }) => (isAt(path) ? [method] : [])));
      // `Allow` of a path without parameters, such as `/self`, lists only its own methods. No object has the id `self`.
      const own = allRoutes().filter(({ path }) => path === url);
      const methods = own.length > 0 ? new Set(own.map(({ method }) => method)) : reached;
      for (const set of [reached, methods]) {
        if (set.has("GET")) set.add("HEAD");
        // A signed URL answers preflights of pages.
        if (set.has("PUT")) set.add("OPTIONS");
      }
      for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"]) {
        if (reached.has(method)) continue;
        const answer = await api.call(method, url, method === "GET" ? {} : { body: "{" });
        expectProblem(answer, "method_not_allowed");
        expect(answer.headers.get("allow")).toBe([...methods].sort().join(", "));
      }
      if (!reached.has("HEAD")) {
        const head = await api.call("HEAD", url);
        expect([head.status, head.text, head.headers.get("allow")]).toEqual([405, "", [...methods].sort().join(", ")]);
      }
    }
  });
});

describe("every response", () => {
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
      api.call(method, url, { key: limited, headers }),
      api.call(method, url, { key: everything, body: "{", headers }),
      api.call(method, url, { key: everything, body: {}, headers }),
      api.call(method, url, { key: everything, body: { name: "x" }, headers }),
    ]);
  };

  test("a response, of every kind: not stored, not sniffed, with its own request id", async () => {
    const answers = await everyKind();
    for (const { headers } of answers) {
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("x-request-id")).toMatch(UUID_V7);
    }
    expect(new Set(answers.map(({ headers }) => headers.get("x-request-id"))).size).toBe(answers.length);
  });

  test("a response to a request with an id: repeats a safe id, replaces any other", async () => {
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
