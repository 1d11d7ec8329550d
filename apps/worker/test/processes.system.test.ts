/** Workers as processes, from their bundles: several at once, and a worker that stops while it works. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { AssetRecord } from "@realtime-avatar/domain/assets/asset";
import { isAlive } from "@realtime-avatar/testing/alive";
import { session } from "@realtime-avatar/testing/database";
import { portraitPath } from "@realtime-avatar/testing/photos";
import { bun, type RunningProcess, startProcess } from "@realtime-avatar/testing/processes";
import { until } from "@realtime-avatar/testing/until";
import { CHILD_ARGUMENT } from "../src/sandbox/command.ts";
import { eachWorld, noise } from "./support/world.ts";

const WORKER = "apps/worker/src/main.ts";
const world = eachWorld();

const variables = (): Record<string, string> => ({
  WORKER_PORT: "0",
  ...world.database.variables,
  DATA_DIR: world.data,
  TMPDIR: world.temporary,
  LOG_LEVEL: "debug",
});
const start = async (others: Record<string, string> = {}): Promise<RunningProcess> => {
  const worker = startProcess(bun(WORKER), { ...variables(), ...others });
  await worker.waitFor(/"msg":"listening/);
  return worker;
};
/** Starts a worker whose decoders stop before they begin, and write their ids to the returned file. Linux only. */
const startWithFrozenDecoders = async (): Promise<{ worker: RunningProcess; decoder: () => Promise<number> }> => {
  const [programs, ids] = [join(world.data, "programs"), join(world.data, "decoders")];
  const program = join(programs, "prlimit");
  await mkdir(programs);
  // The worker finds this program before that of the system. The stopped process becomes the decoder when it continues.
  await writeFile(
    program,
    `#!/bin/sh
    case "$*" in *${CHILD_ARGUMENT}*) echo $$ >>'${ids}'; kill -STOP $$ ;; esac
    exec '${Bun.which("prlimit")}' "$@"`,
  );
  await chmod(program, 0o755);
  const worker = await start({ PATH: `${programs}:${process.env["PATH"]}` });
  const decoder = (): Promise<number> =>
    until(async () => {
      const pid = Number.parseInt(await readFile(ids, "utf8").catch(() => ""), 10);
      return pid > 0 && /^State:\s+T/m.test(readFileSync(`/proc/${pid}/status`, "utf8")) && pid;
    });
  return { worker, decoder };
};

test("two workers, with six jobs: share them, and run each once", async () => {
  const assets: AssetRecord[] = [];
  const image = await noise();
  for (let count = 0; count < 6; count++) assets.push(await world.seedUpload(image));
  const { client } = world.database.db;
  // No asset can be started, so each worker takes two jobs.
  const holder = session(world.database.url);
  await holder.client`begin`;
  await holder.client`select 1 from assets for update`;
  const workers = await Promise.all([start({ JOBS_PER_TENANT: "4" }), start({ JOBS_PER_TENANT: "4" })]);
  await until(async () => (await client`select 1 from jobs where lease is not null`).length >= 4);
  await holder.client`rollback`;
  await holder.close();
  await world.untilDone();
  for (const asset of assets) expect(await world.stateOf(asset)).toMatchObject({ status: "ready" });
  const ended: string[][] = [];
  for (const worker of workers) {
    worker.kill("SIGTERM");
    expect([await worker.exited, worker.stderr()]).toEqual([0, ""]);
    ended.push([...worker.stdout().matchAll(/"outcome":"(\w+)"/g)].map(([, outcome = ""]) => outcome));
  }
  expect(ended.flat()).toEqual(assets.map(() => "ready"));
  expect(Math.min(...ended.map((outcomes) => outcomes.length))).toBeGreaterThanOrEqual(2);
});

test.skipIf(process.env["LONG"] !== "1")(
  "two workers, with preparations waiting for an asset: share them, and run each once",
  async () => {
    const { id } = await world.seedUpload(await readFile(portraitPath()));
    const avatars = await Promise.all([world.seedAvatar(id), world.seedAvatar(id)]);
    const workers = await Promise.all([start(), start()]);
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
  },
);

test.skipIf(process.platform !== "linux")(
  "a hanging decoder whose worker stops: ended, and its job handed back",
  async () => {
    const asset = await world.seedUpload(await noise());
    const started = await startWithFrozenDecoders();
    const { worker } = started;
    const decoder = await started.decoder();
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
  "a worker, killed: the next one removes its folder and finishes its job",
  async () => {
    const asset = await world.seedUpload(await noise());
    const started = await startWithFrozenDecoders();
    const { worker } = started;
    const decoder = await started.decoder();
    worker.kill("SIGKILL");
    await worker.exited;
    expect(await readdir(world.temporary)).toHaveLength(1);
    process.kill(decoder, "SIGCONT");
    // No process waits for its report, so it ends by itself.
    await until(() => !isAlive(decoder));
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
