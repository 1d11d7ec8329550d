/** The sweep of stored files without an asset. */
import { describe, expect, test } from "bun:test";
import { oneDatabase } from "@realtime-avatar/db/databases/databases";
import { originalKey, publicKey, uploadKey } from "@realtime-avatar/domain/assets/asset";
import type { AvatarRecord } from "@realtime-avatar/domain/avatars/avatar";
import { manifestId, type PreparedType, preparedFile, preparedKey } from "@realtime-avatar/domain/avatars/preparation";
import { newId, type TenantId } from "@realtime-avatar/domain/id";
import { fragmentKey, recordingKey } from "@realtime-avatar/domain/recordings/files";
import { StorageError } from "@realtime-avatar/storage/storage";
import { random } from "@realtime-avatar/testing/random-bytes";
import { eachWorld } from "../../test/support/world.ts";
import { createObjectSweep, type ObjectSweepOptions } from "./objects.ts";

const world = eachWorld();

const DAY_MS = 86_400_000;
const never = new AbortController().signal;
const put = (key: string) => world.storage.put(key, { stream: new Blob(["x"]).stream(), sizeBytes: 1 }, "image/png");
const keys = async (): Promise<string[]> => {
  const files = await Array.fromAsync(world.storage.list(""));
  return files.map(({ key }) => key).sort();
};
const sweepOf = (options: Partial<ObjectSweepOptions> = {}) =>
  createObjectSweep({
    databases: oneDatabase(world.database.db),
    storage: world.storage,
    log: world.log,
    pauseScale: 0,
    // Makes every file of the test older than a day.
    now: () => new Date(Date.now() + DAY_MS + 1000),
    ...options,
  });
const unknownAsset = () => ({ tenantId: newId("ten", new Date(), random), id: newId("ast", new Date(), random) });
const setStatus = ({ id }: { id: string }, status: string, code: string | null = null) =>
  world.database.db.client`
    update assets set status = ${status}, error_code = ${code}, error_detail = ${code} where id = ${id}`;

test("the sweep, of unknown, failed and deleted assets: removes only their files", async () => {
  const [kept, failed, deleted] = await Promise.all([1, 2, 3].map(() => world.seedUpload(Buffer.from("x"))));
  const pending = await world.seedRemote("https://files.example.com/ada.png");
  if (!kept || !failed || !deleted) throw new Error("unreachable");
  await setStatus(failed, "failed", "internal");
  await setStatus(deleted, "deleted");
  const unknown = unknownAsset();
  for (const asset of [kept, failed, deleted, pending, unknown]) {
    for (const keyOf of [originalKey, publicKey, uploadKey]) await put(keyOf(asset));
  }
  // Files of another program in the same bucket.
  const foreign = [
    "backup/2026-11-22",
    `originals/${kept.tenantId}`,
    `originals/${kept.tenantId}/${kept.id}/x`,
    "originals/a/b",
  ];
  for (const key of foreign) await put(key);
  const sweep = sweepOf();
  expect(await sweep(never)).toBe(3 * 3 + 1);
  const left = [kept, pending].flatMap((asset) => [originalKey(asset), publicKey(asset)]);
  expect(await keys()).toEqual([...left, uploadKey(pending), ...foreign].sort());
  // The next pass examines all folders again.
  for (const keyOf of [originalKey, publicKey, uploadKey]) await put(keyOf(unknown));
  expect(await sweep(never)).toBe(3);
});

test("the sweep, of a tenant whose database is unknown: keeps its files, and continues with those of others", async () => {
  const [strange, unknown] = [unknownAsset(), unknownAsset()];
  for (const asset of [strange, unknown]) await put(originalKey(asset));
  const one = oneDatabase(world.database.db);
  const refused = { ...world.database.db, run: () => Promise.reject(new Error("This database is not known.")) };
  const databases = { ...one, ofTenant: (id: TenantId) => (id === strange.tenantId ? refused : one.ofTenant(id)) };
  expect(await sweepOf({ databases })(never)).toBe(1);
  expect(await keys()).toEqual([originalKey(strange)]);
});

test("the sweep, of young files: an hour for signed uploads, a day for others", async () => {
  const unknown = unknownAsset();
  const pending = await world.seedRemote("https://files.example.com/ada.png");
  for (const keyOf of [originalKey, publicKey, uploadKey]) await put(keyOf(unknown));
  await put(uploadKey(pending));
  const { modifiedAt } = (await world.storage.stat(uploadKey(unknown))) ?? { modifiedAt: new Date() };
  const after = (milliseconds: number) => sweepOf({ now: () => new Date(modifiedAt.getTime() + milliseconds) })(never);
  expect(await after(DAY_MS / 24 - 1)).toBe(0);
  expect(await after(DAY_MS / 24)).toBe(1);
  expect(await keys()).toEqual([originalKey(unknown), publicKey(unknown), uploadKey(pending)].sort());
});

describe("prepared files", () => {
  const file = (generation: number, type: PreparedType = "webp") =>
    preparedFile(generation, Buffer.from(random(32)).toString("hex"), type);
  /** Writes an avatar that has served the files of this generation since `hours` ago. */
  const seedServing = async (generation: number, hours = 2): Promise<AvatarRecord> => {
    const asset = await world.seedReady(Buffer.from("x"));
    const avatar = await world.seedAvatar(asset.id);
    await world.database.db.client`
      update avatars
      set generation = ${generation}, status = 'ready', cache_manifest_id = ${manifestId(generation, "0".repeat(64))},
        updated_at = now() - make_interval(hours => ${hours})
      where id = ${avatar.id}`;
    await world.database.db.client`delete from jobs where target_id = ${avatar.id}`;
    return avatar;
  };
  const putFiles = async (avatar: Pick<AvatarRecord, "tenantId" | "id">, generation: number): Promise<string[]> => {
    const files = [file(generation), file(generation, "loop"), file(generation, "json")].map((name) =>
      preparedKey(avatar, name),
    );
    for (const key of files) await put(key);
    return files;
  };
  const prepared = async () => (await keys()).filter((key) => key.startsWith("prepared/"));

  test("prepared files, of several generations: the served generation and the next one remain", async () => {
    const [serving, preparing, deleted] = [await seedServing(3), await seedServing(3), await seedServing(3)];
    const { client } = world.database.db;
    await client`update avatars set status = 'deleted' where id = ${deleted.id}`;
    // The preparation runs in the background, so its generation is written before its job ends.
    await client`update avatars set generation = 4 where id = ${preparing.id}`;
    await world.seedPreparation({ ...preparing, generation: 4 });
    const kept = [
      ...(await putFiles(serving, 3)),
      ...(await putFiles(preparing, 3)),
      ...(await putFiles(preparing, 4)),
    ];
    for (const avatar of [serving, preparing]) await putFiles(avatar, 2);
    await putFiles(deleted, 3);
    // Files of a canceled preparation that were stored after the cancellation.
    await putFiles(serving, 4);
    await putFiles({ tenantId: serving.tenantId, id: newId("ava", new Date(), random) }, 1);
    expect(await sweepOf()(never)).toBe(3 * 5);
    expect(await prepared()).toEqual(kept.sort());
  });

  test("prepared files, served until now: remain for an hour", async () => {
    const [now, before] = [await seedServing(12, 0), await seedServing(12, 2)];
    const kept = [...(await putFiles(now, 12)), ...(await putFiles(now, 11)), ...(await putFiles(before, 12))];
    await putFiles(before, 11);
    // A source that is swapped repeatedly does not fill the store.
    await putFiles(now, 2);
    await sweepOf()(never);
    expect(await prepared()).toEqual(kept.sort());
  });

  test("prepared files, of a hundred deleted generations: removed", async () => {
    const avatar = await seedServing(40);
    for (let generation = 1; generation <= 34; generation++) await putFiles(avatar, generation);
    await world.database.db.client`update avatars set status = 'deleted' where id = ${avatar.id}`;
    expect(await sweepOf()(never)).toBe(3 * 34);
    expect(await prepared()).toEqual([]);
  });

  test("prepared files, mostly of unknown avatars: kept, because the store may belong to another database", async () => {
    for (let count = 0; count < 34; count++) {
      await putFiles({ tenantId: world.caller.tenantId, id: newId("ava", new Date(), random) }, 1);
    }
    expect(await sweepOf()(never)).toBe(0);
    expect(await prepared()).toHaveLength(3 * 34);
  });
});

test("the sweep, of files under a day old: keeps them", async () => {
  await put(originalKey(unknownAsset()));
  expect(await sweepOf({ now: () => new Date(Date.now() + DAY_MS - 60_000) })(never)).toBe(0);
  expect(await keys()).toHaveLength(1);
});

test("the sweep, failing in a step: resumes at that step, a few files at a time", async () => {
  const asset = await world.seedUpload(Buffer.from("x"));
  const unknown = Array.from({ length: 9 }, unknownAsset);
  for (const each of unknown) await put(originalKey(each));
  const lists: number[] = [];
  let failures = 0;
  const { storage } = world;
  const sweep = sweepOf({
    stepFiles: 3,
    storage: {
      ...storage,
      list: (prefix, after, limit) => {
        lists.push(limit ?? Number.POSITIVE_INFINITY);
        return storage.list(prefix, after, limit);
      },
      delete: async (key) => {
        if (key === originalKey(unknown[5] as never) && failures++ === 0) throw new StorageError("unavailable", "away");
        await storage.delete(key);
      },
    },
  });
  await expect(sweep(never)).rejects.toThrow("away");
  const before = await keys();
  expect(before).toContain(originalKey(unknown[5] as never));
  await sweep(never);
  expect(await keys()).toEqual([originalKey(asset)]);
  expect(new Set(lists)).toEqual(new Set([3]));
});

test("the sweep, of files of recordings: removes those that no row names, once they are a day old", async () => {
  const { client } = world.database.db;
  const { tenantId } = world.caller;
  const [now, sessionId] = [new Date(), newId("ses", new Date(), random)];
  const ids = [newId("rec", now, random), newId("rec", now, random)] as const;
  const call = { tenantId, sessionId };
  await client`insert into recording_fragments (tenant_id, session_id, generation, n, worker_id, size_bytes)
    values (${tenantId}, ${sessionId}, 1, 0, 'one', 1)`;
  await client`insert into recordings (tenant_id, id, environment, session_id, mode, status, key, size_bytes, duration_ms,
      media_started_at, media_ended_at, created_at, ended_at, retained_until)
    values (${tenantId}, ${ids[0]}, 'live', ${sessionId}, 'audio', 'ready', ${recordingKey(call, ids[0], 2)}, 1, 1, now(), now(), now(),
      now(), now())`;
  await client`insert into unneeded_files values (${tenantId}, ${fragmentKey(call, { generation: 2, n: 0 })}, now())`;
  const named = [
    fragmentKey(call, { generation: 1, n: 0 }),
    fragmentKey(call, { generation: 2, n: 0 }),
    recordingKey(call, ids[0], 2),
    `recordings/${tenantId}/${sessionId}/of-another-program`,
  ];
  const others = [
    fragmentKey(call, { generation: 1, n: 1 }),
    recordingKey(call, ids[0], 1),
    recordingKey(call, ids[1], 1),
  ];
  for (const key of [...named, ...others]) await put(key);
  expect(await sweepOf({ now: () => new Date() })(never)).toBe(0);
  expect(await sweepOf()(never)).toBe(others.length);
  expect(await keys()).toEqual(named.toSorted());
});

test("the sweep, aborted: ends, and the next one goes on", async () => {
  for (let count = 0; count < 4; count++) await put(originalKey(unknownAsset()));
  const stopping = new AbortController();
  const { storage } = world;
  const sweep = sweepOf({
    storage: {
      ...storage,
      delete: async (key) => {
        stopping.abort();
        await storage.delete(key);
      },
    },
  });
  await expect(sweep(stopping.signal)).rejects.toThrow();
  expect(await keys()).toHaveLength(3);
  await sweep(never);
  expect(await keys()).toEqual([]);
});

test("the sweep, most files without an asset: removes no file, logs an error", async () => {
  for (let count = 0; count < 100; count++) await put(originalKey(unknownAsset()));
  expect(await sweepOf()(never)).toBe(0);
  expect(await keys()).toHaveLength(100);
  expect(world.lines).toMatchObject([{ level: 50, files: 100, withoutRow: 100 }]);
});
