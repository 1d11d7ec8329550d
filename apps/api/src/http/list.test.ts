/** Sending pages of lists. Tests beside each list check the contents. */
import { expect, test } from "bun:test";
import { startApi } from "../../test/support/api.ts";
import { pageHeaders, seedPerson } from "../../test/support/people/people.ts";

const api = await startApi();
const key = await api.key();
const { cookie } = await seedPerson(api, "viewer");
await Promise.all(
  Array.from({ length: 100 }, (_, at) => {
    const body = { displayName: `Ada ${at}`, sourceKind: "image", metadata: { text: "x".repeat(600) } };
    return api.call("POST", "/api/v1/avatars", { key, body });
  }),
);

const page = pageHeaders(cookie);
const read = async (path: string, headers: Record<string, string>, method = "GET") => {
  const response = await fetch(`${api.url}/api/v1/avatars?${path}`, { method, headers, decompress: false });
  return { ...response, headers: response.headers, bytes: await response.bytes() };
};

test("a list for a person whose browser accepts gzip: compressed, with the same content", async () => {
  const plain = await read("limit=20", { ...page, "accept-encoding": "identity" });
  const gzip = await read("limit=20", { ...page, "accept-encoding": "gzip, deflate, br, zstd" });
  expect([plain.headers.get("content-encoding"), gzip.headers.get("content-encoding")]).toEqual([null, "gzip"]);
  expect([gzip.headers.get("vary"), gzip.headers.get("cache-control")]).toEqual(["Accept-Encoding", "no-store"]);
  expect(Buffer.from(Bun.gunzipSync(Buffer.from(gzip.bytes))).equals(plain.bytes)).toBe(true);
  expect(gzip.bytes.length).toBeLessThan(plain.bytes.length / 5);
  const head = await read("limit=20", { ...page, "accept-encoding": "gzip" }, "HEAD");
  expect([head.headers.get("content-encoding"), head.bytes.length]).toEqual(["gzip", 0]);
});

test("a short list, one of more than 64 KiB, a refused coding, and a list for a key: not compressed", async () => {
  const bearer = { authorization: `Bearer ${key}`, "accept-encoding": "gzip" };
  for (const [path, headers] of [
    ["name=none", { ...page, "accept-encoding": "gzip" }],
    ["limit=100", { ...page, "accept-encoding": "gzip" }],
    ["limit=20", { ...page, "accept-encoding": "gzip;q=0, br" }],
    ["limit=20", bearer],
  ] as const) {
    const { headers: sent, bytes } = await read(path, headers);
    expect([path, sent.get("content-encoding"), sent.get("content-type")]).toEqual([path, null, "application/json"]);
    expect(JSON.parse(Buffer.from(bytes).toString())).toHaveProperty("data");
  }
});

test("lists with `total`: the number of matches beside the page; without the parameter, and in files: no total", async () => {
  const root = await api.key({ name: "root", environment: "live", scopes: ["*", "usage:write"] });
  const created = (
    await api.call("GET", "/api/v1/audit-events?action=avatar.created&limit=1&total=true", { key: root })
  ).body;
  expect(created).toMatchObject({ total: { count: 100, isExact: true }, data: [{ action: "avatar.created" }] });
  for (const path of [
    "/avatars?status=failed",
    "/api-keys?name=nothing",
    "/usage/sessions?status=failed",
    "/credits/entries?kind=void",
    "/audit-events?action=asset.created",
    "/webhook-deliveries?status=failed",
  ] as const) {
    const { body } = await api.call("GET", `/api/v1${path}&total=true`, { key: root });
    expect([path, body.total, body.data]).toEqual([path, { count: 0, isExact: true }, []]);
    expect((await api.call("GET", `/api/v1${path}`, { key: root })).body).not.toHaveProperty("total");
  }
  for (const path of ["usage/sessions", "credits/entries", "audit-events"]) {
    expect((await api.call("GET", `/api/v1/${path}.csv?total=true`, { key: root })).status).toBe(422);
  }
});
