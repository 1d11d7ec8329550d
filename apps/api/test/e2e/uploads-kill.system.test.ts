/**
 * Kills the service at each step of an upload. Afterwards, every row has its file, the sweeps remove files without a
 * row, and the same request succeeds at the next process.
 */
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdir, rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { existingAssets } from "@realtime-avatar/db/assets/assets";
import type { AssetId, TenantId } from "@realtime-avatar/domain/id";
import { openStorage } from "@realtime-avatar/storage/open";
import type { Storage } from "@realtime-avatar/storage/storage";
import { session, type TestDatabase, testDatabase } from "@realtime-avatar/testing/database";
import { cutBlocked, untilBlocked } from "@realtime-avatar/testing/postgres/waits";
import type { RunningProcess } from "@realtime-avatar/testing/processes";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import { until } from "@realtime-avatar/testing/until";
import { createSpool } from "../../src/assets/spool.ts";
import { type Answer, readAnswer, requestInit } from "../support/api.ts";
import { createFile, encodeForm, filePart, formType, md5Base64, PNG } from "../support/forms.ts";
import { start } from "../support/process.ts";

// Tests do not assert times, so that a slow disk does not fail one.
setDefaultTimeout(300_000);

/** Number of kills at random moments. */
const KILLS = process.env["LONG"] === "1" ? 60 : 1;

let folder = "";
let database: TestDatabase;
let storage: Storage;
let service: RunningProcess & { url: string };
let key = "";

const startService = () =>
  start({ ...database.variables, DATA_DIR: join(folder, "data"), REQUEST_TIMEOUT_MS: "60000" });
const killService = async (): Promise<void> => {
  service.kill("SIGKILL");
  await service.exited;
};

beforeEach(async () => {
  folder = await temporaryFolder();
  database = await testDatabase({ isServed: true });
  service = await startService();
  const directory = join(folder, "data", "assets");
  storage = await openStorage({ kind: "disk", directory, signingSecret: null }, { origin: () => "" });
  const tenantId = await seedTenant(database.db);
  key = (await seedKey(database.db, tenantId, { environment: "live", scopes: ["*"] })).secret.reveal();
});
afterEach(async () => {
  await killService();
  await database.close();
  await rm(folder, { recursive: true });
});

const call = async (method: string, path: string, body?: unknown, headers = {}): Promise<Answer> =>
  readAnswer(await fetch(`${service.url}/api/v1/assets${path}`, requestInit(method, { key, body, headers })));
const upload = (file: Uint8Array, idempotencyKey: string): Promise<Answer> =>
  call("POST", "", encodeForm([filePart(file)]), { "content-type": formType(), "idempotency-key": idempotencyKey });

const stored = async (): Promise<string[]> => (await Array.fromAsync(storage.list(""))).map((file) => file.key).sort();
const spooled = (): Promise<string[]> => readdir(join(folder, "data", "uploads")).catch(() => []);
/** A short poll interval, for states that last only for a moment. */
const OFTEN = { pollMs: 5 };

/** Checks the rows. Returns the files without a row. */
const orphans = async (): Promise<string[]> => {
  const rows = await database.db.client`select tenant_id, id, status from assets`;
  const keys = await stored();
  for (const { tenant_id, id, status } of rows) {
    if (["uploaded", "processing", "ready"].includes(status)) expect(keys).toContain(`originals/${tenant_id}/${id}`);
  }
  const ids = keys.map((name) => {
    const [, tenantId, id] = name.split("/");
    return { tenantId: tenantId as TenantId, id: id as AssetId };
  });
  const kept = new Set((await existingAssets(database.db, ids)).map(({ id }) => id));
  return keys.filter((_, at) => !kept.has(ids[at]?.id as AssetId));
};

/**
 * Takes a lock for which a write of the service waits. Returns a function that ends the write and releases the lock.
 */
const block = async (statement: string): Promise<() => Promise<void>> => {
  const { client, close } = session(database.url);
  await client.unsafe("begin");
  await client.unsafe(statement);
  return async () => {
    // PostgreSQL does not notice that its client is gone while it waits for a lock, and would still write.
    await cutBlocked(database.db);
    await client.unsafe("rollback");
    await close();
  };
};

describe("a killed upload", () => {
  test("an upload, killed while the file arrives: a part in the spool, nothing in the store", async () => {
    const { hostname, port } = new URL(service.url);
    const socket: Socket = connect(Number(port), hostname);
    socket.on("error", () => {});
    const form = encodeForm([filePart(createFile("image", 1_000_000))]);
    const headers = `Host: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: ${formType()}\r\nContent-Length: ${form.length}`;
    socket.write(`POST /api/v1/assets HTTP/1.1\r\n${headers}\r\n\r\n`);
    socket.write(form.subarray(0, 500_000));
    await until(async () => (await spooled()).length === 1, OFTEN);
    await killService();
    socket.destroy();
    expect([await stored(), (await spooled()).length]).toEqual([[], 1]);
    service = await startService();
    // The file is kept for an hour, because another process may be writing it.
    expect((await spooled()).length).toBe(1);
    expect(await createSpool(join(folder, "data", "uploads")).sweep(new Date(Date.now() + 1000))).toBe(1);
    expect(await spooled()).toEqual([]);
  });

  test("an upload, killed before its row: the sweep removes the file, a repetition succeeds", async () => {
    const release = await block("lock table assets in access exclusive mode");
    const lost = upload(PNG, "step-2").catch(() => null);
    await until(async () => (await stored()).length === 1, OFTEN);
    // Waits until the write waits for the lock: a later write would find the lock released.
    await untilBlocked(database.db);
    await killService();
    expect(await lost).toBeNull();
    await release();
    expect(await orphans()).toEqual(await stored());
    service = await startService();
    const again = await upload(PNG, "step-2");
    expect(again.status).toBe(201);
    expect((await orphans()).length).toBe(1);
    expect((await stored()).length).toBe(2);
  });

  test("an upload, killed after its row: a repetition gets the first response", async () => {
    const first = await upload(PNG, "step-3");
    await killService();
    service = await startService();
    const again = await upload(PNG, "step-3");
    expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([201, "true"]);
    // Its URL names the first process, which wrote the response.
    expect(again.text).toBe(first.text);
    expect([await orphans(), (await stored()).length]).toEqual([[], 1]);
  });

  test("a signed upload, killed between copy and row: completing it again succeeds", async () => {
    const about = { kind: "image", contentType: "image/png", sizeBytes: PNG.length, md5: md5Base64(PNG) };
    const { id, upload: target } = (await call("POST", "/uploads", about)).body;
    expect((await fetch(target.url, { method: "PUT", headers: target.headers, body: PNG })).status).toBe(200);
    const release = await block(`select from assets where id = '${id}' for update`);
    const lost = call("POST", `/${id}/complete`).catch(() => null);
    await until(async () => (await stored()).length === 2, OFTEN);
    await untilBlocked(database.db);
    await killService();
    expect(await lost).toBeNull();
    await release();
    expect(await orphans()).toEqual([]);
    service = await startService();
    expect((await call("POST", `/${id}/complete`)).body).toMatchObject({ id, status: "uploaded" });
    expect([await orphans(), (await stored()).length]).toEqual([[], 1]);
  });

  test("ten uploads, killed at random moments: no row without its file, each executed once", async () => {
    const file = createFile("image", 300_000, true);
    for (let kill = 0; kill < KILLS; kill++) {
      const uploads = Array.from({ length: 10 }, (_, at) => upload(file, `${kill}-${at}`).catch(() => null));
      await Bun.sleep(Math.random() * 120);
      await killService();
      await Promise.all(uploads);
      await orphans();
      service = await startService();
      for (let at = 0; at < 10; at++) expect((await upload(file, `${kill}-${at}`)).status).toBe(201);
      const [rows] = await database.db.client`select count(*)::integer as number from assets`;
      expect(rows?.["number"]).toBe(10 * (kill + 1));
      await orphans();
    }
  });
});
