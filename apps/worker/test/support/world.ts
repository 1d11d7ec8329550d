/** Helpers for the tests of jobs: a database, a store on a disk, assets with their jobs, and their states. */
import { afterAll, afterEach, beforeAll, beforeEach, setDefaultTimeout } from "bun:test";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { insertAsset } from "@realtime-avatar/db/assets/assets";
import type { Caller } from "@realtime-avatar/db/callers/callers";
import { randomFor } from "@realtime-avatar/db/connection/which-database";
import { oneDatabase } from "@realtime-avatar/db/databases/databases";
import type { JobRecord } from "@realtime-avatar/db/jobs/jobs";
import { type AssetRecord, newAsset, originalKey, publicKey } from "@realtime-avatar/domain/assets/asset";
import type { AssetKind } from "@realtime-avatar/domain/assets/limits";
import { newId } from "@realtime-avatar/domain/id";
import { createLog } from "@realtime-avatar/runtime/log";
import { openStorage } from "@realtime-avatar/storage/open";
import type { Storage } from "@realtime-avatar/storage/storage";
import { type TestDatabase, testDatabase } from "@realtime-avatar/testing/database";
import { random } from "@realtime-avatar/testing/random-bytes";
import { seedCaller, seedOrigin } from "@realtime-avatar/testing/seeds";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import { until } from "@realtime-avatar/testing/until";
import sharp from "sharp";
import { createUntilDue } from "../../src/jobs/due-work.ts";
import type { JobHandler, JobHandlers } from "../../src/jobs/handler.ts";
import { type JobLoop, type JobLoopOptions, startJobLoop } from "../../src/jobs/loop.ts";
import { JOB_TIMING, type JobTiming } from "../../src/jobs/run-job.ts";
import { createTemporaryFolders } from "../../src/jobs/temporary-folders.ts";
import { avatarTools } from "./avatars.ts";

const QUOTA = { maxAssets: 1_000_000, maxBytes: Number.MAX_SAFE_INTEGER };

/** A PNG of noise, `side` pixels wide and high. */
export const noise = (side = 64): Promise<Buffer> =>
  sharp(random(side * side * 3), { raw: { width: side, height: side, channels: 3 } })
    .png()
    .toBuffer();

/** A handler of jobs that the test does not have. */
const unexpected: JobHandler = async ({ kind }) => {
  throw new Error(`there is a job ${kind}`);
};

type LoopOptions = Partial<Omit<JobLoopOptions, "handlers" | "timing">> & { timing?: Partial<JobTiming> };

/** `temporary`: a folder for the temporary files of jobs. */
const loopTools = (db: TestDatabase["db"], storage: Storage, temporary: string) => {
  const { client } = db;
  const lines: Record<string, unknown>[] = [];
  const log = createLog("debug", { write: (line) => void lines.push(JSON.parse(line)) });
  const loops: JobLoop[] = [];
  /** The dependencies of the handlers of jobs. */
  const parts = () => ({
    db,
    storage,
    log,
    random: randomFor(db, random),
    temporary: createTemporaryFolders(temporary),
  });
  return {
    temporary,
    lines,
    log,
    parts,
    /** Starts a worker's job loop, of two jobs at once. */
    loop: (handlers: Partial<JobHandlers>, { timing, ...options }: LoopOptions = {}): JobLoop => {
      const loop = startJobLoop({
        ...parts(),
        databases: oneDatabase(db),
        handlersOf: () => ({
          process_asset: unexpected,
          prepare_avatar: unexpected,
          render_video: unexpected,
          ...handlers,
        }),
        untilDueIn: (queued) => createUntilDue(queued)("jobs"),
        metrics: null,
        tracing: null,
        concurrency: 2,
        slotsPerTenant: 2,
        timing: { ...JOB_TIMING, ...timing },
        ...options,
      });
      loops.push(loop);
      return loop;
    },
    stopLoops: async (): Promise<void> => {
      await Promise.all(loops.splice(0).map((loop) => loop.stop()));
    },
    /** Waits until no job exists. */
    untilDone: async (limitMs?: number): Promise<void> => {
      const jobs = () => client`select * from jobs limit 10`;
      await until(async () => (await jobs()).length === 0, { limitMs, state: jobs });
    },
    /** Waits until the job loops have ended this many jobs in total. */
    ended: async (count = 1): Promise<void> => {
      await until(() => lines.filter(({ msg }) => msg === "a job has ended").length >= count, { state: () => lines });
    },
    /** Waits until no job has a temporary folder, which is removed a moment after the end of the job is written. */
    removed: async (): Promise<void> => {
      await until(async () => (await readdir(temporary)).length === 0);
    },
    /** Lets all leases and pauses pass, as if a minute had passed. */
    expire: async (): Promise<void> => {
      await client`update job_slots set leased_until = now()`;
      await client`update jobs set run_at = now(), leased_until = case when lease is not null then now() end`;
    },
  };
};

/** The state of an asset in the database, with its job. */
export type AssetState = {
  status: string;
  errorCode: string | null;
  errorDetail: string | null;
  attempts: number | null;
  lastError: string | null;
};

const jobOf = (asset: AssetRecord, now: Date): JobRecord => ({
  id: newId("job", now, random),
  tenantId: asset.tenantId,
  environment: asset.environment,
  kind: "process_asset",
  targetId: asset.id,
  generation: 1,
  runAt: now,
});

/** Writes an asset with its job. */
const insert = async ({ db }: TestDatabase, asset: AssetRecord, caller: Caller): Promise<AssetRecord> => {
  const write = { asset, job: jobOf(asset, asset.createdAt), quota: QUOTA };
  const { kind } = await insertAsset(db, write, caller, seedOrigin(caller));
  if (kind !== "written") throw new Error(`the asset was not written: ${kind}`);
  return asset;
};

const assetTools = (database: TestDatabase, storage: Storage, caller: Caller) => {
  const { client } = database.db;
  const owned = (by: Caller) => {
    const now = new Date();
    return { id: newId("ast", now, random), tenantId: by.tenantId, environment: by.environment, now };
  };
  return {
    /** Stores the bytes of an image and writes its asset, with a job. */
    seedUpload: async (bytes: Uint8Array, kind: AssetKind = "image", by = caller): Promise<AssetRecord> => {
      const sizeBytes = bytes.byteLength;
      const fields = {
        kind,
        status: "uploaded",
        contentType: "image/png",
        sizeBytes,
        reservedBytes: sizeBytes,
      } as const;
      const asset = newAsset({ ...owned(by), ...fields }, random);
      const stream = new Blob([Buffer.from(bytes)]).stream();
      await storage.put(originalKey(asset), { stream, sizeBytes }, "image/png");
      return insert(database, asset, by);
    },
    seedRemote: (remoteUrl: string): Promise<AssetRecord> => {
      const fields = { kind: "image", status: "pending_upload", remoteUrl, reservedBytes: 1 } as const;
      return insert(database, newAsset({ ...owned(caller), ...fields }, random), caller);
    },
    stateOf: async ({ tenantId, id }: AssetRecord): Promise<AssetState> => {
      const [row] = await client<AssetState[]>`
        select status, error_code as "errorCode", error_detail as "errorDetail", attempts, last_error as "lastError"
        from assets left join jobs on jobs.tenant_id = assets.tenant_id and target_id = assets.id
        where assets.tenant_id = ${tenantId} and assets.id = ${id}`;
      if (!row) throw new Error("there is no such asset");
      return { ...row };
    },
    filesOf: async (asset: AssetRecord): Promise<{ original: boolean; public: boolean }> => {
      const [original, published] = await Promise.all([originalKey, publicKey].map((key) => storage.stat(key(asset))));
      return { original: original !== null, public: published !== null };
    },
  };
};

/** Opens a world on `database`; by default on a new one, which it closes. */
export const openWorld = async (shared?: TestDatabase) => {
  const [database, folder] = await Promise.all([shared ?? testDatabase({ isServed: true }), temporaryFolder()]);
  const [data, temporary] = [join(folder, "data"), join(folder, "temporary")];
  await Bun.$`mkdir -p ${data} ${temporary}`.quiet();
  const storage = await openStorage(
    { kind: "disk", directory: join(data, "assets"), signingSecret: null },
    { origin: () => "http://localhost" },
  );
  const caller = await seedCaller(database.db);
  const loops = loopTools(database.db, storage, temporary);
  return {
    ...avatarTools(database, storage, caller),
    ...assetTools(database, storage, caller),
    ...loops,
    database,
    storage,
    /** The data directory; the store is in `assets` below it. */
    data,
    caller,
    close: async (): Promise<void> => {
      await loops.stopLoops();
      await storage.close();
      if (!shared) await database.close();
      await rm(folder, { recursive: true });
    },
  };
};
export type World = Awaited<ReturnType<typeof openWorld>>;

/**
 * A world for each test of the file, on one database. Its jobs are removed after each test, because a job loop serves
 * all tenants.
 */
export const eachWorld = (): World => {
  // No test asserts a time: a slow disk must not fail one.
  setDefaultTimeout(120_000);
  const world = {} as World;
  let database: TestDatabase;
  beforeAll(async () => {
    database = await testDatabase({ isServed: true });
  });
  beforeEach(async () => void Object.assign(world, await openWorld(database)));
  afterEach(async () => {
    await world.close();
    await database.db.client`truncate jobs, job_slots, avatars, assets cascade`;
  });
  afterAll(() => database.close());
  return world;
};
