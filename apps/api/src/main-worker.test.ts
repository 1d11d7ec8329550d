/** The worker that the API runs as a child process, with real processes: how it starts, ends, and comes back. */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Asset } from "@realtime-avatar/domain/assets/schemas";
import type { Avatar } from "@realtime-avatar/domain/avatars/schemas";
import { preparedDataDirectory, testDatabase } from "@realtime-avatar/testing/database";
import { portraitPath } from "@realtime-avatar/testing/photos";
import { watchLookUps } from "@realtime-avatar/testing/postgres/waits";
import { type RunningProcess, release, runToEnd } from "@realtime-avatar/testing/processes";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import { call, start, stop } from "../test/support/process.ts";

// No test asserts a time: a slow disk must not fail one.
setDefaultTimeout(60_000);

const folder = await temporaryFolder();
const database = await testDatabase();
afterAll(async () => {
  await database.close();
  await rm(folder, { recursive: true });
});

const isAlive = (pid: number): boolean => {
  try {
    // A zombie has ended: only its parent has not noticed yet.
    if (process.platform === "linux") return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};
const untilGone = async (...pids: number[]): Promise<void> => {
  while (pids.some(isAlive)) await Bun.sleep(10);
};
const STARTED = /"process":"worker","pid":(\d+)/;
const workerOf = async (running: RunningProcess): Promise<number> => Number((await running.waitFor(STARTED))[1]);
/** Starts the API with the worker beside it, and waits for its worker. */
const startBoth = async (variables: Record<string, string>) => {
  const running = await start(variables, release());
  return { ...running, worker: await workerOf(running) };
};

/** Uploads a photo with curl, as an operator does who tries the service, and prepares an avatar from it. */
const prepareFromPhoto = async (running: RunningProcess & { url: string }): Promise<void> => {
  const [, key = ""] = await running.waitFor(/export API_KEY=(\S+)/);
  const curl = ["curl", "-sS", `${running.url}/api/v1/assets`, "-H", `Authorization: Bearer ${key}`, "-F"];
  const { stdout } = await runToEnd([...curl, `file=@${portraitPath()}`]);
  const asset: Asset = JSON.parse(stdout);
  const body = JSON.stringify({ displayName: "Ada", sourceKind: "image", sourceAssetId: asset.id });
  const headers = { authorization: `Bearer ${key}` };
  // At once: its preparation waits for the asset.
  const created = await call(`${running.url}/api/v1/avatars`, key, body);
  expect(created.status).toBe(201);
  let avatar = created.body as Avatar;
  for (; avatar.status !== "ready"; await Bun.sleep(20)) {
    expect(avatar).toMatchObject({ status: "preprocessing", error: null });
    avatar = (await (await fetch(`${running.url}/api/v1/avatars/${avatar.id}`, { headers })).json()) as Avatar;
  }
  expect(avatar).toMatchObject({ cacheVersion: 1, cacheManifestId: expect.stringMatching(/^man_1_/) });
  for (const url of [asset.publicUrl, avatar.previewUrl ?? ""]) {
    const image = await fetch(url);
    expect([image.status, image.headers.get("content-type")]).toEqual([200, "image/webp"]);
  }
};

describe("the worker on the embedded database", () => {
  test("the worker, started by the API: no port, prepares an avatar, ends between API and PostgreSQL", async () => {
    const data = await preparedDataDirectory(join(folder, "embedded"));
    const taken = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
    const port = String(taken.port);
    const running = await startBoth({ DATA_DIR: data, WORKER_PORT: port, WORKER_METRICS_PORT: port });
    // Only root can see the files of a process that protects its memory.
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
    await prepareFromPhoto(running);
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

  test("the worker, the API killed: it ends, and PostgreSQL with it", async () => {
    const data = await preparedDataDirectory(join(folder, "killed"));
    const running = await startBoth({ DATA_DIR: data });
    const postmaster = Number((await Bun.file(join(data, "postgres/postmaster.pid")).text()).split("\n")[0]);
    running.kill("SIGKILL");
    await untilGone(running.worker, postmaster);
    expect(existsSync(join(data, "postgres/postmaster.pid"))).toBe(false);
  });
});

describe("the worker on a DATABASE_URL", () => {
  test.each([
    ["WORKER unset, on a DATABASE_URL", () => ({ DATABASE_URL: database.url }), /"listening"/],
    [
      "WORKER=false, on the embedded database",
      async () => ({ DATA_DIR: await preparedDataDirectory(join(folder, "none")), WORKER: "false" }),
      /Open the dashboard/,
    ],
  ])("the worker, %s: not started", async (_, variables, lastOutput) => {
    const running = await start({ DATA_DIR: folder, ...(await variables()) }, release());
    await running.waitFor(lastOutput);
    expect((await fetch(`${running.url}/readyz`)).status).toBe(200);
    expect(await stop(running)).toBe(0);
    expect(running.stdout()).not.toContain("worker");
  });

  test("the worker, killed: started again, and the API stays ready", async () => {
    const running = await startBoth({ DATABASE_URL: database.url, WORKER: "true", DATA_DIR: folder });
    process.kill(running.worker, "SIGKILL");
    await running.waitFor(/"signal":"SIGKILL","msg":"the worker has ended; starting it again"/);
    expect((await fetch(`${running.url}/readyz`)).status).toBe(200);
    const [, next = ""] = await running
      .waitFor(new RegExp(`${STARTED.source}[^]*${STARTED.source}`))
      .then((match) => [match[0], match[2]]);
    expect(Number(next)).not.toBe(running.worker);
    expect(await stop(running)).toBe(0);
    expect([running.worker, Number(next)].filter(isAlive)).toEqual([]);
  });

  test("the worker, the API finishing its requests: works on; Ctrl-C for both does not stop it", async () => {
    const { secret } = await seedKey(database.db, await seedTenant(database.db), { scopes: ["*"] });
    const running = await startBoth({ DATABASE_URL: database.url, WORKER: "true", DATA_DIR: folder });
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
    const untilLookedUp = await watchLookUps(database.db);
    const inFlight = call(`${running.url}/api/v1/avatars`, secret.reveal(), body);
    await untilLookedUp();
    process.kill(running.worker, "SIGINT");
    running.kill("SIGINT");
    for (let isServing = true; isServing; ) {
      isServing = await fetch(`${running.url}/healthz`, { keepalive: false }).then(
        () => true,
        () => false,
      );
    }
    expect(isAlive(running.worker)).toBe(true);
    send('"sourceKind": "image"}');
    expect((await inFlight).status).toBe(201);
    expect(await running.exited).toBe(0);
    expect(isAlive(running.worker)).toBe(false);
  });
});
