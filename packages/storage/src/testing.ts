/** The stores of the tests: each driver on its real backend. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { missingForSwift, type Swift, startSwift } from "@realtime-avatar/testing/storage/swift";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import { DOWNLOAD_PATH, UPLOAD_PATH } from "./disk/signed-url.ts";
import { openStorage } from "./open.ts";
import { createSigner, type S3Config } from "./s3/signer.ts";
import { Secret } from "./secret.ts";
import type { Storage } from "./storage.ts";

export type TestStore = {
  storage: Storage;
  /** The delay of the clock that signs, in milliseconds. */
  clock: { behindMs: number };
  close(): Promise<void>;
};

export type Driver = { name: string; missing: readonly string[]; open(): Promise<TestStore> };

/** Serves the signed URLs of a disk, as the routes of the API do. */
const serveSigned = (storageOf: () => Storage) =>
  Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    maxRequestBodySize: 2 ** 30,
    fetch: async (request) => {
      const { served, open } = storageOf();
      if (!served) return new Response(null, { status: 404 });
      const { pathname } = new URL(request.url);
      if (request.method === "PUT" && pathname.startsWith(UPLOAD_PATH)) {
        const verified = served.verifyPut(pathname.slice(UPLOAD_PATH.length), request.headers, new Date());
        if (verified.kind === "refused") return new Response(verified.reason, { status: 403 });
        const received = await served.receive(verified.upload, request.body ?? new Blob().stream());
        return received.kind === "stored" ? new Response() : new Response(received.reason, { status: 400 });
      }
      if (request.method === "GET" && pathname.startsWith(DOWNLOAD_PATH)) {
        const verified = served.verifyGet(pathname.slice(DOWNLOAD_PATH.length), new Date());
        if (verified.kind === "refused") return new Response(verified.reason, { status: 403 });
        const file = await open(verified.file.key);
        return file ? new Response(file.stream) : new Response(null, { status: 404 });
      }
      return new Response(null, { status: 404 });
    },
  });

const openDiskStore = async (): Promise<TestStore> => {
  const folder = await temporaryFolder();
  const clock = { behindMs: 0 };
  let storage: Storage | null = null;
  const server = serveSigned(() => storage as Storage);
  storage = await openStorage(
    { kind: "disk", directory: join(folder, "assets"), signingSecret: null },
    { origin: () => server.url.origin, now: () => new Date(Date.now() - clock.behindMs) },
  );
  const close = async (): Promise<void> => {
    await storage?.close();
    await server.stop(true);
    await rm(folder, { recursive: true, force: true });
  };
  return { storage, clock, close };
};

/** Starts Swift with a bucket. */
export const startSwiftBucket = async (): Promise<{ swift: Swift; config: S3Config }> => {
  const swift = await startSwift();
  const config: S3Config = {
    kind: "s3",
    ...swift,
    bucket: "assets",
    prefix: "service/",
    secretAccessKey: new Secret(swift.secretAccessKey),
    sessionToken: null,
  };
  const { url, headers } = await createSigner(config).sign({
    method: "PUT",
    key: null,
    query: {},
    headers: {},
    bodySha256: "UNSIGNED-PAYLOAD",
  });
  const created = await fetch(url, { method: "PUT", headers });
  if (!created.ok) throw new Error(`Swift made no bucket: ${created.status} ${await created.text()}`);
  return { swift, config };
};

const openSwiftStore = async (): Promise<TestStore> => {
  const { swift, config } = await startSwiftBucket();
  const clock = { behindMs: 0 };
  const storage = await openStorage(config, {
    origin: () => "",
    now: () => new Date(Date.now() - clock.behindMs),
  });
  const close = async (): Promise<void> => {
    await storage.close();
    await swift.close();
  };
  return { storage, clock, close };
};

export const DISK: Driver = { name: "disk", missing: [], open: openDiskStore };
export const SWIFT: Driver = { name: "S3 (Swift)", missing: missingForSwift, open: openSwiftStore };
export const DRIVERS: readonly Driver[] = [DISK, SWIFT];
