/** What the tests of jobs share: a database, a store on a disk, assets with their jobs, and their states. */
import { afterEach, beforeEach, setDefaultTimeout } from "bun:test";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Caller } from "@realtime-avatar/db/api-keys/callers";
import { insertAsset } from "@realtime-avatar/db/assets/assets";
import type { JobRecord } from "@realtime-avatar/db/jobs/jobs";
import { type AssetRecord, newAsset, originalKey, publicKey } from "@realtime-avatar/domain/assets/asset";
import type { AssetKind } from "@realtime-avatar/domain/assets/limits";
import { newId } from "@realtime-avatar/domain/id";
import { createLog, type Logger } from "@realtime-avatar/runtime/log";
import { openStorage } from "@realtime-avatar/storage/open";
import type { Storage } from "@realtime-avatar/storage/storage";
import { type TestDatabase, testDatabase } from "@realtime-avatar/testing/database";
import { random } from "@realtime-avatar/testing/random-bytes";
import { originOf, seedCaller } from "@realtime-avatar/testing/seeds";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import sharp from "sharp";
import type { JobHandler } from "../../src/jobs/handler.ts";
import { avatarTools } from "./avatars.ts";

const QUOTA = { maxAssets: 1_000_000, maxBytes: Number.MAX_SAFE_INTEGER };

/** A PNG of noise, `side` pixels wide and high. */
export const noise = (side = 64): Promise<Buffer> =>
  sharp(random(side * side * 3), { raw: { width: side, height: side, channels: 3 } })
    .png()
    .toBuffer();

/** A handler of jobs that the test does not have. */
export const unexpected: JobHandler = async ({ kind }) => {
  throw new Error(`there is a job ${kind}`);
};

/** The state of an asset in the database, with its job. */
export type AssetState = {
  status: string;
  errorCode: string | null;
  errorDetail: string | null;
  attempts: number | null;
  lastError: string | null;
};

export type World = ReturnType<typeof avatarTools> & {
  database: TestDatabase;
  storage: Storage;
  /** The data directory; the store is in `assets` below it. */
  data: string;
  /** A folder for the temporary files of jobs. */
  temporary: string;
  caller: Caller;
  log: Logger;
  lines: Record<string, unknown>[];
  /** Stores the bytes of an image and writes its asset, with a job. */
  seedUpload(bytes: Uint8Array, kind?: AssetKind, caller?: Caller): Promise<AssetRecord>;
  seedRemote(url: string, kind?: AssetKind): Promise<AssetRecord>;
  stateOf(asset: AssetRecord): Promise<AssetState>;
  /** Waits until there is no job. */
  untilDone(): Promise<void>;
  /** Lets all leases and pauses pass, as if a minute had. */
  expire(): Promise<void>;
  filesOf(asset: AssetRecord): Promise<{ original: boolean; public: boolean }>;
  close(): Promise<void>;
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
  const { kind } = await insertAsset(db, write, caller, originOf(caller));
  if (kind !== "written") throw new Error(`the asset was not written: ${kind}`);
  return asset;
};

/** Opens a world of its own. */
export const openWorld = async (): Promise<World> => {
  const [database, folder] = await Promise.all([testDatabase(), temporaryFolder()]);
  const { client } = database.db;
  const [data, temporary] = [join(folder, "data"), join(folder, "temporary")];
  await Bun.$`mkdir -p ${data} ${temporary}`.quiet();
  const storage = await openStorage(
    { kind: "disk", directory: join(data, "assets"), signingSecret: null },
    { origin: () => "http://localhost" },
  );
  const caller = await seedCaller(database.db);
  const lines: Record<string, unknown>[] = [];
  const owned = (by: Caller) => {
    const now = new Date();
    return { id: newId("ast", now, random), tenantId: by.tenantId, environment: by.environment, now };
  };
  return {
    ...avatarTools(database, storage, caller),
    database,
    storage,
    data,
    temporary,
    caller,
    lines,
    log: createLog("debug", { write: (line) => void lines.push(JSON.parse(line)) }),
    seedUpload: async (bytes, kind = "image", by = caller) => {
      const sizeBytes = bytes.byteLength;
      const fields = {
        kind,
        status: "uploaded",
        contentType: "image/png",
        sizeBytes,
        reservedBytes: sizeBytes,
      } as const;
      const asset = newAsset({ ...owned(by), ...fields }, random);
      await storage.put(
        originalKey(asset),
        { stream: new Blob([Buffer.from(bytes)]).stream(), sizeBytes },
        "image/png",
      );
      return insert(database, asset, by);
    },
    seedRemote: (remoteUrl, kind = "image") =>
      insert(
        database,
        newAsset({ ...owned(caller), kind, status: "pending_upload", remoteUrl, reservedBytes: 1 }, random),
        caller,
      ),
    stateOf: async ({ tenantId, id }) => {
      const [row] = await client<AssetState[]>`
        select status, error_code as "errorCode", error_detail as "errorDetail", attempts, last_error as "lastError"
        from assets left join jobs on jobs.tenant_id = assets.tenant_id and target_id = assets.id
        where assets.tenant_id = ${tenantId} and assets.id = ${id}`;
      if (!row) throw new Error("there is no such asset");
      return { ...row };
    },
    untilDone: async () => {
      while ((await client`select 1 from jobs limit 1`).length > 0) await Bun.sleep(20);
    },
    expire: async () => {
      await client`update job_slots set leased_until = now()`;
      await client`update jobs set run_at = now(), leased_until = case when lease is not null then now() end`;
    },
    filesOf: async (asset) => {
      const [original, published] = await Promise.all([originalKey, publicKey].map((key) => storage.stat(key(asset))));
      return { original: original !== null, public: published !== null };
    },
    close: async () => {
      await storage.close();
      await database.close();
      await rm(folder, { recursive: true });
    },
  };
};

/** A world for each test of the file, which is closed after it. `ending` comes before. */
export const eachWorld = (ending: () => Promise<unknown> = async () => {}): World => {
  // No test asserts a time: a slow disk must not fail one.
  setDefaultTimeout(120_000);
  const world = {} as World;
  beforeEach(async () => void Object.assign(world, await openWorld()));
  afterEach(async () => {
    await ending();
    await world.close();
  });
  return world;
};
