/** The responses for paths without an operation, and the OpenAPI document. */
import { expect, test } from "bun:test";
import { startApi } from "../test/support/api.ts";

const api = await startApi();

test("a path without an operation: 404 with that reason, and the address of the list of operations", async () => {
  const { status, body } = await api.call("GET", "/api/v1/avatar");
  expect([status, body.code]).toEqual([404, "not_found"]);
  expect(body.detail).toContain("/openapi.json");
  const key = await api.key({ environment: "live", scopes: ["avatars:read"] });
  const missing = await api.call("GET", "/api/v1/avatars/ava_01h455vb4pex5vsknk084sn02q", { key });
  expect([missing.status, missing.body.detail.includes("/openapi.json")]).toEqual([404, false]);
});

test.each([
  ["/api/v1/api-keys/self", "GET, HEAD"],
  ["/api/v1/api-keys", "GET, HEAD, POST"],
  ["/api/v1/avatars/ava_01h455vb4pex5vsknk084sn02q", "DELETE, GET, HEAD, PATCH"],
])("PUT %s: 405 with exactly the methods of this path", async (path, allowed) => {
  const { status, headers } = await api.call("PUT", path);
  expect([status, headers.get("allow")]).toEqual([405, allowed]);
});

test.each(["/docs", "/docs/main.js", "/docs/guides/calls"])(
  "%s: compressed for a client that accepts gzip, and plain for any other",
  async (path) => {
    for (const [coding, expected] of [
      ["gzip", "gzip"],
      ["identity", null],
      ["gzip;q=0", null],
    ] as const) {
      const response = await fetch(`${api.url}${path}`, {
        headers: { "accept-encoding": coding },
        decompress: false,
      } as RequestInit);
      const isGzip = (await response.bytes())[0] === 0x1f;
      expect([response.headers.get("content-encoding"), isGzip]).toEqual([expected, expected === "gzip"]);
    }
  },
);

test("/openapi.json: compressed for a client that accepts gzip, and plain for any other", async () => {
  const lengthFor = async (coding: string) => {
    const response = await fetch(`${api.url}/openapi.json`, {
      headers: { "accept-encoding": coding },
      decompress: false,
    } as RequestInit);
    expect(response.headers.get("vary")).toBe("Accept-Encoding");
    return [response.headers.get("content-encoding"), (await response.bytes())[0]];
  };
  expect(await lengthFor("gzip")).toEqual(["gzip", 0x1f]);
  for (const coding of ["identity", "gzip;q=0"]) expect(await lengthFor(coding)).toEqual([null, "{".charCodeAt(0)]);
});
