/** The worker as a process. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { type TestDatabase, temporaryFolder, testDatabase } from "@realtime-avatar/db/testing";
import { bun, REPOSITORY, runToEnd, startProcess } from "@realtime-avatar/runtime/testing";

// No test asserts a time: a slow disk must not fail one.
setDefaultTimeout(60_000);

const WORKER = "apps/worker/src/main.ts";
let database: TestDatabase;

beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

describe("the worker", () => {
  test("connects, responds to health checks, and stops on SIGTERM", async () => {
    const worker = startProcess(bun(WORKER), { WORKER_PORT: "0", DATABASE_URL: database.url });
    const [, url] = await worker.waitFor(/"url":"(http:[^"]+)\/"/);
    expect(worker.stdout()).toContain("no preparation jobs yet");
    const health = async (path: string) => {
      const answer = await fetch(url + path);
      return [answer.status, await answer.text()];
    };
    expect(await health("/healthz")).toEqual([200, '{"status":"ok"}']);
    expect(await health("/readyz")).toEqual([200, '{"status":"ok"}']);
    expect(await health("/")).toEqual([404, ""]);
    worker.kill("SIGTERM");
    expect(await worker.exited).toBe(0);
    expect(worker.stdout()).toContain("stopped");
    expect(worker.stderr()).toBe("");
  });

  test("shares the embedded database, and is the last to leave it", async () => {
    const folder = await temporaryFolder();
    const data = join(folder, "data");
    const first = startProcess(bun(WORKER), { WORKER_PORT: "0", DATA_DIR: data });
    await first.waitFor(/no preparation jobs/);
    const second = startProcess(bun(WORKER), { WORKER_PORT: "0", DATA_DIR: data });
    const [, url] = await second.waitFor(/"url":"(http:[^"]+)\/"/);
    first.kill("SIGTERM");
    expect(await first.exited).toBe(0);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    second.kill("SIGTERM");
    expect(await second.exited).toBe(0);
    expect(existsSync(join(data, "postgres/postmaster.pid"))).toBe(false);
    await rm(folder, { recursive: true });
  });

  test("names WORKER_PORT when its port is taken", async () => {
    const taken = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
    const { port } = taken;
    const { code, stderr } = await runToEnd(bun(WORKER), {
      WORKER_PORT: String(port),
      DATABASE_URL: database.url,
    });
    await taken.stop();
    expect([code, stderr]).toEqual([
      1,
      `Cannot listen on 127.0.0.1:${port} (EADDRINUSE). Set WORKER_PORT to another port, or HOST.\n`,
    ]);
  });

  test("runs as a bundle", async () => {
    const folder = await temporaryFolder();
    const source = join(REPOSITORY, WORKER);
    await runToEnd([process.execPath, "build", source, "--target=bun", `--outdir=${folder}`]);
    const worker = startProcess(bun(join(folder, "main.js")), { WORKER_PORT: "0", DATABASE_URL: database.url });
    await worker.waitFor(/no preparation jobs/);
    worker.kill("SIGTERM");
    expect(await worker.exited).toBe(0);
    await rm(folder, { recursive: true });
  });

  test.each([
    ["WORKER_PORT", "x"],
    ["LOG_LEVEL", "loud"],
    ["DATABASE_URL", "hunter2"],
  ])("refuses a bad %s by its name", async (name, value) => {
    const { code, stdout, stderr } = await runToEnd(bun(WORKER), { [name]: value });
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain(name);
    expect(stderr).not.toContain(value);
  });
});
