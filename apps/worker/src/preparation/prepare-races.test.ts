/** Events during the preparation of an avatar: a deletion, a new source, another worker, an unavailable store. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { originalKey } from "@realtime-avatar/domain/assets/asset";
import { preparedFile, preparedKey } from "@realtime-avatar/domain/avatars/preparation";
import { openStorage } from "@realtime-avatar/storage/open";
import { type Storage, StorageError } from "@realtime-avatar/storage/storage";
import { canMountDisk } from "@realtime-avatar/testing/storage/small-disk";
import { preparationTests } from "../../test/support/preparations.ts";
import { withSmallDisk } from "../../test/support/small-disk.ts";
import { accept, FAILED, PASSED, refuse } from "../../test/support/source-checks.ts";
import { noise } from "../../test/support/world.ts";
import { createTemporaryFolders } from "../jobs/temporary-folders.ts";
import type { CheckSource } from "./check-source.ts";

const { world, start, seed, settled, change, auditOf } = preparationTests();

/** A check of a source that waits: `started` resolves when it begins. It ends after `goOn`. */
const held = (checkSource: CheckSource = accept) => {
  const started = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  let isFirst = true;
  const waiting: CheckSource = async (...source) => {
    if (!isFirst) return checkSource(...source);
    isFirst = false;
    const checked = await checkSource(...source);
    started.resolve();
    await goOn.promise;
    return checked;
  };
  return { checkSource: waiting, started: started.promise, goOn: goOn.resolve };
};

test.each(["while its source is checked", "while its files are stored"])(
  "an avatar, deleted %s: stays deleted, no file remains in the store",
  async (when) => {
    const avatar = await seed();
    const { storage } = world;
    let isDeleted = false;
    const deleteNow = async (moment: string): Promise<void> => {
      if (!when.includes(moment) || isDeleted) return;
      isDeleted = true;
      await change(avatar, { status: "deleted" });
    };
    start({
      checkSource: async (...args) => {
        const checked = await accept(...args);
        await deleteNow("checked");
        return checked;
      },
      storage: {
        ...storage,
        put: async (key, ...others) => {
          await deleteNow("stored");
          await storage.put(key, ...others);
        },
      },
    });
    await world.ended();
    const [row] = await world.database.db.client`select status from avatars where id = ${avatar.id}`;
    expect(row?.["status"]).toBe("deleted");
    expect(await world.preparedOf(avatar)).toEqual([]);
    expect(await auditOf(avatar)).toEqual(["avatar.created", "avatar.deleted"]);
  },
);

test("a worker that loses its lease: does not change the next worker's preparation", async () => {
  const avatar = await seed();
  const { checkSource, started, goOn } = held();
  start({ checkSource });
  await started;
  // The first worker does not claim the job again, because it must run alone there.
  start({ checkSource });
  await world.expire();
  const ready = await settled(avatar);
  expect(ready).toMatchObject({ status: "ready", cacheVersion: 1 });
  const files = await world.preparedOf(avatar);
  goOn();
  await world.ended(2);
  expect(await world.currentOf(avatar)).toEqual(ready);
  expect(await world.preparedOf(avatar)).toEqual(files);
  expect(await auditOf(avatar)).toEqual(["avatar.created", "avatar.prepared"]);
});

test("a worker that loses its lease after storing: the next worker uses its files", async () => {
  const avatar = await seed();
  const stored = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const { storage } = world;
  let manifests = 0;
  const slow: Storage = {
    ...storage,
    put: async (key, ...others) => {
      await storage.put(key, ...others);
      if (!key.endsWith("-json") || manifests++ > 0) return;
      stored.resolve();
      await goOn.promise;
    },
  };
  const { checkSource, started, goOn: goOnSecond } = held();
  let checks = 0;
  const options: Parameters<typeof start>[0] = {
    storage: slow,
    checkSource: (...source) => (checks++ === 0 ? accept(...source) : checkSource(...source)),
  };
  start(options);
  await stored.promise;
  const files = await world.preparedOf(avatar);
  start(options);
  await world.expire();
  await started;
  goOn.resolve();
  await world.ended();
  expect(await world.preparedOf(avatar)).toEqual(files);
  goOnSecond();
  expect(await settled(avatar)).toMatchObject({ status: "ready", cacheVersion: 1 });
  expect(await world.preparedOf(avatar)).toEqual(files);
});

test("a new source, while it is prepared: the old one is served, then replaced", async () => {
  const avatar = await seed();
  start();
  const first = await settled(avatar);
  await world.stopLoops();
  const files = await world.preparedOf(avatar);
  const source = await world.seedReady(await noise());
  await change(avatar, { sourceAssetId: source.id });
  const { checkSource, started, goOn } = held();
  start({ checkSource });
  await started;
  const { sourceAssetId, cacheManifestId, previewFile, previewToken } = first;
  expect(await world.currentOf(avatar)).toMatchObject({
    ...{ sourceAssetId, cacheManifestId, previewFile, previewToken },
    status: "ready",
    pendingSourceAssetId: source.id,
  });
  goOn();
  const second = await settled(avatar);
  expect(second).toMatchObject({
    status: "ready",
    sourceAssetId: source.id,
    pendingSourceAssetId: null,
    cacheVersion: 2,
    generation: 2,
    previewToken,
    cacheManifestId: expect.stringMatching(/^man_2_/),
    previewFile: expect.stringMatching(/^2\//),
  });
  // A call may have read the manifest a moment ago.
  expect(await world.preparedOf(avatar)).toEqual(expect.arrayContaining(files));
  expect(await world.preparedOf(avatar)).toHaveLength(8);
});

test("an avatar, prepared repeatedly: keeps only the files of its last generations", async () => {
  const avatar = await seed();
  start();
  expect(await settled(avatar)).toMatchObject({ status: "ready", generation: 1 });
  const { storage, database } = world;
  const fileOf = (generation: number) => preparedFile(generation, "0".repeat(64), "json");
  for (const generation of [2, 3, 4, 11]) {
    const stored = { stream: new Blob(["{}"]).stream(), sizeBytes: 2 };
    await storage.put(preparedKey(avatar, fileOf(generation)), stored, "application/json");
  }
  await database.db.client`update avatars set generation = 11 where id = ${avatar.id}`;
  await change(avatar, { sourceAssetId: (await world.seedReady(await noise())).id });
  await world.ended(2);
  expect(await world.currentOf(avatar)).toMatchObject({ status: "ready", generation: 12, cacheVersion: 2 });
  const files = await world.preparedOf(avatar);
  expect(files.filter((file) => !file.startsWith("12/"))).toEqual([fileOf(11), fileOf(4)]);
  expect(files).toHaveLength(6);
});

test("a new source, failing a check: the old one stays, with the error", async () => {
  const avatar = await seed();
  start();
  const first = await settled(avatar);
  await world.stopLoops();
  await change(avatar, { sourceAssetId: (await world.seedReady(await noise())).id });
  start({ checkSource: refuse });
  const { sourceAssetId, cacheManifestId, previewFile, previewToken } = first;
  expect(await settled(avatar)).toMatchObject({
    ...{ sourceAssetId, cacheManifestId, previewFile, previewToken },
    status: "ready",
    pendingSourceAssetId: null,
    error: "No face was found.",
    checks: [PASSED, FAILED],
    cacheVersion: 1,
  });
  expect(await world.preparedOf(avatar)).toHaveLength(4);
});

test("a preparation, replaced by another: has no effect", async () => {
  const avatar = await seed();
  const source = await world.seedReady(await noise());
  const stored = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const { storage } = world;
  const slow: Storage = {
    ...storage,
    put: async (key, ...others) => {
      await storage.put(key, ...others);
      if (!/\/1\/.*-json$/.test(key)) return;
      stored.resolve();
      await goOn.promise;
    },
  };
  start({ storage: slow });
  await stored.promise;
  await change(avatar, { sourceAssetId: source.id });
  expect(await settled(avatar)).toMatchObject({ status: "ready", sourceAssetId: source.id, cacheVersion: 1 });
  goOn.resolve();
  await world.ended(2);
  expect(await world.currentOf(avatar)).toMatchObject({ status: "ready", sourceAssetId: source.id, cacheVersion: 1 });
  expect(await auditOf(avatar)).toEqual(["avatar.created", "avatar.updated", "avatar.prepared"]);
});

test.each([0, 1, 2, 3])("a preparation, file %i not stored: tried again with the same files", async (index) => {
  const avatar = await seed();
  const { storage } = world;
  const puts: string[] = [];
  const seen = Promise.withResolvers<void>();
  start({
    retrySeconds: 0,
    storage: {
      ...storage,
      put: async (key, ...others) => {
        if (puts.push(key) === index + 1) {
          expect(await world.currentOf(avatar)).toMatchObject({ status: "preprocessing", cacheManifestId: null });
          seen.resolve();
          throw new StorageError("unavailable", "The store did not answer in time.");
        }
        await storage.put(key, ...others);
      },
    },
  });
  await seen.promise;
  await world.untilDone();
  expect(await world.currentOf(avatar)).toMatchObject({ status: "ready", cacheVersion: 1 });
  expect(await world.preparedOf(avatar)).toHaveLength(4);
  const second = puts.slice(index + 1);
  expect(puts.slice(0, index + 1)).toEqual(second.slice(0, index + 1));
});

test("a preparation, the store failing five times: failed, with a reason other than the source", async () => {
  const avatar = await seed();
  const { storage } = world;
  const put = async (): Promise<never> => {
    throw new StorageError("unavailable", "The store did not answer in time.");
  };
  start({ retrySeconds: 0, storage: { ...storage, put } });
  // The row shows the end a moment before the log does.
  await world.ended(5);
  expect(await world.currentOf(avatar)).toMatchObject({
    status: "failed",
    error: expect.stringContaining("not in its source"),
    checks: [],
  });
  expect(world.lines.filter(({ msg }) => msg === "a job has failed for the last time")).toHaveLength(1);
});

describe.skipIf(!canMountDisk)("a full disk (as root, who may mount a small file system)", () => {
  test.each(["temporary files", "stored files"])(
    "a full disk, for %s: the job is tried again, with the reason",
    async (which) => {
      await withSmallDisk(async (full) => {
        const isStore = which === "stored files";
        // The source fits, but the pictures beside it do not.
        const source = await world.seedReady(await noise(isStore ? 500 : 800));
        const avatar = await world.seedAvatar(source.id);
        const disk = { kind: "disk", directory: join(full, "assets"), signingSecret: null } as const;
        const storage = isStore ? await openStorage(disk, { origin: () => "http://localhost" }) : world.storage;
        if (isStore) {
          const stored = await world.storage.open(originalKey(source));
          if (stored) await storage.put(originalKey(source), stored, "image/png");
        }
        start({ storage, temporary: createTemporaryFolders(isStore ? world.temporary : full) });
        const state = await settled(avatar);
        expect(state).toMatchObject({ status: "preprocessing", attempts: 1, cacheManifestId: null });
        expect(state.lastError).toMatch(isStore ? /^The disk has no room for the file\.$/ : /ENOSPC/);
        await world.stopLoops();
        if (isStore) await storage.close();
      });
    },
  );
});
