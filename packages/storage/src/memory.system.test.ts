import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { runToEnd } from "@realtime-avatar/testing/processes";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import { DRIVERS } from "./testing.ts";

setDefaultTimeout(600_000);

// `bun run test:long` measures the largest file that the service takes, on both drivers.
const IS_LONG = process.env["LONG"] === "1";
const SIZE_BYTES = (IS_LONG ? 200 : 100) * 2 ** 20;
const MAX_GROWTH_BYTES = 64 * 2 ** 20;

/** A stream of `SIZE_BYTES` in parts of 64 KiB, as they come from a network. */
const largeStream = (): ReadableStream<Uint8Array> => {
  let sent = 0;
  return new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        if (sent === SIZE_BYTES) return controller.close();
        sent += 65_536;
        controller.enqueue(new Uint8Array(65_536).fill(sent >> 16));
      },
    },
    { highWaterMark: 0 },
  );
};

/** The maximum growth of the resident memory while `work` runs, in bytes. */
const growthDuring = async (work: () => Promise<unknown>): Promise<number> => {
  Bun.gc(true);
  const before = process.memoryUsage.rss();
  let peak = before;
  const timer = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, 10);
  await work();
  clearInterval(timer);
  return peak - before;
};

/** Each sample runs in a separate process, so that no other tests are measured. */
const IS_ALONE = IS_LONG || process.env["ALONE"] === "1";

if (!IS_ALONE) {
  test("a large file, in a separate process: memory stays below its limit", async () => {
    const { code, stderr } = await runToEnd([process.execPath, "test", import.meta.path], { ALONE: "1" });
    expect([code, code === 0 ? "" : stderr]).toEqual([0, ""]);
  });
}

for (const driver of IS_LONG ? DRIVERS : DRIVERS.slice(0, IS_ALONE ? 1 : 0)) {
  describe.skipIf(driver.missing.length > 0)(`a large file on ${driver.name}`, () => {
    test("a large file, stored and read: memory stays below its limit", async () => {
      const folder = await temporaryFolder();
      const store = await driver.open();
      const { storage } = store;
      const path = join(folder, "large");
      const writer = Bun.file(path).writer();
      const hash = createHash("md5");
      for await (const chunk of largeStream()) {
        hash.update(chunk);
        writer.write(chunk);
        await writer.flush();
      }
      await writer.end();
      const md5 = hash.digest("base64");
      const expiresAt = new Date(Date.now() + 900_000);
      const signed = await storage.signPut("signed", {
        contentType: "video/mp4",
        sizeBytes: SIZE_BYTES,
        md5,
        expiresAt,
      });
      const readSlowly = async (): Promise<void> => {
        let count = 0;
        const read = createHash("md5");
        for await (const chunk of (await storage.open("stream"))?.stream ?? []) {
          read.update(chunk);
          if (count++ < 50) await Bun.sleep(5);
        }
        expect(read.digest("base64")).toBe(md5);
      };
      const works: Record<string, () => Promise<unknown>> = {
        "put a stream": () => storage.put("stream", { stream: largeStream(), sizeBytes: SIZE_BYTES }, "video/mp4"),
        "put a local file": () => storage.put("path", { path }, "video/mp4"),
        "signed PUT": async () => {
          const response = await fetch(signed.url, { method: "PUT", headers: signed.headers, body: Bun.file(path) });
          expect(response.status).toBe(200);
        },
        "read slowly": readSlowly,
        copy: () => storage.copy("stream", "copy"),
      };
      const growth: Record<string, number> = {};
      for (const [name, work] of Object.entries(works)) growth[name] = await growthDuring(work);
      const isLarge = ([, bytes]: [string, number]): boolean => bytes > MAX_GROWTH_BYTES;
      expect(Object.entries(growth).filter(isLarge)).toEqual([]);
      await store.close();
      await rm(folder, { recursive: true, force: true });
    });
  });
}
