/** Request targets and hosts byte by byte, over a socket, because an HTTP client would normalise them. */
import { describe, expect, test } from "bun:test";
import { rowCounts, startApi } from "../support/api.ts";
import { CLOSE, MALFORMED, NOT_FOUND, problemIn, readStatuses, request, wireCalls } from "../support/wire.ts";

const api = await startApi();
const key = await api.key();
const port = Number(new URL(api.url).port);

const { exchange } = wireCalls(() => port);
const bearer = (): string => `Authorization: Bearer ${key}\r\n`;

describe("a path not in its normal form", () => {
  const send = async (method: string, target: string): Promise<unknown> =>
    problemIn(await exchange(request(method, target, { headers: CLOSE + bearer() })));

  test.each([
    "/api/v1/%2e%2e/%2e%2e/readyz",
    "/api/v1/../../readyz",
    "/api/v1/..\\..\\readyz",
    "/api\\v1\\api-keys\\self",
    "\\api/v1/api-keys/self".replace("\\", "/\\"),
    "/./api/v1/api-keys/self",
    "/api/v1/api-keys/self/.",
    "/api/v1/api-keys/x/../self",
    "/api/v1/api-keys/%2e/self",
    "/api/v1/api-keys/.%2E/api-keys/self",
    "/api/v1/api-keys/sel%66",
    "/%61pi/v1/api-keys/self",
    "/api/v1/api-keys%2fself",
    "/api/v1/api-keys%3fx",
    "/api/v1/api-keys%5cself",
    "//api/v1/api-keys/self",
    "/api//v1/api-keys/self",
    "/api/v1/api-keys/self/",
    "/api/v1/api-keys/self#x",
    "/api/v1/api-keys/self%00",
    "/api/v1/api-keys/sel\u00e6",
    "/api/v1/api-keys/%zz",
    "/aaaaaaaaaa/api/v1/api-keys/self",
    "http://elsewhere/api/v1/../v1/api-keys/self",
    `/${"a/".repeat(40)}a`,
    "/readyz/../readyz",
    "/problems/%2e%2e/readyz",
  ])("a path, %s: 404", async (target) => {
    expect(await send("GET", target)).toEqual(NOT_FOUND);
    expect(await send("GET", `${target}?limit=1`)).toEqual(NOT_FOUND);
  });

  test("every route, with a path that is not in normal form: 404 with every method", async () => {
    for (const { method, path } of api.app.routes) {
      // The addresses with a trailing slash that redirect to a page.
      const isPage = /^\/(docs(\/guides)?|dashboard(\/[a-z-]+)?)$/.test(path);
      const target = path.replace(/:\w+/, "not_found");
      const last = target.lastIndexOf("/") + 1;
      const escaped = `${target.slice(0, last)}%${target.charCodeAt(last).toString(16)}${target.slice(last + 1)}`;
      for (const other of [
        escaped,
        `/.${target}`,
        `/x/..${target}`,
        `/%2E${target}`,
        `/${target}`,
        ...(isPage ? [] : [`${target}/`]),
        // A target must begin with a slash: Bun itself refuses any other.
        ...(last > 1 ? [`${target.slice(0, last - 1)}\\${target.slice(last)}`] : []),
      ]) {
        expect([method, other, await send(method, other)]).toEqual([method, other, NOT_FOUND]);
      }
    }
  });

  test("an id, spelt with escapes: 404, so its Idempotency-Key applies once", async () => {
    const { id } = (await api.call("POST", "/api/v1/api-keys", { key, body: { name: "x" } })).body;
    const headers = `${CLOSE + bearer()}Idempotency-Key: one-spelling\r\n`;
    const rotate = (spelling: string) =>
      exchange(request("POST", `/api/v1/api-keys/${spelling}/rotate`, { headers, body: "{}" }));
    expect(readStatuses(await rotate(id))).toEqual([200]);
    const before = await rowCounts(api.database);
    for (const spelling of [id.replace("_", "%5F"), id.replace("_", "%5f"), id.replace("k", "%6b")]) {
      expect(problemIn(await rotate(spelling))).toEqual(NOT_FOUND);
    }
    expect(await rowCounts(api.database)).toEqual(before);
  });

  test("a path, in normal and in absolute form: found", async () => {
    for (const target of [
      "/api/v1/api-keys/self",
      "/api/v1/api-keys/self?",
      "http://elsewhere/api/v1/api-keys/self",
      "HTTP://elsewhere:81/api/v1/api-keys/self",
    ]) {
      const text = await exchange(request("GET", target, { headers: CLOSE + bearer() }));
      expect([target, readStatuses(text)]).toEqual([target, [200]]);
    }
  });
});

describe("the Host header", () => {
  const self = (host: string | null, version = "1.1", target = "/api/v1/api-keys/self") =>
    exchange(request("GET", target, { host, version, headers: CLOSE + bearer() }));

  // `http/host.test.ts` has more values.
  test.each(["", "a/b", "a:65536", "[::1", "a\r\nHost: b", "a\r\nHost: a"])("a Host, %j: 400", async (host) => {
    for (const version of ["1.0", "1.1"]) {
      expect(problemIn(await self(host, version))).toEqual(MALFORMED);
      // When Bun passes only the path, Elysia would read it from the eleventh character on.
      expect(problemIn(await self(host, version, "/aaaaaaaaaa/api/v1/api-keys/self"))).toEqual(MALFORMED);
    }
  });

  test.each(["a", "localhost:3000", "[::1]:3000", "a:", "a%2Fb", "a".repeat(300)])(
    "a Host, %s: served",
    async (host) => {
      expect(readStatuses(await self(host))).toEqual([200]);
      expect(problemIn(await self(host, "1.1", "/aaaaaaaaaa/api/v1/api-keys/self"))).toEqual(NOT_FOUND);
      expect(problemIn(await self(host, "1.1", "/api/v1/api-keys/x/../self"))).toEqual(NOT_FOUND);
    },
  );

  test("a Host, absent in HTTP/1.0: served at exactly the path sent", async () => {
    expect(readStatuses(await self(null, "1.0"))).toEqual([200]);
    expect(readStatuses(await self(null, "1.0", "/api/v1/api-keys/self?"))).toEqual([200]);
    expect(readStatuses(await self(null, "1.0", "/readyz"))).toEqual([200]);
    for (const target of ["/aaaaaaaaaa/api/v1/api-keys/self", "/api/v1/../../readyz", "/api/v1/api-keys/x/../self"]) {
      expect(problemIn(await self(null, "1.0", target))).toEqual(NOT_FOUND);
    }
    const body = '{"displayName":"Ada","sourceKind":"image"}';
    const made = request("POST", "/api/v1/avatars", { version: "1.0", host: null, headers: bearer(), body });
    expect(readStatuses(await exchange(made))).toEqual([201]);
  });

  test("a Host, absent in HTTP/1.1: 400 by Bun itself", async () => {
    const text = await self(null);
    expect(readStatuses(text)).toEqual([400]);
    expect(text.toLowerCase()).not.toContain("x-request-id");
  });
});
