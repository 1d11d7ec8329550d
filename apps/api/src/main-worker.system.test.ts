/** The worker that the API runs as a child process, with real processes: start, end and restart. */
import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { isAlive } from "@realtime-avatar/testing/alive";
import { preparedDataDirectory } from "@realtime-avatar/testing/database";
import { fileDatabase, fileFolder } from "@realtime-avatar/testing/fixture";
import { watchLookUps } from "@realtime-avatar/testing/postgres/waits";
import { type RunningProcess, release } from "@realtime-avatar/testing/processes";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { call, start, stop } from "../test/support/process.ts";

const folder = await fileFolder();
const database = await fileDatabase({ isServed: true });

const untilGone = async (...pids: number[]): Promise<void> => {
  await until(() => !pids.some(isAlive));
};
const STARTED = /"process":"worker","pid":(\d+)/;
const workerOf = async (running: RunningProcess): Promise<number> => Number((await running.waitFor(STARTED))[1]);
/** Starts the API together with the worker, and waits for the worker. */
const startBoth = async (variables: Record<string, string>) => {
  const running = await start(variables, release());
  return { ...running, worker: await workerOf(running) };
};

// `docs-examples.system.test.ts` tests its preparations.
describe("the worker on the embedded database", () => {
  test("the worker, started by the API: opens no port, and ends after the API and before PostgreSQL", async () => {
    const data = await preparedDataDirectory(join(folder, "embedded"));
    const taken = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
    const port = String(taken.port);
    const running = await startBoth({ DATA_DIR: data, WORKER_PORT: port, WORKER_METRICS_PORT: port });
    // Only root can see the open files of a process that protects its memory.
    if (process.platform === "linux" && process.getuid?.() === 0) {
      const sockets = new Set(
        readdirSync(`/proc/${running.worker}/fd`).flatMap((name) => {
          try {
            return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${running.worker}/fd/${name}`))?.[1] ?? [];
          } catch {
            return [];
          }
        }),
      );
      const listening = ["tcp", "tcp6"].flatMap((name) =>
        readFileSync(`/proc/net/${name}`, "utf8")
          .split("\n")
          .map((line) => line.trim().split(/\s+/))
          .filter(([, , , state, , , , , , inode = ""]) => state === "0A" && sockets.has(inode)),
      );
      expect(listening).toEqual([]);
    }
    await taken.stop();
    expect(await stop(running)).toBe(0);
    expect(isAlive(running.worker)).toBe(false);
    expect(existsSync(join(data, "postgres/postmaster.pid"))).toBe(false);
    const stopped = running
      .stdout()
      .split("\n")
      .filter((line) => line.includes('"msg":"stopped"'))
      .map((line) => JSON.parse(line).process ?? "api");
    expect(stopped).toEqual(["worker", "api"]);
    for (const line of running.stdout().trim().split("\n")) expect(() => JSON.parse(line)).not.toThrow();
  });

  test("the worker of a killed API: worker and PostgreSQL end", async () => {
    const data = await preparedDataDirectory(join(folder, "killed"));
    const running = await startBoth({ DATA_DIR: data });
    const postmaster = Number((await Bun.file(join(data, "postgres/postmaster.pid")).text()).split("\n")[0]);
    running.kill("SIGKILL");
    await untilGone(running.worker, postmaster);
    expect(existsSync(join(data, "postgres/postmaster.pid"))).toBe(false);
  });
});

describe("the worker, enabled or disabled", () => {
  // `main.system.test.ts` tests a DATABASE_URL without WORKER.
  test("the worker, WORKER=false, on the embedded database: not started", async () => {
    const data = await preparedDataDirectory(join(folder, "none"));
    const running = await start({ DATA_DIR: data, WORKER: "false" }, release());
    await running.waitFor(/Open the dashboard/);
    expect((await fetch(`${running.url}/readyz`)).status).toBe(200);
    expect(await stop(running)).toBe(0);
    expect(running.stdout()).not.toContain("worker");
  });

  test("the worker, killed: started again; after a stop of the API, it works while requests finish", async () => {
    const { secret } = await seedKey(database.db, await seedTenant(database.db), { scopes: ["*"] });
    const running = await startBoth({ ...database.variables, WORKER: "true", DATA_DIR: folder });
    process.kill(running.worker, "SIGKILL");
    await running.waitFor(/"signal":"SIGKILL","msg":"the worker has ended; starting it again"/);
    expect((await fetch(`${running.url}/readyz`)).status).toBe(200);
    const [, , second] = await running.waitFor(new RegExp(`${STARTED.source}[^]*${STARTED.source}`));
    const worker = Number(second);
    expect(worker).not.toBe(running.worker);

    let send: (text: string) => void = () => {};
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(Buffer.from('{"displayName": "in flight", '));
        send = (text) => {
          controller.enqueue(Buffer.from(text));
          controller.close();
        };
      },
    });
    const untilLookedUp = await watchLookUps(database);
    const inFlight = call(`${running.url}/api/v1/avatars`, secret.reveal(), body);
    await untilLookedUp();
    // Ctrl-C reaches both processes.
    process.kill(worker, "SIGINT");
    running.kill("SIGINT");
    for (let isServing = true; isServing; ) {
      isServing = await fetch(`${running.url}/healthz`, { keepalive: false }).then(
        () => true,
        () => false,
      );
    }
    expect(isAlive(worker)).toBe(true);
    send('"sourceKind": "image"}');
    expect((await inFlight).status).toBe(201);
    expect(await running.exited).toBe(0);
    expect([running.worker, worker].filter(isAlive)).toEqual([]);
  });
});
