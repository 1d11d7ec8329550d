/** Slow clients that take as many places as possible: others are still served. `bun run test:long` uses 520 of them. */
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { connect, type Socket } from "node:net";
import type { Asset } from "@realtime-avatar/domain/assets/schemas";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { startApi } from "../support/api.ts";
import { assetCalls } from "../support/assets.ts";
import { BOUNDARY, createFile, formType } from "../support/forms.ts";

const IS_LONG = process.env["LONG"] === "1";
/** More than the places of a process, which are 256. */
const READERS = IS_LONG ? 520 : 280;
const OTHERS = IS_LONG ? 60 : 12;
/** More than the operating system buffers for a client that reads nothing. */
const FILE_BYTES = 24 * 1024 * 1024;

const sockets: Socket[] = [];
const api = await startApi();
const key = await api.key();
// Tests do not assert times, so that a slow machine does not fail one.
setDefaultTimeout(600_000);
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
});
const { make } = assetCalls(api, key);

/** Sends the start of a request from the address `from`, like a proxy, and reads nothing. */
const begin = (from: string, requestLine: string, headers: string, body = ""): void => {
  const { hostname, port } = new URL(api.url);
  const socket = connect(Number(port), hostname).pause();
  socket.on("error", () => {});
  socket.write(`${requestLine} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${from}\r\n${headers}\r\n${body}`);
  sockets.push(socket);
};
/** The number of logged requests with this status. */
const logged = (status: number): number => api.log.filter((line) => line.includes(`"status":${status},`)).length;

/** An asset with a public file, as the worker leaves it. */
const publish = async (): Promise<Asset> => {
  const asset = await make();
  const stored = `public/${asset.tenantId}/${asset.id}`;
  const file = { stream: new Blob([new Uint8Array(FILE_BYTES)]).stream(), sizeBytes: FILE_BYTES };
  await api.files.storage.put(stored, file, "image/webp");
  await api.database.db.client`
    update assets set status = 'ready', public_type = 'image/webp', version = 3 where id = ${asset.id}`;
  return asset;
};

test(`${READERS} connections of one network that read no byte of public files: ${OTHERS} others are served`, async () => {
  const files = await Promise.all([publish(), publish(), publish()]);
  const pathOf = (at: number): string => new URL((files[at % files.length] as Asset).publicUrl).pathname;
  // All addresses are in one /64.
  for (let at = 0; at < READERS; at++) begin(`2001:db8:1:2::${at.toString(16)}`, `GET ${pathOf(at)}`, "");
  await until(() => logged(200) + logged(429) + logged(503) >= READERS);
  const statuses: number[] = [];
  for (let at = 0; at < OTHERS; at++) {
    const response = await fetch(api.url + pathOf(at), { headers: { "x-forwarded-for": `192.0.2.${at}` } });
    statuses.push(response.status);
    await response.arrayBuffer();
  }
  expect(statuses).toEqual(statuses.map(() => 200));
});

test("64 slow uploads of four tenants: a fifth tenant uploads, and so does one of the four", async () => {
  const { db } = api.database;
  const keyOf = async () =>
    (await seedKey(db, await seedTenant(db), { environment: "live", scopes: ["*"] })).secret.reveal();
  const keys = await Promise.all(Array.from({ length: 4 }, keyOf));
  const part = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a.jpg"\r\n\r\n`;
  const before = logged(429);
  for (let at = 0; at < 64; at++) {
    const headers = `Authorization: Bearer ${keys[at % 4]}\r\nContent-Type: ${formType()}\r\nContent-Length: 1000000\r\n`;
    begin(`198.51.100.${at % 4}`, "POST /api/v1/assets", headers, part);
  }
  await until(() => logged(429) - before >= 32);
  const upload = async (secret: string, from: string): Promise<number> => {
    const body = new FormData();
    body.set("file", new Blob([createFile("image", 1000)]), "a.jpg");
    const headers = { authorization: `Bearer ${secret}`, "x-forwarded-for": from };
    const response = await fetch(`${api.url}/api/v1/assets`, { method: "POST", headers, body });
    await response.arrayBuffer();
    return response.status;
  };
  expect(await upload(await keyOf(), "192.0.2.1")).toBe(201);
  // The uploads without progress lose their places first.
  await until(async () => (await upload(keys[0] ?? "", "192.0.2.1")) === 201, { pollMs: 100 });
});
