import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { canMountDisk, mountDisk } from "@realtime-avatar/testing/storage/small-disk";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import { md5Base64, pseudoRandomBytes, streamChunks } from "../bytes-testing.ts";
import { openStorage } from "../open.ts";
import type { Storage } from "../storage.ts";

setDefaultTimeout(120_000);

describe.skipIf(!canMountDisk)("a disk without room", () => {
  let root: string;
  let disk: string;
  let storage: Storage;
  let unmount: () => void;
  beforeAll(async () => {
    root = await temporaryFolder();
    disk = join(root, "disk");
    unmount = await mountDisk(disk, "4m");
    storage = await openStorage(
      { kind: "disk", directory: join(disk, "assets"), signingSecret: null },
      { origin: () => "" },
    );
    await storage.put(
      "kept",
      { stream: streamChunks([pseudoRandomBytes(1, 100_000)]), sizeBytes: 100_000 },
      "image/png",
    );
    await writeFile(join(root, "large"), pseudoRandomBytes(2, 6_000_000));
    await storage.put(
      "half",
      { stream: streamChunks([pseudoRandomBytes(3, 2_200_000)]), sizeBytes: 2_200_000 },
      "image/png",
    );
  });
  afterAll(async () => {
    unmount();
    await rm(root, { recursive: true, force: true });
  });

  const large = () => streamChunks(Array.from({ length: 60 }, (_, index) => pseudoRandomBytes(index, 100_000)));

  test.each<[string, () => Promise<unknown>]>([
    ["a new stream", () => storage.put("new", { stream: large(), sizeBytes: 6_000_000 }, "image/png")],
    ["a new local file", () => storage.put("new", { path: join(root, "large") }, "image/png")],
    ["a stream in place of a file", () => storage.put("kept", { stream: large(), sizeBytes: 6_000_000 }, "image/png")],
    ["a copy", () => storage.copy("half", "new")],
    [
      "a signed upload",
      () => {
        const upload = {
          key: "new",
          contentType: "a/b",
          sizeBytes: 6_000_000,
          md5: md5Base64(pseudoRandomBytes(0, 1)),
          expiresAt: new Date(),
        };
        return storage.served?.receive(upload, large()) ?? Promise.resolve();
      },
    ],
  ])("a full disk, %s: the error names the full disk, and no file is stored", async (_, work) => {
    await expect(work()).rejects.toMatchObject({ reason: "full", message: "The disk has no room for the file." });
    expect(await readdir(join(disk, "assets/temporary"))).toEqual([]);
    expect((await Array.fromAsync(storage.list(""))).map(({ key }) => key).sort()).toEqual(["half", "kept"]);
    const found = await storage.open("kept");
    expect(new Uint8Array(await new Response(found?.stream).arrayBuffer())).toEqual(pseudoRandomBytes(1, 100_000));
  });

  test("a disk with room again: stores files", async () => {
    await storage.delete("half");
    await storage.put(
      "new",
      { stream: streamChunks([pseudoRandomBytes(3, 2_200_000)]), sizeBytes: 2_200_000 },
      "image/png",
    );
    expect(await storage.stat("new")).toMatchObject({ sizeBytes: 2_200_000 });
  });
});
