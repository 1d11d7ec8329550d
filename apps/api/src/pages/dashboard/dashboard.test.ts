/** Serving the pages of the dashboard. Tests in `apps/dashboard/test` check their contents. */
import { expect, test } from "bun:test";
import { Secret } from "@realtime-avatar/storage/secret";
import { createTestApp, startApi, TEST_CONFIG } from "../../../test/support/api.ts";
import { PAGE_PATHS } from "./dashboard.ts";
import { findPack, openDashboard } from "./files.ts";

const api = await startApi();
// In a checkout, the first request builds the dashboard. On a slow machine, that takes longer than a connection may be
// idle.
await openDashboard();
const page = await api.call("GET", "/dashboard");
const scripts = [...page.text.matchAll(/(?:src|href)="(\/dashboard\/assets\/[^"]+)"/g)].map(([, path = ""]) => path);

/** A request whose response body is not decompressed. */
const raw = (path: string, headers: Record<string, string> = {}, method = "GET") =>
  fetch(api.url + path, { method, headers, decompress: false, redirect: "manual" });

test.each(["/dashboard", "/dashboard/keys", "/docs"])("%s with a slash at the end: 308 to the page", async (path) => {
  const { status, headers } = await raw(`${path}/`);
  expect([status, headers.get("location"), headers.get("x-content-type-options")]).toEqual([308, path, "nosniff"]);
});

test("a page with a slash and a query, requested: 308 to the page with the same query", async () => {
  const { headers } = await raw("/dashboard/keys/?environment=test&filter=%0d%0aa");
  expect(headers.get("location")).toBe("/dashboard/keys?environment=test&filter=%0d%0aa");
});

test("every page, requested: the same HTML, not cached", async () => {
  for (const path of PAGE_PATHS) {
    const { status, headers, text } = await api.call("GET", `/dashboard${path}`);
    expect([path, status, headers.get("content-type")]).toEqual([path, 200, "text/html; charset=utf-8"]);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(text).toBe(page.text);
  }
  expect(page.text).not.toMatch(/<script(?![^>]* src=)|style=|\bon\w+=/);
});

test("the security policy, of a page: only this service is allowed", () => {
  expect(page.headers.get("content-security-policy")?.split("; ").sort()).toEqual(
    [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      `img-src 'self' data: blob: ${api.files.assetOrigin()}`,
      `media-src 'self' blob: ${api.files.assetOrigin()}`,
      "connect-src 'self'",
      "form-action 'none'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
    ].sort(),
  );
  expect(page.headers.get("cross-origin-opener-policy")).toBe("same-origin");
  expect(page.headers.get("referrer-policy")).toBe("no-referrer");
  expect(page.headers.get("x-content-type-options")).toBe("nosniff");
});

test("the page of calls: a separate document, with a policy that adds LiveKit and the microphone", async () => {
  const { headers, text } = await api.call("GET", "/dashboard/call");
  expect([headers.get("content-type"), headers.get("cache-control")]).toEqual(["text/html; charset=utf-8", "no-store"]);
  expect(text).toMatch(/src="\/dashboard\/assets\/call-/);
  expect(headers.get("permissions-policy")).toContain("microphone=(self)");
  expect(page.headers.get("permissions-policy")).toContain("microphone=()");
  const connect = /connect-src [^;]*/.exec(headers.get("content-security-policy") ?? "")?.[0];
  expect(connect).toBe("connect-src 'self'");
  const secret = new Secret("s".repeat(32));
  const livekit = { url: "wss://livekit.example.com", apiKey: "key", apiSecret: secret };
  const config = { ...TEST_CONFIG, livekit, avatarWorkerSecret: secret };
  const app = createTestApp(api.database.db, { config, ...api.files });
  const policyOf = async (path: string) =>
    (await app.handle(new Request(`http://localhost${path}`))).headers.get("content-security-policy");
  const allowed = await policyOf("/dashboard/call");
  expect(allowed).toContain("connect-src 'self' wss://livekit.example.com https://livekit.example.com;");
  expect(await policyOf("/dashboard")).not.toContain("livekit");
  // The pages contain whether calls can be started.
  const withCalls = await (await app.handle(new Request("http://localhost/dashboard"))).text();
  expect(withCalls).toContain('<meta name="calls" content="on">');
  for (const html of [page.text, text]) expect(html).toContain('<meta name="calls" content="off">');
});

test("the files, requested: compressed and cached forever", async () => {
  expect(scripts).toHaveLength(3);
  for (const path of scripts) {
    expect(path).toMatch(/-[0-9a-z]{8,}\.(js|css|svg)$/);
    const plain = await raw(path, { "accept-encoding": "identity" });
    expect(plain.headers.get("content-encoding")).toBeNull();
    const text = await plain.text();
    expect(text.length).toBeGreaterThan(100);
    const tags = [plain.headers.get("etag")];
    for (const [accepted, coding] of [
      ["gzip, deflate, br, zstd", "br"],
      ["gzip", "gzip"],
      ["br;q=0, gzip;q=0.5", "gzip"],
      ["*", "br"],
    ] as const) {
      const response = await raw(path, { "accept-encoding": accepted });
      expect(response.headers.get("content-encoding")).toBe(coding);
      expect(response.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
      expect(response.headers.get("vary")).toBe("Accept-Encoding");
      tags.push(response.headers.get("etag"));
      const decoded = await fetch(api.url + path, { headers: { "accept-encoding": accepted } });
      expect(await decoded.text()).toBe(text);
      const unchanged = await raw(path, { "accept-encoding": accepted, "if-none-match": `"x", ${tags.at(-1)}` });
      expect([unchanged.status, await unchanged.text()]).toEqual([304, ""]);
    }
    expect(new Set(tags).size).toBe(3);
  }
});

test("the pages and files, a HEAD request: the headers of a GET", async () => {
  for (const path of ["/dashboard", "/dashboard/keys", ...scripts]) {
    const [head, get] = [await raw(path, {}, "HEAD"), await raw(path)];
    expect([path, head.status, await head.text()]).toEqual([path, 200, ""]);
    for (const name of ["content-type", "cache-control", "etag", "content-security-policy", "content-encoding"]) {
      expect([path, name, head.headers.get(name)]).toEqual([path, name, get.headers.get(name)]);
    }
  }
});

test("the dashboard, another path or method: 404, or 405", async () => {
  const others = ["/dashboard/none", "/dashboard/assets", "/dashboard/assets/", "/dashboard/main.tsx"];
  const traversals = [
    "..%2f..%2fpackage.json",
    "%2e%2e/keys.ts",
    "../../../package.json",
    "..\\package.json",
    "__proto__",
  ];
  for (const path of [...others, ...traversals.map((name) => `/dashboard/assets/${name}`)]) {
    expect([path, (await raw(path)).status]).toEqual([path, 404]);
  }
  const refused = await api.call("POST", "/dashboard/keys");
  expect([refused.status, refused.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
});

const BROWSER_ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8";

test("the root of the service, opened by a browser: redirects to the dashboard; by a program: 404", async () => {
  for (const method of ["GET", "HEAD"]) {
    const { status, headers } = await raw("/", { accept: BROWSER_ACCEPT }, method);
    expect([method, status, headers.get("location"), headers.get("vary")]).toEqual([
      method,
      307,
      "/dashboard",
      "Accept",
    ]);
    expect(headers.get("cache-control")).toBe("no-store");
  }
  for (const accept of ["*/*", "application/json", "application/json, text/html;q=0.5", ""]) {
    const { status, headers } = await raw("/", { accept });
    expect([accept, status, headers.get("location")]).toEqual([accept, 404, null]);
    expect([headers.get("content-type"), headers.get("vary")]).toEqual(["application/problem+json", "Accept"]);
  }
});

test("an address without a page, opened by a browser: the dashboard with status 404", async () => {
  for (const path of [
    "/dashboard/none",
    "/dashboard/none/of/it",
    "/dashboard/keys/key_1",
    "/dashboard/keysx",
    "/dashboard/k",
  ]) {
    const response = await raw(path, { accept: BROWSER_ACCEPT });
    expect([path, response.status, response.headers.get("vary")]).toEqual([path, 404, "Accept"]);
    expect(await response.text()).toBe(page.text);
    for (const name of ["content-type", "cache-control", "content-security-policy", "permissions-policy"]) {
      expect([path, name, response.headers.get(name)]).toEqual([path, name, page.headers.get(name)]);
    }
  }
  // Scripts and pictures are not pages.
  for (const path of ["/dashboard/assets/none.js", "/dashboard/assets/", "/none", "/dashboards"]) {
    const { status, headers } = await raw(path, { accept: BROWSER_ACCEPT });
    expect([path, status, headers.get("content-type")]).toEqual([path, 404, "application/problem+json"]);
  }
});

test("the logo of pages that the API writes: the dashboard's", async () => {
  const icon = await (await raw(scripts.find((path) => path.endsWith(".svg")) ?? "")).text();
  const { text } = await api.call("GET", "/problems/not_found", { headers: { accept: BROWSER_ACCEPT } });
  const [, written = ""] = text.match(/rel="icon" href="data:image\/svg\+xml,([^"]+)"/) ?? [];
  expect(decodeURIComponent(written).replaceAll("'", '"')).toBe(icon.trim().replace(/<title>.*<\/title>/, ""));
});

test("the program, without the files of the dashboard beside it: no pages", async () => {
  expect(await findPack("/nonexistent/apps/api/src/pages/dashboard")).toBeNull();
});
