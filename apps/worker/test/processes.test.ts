/** Workers as processes, as they ship: several at once, and how one stops while it works. */
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import type { AssetRecord } from "@realtime-avatar/domain/assets/asset";
import { portraitPath } from "@realtime-avatar/testing/photos";
import { bun, type RunningProcess, runToEnd, startProcess } from "@realtime-avatar/testing/processes";
import { CHILD_ARGUMENT } from "../src/sandbox/command.ts";
import { noise, openWorld, type World } from "./support/world.ts";

// No test asserts a time: a slow disk must not fail one.
setDefaultTimeout(120_000);

const WORKER = "apps/worker/src/main.ts";
let world: World;
beforeEach(async () => {
  world = await openWorld();
});
afterEach(() => world.close());

const variables = (): Record<string, string> => ({
  WORKER_PORT: "0",
  DATABASE_URL: world.database.url,
  DATA_DIR: world.data,
  TMPDIR: world.temporary,
  LOG_LEVEL: "debug",
});
const start = async (others: Record<string, string> = {}): Promise<RunningProcess> => {
  const worker = startProcess(bun(WORKER), { ...variables(), ...others });
  await worker.waitFor(/"msg":"listening/);
  return worker;
};
const isAlive = (pid: number): boolean => {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
};
/** The decoders that run for a worker, after what they were started through. Linux only. */
const decodersOf = ({ pid }: RunningProcess): number[] =>
  readdirSync("/proc").flatMap((name) => {
    try {
      const [, parent] = /^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${name}/status`, "utf8")) ?? [];
      const command = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0");
      const isDecoder = command.some((word) => word.endsWith("main.js")) && command.includes(CHILD_ARGUMENT);
      return Number(parent) === pid && isDecoder && !command[0]?.includes("prlimit") ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
/** Waits until the worker has started a decoder, and freezes it. */
const freezeDecoder = async (worker: RunningProcess): Promise<number> => {
  for (;;) {
    const [pid] = decodersOf(worker);
    if (pid === undefined) {
      await Bun.sleep(1);
      continue;
    }
    process.kill(pid, "SIGSTOP");
    return pid;
  }
};

test("two workers share the jobs, and do each once", async () => {
  const assets: AssetRecord[] = [];
  const image = await noise();
  for (let count = 0; count < 12; count++) assets.push(await world.seedUpload(image));
  const workers = await Promise.all([start({ JOBS_PER_TENANT: "4" }), start({ JOBS_PER_TENANT: "4" })]);
  await world.untilDone();
  for (const asset of assets) expect(await world.stateOf(asset)).toMatchObject({ status: "ready" });
  const ended: string[][] = [];
  for (const worker of workers) {
    worker.kill("SIGTERM");
    expect([await worker.exited, worker.stderr()]).toEqual([0, ""]);
    ended.push([...worker.stdout().matchAll(/"outcome":"(\w+)"/g)].map(([, outcome = ""]) => outcome));
  }
  expect(ended.flat()).toEqual(assets.map(() => "ready"));
  expect(ended.map((outcomes) => outcomes.length)).not.toContain(0);
});

test("two workers share the preparations, which wait for their assets, and do each once", async () => {
  const photo = await readFile(portraitPath());
  const assets = await Promise.all(Array.from({ length: 4 }, () => world.seedUpload(photo)));
  const avatars = await Promise.all(assets.map(({ id }) => world.seedAvatar(id)));
  const workers = await Promise.all([start({ JOBS_PER_TENANT: "4" }), start({ JOBS_PER_TENANT: "4" })]);
  await world.untilDone();
  for (const avatar of avatars) {
    expect(await world.currentOf(avatar)).toMatchObject({ status: "ready", cacheVersion: 1 });
    expect(await world.preparedOf(avatar)).toHaveLength(3);
  }
  const ended: string[] = [];
  for (const worker of workers) {
    worker.kill("SIGTERM");
    expect([await worker.exited, worker.stderr()]).toEqual([0, ""]);
    const outcomes = [...worker.stdout().matchAll(/"kind":"prepare_avatar","outcome":"(\w+)"/g)];
    ended.push(...outcomes.map(([, outcome = ""]) => outcome).filter((outcome) => outcome !== "waiting"));
  }
  expect(ended).toEqual(avatars.map(() => "ready"));
});

test.skipIf(process.platform !== "linux")(
  "a decoder that hangs when the worker is told to stop is ended, and its job handed back",
  async () => {
    // Large, and there only when the worker runs, so that its decoder is still at work when it is found.
    const image = await noise(1500);
    const worker = await start();
    const asset = await world.seedUpload(image);
    const decoder = await freezeDecoder(worker);
    worker.kill("SIGTERM");
    expect([await worker.exited, worker.stderr()]).toEqual([0, ""]);
    expect(isAlive(decoder)).toBe(false);
    expect(await world.stateOf(asset)).toMatchObject({
      status: "uploaded",
      attempts: 0,
      lastError: "The worker stopped.",
    });
    expect(await readdir(world.temporary)).toEqual([]);
    const next = await start();
    await world.untilDone();
    expect(await world.stateOf(asset)).toMatchObject({ status: "ready" });
    next.kill("SIGTERM");
    expect(await next.exited).toBe(0);
  },
);

test.skipIf(process.platform !== "linux")(
  "a killed worker leaves a temporary folder, which the next one removes, and a job, which it finishes",
  async () => {
    // Large, and there only when the worker runs, so that its decoder is still at work when it is found.
    const image = await noise(1500);
    const worker = await start();
    const asset = await world.seedUpload(image);
    const decoder = await freezeDecoder(worker);
    worker.kill("SIGKILL");
    await worker.exited;
    expect(await readdir(world.temporary)).toHaveLength(1);
    process.kill(decoder, "SIGCONT");
    // Nothing waits for its report: it ends by itself.
    while (isAlive(decoder)) await Bun.sleep(10);
    const next = await start();
    expect(await readdir(world.temporary)).toEqual([]);
    expect(await world.stateOf(asset)).toMatchObject({ status: "processing", attempts: 1 });
    await world.expire();
    await world.untilDone();
    expect(await world.stateOf(asset)).toMatchObject({ status: "ready" });
    next.kill("SIGTERM");
    expect(await next.exited).toBe(0);
  },
);

test("its metrics have the queue", async () => {
  const worker = await start({ WORKER_METRICS_PORT: "0" });
  const [, metrics = ""] = await worker.waitFor(/"metrics":"(http:[^"]+)"/);
  const text = await (await fetch(metrics)).text();
  expect(text).toContain('realtime_avatar_jobs{state="queued"} 0');
  expect(text).toContain("realtime_avatar_oldest_job_seconds 0");
  worker.kill("SIGTERM");
  expect(await worker.exited).toBe(0);
});

test.each([
  ["JOBS", "0"],
  ["JOBS", "65"],
  ["JOBS_PER_TENANT", "x"],
  ["STORAGE_URL", "hunter2"],
])("refuses a bad %s, %j, by its name", async (name, value) => {
  const { code, stdout, stderr } = await runToEnd(bun(WORKER), { ...variables(), [name]: value });
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toContain(name);
  expect(stderr).not.toContain("hunter2");
});
