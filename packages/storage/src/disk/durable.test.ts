/**
 * Before a write resolves, the content of the file and then its name are on the disk. Only then the caller writes a
 * row.
 */
import { expect, test } from "bun:test";
import { existsSync, statSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { canSeeSyncs, recordSyncs } from "@realtime-avatar/testing/storage/syncs";
import { md5Base64, pseudoRandomBytes, streamChunks } from "../bytes-testing.ts";
import { openStorage } from "../open.ts";
import type { Storage } from "../storage.ts";
import { createFolder, writeOnce } from "./files.ts";
import { TRAILER_BYTES } from "./trailer.ts";

const root = await fileFolder();
const source = join(root, "source");
await writeFile(source, pseudoRandomBytes(1, 1000));
let stores = 0;
const openStore = () => {
  const directory = join(root, "stores", String(stores++), "assets");
  const storage = openStorage({ kind: "disk", directory, signingSecret: null }, { origin: () => "" });
  return { directory, storage };
};
/** Paths within a folder, with the random names of files that are being written as `*`. */
const within = (folder: string, path: string): string => path.replace(`${folder}/`, "").replace(/[0-9a-f]{32}$/, "*");

const folderOf = (key: string): string => new Bun.CryptoHasher("sha256").update(key).digest("hex").slice(0, 2);
const put = (storage: Storage, key: string) =>
  storage.put(key, { stream: streamChunks([pseudoRandomBytes(1, 1000)]), sizeBytes: 1000 }, "image/png");

test.skipIf(!canSeeSyncs).each<[string, (storage: Storage) => Promise<unknown>]>([
  ["a stream", (storage) => put(storage, "new/one")],
  ["a local file", (storage) => storage.put("new/one", { path: source }, "image/png")],
  ["a copy", (storage) => storage.copy("old/one", "new/one")],
  [
    "a signed upload",
    async (storage) => {
      const bytes = pseudoRandomBytes(1, 1000);
      const upload = {
        key: "new/one",
        contentType: "a/b",
        sizeBytes: 1000,
        md5: md5Base64(bytes),
        expiresAt: new Date(),
      };
      await storage.served?.receive(upload, streamChunks([bytes]));
    },
  ],
])("%s, stored: its content is durable before it is renamed, then its name", async (_, store) => {
  const { directory, storage: opening } = openStore();
  const storage = await opening;
  await put(storage, "old/one");
  const folder = folderOf("new/one");
  const file = join(directory, "objects", folder, "new.one");
  const syncs = await recordSyncs(
    () => store(storage),
    () => (existsSync(file) ? statSync(file).size : null),
  );
  expect(syncs.map(({ path, seen }) => [within(directory, path), seen])).toEqual([
    ["temporary/*", null],
    [`objects/${folder}`, 1000 + TRAILER_BYTES],
  ]);
});

test.skipIf(!canSeeSyncs)("a file, deleted: the deletion is durable", async () => {
  const { directory, storage: opening } = openStore();
  const storage = await opening;
  await put(storage, "old/one");
  const file = join(directory, "objects", folderOf("old/one"), "old.one");
  const syncs = await recordSyncs(
    () => storage.delete("old/one"),
    () => existsSync(file),
  );
  expect(syncs).toEqual([{ path: join(directory, "objects", folderOf("old/one")), seen: false }]);
});

test.skipIf(!canSeeSyncs)("a new store: the names of its folders are durable, up to an existing folder", async () => {
  let [directory, storage]: [string, Promise<Storage> | null] = ["", null];
  const syncs = await recordSyncs(
    async () => {
      ({ directory, storage } = openStore());
      await storage;
    },
    () => existsSync(join(directory, "objects/ff")),
  );
  const paths = syncs.map(({ path }) => within(root, path));
  const [store] = directory.replace(`${root}/`, "").split("/assets");
  // The folder `stores` exists already, unless this test runs first.
  expect(paths.filter((path) => path !== root && path !== "stores")).toEqual([
    ...[`${store}`, `${store}/assets/temporary/*`, `${store}/assets`, `${store}/assets/objects`, `${store}/assets`],
  ]);
  expect(syncs.at(-2)).toMatchObject({ seen: true });
});

test.skipIf(!canSeeSyncs)(
  "a file that is written once: its content is durable before it is renamed, then its name",
  async () => {
    const path = join(root, "secret");
    const syncs = await recordSyncs(
      () => writeOnce(root, path, "text"),
      () => existsSync(path),
    );
    expect(syncs.map((sync) => [within(root, sync.path), sync.seen])).toEqual([
      ["*", false],
      [root, true],
    ]);
  },
);

test.skipIf(!canSeeSyncs)("folders that are created: the name of each is durable", async () => {
  const syncs = await recordSyncs(
    () => createFolder(join(root, "a/b/c"), 0o700),
    () => existsSync(join(root, "a/b/c")),
  );
  expect(syncs.map(({ path, seen }) => [path, seen])).toEqual(
    ["a/b", "a", ""].map((name) => [join(root, name).replace(/\/$/, ""), true]),
  );
  expect(
    await recordSyncs(
      () => createFolder(join(root, "a/b"), 0o700),
      () => true,
    ),
  ).toEqual([]);
});
