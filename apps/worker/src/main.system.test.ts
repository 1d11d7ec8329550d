/** The worker as a process, from its shipped bundle. */
import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { readInstance } from "@realtime-avatar/db/calls/reconcile";
import { findCreditBalance } from "@realtime-avatar/db/credits/credits";
import { roomPrefix } from "@realtime-avatar/domain/calls/room";
import { seedCaller, seedMovement, seedSession } from "@realtime-avatar/testing/credits";
import { preparedDataDirectory } from "@realtime-avatar/testing/database";
import { fileDatabase, fileFolder } from "@realtime-avatar/testing/fixture";
import { startLivekitStandIn } from "@realtime-avatar/testing/livekit/stand-in";
import { bun, runToEnd, startProcess } from "@realtime-avatar/testing/processes";
import { seedTenant } from "@realtime-avatar/testing/seeds";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import { LANDLOCK, landlockVersion } from "./sandbox/landlock.ts";

const WORKER = "apps/worker/src/main.ts";
const database = await fileDatabase({ isServed: true });
/** `DATA_DIR`: the folder of the workers' files. */
const variables = { WORKER_PORT: "0", ...database.variables, DATA_DIR: await fileFolder() };

describe("the worker", () => {
  test("the worker, with an overdue session: healthy, closes it, shows it in its metrics; by SIGTERM: exit 0", async () => {
    const { db } = database;
    const tenantId = await seedTenant(db);
    await seedMovement(db, tenantId);
    const id = await seedSession(db, (await seedCaller(db, tenantId)).caller);
    const worker = startProcess(bun(WORKER), { ...variables, WORKER_METRICS_PORT: "0" });
    const [, url] = await worker.waitFor(/"url":"(http:[^"]+)\/"/);
    const [, metrics = ""] = await worker.waitFor(/"metrics":"(http:[^"]+)"/);
    expect(worker.stdout()).toContain("closes overdue usage sessions");
    const health = async (path: string) => {
      const response = await fetch(url + path);
      return [response.status, await response.text()];
    };
    expect(await health("/healthz")).toEqual([200, '{"status":"ok"}']);
    expect(await health("/readyz")).toEqual([200, '{"status":"ok"}']);
    expect(await health("/")).toEqual([404, ""]);
    await db.client`update usage_sessions set expires_at = now() - interval '1 second' where id = ${id}`;
    await worker.waitFor(/"sessions":1/);
    expect(await findCreditBalance(db, tenantId, "live")).toMatchObject({ reservedCreditMicros: 0 });
    const text = await (await fetch(metrics)).text();
    expect(text).toContain("realtime_avatar_sessions_swept_total 1\n");
    expect(text).toMatch(/realtime_avatar_session_sweep_lag_seconds \d/);
    expect(text).toContain('realtime_avatar_jobs{state="queued"} 0');
    expect(text).toContain("realtime_avatar_oldest_job_seconds 0");
    expect(text).toContain('realtime_avatar_webhook_deliveries{state="due"} 0');
    expect(text).toContain("realtime_avatar_webhook_disabled_endpoints 0");
    worker.kill("SIGTERM");
    expect([await worker.exited, worker.stderr()]).toEqual([0, ""]);
    expect(worker.stdout()).toContain("stopped");
  });

  test("the worker, with a LiveKit: deletes a room without a call, warns that participants can create rooms, and stops", async () => {
    const livekit = await startLivekitStandIn({ autoCreate: true });
    const orphan = `${roomPrefix(await readInstance(database.db))}ses_1`;
    livekit.addRoom(orphan);
    livekit.addRoom("another");
    const worker = startProcess(bun(WORKER), {
      ...variables,
      ...{ LIVEKIT_URL: livekit.url, LIVEKIT_API_KEY: livekit.apiKey, LIVEKIT_API_SECRET: livekit.apiSecret },
    });
    await worker.waitFor(/Set room.auto_create to false/);
    expect(livekit.rooms()).toEqual(["another"]);
    worker.kill("SIGTERM");
    expect([await worker.exited, worker.stderr()]).toEqual([0, ""]);
    await livekit.stop();
  });

  test("two workers, on one embedded database: the last one stops it", async () => {
    const folder = await temporaryFolder();
    const own = await preparedDataDirectory(join(folder, "data"));
    const first = startProcess(bun(WORKER), { WORKER_PORT: "0", DATA_DIR: own });
    await first.waitFor(/closes overdue usage sessions/);
    const second = startProcess(bun(WORKER), { WORKER_PORT: "0", DATA_DIR: own });
    const [, url] = await second.waitFor(/"url":"(http:[^"]+)\/"/);
    first.kill("SIGTERM");
    expect(await first.exited).toBe(0);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    second.kill("SIGTERM");
    expect(await second.exited).toBe(0);
    expect(existsSync(join(own, "postgres/postmaster.pid"))).toBe(false);
    await rm(folder, { recursive: true });
  });

  // As on too old kernels: Linux before 4.14, and before 5.13.
  test.skipIf(landlockVersion() === 0)(
    "the worker, without seccomp: does not start; without Landlock: warns",
    async () => {
      const [execPath = "", ...others] = bun(WORKER);
      const command = [execPath, "--preload", join(import.meta.dir, "sandbox/refusing.testing.ts"), ...others];
      const seccomp = process.arch === "x64" ? 317 : 277;
      const { code, stderr } = await runToEnd(command, { ...variables, REFUSED: `${seccomp}:38` });
      expect([code, stderr]).toEqual([1, expect.stringContaining("Files cannot be inspected safely")]);
      const worker = startProcess(command, { ...variables, REFUSED: `${LANDLOCK.landlock_create_ruleset}:38` });
      await worker.waitFor(/"msg":"listening/);
      expect(worker.stdout()).toMatch(/"level":"?(40|warn)"?.*Landlock/);
      worker.kill("SIGTERM");
      expect([await worker.exited, worker.stderr()]).toEqual([0, ""]);
    },
  );

  test("a worker whose port is taken: exit 1, naming WORKER_PORT", async () => {
    const taken = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
    const { port } = taken;
    const { code, stderr } = await runToEnd(bun(WORKER), { ...variables, WORKER_PORT: String(port) });
    await taken.stop();
    expect([code, stderr]).toEqual([
      1,
      `Cannot listen on 127.0.0.1:${port} (EADDRINUSE). Set WORKER_PORT to another port, or HOST.\n`,
    ]);
  });

  test("the worker, with --help or an unknown argument: starts nothing", async () => {
    const folder = await temporaryFolder();
    const unused = join(folder, "data");
    const help = await runToEnd(bun(WORKER, "--help"), { DATA_DIR: unused });
    expect([help.code, help.stderr]).toEqual([0, ""]);
    expect(help.stdout).toContain("DATABASE_URL");
    const refused = await runToEnd(bun(WORKER, "--secret=hunter2"), { DATA_DIR: unused });
    expect([refused.code, refused.stdout]).toEqual([2, ""]);
    expect(refused.stderr).toContain("Unknown argument: --secret\n");
    expect(existsSync(unused)).toBe(false);
    await rm(folder, { recursive: true });
  });

  // `config.test.ts` tests the other variables.
  test("the worker, a bad DATABASE_URL or STORAGE_URL: exit 1 without its value", async () => {
    for (const name of ["DATABASE_URL", "STORAGE_URL"]) {
      const { code, stdout, stderr } = await runToEnd(bun(WORKER), { ...variables, [name]: "hunter2" });
      expect([code, stdout, stderr]).toEqual([1, "", expect.stringContaining(name)]);
      expect(stderr).not.toContain("hunter2");
    }
  });
});
