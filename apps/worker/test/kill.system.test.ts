/**
 * A worker that is killed at any moment of a job: the next worker finishes the job, and every file that a row names
 * exists.
 */
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { oneDatabase } from "@realtime-avatar/db/databases/databases";
import { type AssetRecord, originalKey, publicKey } from "@realtime-avatar/domain/assets/asset";
import type { AvatarRecord } from "@realtime-avatar/domain/avatars/avatar";
import { PREPARED_FOLDER, preparedFile, preparedKey } from "@realtime-avatar/domain/avatars/preparation";
import { session } from "@realtime-avatar/testing/database";
import { bun, type RunningProcess, startProcess } from "@realtime-avatar/testing/processes";
import { until } from "@realtime-avatar/testing/until";
import { JOB_TIMING } from "../src/jobs/run-job.ts";
import { http, startServer, type TestServer } from "../src/remote/server.testing.ts";
import { createObjectSweep } from "../src/sweeps/objects.ts";
import { inspectorCommand, waitingInspectorCommand } from "./support/inspector.ts";
import { startTestWorker, type TestWorker } from "./support/job-worker.ts";
import { noise, openWorld, type World } from "./support/world.ts";

// Tests do not assert times, and a slow disk must not fail one.
setDefaultTimeout(600_000);

const isLong = process.env["LONG"] === "1";
/** How often the worker is killed at a random moment. `chaos.system.test.ts` does so without LONG=1. */
const KILLS = 200;

let world: World;
let server: TestServer;
/** If the test sets it: a file for which inspections, checks of sources and responses with a remote file wait. */
let gate = "";
/** The remote files that are sent without waiting for the gate. */
let goesOn: (path: string) => boolean = () => false;
const opened = async (): Promise<void> => {
  await until(() => existsSync(gate), { pollMs: 5 });
};
beforeEach(async () => {
  const image = await noise();
  const response = Buffer.concat([Buffer.from(http(200, { "content-length": image.length })), image]);
  [world, server] = await Promise.all([
    openWorld(),
    startServer(async (path, socket) => {
      if (path.includes("waiting") && !goesOn(path)) await opened();
      socket.end(response);
    }),
  ]);
  gate = join(world.data, "gate");
  goesOn = () => false;
});
afterEach(async () => {
  await Promise.all([world.close(), server.close()]);
});
const openGate = () => writeFile(gate, "");

const remoteUrl = (name = "ada"): string => `https://files.example.com:${server.port}/${name}.png`;
const optionsOf = (): TestWorker => {
  const { port, network } = server;
  const directory = join(world.data, "assets");
  return { url: world.database.url, directory, inspector: inspectorCommand(), port, ca: network.ca ?? "" };
};
/** Starts a worker as a process. */
const startWorker = (options: Partial<TestWorker> = {}): RunningProcess =>
  startProcess(bun("apps/worker/test/support/worker.ts"), {
    TEST_WORKER: JSON.stringify({ ...optionsOf(), ...options }),
    TMPDIR: world.temporary,
  });
/** Starts a worker whose inspections and checks of sources wait. Its lease has the length of production. */
const startWaiting = (): RunningProcess =>
  startWorker({ inspector: waitingInspectorCommand(gate), gate, leaseSeconds: JOB_TIMING.leaseSeconds });
const kill = async (worker: RunningProcess): Promise<void> => {
  worker.kill("SIGKILL");
  await worker.exited;
};

/** Throws when a row names a file of an asset that is not in the store. */
const checkFiles = async (assets: readonly AssetRecord[]): Promise<void> => {
  for (const asset of assets) {
    // The row is read first, because its files were written before it.
    const [row] = await world.database.db.client`select status, public_type from assets where id = ${asset.id}`;
    const { original, public: published } = await world.filesOf(asset);
    const isKept = ["uploaded", "processing", "ready"].includes(row?.["status"]);
    expect([asset.id, row?.["status"], isKept && !original]).toEqual([asset.id, row?.["status"], false]);
    if (row?.["public_type"] !== null) expect([asset.id, published]).toEqual([asset.id, true]);
  }
};

/** Throws when a row names a prepared file that is not in the store, or when an avatar was prepared more than once. */
const checkPrepared = async (avatars: readonly AvatarRecord[]): Promise<void> => {
  for (const avatar of avatars) {
    // The row is read first, because its files were written before it.
    const { status, cacheManifestId, cacheVersion, previewFile } = await world.currentOf(avatar);
    const [, manifest = ""] = /^man_1_([0-9a-f]{64})$/.exec(cacheManifestId ?? "") ?? [];
    expect([avatar.id, status, cacheVersion]).toEqual([
      avatar.id,
      manifest === "" ? "preprocessing" : "ready",
      manifest === "" ? 0 : 1,
    ]);
    if (manifest === "") continue;
    const stored = await world.storage.open(preparedKey(avatar, preparedFile(1, manifest, "json")));
    const { pictures } = JSON.parse(await new Response(stored?.stream).text());
    expect(pictures.thumb.file).toBe(previewFile);
    for (const { file, sizeBytes } of [pictures.normalized, pictures.thumb]) {
      expect(await world.storage.stat(preparedKey(avatar, file))).toMatchObject({ sizeBytes });
    }
    const events = await world.database.db.client`
      select action from audit_events where target_id = ${avatar.id} and action <> 'avatar.created'`;
    expect(events.map(({ action }) => action)).toEqual(["avatar.prepared"]);
  }
};

/**
 * Lets a new worker finish the remaining jobs, and checks that no file is missing or left over. The worker is a job
 * loop in this process; `processes.system.test.ts` tests one in a separate process. `sources`: assets that were ready
 * from the start, without a public image.
 */
const finish = async (
  assets: readonly AssetRecord[],
  avatars: readonly AvatarRecord[] = [],
  sources: readonly AssetRecord[] = [],
): Promise<void> => {
  await openGate();
  await world.expire();
  const worker = await startTestWorker(optionsOf(), world.temporary, world.log);
  await world.untilDone();
  for (const asset of assets) {
    expect(await world.stateOf(asset)).toMatchObject({ status: "ready" });
    expect(await world.filesOf(asset)).toEqual({ original: true, public: true });
  }
  await checkPrepared(avatars);
  for (const avatar of avatars) expect(await world.currentOf(avatar)).toMatchObject({ status: "ready" });
  await until(async () => !(await readdir(world.temporary)).some((name) => name.startsWith("realtime-avatar-")));
  await worker.stop();
  const sweep = createObjectSweep({
    databases: oneDatabase(world.database.db),
    storage: world.storage,
    log: world.log,
    pauseScale: 0,
    now: () => new Date(Date.now() + 2 * 86_400_000),
  });
  await sweep(new AbortController().signal);
  const left = (await Array.fromAsync(world.storage.list(""))).map(({ key }) => key).sort();
  const prepared = left.filter((key) => key.startsWith(`${PREPARED_FOLDER}/`));
  expect(left.filter((key) => !prepared.includes(key))).toEqual(
    [...assets.flatMap((asset) => [originalKey(asset), publicKey(asset)]), ...sources.map(originalKey)].sort(),
  );
  // Each attempt has written equal files.
  expect(prepared).toHaveLength(4 * avatars.length);
};

/** A short poll interval, for states that last only a moment. */
const OFTEN = { pollMs: 5 };
const temporaryFiles = async (): Promise<string[]> =>
  (await readdir(world.temporary, { recursive: true })).filter((name) => name.endsWith("/original"));

/** Locks a row, so that no statement of a worker changes it. Returns the function that unlocks it. */
const lock = async (table: "assets" | "avatars", id: string): Promise<() => Promise<void>> => {
  const { client, close } = session(world.database.url);
  await client`begin`;
  await client`select 1 from ${client(table)} where id = ${id} for update`;
  return async () => {
    await client`rollback`;
    await close();
  };
};

describe("a killed worker", () => {
  const isProcessing = async (asset: AssetRecord) => (await world.stateOf(asset)).status === "processing";

  const moments: [string, string | null, (asset: AssetRecord) => Promise<unknown>][] = [
    ["while a file is inspected", null, () => until(async () => (await temporaryFiles()).length > 0, OFTEN)],
    ["with a remote file stored", "ada", (asset) => until(async () => (await world.filesOf(asset)).original, OFTEN)],
    ["while it fetches", "waiting", () => until(async () => server.requests.length > 0, OFTEN)],
  ];
  test.each(isLong ? moments : moments.slice(0, 2))(
    "a worker, killed %s: the next one finishes the asset",
    async (_, remote, reach) => {
      const asset = remote === null ? await world.seedUpload(await noise()) : await world.seedRemote(remoteUrl(remote));
      const worker = startWaiting();
      await reach(asset);
      await kill(worker);
      expect(await world.filesOf(asset)).toEqual({ original: remote !== "waiting", public: false });
      expect((await world.stateOf(asset)).status).not.toBe("ready");
      await checkFiles([asset]);
      await finish([asset]);
    },
  );

  test("a worker, killed after the claim: the next one finishes the asset", async () => {
    const asset = await world.seedUpload(await noise());
    const unlock = await lock("assets", asset.id);
    const worker = startWorker();
    await until(async () => (await world.database.db.client`select 1 from jobs where lease is not null`).length > 0);
    await kill(worker);
    await unlock();
    await checkFiles([asset]);
    await finish([asset]);
  });

  test("a worker, killed with the public image stored: the next one finishes the asset", async () => {
    const asset = await world.seedUpload(await noise());
    const worker = startWaiting();
    await until(() => isProcessing(asset), OFTEN);
    const unlock = await lock("assets", asset.id);
    await openGate();
    await until(async () => (await world.filesOf(asset)).public, OFTEN);
    expect(await isProcessing(asset)).toBe(true);
    await kill(worker);
    await unlock();
    await checkFiles([asset]);
    await finish([asset]);
  });
});

describe("a worker killed while it prepares an avatar", () => {
  const moments: [string, string, number][] = [
    ["after the manifest is stored, before the avatar is ready", "stored", 3],
    ["while the source is checked", "checked", 0],
    ["after the claim, before the preparation is started", "before", 0],
    ["after the first picture is stored", "stored", 1],
    ["after both pictures are stored", "stored", 2],
  ];
  test.each(isLong ? moments : moments.slice(0, 2))(
    "a worker, killed %s: the next one finishes the avatar",
    async (_, moment, files) => {
      const asset = await world.seedReady(await noise());
      const avatar = await world.seedAvatar(asset.id);
      let unlock = async (): Promise<void> => {};
      if (moment === "before") unlock = await lock("avatars", avatar.id);
      const worker = startWaiting();
      await until(async () => (await world.currentOf(avatar)).attempts === 1, OFTEN);
      if (moment !== "before") await until(async () => (await temporaryFiles()).length > 0, OFTEN);
      // The avatar cannot become ready.
      if (moment === "stored") {
        unlock = await lock("avatars", avatar.id);
        await openGate();
      }
      await until(async () => (await world.preparedOf(avatar)).length >= files, OFTEN);
      await kill(worker);
      await unlock();
      // The last statement of a killed worker can still be executed.
      await checkPrepared([avatar]);
      await finish([], [avatar], [asset]);
    },
  );
});

test("killed by one job each time: that job fails after five attempts, and the jobs beside it lose none", async () => {
  const poison = await world.seedRemote(remoteUrl("waiting"));
  const others = [await world.seedRemote(remoteUrl("waiting-1")), await world.seedRemote(remoteUrl("waiting-2"))];
  const requests = (name: string) => server.requests.filter((head) => head.startsWith(`GET /${name}.png `)).length;
  const attempts: (string | undefined)[] = [];
  for (let deaths = 0; (await world.stateOf(poison)).status !== "failed"; deaths++) {
    const before = requests("waiting");
    const worker = startWorker({ concurrency: 3, leaseSeconds: JOB_TIMING.leaseSeconds });
    // The first time, all three are fetched. Then only the two others may continue.
    if (deaths === 0) await until(async () => server.requests.length === 3, OFTEN);
    await until(async () => requests("waiting") > before || (await world.stateOf(poison)).status === "failed", OFTEN);
    await kill(worker);
    for (const [, count] of worker.stdout().matchAll(/"outcome":"ready","attempts":(\d+)/g)) attempts.push(count);
    if (deaths === 0) goesOn = (path) => path !== "/waiting.png";
    await world.expire();
  }
  expect(await world.stateOf(poison)).toMatchObject({ status: "failed", errorCode: "internal" });
  await finish(others);
  expect(attempts).toEqual(["1", "1"]);
  expect(requests("waiting")).toBe(6);
});

test.skipIf(!isLong)("workers, killed at random moments: the next ones finish all assets and avatars", async () => {
  const assets: AssetRecord[] = [];
  const avatars: AvatarRecord[] = [];
  const { client } = world.database.db;
  const other = { running: startWorker() };
  for (let round = 0; round < KILLS; round++) {
    const [uploaded, remote] = [await world.seedUpload(await noise()), await world.seedRemote(remoteUrl())];
    assets.push(uploaded, remote);
    // These avatars wait for their assets.
    avatars.push(await world.seedAvatar(uploaded.id), await world.seedAvatar(remote.id));
    const worker = startWorker();
    await worker.waitFor(/"msg":"started"/);
    await Bun.sleep(600 * Math.random());
    await kill(worker);
    await checkFiles(assets);
    await checkPrepared(avatars);
    // Each kill costs the running jobs an attempt, and there are more kills than attempts.
    await client`update jobs set attempts = 0`;
    if (round % 3 === 2) {
      await kill(other.running);
      other.running = startWorker();
    }
  }
  await kill(other.running);
  await client`update jobs set attempts = 0`;
  await finish(assets, avatars);
});
