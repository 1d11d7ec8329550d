/**
 * The memory of the service as a process, while one key requests the largest pages, with clients that read them and
 * clients that do not. This is a sample; `bun run test:long` runs the full test.
 */

import { expect, setDefaultTimeout, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { preparedDataDirectory } from "@realtime-avatar/testing/database";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { fileService } from "../support/process.ts";

/** The full test with LONG=1. */
const IS_LONG = process.env["LONG"] === "1";
const READERS = 16;
const ROUNDS = IS_LONG ? 60 : 1;
const STALLED = IS_LONG ? 100 : 40;
const AVATARS = 100;
const MAX_MIB = 300;

const call = (path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`${url}/api/v1${path}`, { ...init, headers: { authorization: `Bearer ${key}`, ...init.headers } });

const folder = await fileFolder();
const service = await fileService({ DATA_DIR: await preparedDataDirectory(join(folder, "data")) });
const { url } = service;
const [, key = ""] = await service.waitFor(/export API_KEY=(\S+)/);
const text = () => ({ a: randomBytes(16_000).toString("hex") });
for (let made = 0; made < AVATARS; made++) {
  const body = JSON.stringify({ displayName: "x", sourceKind: "image", settings: text(), metadata: text() });
  const { status } = await call("/avatars", {
    method: "POST",
    body,
    headers: { "content-type": "application/json" },
  });
  expect(status).toBe(201);
}
// Tests do not assert times, so that a slow machine does not fail one.
setDefaultTimeout(300_000);

/** The peak memory of the process, in MiB. */
const peakMiB = async (): Promise<number> =>
  Number(/VmHWM:\s+(\d+)/.exec(await readFile(`/proc/${service.pid}/status`, "utf8"))?.[1]) / 1024;

/** A client that requests a page and reads nothing. */
const stall = (query: string): Socket => {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.pause();
  socket.on("error", () => {});
  socket.write(`GET /api/v1/avatars${query} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`);
  return socket;
};

test.skipIf(process.platform !== "linux")(
  "the memory, with readers and with clients that never read: below 300 MiB",
  async () => {
    const before = await peakMiB();
    const statuses = new Map<number, number>();
    await Promise.all(
      Array.from({ length: READERS }, async (_, reader) => {
        for (let round = 0; round < ROUNDS; round++) {
          // Half of the readers request the same page, half different ones.
          const limit = reader % 2 === 0 ? 100 : 100 - reader;
          const response = await call(`/avatars?limit=${limit}`);
          const { data, nextCursor } = (await response.json()) as { data: unknown[]; nextCursor: string };
          statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
          if (response.ok) expect([data.length > 10, nextCursor.length > 0]).toEqual([true, true]);
        }
      }),
    );
    // Reading clients are legitimate: all are served.
    expect([...statuses]).toEqual([[200, READERS * ROUNDS]]);
    const readers = await peakMiB();

    const clients: Socket[] = [];
    for (let index = 0; index < STALLED; index++) {
      clients.push(stall(`?limit=${100 - (index % 50)}`));
      if (index % 10 === 9) await Bun.sleep(50);
    }
    // Other requests are served meanwhile.
    for (let round = 0; round < 20; round++) {
      expect((await call("/avatars?limit=1")).status).toBe(200);
      await Bun.sleep(IS_LONG ? 500 : 50);
    }
    const stalled = await peakMiB();
    for (const client of clients) client.destroy();
    process.stdout.write(
      `peaks in MiB: at first ${before}, with readers ${readers}, with clients that never read ${stalled}\n`,
    );
    expect(Math.max(readers, stalled)).toBeLessThan(MAX_MIB);
  },
);
