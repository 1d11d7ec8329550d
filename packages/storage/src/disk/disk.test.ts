import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { appendFile, chmod, mkdir, readdir, readFile, rm, stat, truncate, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { bun, startProcess } from "@realtime-avatar/testing/processes";
import { LOOPED, md5Base64, pseudoRandomBytes, streamChunks } from "../bytes-testing.ts";
import { openStorage } from "../open.ts";
import { Secret } from "../secret.ts";
import type { ServedUrls, Storage } from "../storage.ts";
import { DOWNLOAD_PATH } from "./signed-url.ts";

const PROGRAM = "packages/storage/src/disk/process-testing.ts";

const root = await fileFolder();
setDefaultTimeout(120_000);

let count = 0;
const newDirectory = (): string => join(root, `store-${count++}`);
const openAt = (directory: string, secret: string | null = null): Promise<Storage> =>
  openStorage(
    { kind: "disk", directory, signingSecret: secret === null ? null : new Secret(secret) },
    { origin: () => "" },
  );
const servedOf = (storage: Storage): ServedUrls => {
  if (!storage.served) throw new Error("the disk serves its URLs");
  return storage.served;
};
const put = (storage: Storage, key: string, bytes: Uint8Array, contentType = "image/png"): Promise<void> =>
  storage.put(key, { stream: streamChunks([bytes]), sizeBytes: bytes.byteLength }, contentType);
const read = async (storage: Storage, key: string): Promise<Uint8Array | null> => {
  const found = await storage.open(key);
  return found && new Uint8Array(await new Response(found.stream).arrayBuffer());
};
/** The path of the only stored file. */
const onlyFile = async (directory: string): Promise<string> => {
  const files = await Array.fromAsync(new Bun.Glob("objects/*/*").scan({ cwd: directory, absolute: true, dot: true }));
  expect(files).toHaveLength(1);
  return files[0] ?? "";
};
const temporaryFiles = (directory: string): Promise<string[]> => readdir(join(directory, "temporary"));

describe("the folder of files", () => {
  test("the folder, with any umask and mode of the source: closed to other users", async () => {
    const directory = newDirectory();
    const source = join(root, "source");
    await writeFile(source, "bytes");
    await chmod(source, 0o777);
    const umask = process.umask(0);
    const storage = await openAt(directory);
    await storage.put("path/one", { path: source }, "image/png");
    await put(storage, "stream/one", pseudoRandomBytes(0, 1));
    await storage.copy("path/one", "copy/one");
    process.umask(umask);
    for await (const name of new Bun.Glob("**/*").scan({
      cwd: directory,
      absolute: true,
      onlyFiles: false,
      dot: true,
    })) {
      const found = await stat(name);
      expect([name, found.mode & 0o777]).toEqual([name, found.isDirectory() ? 0o700 : 0o600]);
    }
    expect((await stat(directory)).mode & 0o777).toBe(0o700);
    expect(await Array.fromAsync(new Bun.Glob("objects/*/*").scan(directory))).toHaveLength(3);
  });

  test("a file, stored: named after its key, in the folder of its hash", async () => {
    const directory = newDirectory();
    await put(await openAt(directory), "ast_1/original", pseudoRandomBytes(0, 1));
    const folder = new Bun.CryptoHasher("sha256").update("ast_1/original").digest("hex").slice(0, 2);
    expect(await onlyFile(directory)).toBe(join(directory, "objects", folder, "ast_1.original"));
  });

  test("the folder, opened again: has all its files", async () => {
    const directory = newDirectory();
    await put(await openAt(directory), "again/one", pseudoRandomBytes(1, 100));
    expect(await read(await openAt(directory), "again/one")).toEqual(pseudoRandomBytes(1, 100));
  });

  test("foreign files, in the folder: not listed", async () => {
    const directory = newDirectory();
    const storage = await openAt(directory);
    for (const name of [".nfs0001", ".DS_Store", "a b", "a..b", "a.", "lost+found"])
      await writeFile(join(directory, "objects/00", name), "");
    await put(storage, "listed", pseudoRandomBytes(0, 1));
    expect((await Array.fromAsync(storage.list(""))).map(({ key }) => key)).toEqual(["listed"]);
  });

  test("the folder, deleted: an error without paths and keys", async () => {
    const directory = newDirectory();
    const storage = await openAt(directory);
    await rm(directory, { recursive: true });
    await writeFile(directory, "");
    const works = [
      () => put(storage, "some/key", pseudoRandomBytes(0, 1)),
      () => storage.stat("some/key"),
      () => storage.delete("some/key"),
      () => Array.fromAsync(storage.list("some")),
      () => storage.sweepTemporary(new Date()),
    ];
    for (const work of works) {
      const error: unknown = await work().catch((reason: unknown) => reason);
      expect(error).toMatchObject({ name: "StorageError", reason: "unavailable" });
      expect(`${error}`).toMatch(/^StorageError: The disk failed \(E[A-Z]+\)\.$/);
      expect(Bun.inspect(error)).not.toContain("some");
    }
  });
});

describe("a stored file changed from outside", () => {
  test.each<[string, (path: string) => Promise<void>]>([
    ["with its last byte cut off", async (path) => truncate(path, (await stat(path)).size - 1)],
    ["cut off within its bytes", (path) => truncate(path, 500)],
    ["emptied", (path) => truncate(path, 0)],
    ["without its first bytes", async (path) => writeFile(path, (await readFile(path)).subarray(1))],
    ["with an additional byte", (path) => appendFile(path, "x")],
    ["replaced", (path) => writeFile(path, "x".repeat(1256))],
    ["replaced by JSON", (path) => writeFile(path, "null".padEnd(256))],
  ])("a stored file, %s: reported as damaged, and can be overwritten", async (_, change) => {
    const directory = newDirectory();
    const storage = await openAt(directory);
    await put(storage, "damaged/one", pseudoRandomBytes(0, 1000));
    await change(await onlyFile(directory));
    await expect(storage.open("damaged/one")).rejects.toMatchObject({ reason: "damaged" });
    await expect(storage.stat("damaged/one")).rejects.toMatchObject({ reason: "damaged" });
    await put(storage, "damaged/one", pseudoRandomBytes(1, 10));
    expect(await read(storage, "damaged/one")).toEqual(pseudoRandomBytes(1, 10));
  });
});

describe("a failed write", () => {
  test.each<[string, (storage: Storage) => Promise<unknown>]>([
    [
      "a stream that is too long",
      (storage) => storage.put("k", { stream: streamChunks([pseudoRandomBytes(0, 9)]), sizeBytes: 8 }, "a/b"),
    ],
    [
      "a stream that fails",
      (storage) =>
        storage.put("k", { stream: streamChunks([pseudoRandomBytes(0, 9)], new Error("gone")), sizeBytes: 20 }, "a/b"),
    ],
    ["a source that does not exist", (storage) => storage.put("k", { path: join(root, "none") }, "a/b")],
    ["a source that is a folder", (storage) => storage.put("k", { path: root }, "a/b")],
    ["a copy of a missing file", (storage) => storage.copy("k", "l")],
    [
      "an upload of other bytes",
      (storage) => {
        const upload = {
          key: "k",
          contentType: "a/b",
          sizeBytes: 9,
          md5: md5Base64(pseudoRandomBytes(1, 9)),
          expiresAt: new Date(),
        };
        return servedOf(storage).receive(upload, streamChunks([pseudoRandomBytes(0, 9)]));
      },
    ],
  ])("a failed write, %s: no temporary file left", async (_, work) => {
    const directory = newDirectory();
    const storage = await openAt(directory);
    await work(storage).catch(() => {});
    expect(await temporaryFiles(directory)).toEqual([]);
    expect(await Array.fromAsync(storage.list(""))).toEqual([]);
  });

  test("a write whose stream is too long: the stream is canceled", async () => {
    let isCancelled = false;
    const stream = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(pseudoRandomBytes(0, 1000)),
      cancel: () => {
        isCancelled = true;
      },
    });
    const work = (await openAt(newDirectory())).put("k", { stream, sizeBytes: 5000 }, "a/b");
    await expect(work).rejects.toMatchObject({ reason: "size" });
    expect(isCancelled).toBe(true);
  });
});

describe("a process killed while it writes", () => {
  test("a write whose process is killed midway: no file under the key, and its temporary file is swept", async () => {
    const directory = newDirectory();
    const storage = await openAt(directory);
    await put(storage, "old/one", pseudoRandomBytes(9, 30));
    for (const key of ["new/one", "old/one"]) {
      const child = startProcess(bun(PROGRAM, "stall", directory, key));
      await child.waitFor(/stalled/);
      child.kill("SIGKILL");
      await child.exited;
    }
    expect(await read(storage, "new/one")).toBeNull();
    expect(await read(storage, "old/one")).toEqual(pseudoRandomBytes(9, 30));
    expect((await Array.fromAsync(storage.list(""))).map(({ key }) => key)).toEqual(["old/one"]);
    const [first = "", ...others] = await temporaryFiles(directory);
    expect(others).toHaveLength(1);
    // A file with a later change may belong to a running process.
    expect(await storage.sweepTemporary(new Date(Date.now() - 3_600_000))).toBe(0);
    await utimes(join(directory, "temporary", first), new Date(0), new Date(0));
    expect(await storage.sweepTemporary(new Date(Date.now() - 3_600_000))).toBe(1);
    expect(await temporaryFiles(directory)).toEqual(others);
  });

  test("two files, stored in turn under one key by a process that is killed at any moment: the file is one of the two", async () => {
    const directory = newDirectory();
    const storage = await openAt(directory);
    for (let round = 0; round < 8; round++) {
      const child = startProcess(bun(PROGRAM, "loop", directory, "looped"));
      await child.waitFor(/stored/);
      await Bun.sleep(round * 7);
      child.kill("SIGKILL");
      await child.exited;
      const found = await storage.stat("looped");
      const [, seed, size] = LOOPED.find(([contentType]) => contentType === found?.contentType) ?? ["", 0, 0];
      expect(found?.sizeBytes).toBe(size);
      expect(md5Base64((await read(storage, "looped")) ?? new Uint8Array())).toBe(
        md5Base64(pseudoRandomBytes(seed, size)),
      );
    }
  });
});

describe("the streams", () => {
  test.skipIf(process.platform !== "linux")("streams, dropped or canceled: their files are closed", async () => {
    const storage = await openAt(newDirectory());
    await put(storage, "dropped", pseudoRandomBytes(0, 1_000_000));
    const openFiles = async (): Promise<number> => (await readdir("/proc/self/fd")).length;
    const before = await openFiles();
    const openSome = async (): Promise<void> => {
      for (let index = 0; index < 60; index++) {
        const found = await storage.open("dropped");
        if (index % 3 === 0) await found?.stream.cancel();
        const reader = index % 3 === 1 ? found?.stream.getReader() : null;
        const pending = reader?.read();
        if (index % 6 === 1) await reader?.cancel();
        else await pending;
      }
    };
    await openSome();
    for (let round = 0; round < 300 && (await openFiles()) > before + 10; round++) {
      Bun.gc(true);
      await Bun.sleep(10);
    }
    expect(await openFiles()).toBeLessThanOrEqual(before + 10);
  });
});

describe("the files that a call opens", () => {
  test.skipIf(process.platform !== "linux")("calls that succeed, fail or are aborted: no file stays open", async () => {
    const directory = newDirectory();
    const storage = await openAt(directory);
    const source = join(root, "descriptors");
    await writeFile(source, "bytes");
    const failure = async (work: Promise<unknown>): Promise<unknown> =>
      work.catch(({ reason }: { reason: string }) => reason);
    const callAll = async (): Promise<unknown[]> => {
      await put(storage, "one", pseudoRandomBytes(0, 1000));
      await storage.put("two", { path: source }, "image/png");
      await storage.copy("one", "three");
      await storage.stat("one");
      await storage.stat("none");
      expect(await read(storage, "one")).toEqual(pseudoRandomBytes(0, 1000));
      const outcomes = [
        await failure(storage.open("one", { start: 1000, end: 1000 })),
        await failure(storage.put("four", { stream: streamChunks([pseudoRandomBytes(0, 9)]), sizeBytes: 8 }, "a/b")),
        await failure(storage.put("four", { path: root }, "a/b")),
      ];
      await storage.delete("two");
      await storage.delete("three");
      const opened = await storage.open("one");
      await truncate(await onlyFile(directory), 500);
      outcomes.push(await failure(new Response(opened?.stream).bytes()));
      return [...outcomes, await failure(storage.open("one")), await failure(storage.stat("one"))];
    };
    const openFiles = async (): Promise<number> => (await readdir("/proc/self/fd")).length;
    await callAll();
    const before = await openFiles();
    expect(await callAll()).toEqual(["range", "size", "unavailable", "damaged", "damaged", "damaged"]);
    expect(await openFiles()).toBe(before);
  });

  test("a temporary file, exactly as old as the limit: kept; a moment older: swept", async () => {
    const directory = newDirectory();
    const storage = await openAt(directory);
    await writeFile(join(directory, "temporary/x"), "");
    await utimes(join(directory, "temporary/x"), new Date(1000), new Date(1000));
    expect([await storage.sweepTemporary(new Date(1000)), await storage.sweepTemporary(new Date(1001))]).toEqual([
      0, 1,
    ]);
  });
});

describe("the secret of signed URLs", () => {
  test("the secret of several processes that start together: the same", async () => {
    const directory = newDirectory();
    const children = Array.from({ length: 4 }, () => startProcess(bun(PROGRAM, "token", directory)));
    const urls = await Promise.all(children.map(async (child) => (await child.waitFor(/^\/api.*$/m))[0]));
    await Promise.all(children.map((child) => child.exited));
    const served = servedOf(await openAt(directory));
    for (const url of urls)
      expect(served.verifyGet(url.slice(DOWNLOAD_PATH.length), new Date())).toMatchObject({ kind: "valid" });
    expect(await temporaryFiles(directory)).toEqual([]);
  });

  test("the secret, configured: used, and no file is written", async () => {
    const directory = newDirectory();
    const token = (await (await openAt(directory, "s".repeat(32))).signGet("one", new Date(Date.now() + 60_000))).slice(
      DOWNLOAD_PATH.length,
    );
    expect(await Bun.file(join(directory, "signing-secret")).exists()).toBe(false);
    expect(servedOf(await openAt(newDirectory(), "s".repeat(32))).verifyGet(token, new Date())).toMatchObject({
      kind: "valid",
    });
    expect(servedOf(await openAt(directory)).verifyGet(token, new Date())).toMatchObject({ reason: "signature" });
  });

  test("the secret, in a file that is too short: the start fails", async () => {
    const directory = newDirectory();
    await mkdir(directory);
    for (const text of ["\n", `${"s".repeat(31)}\n`]) {
      await writeFile(join(directory, "signing-secret"), text);
      await expect(openAt(directory)).rejects.toMatchObject({ reason: "damaged" });
    }
    await writeFile(join(directory, "signing-secret"), `${"s".repeat(32)}\n`);
    await openAt(directory);
  });

  test("the secret, printed: not shown", () => {
    const secret = new Secret("the text");
    expect(
      `${secret} ${JSON.stringify({ secret })} ${Bun.inspect({ secret })} ${require("node:util").inspect(secret)}`,
    ).not.toContain("the text");
    expect(secret.reveal()).toBe("the text");
  });
});
