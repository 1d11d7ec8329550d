/** The contract of every store. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { md5Base64, pseudoRandomBytes, streamChunks } from "./bytes-testing.ts";
import type { Range, Storage, Upload } from "./storage.ts";
import type { Driver, TestStore } from "./testing.ts";

const IS_LONG = process.env["LONG"] === "1";

const MALFORMED_KEYS = [
  ...["", "/", "..", ".", "a/..", "../a", "a/../b", "/etc/passwd", "a//b", "a/", "/a", "a.b", "a b", "a\0b", "a\nb"],
  ...["a\\b", "C:", "%2e%2e", "a%2fb", "é", "a?b", "a#b", "~", "a+b", "x".repeat(201), "\u202e", "a\r\nHost: x"],
];

/** The tests of a driver. `folder`: for local files. */
export const testStore = (driver: Driver, folder: string): void => {
  setDefaultTimeout(IS_LONG ? 1_800_000 : 300_000);
  describe.skipIf(driver.missing.length > 0)(`the store on ${driver.name}`, () => {
    // Swift takes 60 ms for a file on two busy cores. A page of Swift has 4 files, so the third and last page is not
    // full.
    const LISTED = IS_LONG ? (driver.name === "disk" ? 10_000 : 2000) : 10;
    /** With LONG=1, the files fill more than two pages of Swift. */
    const PAGE = IS_LONG ? 24 : 5;
    let store: TestStore;
    let storage: Storage;
    beforeAll(async () => {
      store = await driver.open();
      ({ storage } = store);
    });
    afterAll(() => store.close());

    const read = async (key: string, range?: Range): Promise<Uint8Array | null> => {
      const found = await storage.open(key, range);
      return found && new Uint8Array(await new Response(found.stream).arrayBuffer());
    };
    const put = (key: string, bytes: Uint8Array, contentType = "image/png"): Promise<void> =>
      storage.put(key, { stream: streamChunks([bytes]), sizeBytes: bytes.byteLength }, contentType);

    test("a local file, stored: its bytes and type", async () => {
      const bytes = pseudoRandomBytes(1, 300_000);
      const path = join(folder, "source");
      await writeFile(path, bytes);
      await storage.put("path/one", { path }, "video/mp4");
      expect(await read("path/one")).toEqual(bytes);
      const found = await storage.stat("path/one");
      expect(found).toMatchObject({ sizeBytes: 300_000, contentType: "video/mp4" });
      expect(Math.abs((found?.modifiedAt.getTime() ?? 0) - Date.now())).toBeLessThan(3_600_000);
      expect(await Bun.file(path).bytes()).toEqual(bytes);
    });

    test("a stream of many chunks, stored: its bytes and size", async () => {
      const chunks = Array.from({ length: 50 }, (_, index) => pseudoRandomBytes(index, index * 997));
      const bytes = new Uint8Array(Buffer.concat(chunks));
      await storage.put("stream/many", { stream: streamChunks(chunks), sizeBytes: bytes.byteLength }, "image/webp");
      expect(await read("stream/many")).toEqual(bytes);
      expect((await storage.open("stream/many"))?.sizeBytes).toBe(bytes.byteLength);
    });

    test.each(["path", "stream"])("an empty file, from a %s: stored", async (kind) => {
      const path = join(folder, "empty");
      await writeFile(path, "");
      const source = kind === "path" ? { path } : { stream: streamChunks([]), sizeBytes: 0 };
      await storage.put(`empty/${kind}`, source, "image/png");
      expect(await read(`empty/${kind}`)).toEqual(new Uint8Array());
      expect(await storage.stat(`empty/${kind}`)).toMatchObject({ sizeBytes: 0, contentType: "image/png" });
      await expect(storage.open(`empty/${kind}`, { start: 0, end: 0 })).rejects.toMatchObject({ reason: "range" });
    });

    test.each([
      [0, 0],
      [0, 999_999],
      [0, 5_000_000],
      [999_999, 999_999],
      [262_143, 262_144],
      [500_000, Number.MAX_SAFE_INTEGER],
    ])("a range, from %d to %d: its bytes", async (start, end) => {
      const bytes = pseudoRandomBytes(3, 1_000_000);
      if ((await storage.stat("range/one")) === null) await put("range/one", bytes);
      expect(await read("range/one", { start, end })).toEqual(bytes.slice(start, end + 1));
      expect((await storage.open("range/one", { start, end }))?.sizeBytes).toBe(1_000_000);
    });

    test("a range, beyond the end or malformed: refused", async () => {
      await put("range/short", pseudoRandomBytes(4, 10));
      await expect(storage.open("range/short", { start: 10, end: 10 })).rejects.toMatchObject({ reason: "range" });
      for (const [start, end] of [
        [-1, 2],
        [2, 1],
        [0.5, 2],
        [0, Number.NaN],
        [0, Number.POSITIVE_INFINITY],
      ] as const)
        await expect(storage.open("range/short", { start, end })).rejects.toThrow(TypeError);
    });

    test("a key that was never written: no file", async () => {
      expect(await storage.open("none/one")).toBeNull();
      expect(await storage.open("none/one", { start: 0, end: 1 })).toBeNull();
      expect(await storage.stat("none/one")).toBeNull();
      expect(await storage.copy("none/one", "none/two")).toBe("missing");
      expect(await storage.stat("none/two")).toBeNull();
      await storage.delete("none/one");
    });

    test("a file, overwritten: new bytes, size and type", async () => {
      await put("overwritten/one", pseudoRandomBytes(5, 1000), "image/png");
      await put("overwritten/one", pseudoRandomBytes(6, 10), "image/jpeg");
      expect(await read("overwritten/one")).toEqual(pseudoRandomBytes(6, 10));
      expect(await storage.stat("overwritten/one")).toMatchObject({ sizeBytes: 10, contentType: "image/jpeg" });
    });

    test.each(["overwritten", "deleted"])("a file, %s while it is read: the reader gets the old bytes", async (how) => {
      const key = `reading/${how}`;
      const bytes = pseudoRandomBytes(7, 8_000_000);
      await put(key, bytes);
      const found = await storage.open(key);
      if (!found) throw new Error("there is no file");
      const reader = found.stream.getReader();
      const chunks = [(await reader.read()).value as Uint8Array];
      if (how === "overwritten") await put(key, pseudoRandomBytes(8, 8_000_000));
      else await storage.delete(key);
      for (let next = await reader.read(); !next.done; next = await reader.read()) chunks.push(next.value);
      expect(md5Base64(Buffer.concat(chunks))).toBe(md5Base64(bytes));
      expect(await read(key)).toEqual(how === "overwritten" ? pseudoRandomBytes(8, 8_000_000) : null);
    });

    test.each([
      ["one byte more", 999, 1000],
      ["one byte fewer", 1001, 1000],
      ["bytes in place of an empty file", 0, 1],
      ["no bytes", 1, 0],
      ["a megabyte more", 1000, 1_000_000],
      ["a megabyte fewer", 1_000_000, 1000],
    ])("a stream, with %s: refused, the old file stays", async (_, sizeBytes, length) => {
      if ((await storage.stat("wrong/size")) === null) await put("wrong/size", pseudoRandomBytes(9, 50));
      for (const key of ["wrong/size", "wrong/new"]) {
        const source = { stream: streamChunks([pseudoRandomBytes(10, length)]), sizeBytes };
        await expect(storage.put(key, source, "image/png")).rejects.toMatchObject({ reason: "size" });
      }
      expect(await read("wrong/size")).toEqual(pseudoRandomBytes(9, 50));
      expect(await storage.stat("wrong/new")).toBeNull();
    });

    test("a stream that fails: its error, and no file is stored", async () => {
      const stream = streamChunks([pseudoRandomBytes(11, 100_000)], new Error("the client is gone"));
      await expect(storage.put("failing/one", { stream, sizeBytes: 200_000 }, "image/png")).rejects.toThrow(
        "the client is gone",
      );
      expect(await storage.stat("failing/one")).toBeNull();
    });

    test("a file, copied: independent of its origin", async () => {
      await put("copied/from", pseudoRandomBytes(12, 5000), "image/webp");
      await put("copied/to", pseudoRandomBytes(13, 6000));
      expect(await storage.copy("copied/from", "copied/to")).toBe("copied");
      await put("copied/from", pseudoRandomBytes(14, 10));
      await storage.delete("copied/from");
      expect(await read("copied/to")).toEqual(pseudoRandomBytes(12, 5000));
      expect(await storage.stat("copied/to")).toMatchObject({ sizeBytes: 5000, contentType: "image/webp" });
      await expect(storage.copy("copied/to", "copied/to")).rejects.toThrow(TypeError);
    });

    test("a file, deleted twice: gone", async () => {
      await put("deleted/one", pseudoRandomBytes(15, 10));
      await storage.delete("deleted/one");
      await storage.delete("deleted/one");
      expect(await read("deleted/one")).toBeNull();
    });

    test("keys that differ in folders, case or dashes: separate files", async () => {
      const keys = ["near/a", "near/a/b", "near/a/b/c", "near/A", "near/a-b", "near/a_b", "-near"];
      for (const [index, key] of keys.entries()) await put(key, pseudoRandomBytes(index, 20 + index));
      for (const [index, key] of keys.entries()) expect(await read(key)).toEqual(pseudoRandomBytes(index, 20 + index));
    });

    test(`${LISTED} files, listed: each once, in pages too`, async () => {
      const keys = Array.from({ length: LISTED }, (_, index) => `listed/one/f-${index}`);
      for (let index = 0; index < keys.length; index += 8)
        await Promise.all(keys.slice(index, index + 8).map((key) => put(key, pseudoRandomBytes(0, 7))));
      await put("listed/other", pseudoRandomBytes(0, 1));
      const all = await Array.fromAsync(storage.list("listed/one/"));
      expect(all.map(({ key }) => key).sort()).toEqual(keys.sort());
      expect(new Set(all.map(({ sizeBytes }) => sizeBytes))).toEqual(new Set([7]));
      expect(all.every(({ modifiedAt }) => Math.abs(modifiedAt.getTime() - Date.now()) < 3_600_000)).toBe(true);

      const paged: string[] = [];
      for (;;) {
        const page = await Array.fromAsync(storage.list("listed/", paged.at(-1), PAGE));
        expect(page.length).toBeLessThanOrEqual(PAGE);
        if (page.length === 0) break;
        paged.push(...page.map(({ key }) => key));
      }
      expect(paged.sort()).toEqual([...keys, "listed/other"].sort());
      // A prefix may end inside a segment. The cursor may be a deleted key.
      expect((await Array.fromAsync(storage.list("listed/o"))).length).toBe(LISTED + 1);
      const first = all[0]?.key ?? "";
      await storage.delete(first);
      expect((await Array.fromAsync(storage.list("listed/one/", first))).length).toBe(LISTED - 1);
      expect(await Array.fromAsync(storage.list("listed/none"))).toEqual([]);
      expect(await Array.fromAsync(storage.list("listed/", undefined, 0))).toEqual([]);
    });

    test.each(MALFORMED_KEYS)("a key, %j: refused everywhere", async (key) => {
      const expiresAt = new Date(Date.now() + 60_000);
      const upload = { contentType: "image/png", sizeBytes: 1, md5: md5Base64(pseudoRandomBytes(0, 1)), expiresAt };
      await expect(put(key, pseudoRandomBytes(0, 1))).rejects.toThrow(TypeError);
      await expect(storage.open(key)).rejects.toThrow(TypeError);
      await expect(storage.stat(key)).rejects.toThrow(TypeError);
      await expect(storage.copy(key, "a")).rejects.toThrow(TypeError);
      await expect(storage.copy("a", key)).rejects.toThrow(TypeError);
      await expect(storage.delete(key)).rejects.toThrow(TypeError);
      await expect(storage.signPut(key, upload)).rejects.toThrow(TypeError);
      await expect(storage.signGet(key, expiresAt)).rejects.toThrow(TypeError);
      expect(() => storage.list("", key)).toThrow(TypeError);
    });

    test.each(["../", "/", "a//", "a.b", "%2e", "a b", "é"])("a prefix, %j: refused", (prefix) => {
      expect(() => storage.list(prefix)).toThrow(TypeError);
    });

    const MALFORMED_TYPES = ["", "image", "image/", "Image/png", "image/png; charset=utf-8", "a/b\r\nx: y", "a/b\n"];
    test.each([...MALFORMED_TYPES, `a/${"b".repeat(64)}`])("a content type, %j: refused", async (contentType) => {
      await expect(put("type/one", pseudoRandomBytes(0, 1), contentType)).rejects.toThrow(TypeError);
    });

    describe("a signed PUT", () => {
      const bytes = pseudoRandomBytes(20, 70_000);
      const uploadOf = (change: Partial<Upload> = {}): Upload => ({
        contentType: "video/mp4",
        sizeBytes: bytes.byteLength,
        md5: md5Base64(bytes),
        expiresAt: new Date(Date.now() + 900_000),
        ...change,
      });
      type Body = () => Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
      const send = (url: string, headers: Record<string, string>, body: ReturnType<Body>) =>
        fetch(url, { method: "PUT", headers, body });
      let count = 0;
      const newKey = (): string => `signed/${count++}`;
      const isRefused = async (key: string, response: Response): Promise<void> => {
        expect(response.status).toBeGreaterThanOrEqual(400);
        expect(response.status).toBeLessThan(500);
        await response.text();
        expect(await storage.stat(key)).toBeNull();
      };

      test("a signed PUT, sent twice with its bytes: stored", async () => {
        const key = newKey();
        const { url, headers } = await storage.signPut(key, uploadOf());
        for (let round = 0; round < 2; round++) expect((await send(url, headers, bytes)).status).toBe(200);
        expect(await read(key)).toEqual(bytes);
        expect(await storage.stat(key)).toMatchObject({ sizeBytes: bytes.byteLength, contentType: "video/mp4" });
      });

      test("a signed PUT, of an empty file: stored", async () => {
        const key = newKey();
        const { url, headers } = await storage.signPut(
          key,
          uploadOf({ sizeBytes: 0, md5: md5Base64(new Uint8Array()) }),
        );
        expect((await send(url, headers, new Uint8Array())).status).toBe(200);
        expect(await read(key)).toEqual(new Uint8Array());
      });

      const other = pseudoRandomBytes(21, 70_000);
      const without = (headers: Record<string, string>, name: string): Record<string, string> => {
        const { [name]: _, ...rest } = headers;
        return rest;
      };
      test.each<[string, Body, ((headers: Record<string, string>) => Record<string, string>)?]>([
        ["one byte more", () => new Uint8Array([...bytes, 0])],
        ["one byte fewer", () => bytes.slice(0, -1)],
        ["no bytes", () => new Uint8Array()],
        ["other bytes", () => other],
        ["one bit changed", () => bytes.map((byte, index) => (index === 69_999 ? byte ^ 1 : byte))],
        ["other bytes and their MD5", () => other, (headers) => ({ ...headers, "Content-MD5": md5Base64(other) })],
        ["no content type", () => bytes, (headers) => without(headers, "Content-Type")],
        ["no MD5", () => bytes, (headers) => without(headers, "Content-MD5")],
        ["another content type", () => bytes, (headers) => ({ ...headers, "Content-Type": "text/html" })],
        ["no Content-Length", () => streamChunks([bytes])],
      ])("a signed PUT, with %s: refused", async (_, body, change = (headers) => headers) => {
        const key = newKey();
        const { url, headers } = await storage.signPut(key, uploadOf());
        await isRefused(key, await send(url, change(headers), body()));
      });

      test("a signed PUT, another key, signature or method: refused", async () => {
        const [key, victim] = [newKey(), newKey()];
        const { url, headers } = await storage.signPut(key, uploadOf());
        const otherUrl = (await storage.signPut(victim, uploadOf())).url;
        const at = url.length - 1;
        const altered = url.slice(0, at) + (url.at(at) === "0" ? "1" : "0");
        await isRefused(key, await send(altered, headers, bytes));
        if (storage.served === null) await isRefused(victim, await send(url.replace(key, victim), headers, bytes));
        const mixed = (otherUrl.match(/^.*(?=[.=])/)?.[0] ?? "") + (url.match(/[.=][^.=]*$/)?.[0] ?? "");
        await isRefused(victim, await send(mixed, headers, bytes));
        await isRefused(key, await fetch(url));
      });

      test("a signed PUT, expired: refused", async () => {
        const key = newKey();
        store.clock.behindMs = 3_600_000;
        const expiresAt = new Date(Date.now() - 2000);
        const { url, headers } = await storage.signPut(key, uploadOf({ expiresAt }));
        store.clock.behindMs = 0;
        await isRefused(key, await send(url, headers, bytes));
      });

      test.each<[string, Partial<Upload>]>([
        ["no MD5", { md5: "" }],
        ["an MD5 in hex", { md5: "d41d8cd98f00b204e9800998ecf8427e" }],
        ["an MD5 that is not canonical", { md5: "1B2M2Y8AsgTpgAmY7PhCfh==" }],
        ["a negative size", { sizeBytes: -1 }],
        ["half a byte", { sizeBytes: 1.5 }],
        ["a content type with parameters", { contentType: "image/png; x=y" }],
        ["an end in the past", { expiresAt: new Date(Date.now() - 1000) }],
        ["an end after more than a week", { expiresAt: new Date(Date.now() + 8 * 86_400_000) }],
        ["no end", { expiresAt: new Date(Number.NaN) }],
      ])("a PUT to sign, with %s: refused", async (_, change) => {
        await expect(storage.signPut("signed/never", uploadOf(change))).rejects.toThrow(TypeError);
      });
    });

    describe("a signed GET", () => {
      const soon = () => new Date(Date.now() + 900_000);

      test("a signed GET, for its file: served; for another file: refused", async () => {
        await put("served/one", pseudoRandomBytes(30, 5000));
        await put("served/two", pseudoRandomBytes(31, 5000));
        const url = await storage.signGet("served/one", soon());
        expect(new Uint8Array(await (await fetch(url)).arrayBuffer())).toEqual(pseudoRandomBytes(30, 5000));
        const at = url.length - 1;
        expect((await fetch(url.slice(0, at) + (url.at(at) === "0" ? "1" : "0"))).status).toBe(403);
        if (storage.served === null) expect((await fetch(url.replace("one", "two"))).status).toBe(403);
        const write = await fetch(url, { method: "PUT", body: "x" });
        expect(write.status).toBeGreaterThanOrEqual(400);
        expect(await read("served/one")).toEqual(pseudoRandomBytes(30, 5000));
      });

      test("a signed GET, expired: refused", async () => {
        store.clock.behindMs = 3_600_000;
        const url = await storage.signGet("served/one", new Date(Date.now() - 2000));
        store.clock.behindMs = 0;
        expect((await fetch(url)).status).toBe(403);
        await expect(storage.signGet("served/one", new Date(Date.now() - 1000))).rejects.toThrow(TypeError);
      });
    });
  });
};
