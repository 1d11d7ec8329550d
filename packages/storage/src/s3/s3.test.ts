import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { rm, writeFile } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import { until } from "@realtime-avatar/testing/until";
import { md5Base64, pseudoRandomBytes, streamChunks } from "../bytes-testing.ts";
import { openStorage } from "../open.ts";
import { Secret } from "../secret.ts";
import type { Storage } from "../storage.ts";
import { createS3Client } from "./client.ts";
import { openS3 } from "./s3.ts";
import type { S3Config } from "./signer.ts";

// No test asserts a time, because a slow disk must not fail it.
setDefaultTimeout(60_000);

const SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const configOf = (endpoint: string): S3Config => ({
  kind: "s3",
  endpoint,
  region: "eu-central-1",
  bucket: "bucket",
  prefix: "",
  accessKeyId: "AKIAIOSFODNN7EXAMPLE",
  secretAccessKey: new Secret(SECRET),
  sessionToken: new Secret("session-token"),
});

/** A client that waits `idleMs` for each step: by default long enough for a busy machine. */
const storeAt = (endpoint: string, idleMs = 20_000): Storage => {
  const config = configOf(endpoint);
  const storage = openS3(config, () => new Date(), createS3Client(config, { idleMs, backoffMs: 1 }));
  closers.push(() => storage.close());
  return storage;
};

/** `respond` gets each request with its number, from 1. */
const serve = (respond: (request: Request, count: number) => Response | Promise<Response>, idleMs?: number) => {
  // Copies: Bun's `Request` forgets its address and headers after the response.
  const requests: { path: string; headers: Headers }[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      const { pathname: path } = new URL(request.url);
      return respond(request, requests.push({ path, headers: new Headers(request.headers) }));
    },
  });
  closers.push(() => server.stop(true));
  return { storage: storeAt(server.url.origin, idleMs), requests };
};

/** A server that writes `answer` once `head` has arrived, and then does nothing. Collects what it has received. */
const serveRaw = async (answer: string, idleMs?: number) => {
  const sockets: Socket[] = [];
  const received: Buffer[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    let isAnswered = false;
    socket.on("error", () => {});
    socket.on("data", (data: Buffer) => {
      received.push(data);
      if (isAnswered || !data.includes("\r\n\r\n")) return;
      isAnswered = true;
      socket.write(answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closers.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as { port: number };
  return {
    storage: storeAt(`http://127.0.0.1:${port}`, idleMs),
    sockets,
    text: () => Buffer.concat(received).toString("latin1"),
  };
};

const errorDocument = (status: number, code: string): Response =>
  new Response(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>about ${SECRET}</Message></Error>`, {
    status,
  });
const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "no error",
    (error: unknown) => error,
  );
const put = (storage: Storage, bytes: Uint8Array): Promise<void> =>
  storage.put("some/key", { stream: streamChunks([bytes]), sizeBytes: bytes.byteLength }, "image/png");

describe("the requests to S3", () => {
  test("a request to put a file: has its size, type and signature, in path style", async () => {
    const { storage, requests } = serve(() => new Response());
    await put(storage, pseudoRandomBytes(0, 1000));
    await put(storage, pseudoRandomBytes(0, 0));
    const [full, empty] = requests;
    expect(full?.path).toBe("/bucket/some/key");
    expect(full?.headers.get("content-length")).toBe("1000");
    expect(full?.headers.get("content-type")).toBe("image/png");
    expect(full?.headers.get("x-amz-security-token")).toBe("session-token");
    expect(full?.headers.get("authorization")).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE\/\d{8}\/eu-central-1\/s3/,
    );
    expect(empty?.headers.get("content-length")).toBe("0");
  });

  test("a repeatable request, failing twice: repeated", async () => {
    const folder = await temporaryFolder();
    closers.push(() => rm(folder, { recursive: true, force: true }));
    await writeFile(join(folder, "source"), pseudoRandomBytes(0, 5000));
    for (const status of [429, 500, 502, 503, 504]) {
      const { storage, requests } = serve((request, count) =>
        count < 3 ? errorDocument(status, "SlowDown") : new Response(request.method === "GET" ? "abc" : null),
      );
      await storage.put("some/key", { path: join(folder, "source") }, "image/png");
      expect(requests).toHaveLength(3);
    }
    const { storage, requests } = serve((_, count) =>
      count < 3 ? errorDocument(503, "SlowDown") : new Response("abc"),
    );
    expect(await new Response((await storage.open("some/key"))?.stream).text()).toBe("abc");
    expect(requests).toHaveLength(3);
  });

  test("a repeatable request, always failing: sent three times in all", async () => {
    const { storage, requests } = serve(() => errorDocument(503, "SlowDown"));
    await expect(storage.stat("some/key")).rejects.toMatchObject({ reason: "unavailable" });
    expect(requests).toHaveLength(3);
  });

  test("a request with a stream, or with a final response: not repeated", async () => {
    const streamed = serve(() => errorDocument(503, "SlowDown"));
    await expect(put(streamed.storage, pseudoRandomBytes(0, 10))).rejects.toThrow(
      "The store responded with 503 (SlowDown).",
    );
    expect(streamed.requests).toHaveLength(1);
    const final = serve(() => errorDocument(403, "AccessDenied"));
    await expect(final.storage.delete("some/key")).rejects.toThrow("The store responded with 403 (AccessDenied).");
    expect(final.requests).toHaveLength(1);
  });

  test("a request, redirected: the redirect is not followed", async () => {
    const { storage, requests } = serve(({ url }) => Response.redirect(url.replace("some", "other"), 307));
    await expect(storage.open("some/key")).rejects.toThrow("The store responded with 307.");
    expect(requests).toHaveLength(1);
  });
});

describe("an S3 that stalls", () => {
  test("a request without a response: fails", async () => {
    const { storage } = await serveRaw("", 200);
    await expect(storage.stat("some/key")).rejects.toMatchObject({ reason: "unavailable" });
    await expect(put(storage, pseudoRandomBytes(0, 10))).rejects.toMatchObject({ reason: "unavailable" });
  });

  test("a file whose reader cancels: the request ends, and is not repeated", async () => {
    const { storage, sockets } = await serveRaw("");
    const waiting = new AbortController();
    const work = failureOf(storage.open("some/key", undefined, waiting.signal));
    await until(() => sockets.length > 0, { pollMs: 1 });
    waiting.abort();
    expect(await work).toMatchObject({ reason: "unavailable" });
    await until(() => sockets.every((socket) => socket.closed), { pollMs: 1 });
    await expect(storage.open("some/key", undefined, waiting.signal)).rejects.toMatchObject({ reason: "unavailable" });
    expect(sockets).toHaveLength(1);
  });

  test("an upload that the store no longer reads: fails", async () => {
    const { storage, sockets } = await serveRaw("", 500);
    const chunk = pseudoRandomBytes(0, 1_000_000);
    const stream = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        for (const socket of sockets) socket.pause();
        controller.enqueue(chunk);
      },
    });
    const work = storage.put("some/key", { stream, sizeBytes: 500_000_000 }, "image/png");
    await expect(work).rejects.toMatchObject({ reason: "unavailable" });
  });

  test("a file that the store stalls or cuts: fails", async () => {
    const stalling = await serveRaw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this", 500);
    // On a busy machine, the response can stall before its head has arrived.
    const stalled = stalling.storage.open("some/key").then((found) => new Response(found?.stream).text());
    await expect(stalled).rejects.toMatchObject({ reason: "unavailable" });
    const cutting = await serveRaw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this");
    const cut = await cutting.storage.open("some/key");
    const text = failureOf(new Response(cut?.stream).text());
    for (const socket of cutting.sockets) socket.destroy();
    expect(await text).toMatchObject({ reason: "unavailable" });
  });

  test("a slow consumer of a file and a slow source of an upload: do not fail", async () => {
    const bytes = pseudoRandomBytes(0, 4_000_000);
    const { storage } = serve(async (request) => {
      await request.arrayBuffer();
      return new Response(request.method === "GET" ? bytes : null);
    }, 1000);
    const consume = async () => {
      const found = await storage.open("some/key");
      const chunks: Uint8Array[] = [];
      for await (const chunk of found?.stream ?? []) {
        if (chunks.length === 0) await Bun.sleep(2000);
        chunks.push(chunk);
      }
      expect(md5Base64(Buffer.concat(chunks))).toBe(md5Base64(bytes));
    };
    let count = 0;
    const stream = new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        if (count++ === 1) await Bun.sleep(2000);
        if (count > 2) controller.close();
        else controller.enqueue(pseudoRandomBytes(0, 50));
      },
    });
    await Promise.all([consume(), storage.put("some/key", { stream, sizeBytes: 100 }, "image/png")]);
  });

  test("a waiting request, when the storage is closed: fails", async () => {
    const { storage, sockets } = await serveRaw("");
    const work = failureOf(storage.stat("some/key"));
    await until(() => sockets.length > 0, { pollMs: 1 });
    await storage.close();
    expect(await work).toMatchObject({ reason: "unavailable" });
    await expect(storage.stat("some/key")).rejects.toMatchObject({ reason: "unavailable" });
  });
});

describe("an upload whose source fails", () => {
  test.each<[string, Error | null, object]>([
    ["is too short", null, { reason: "size" }],
    ["fails", new Error("gone"), { message: "gone" }],
  ])("an upload whose source %s: cut, so that it does not look whole", async (_, error, expected) => {
    const { storage, sockets, text } = await serveRaw("");
    let count = 0;
    const stream = new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        if (count++ === 0) return controller.enqueue(pseudoRandomBytes(0, 300_000));
        await until(() => text().length >= 200_000, { pollMs: 1 });
        if (error) controller.error(error);
        else controller.close();
      },
    });
    await expect(storage.put("some/key", { stream, sizeBytes: 300_001 }, "image/png")).rejects.toMatchObject(expected);
    await until(() => sockets.every((socket) => socket.closed), { pollMs: 1 });
    expect(text().toLowerCase()).toContain("content-length: 300001\r\n");
    expect(text().toLowerCase()).not.toContain("transfer-encoding");
  });

  test("an upload that is declared empty but has a byte: nothing is sent", async () => {
    const { storage, requests } = serve(() => new Response());
    const source = { stream: streamChunks([pseudoRandomBytes(0, 1)]), sizeBytes: 0 };
    await expect(storage.put("some/key", source, "image/png")).rejects.toMatchObject({ reason: "size" });
    expect(requests).toHaveLength(0);
  });
});

describe("the responses of S3", () => {
  test("a copy, whose response is 200 with an error: fails", async () => {
    const { storage } = serve(() => errorDocument(200, "InternalError"));
    await expect(storage.copy("some/key", "other/key")).rejects.toThrow("The store responded with 200.");
  });

  test("a missing bucket, on any request: not a missing file", async () => {
    const { storage } = serve(() => errorDocument(404, "NoSuchBucket"));
    await expect(storage.open("some/key")).rejects.toThrow("The store responded with 404 (NoSuchBucket).");
    await expect(storage.copy("some/key", "other/key")).rejects.toThrow("NoSuchBucket");
    await expect(storage.delete("some/key")).rejects.toThrow("NoSuchBucket");
    await expect(Array.fromAsync(storage.list(""))).rejects.toThrow("NoSuchBucket");
  });

  test("a list, with foreign keys: they are left out", async () => {
    const entry = (key: string) =>
      `<Contents><Key>${key}</Key><LastModified>2026-11-20T12:00:00.000Z</LastModified><Size>7</Size></Contents>`;
    const keys = ["a/b", "a%2Fc", "..%2F..", "folder%2F", "x&amp;y", "%00", "a+b", "d"];
    const { storage } = serve(
      () =>
        new Response(
          `<ListBucketResult>${keys.map(entry).join("")}<IsTruncated>false</IsTruncated></ListBucketResult>`,
        ),
    );
    const found = await Array.fromAsync(storage.list(""));
    expect(found.map(({ key }) => key)).toEqual(["a/b", "a/c", "d"]);
    expect(found[0]).toEqual({ key: "a/b", sizeBytes: 7, modifiedAt: new Date("2026-11-20T12:00:00.000Z") });
  });

  test.each([
    ["<html>hello</html>"],
    [""],
    ["<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>"],
    ["<ListBucketResult>"],
    ['<!DOCTYPE a [<!ENTITY b "c">]><ListBucketResult>&b;</ListBucketResult>'],
  ])("a list, malformed: fails: %s", async (text) => {
    const { storage } = serve(() => new Response(text));
    await expect(Array.fromAsync(storage.list(""))).rejects.toMatchObject({ reason: "unavailable" });
  });

  test("an endless list: not read whole", async () => {
    const { storage } = serve(
      () =>
        new Response(new ReadableStream({ pull: (controller) => controller.enqueue(pseudoRandomBytes(60, 100_000)) })),
    );
    await expect(Array.fromAsync(storage.list(""))).rejects.toThrow("too long");
  });
});

test("an error of the store: contains no credentials, signature, key or text of the store", async () => {
  const answers = [
    () => errorDocument(403, "SignatureDoesNotMatch"),
    () => errorDocument(400, `${SECRET} and more`),
    () => new Response(`<html>${SECRET}</html>`, { status: 502 }),
    () => Response.redirect("http://127.0.0.1:1/", 301),
  ];
  const storages = [storeAt("http://127.0.0.1:1"), ...answers.map((answer) => serve(answer).storage)];
  for (const storage of storages) {
    const works = [
      put(storage, pseudoRandomBytes(0, 9)),
      storage.open("some/key"),
      storage.stat("some/key"),
      storage.copy("some/key", "k"),
    ];
    for (const error of await Promise.all(works.map(failureOf))) {
      const text = `${error} ${Bun.inspect(error)} ${JSON.stringify(error)}`.replaceAll(import.meta.dir, "");
      expect(error).toMatchObject({ name: "StorageError", reason: "unavailable" });
      expect(text).not.toMatch(/AKIA|EXAMPLEKEY|Signature=|X-Amz|session-token|some\/key|127\.0\.0\.1|html/);
    }
  }
  expect(Bun.inspect(configOf("http://a"))).not.toContain("EXAMPLEKEY");
});

test("a signed URL: binds host, size, type and MD5, and expires at the requested time", async () => {
  const config: S3Config = { ...configOf("https://s3.example.com"), prefix: "service/" };
  let now = new Date("2026-11-20T12:00:00.999Z");
  const storage = await openStorage(config, { origin: () => "", now: () => now });
  const url = new URL(await storage.signGet("a/b", new Date("2026-11-20T12:01:00.001Z")));
  expect(url.origin + url.pathname).toBe("https://s3.example.com/bucket/service/a/b");
  expect(url.searchParams.get("X-Amz-Date")).toBe("20261120T120000Z");
  expect(url.searchParams.get("X-Amz-Expires")).toBe("60");
  expect(url.searchParams.get("X-Amz-SignedHeaders")).toBe("host");
  expect(url.searchParams.get("X-Amz-Security-Token")).toBe("session-token");
  // In whole seconds, rounded down.
  now = new Date("2026-11-20T12:00:00.001Z");
  const rounded = new URL(await storage.signGet("a/b", new Date("2026-11-20T12:01:00.999Z")));
  expect(rounded.searchParams.get("X-Amz-Expires")).toBe("60");
  now = new Date("2026-11-20T12:00:00.000Z");
  const upload = { contentType: "image/png", sizeBytes: 5, md5: md5Base64(pseudoRandomBytes(0, 5)) };
  const signed = await storage.signPut("a/b", { ...upload, expiresAt: new Date("2026-11-20T12:00:01.000Z") });
  const { searchParams } = new URL(signed.url);
  expect(searchParams.get("X-Amz-Expires")).toBe("1");
  expect(searchParams.get("X-Amz-SignedHeaders")).toBe("content-length;content-md5;content-type;host");
  expect(signed.headers).toEqual({ "Content-Type": "image/png", "Content-MD5": upload.md5 });
});
