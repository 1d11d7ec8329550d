/** Processing the file of an asset: from the store or from its URL, through the sandbox, to the public image. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { deleteAsset, findAsset } from "@realtime-avatar/db/assets/assets";
import { type AssetRecord, originalKey, publicKey } from "@realtime-avatar/domain/assets/asset";
import { ASSET_LIMITS } from "@realtime-avatar/domain/assets/limits";
import { openStorage } from "@realtime-avatar/storage/open";
import { StorageError } from "@realtime-avatar/storage/storage";
import { seedOrigin } from "@realtime-avatar/testing/seeds";
import { canMountDisk } from "@realtime-avatar/testing/storage/small-disk";
import { until } from "@realtime-avatar/testing/until";
import { inspector } from "../../test/support/inspector.ts";
import { withSmallDisk } from "../../test/support/small-disk.ts";
import { eachWorld, noise } from "../../test/support/world.ts";
import { MAX_ATTEMPTS } from "../jobs/handler.ts";
import { createTemporaryFolders } from "../jobs/temporary-folders.ts";
import { fetchRemote } from "../remote/fetch.ts";
import { http, startServer, type TestServer } from "../remote/server.testing.ts";
import { wav } from "../sandbox/corpus/media.testing.ts";
import { createInspect, type InspectOptions } from "./inspect.ts";
import { createProcessAsset, type ProcessOptions } from "./process.ts";

let server: TestServer;
/** The response of the server of remote files. */
let respond: (path: string) => string | Buffer;
const world = eachWorld();
beforeEach(async () => {
  respond = () => http(404, {});
  server = await startServer((path, socket) => void socket.end(respond(path)));
});
afterEach(() => server.close());

/** A response with a file. */
const file = (bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from(http(200, { "content-length": bytes.length })), bytes]);
const urlOf = (path: string): string => `https://files.example.com:${server.port}/${path}`;

/** Starts a worker's job loop. `retrySeconds`: the pause before the second attempt. */
const start = (options: Partial<ProcessOptions & InspectOptions> & { retrySeconds?: number } = {}): void => {
  const { retrySeconds = 3600, ...others } = options;
  const handler = createProcessAsset({
    ...world.parts(),
    fetchRemote: (url, request) => fetchRemote(url, { ...request, network: server.network }),
    inspect: createInspect({ log: world.log, command: inspector, ...others }),
    ...others,
  });
  world.loop({ process_asset: handler }, { timing: { retrySeconds } });
};

/** Waits until the asset has no job, or its job waits for the next attempt. Returns the state. */
const settled = (asset: AssetRecord) =>
  until(
    async () => {
      const state = await world.stateOf(asset);
      return (state.attempts === null || (state.lastError !== null && state.status !== "processing")) && state;
    },
    { state: () => world.stateOf(asset) },
  );
const recordOf = (asset: AssetRecord) => findAsset(world.database.db, asset, asset.id);

describe("an uploaded asset", () => {
  test("an upload, processed: ready, digest, public image, no temporary file", async () => {
    const bytes = await noise();
    const asset = await world.seedUpload(bytes);
    start();
    expect(await settled(asset)).toMatchObject({ status: "ready", errorCode: null });
    expect(await recordOf(asset)).toMatchObject({
      contentType: "image/png",
      sizeBytes: bytes.length,
      sha256: createHash("sha256").update(bytes).digest("hex"),
      publicType: "image/webp",
    });
    const published = await world.storage.open(publicKey(asset));
    const image = Buffer.from(await new Response(published?.stream).arrayBuffer());
    expect([image.toString("latin1", 0, 4), image.toString("latin1", 8, 12)]).toEqual(["RIFF", "WEBP"]);
    expect(await world.storage.stat(publicKey(asset))).toMatchObject({ contentType: "image/webp" });
    await world.removed();
  });

  test("a recording, processed: its length is known", async () => {
    const asset = await world.seedUpload(wav(1.5), "audio");
    start();
    expect(await settled(asset)).toMatchObject({ status: "ready" });
    const [row] = await world.database.db.client`select duration_ms from assets where id = ${asset.id}`;
    expect(row?.["duration_ms"]).toBe(1500);
    await world.removed();
  });

  test("an upload, refused by every decoder: failed with advice, its files deleted", async () => {
    const asset = await world.seedUpload((await noise()).subarray(0, 2000));
    start();
    const errorDetail = expect.stringMatching(/\. Upload it again, or export it anew as JPEG or PNG\.$/);
    expect(await settled(asset)).toMatchObject({ status: "failed", errorCode: "not_decodable", errorDetail });
    await world.removed();
    expect(await world.filesOf(asset)).toEqual({ original: false, public: false });
  });

  test("an upload, of the largest size of its kind and a byte more: inspected, and failed", async () => {
    const png = await noise();
    const { maxBytes } = ASSET_LIMITS.image;
    const sized = (sizeBytes: number) => world.seedUpload(Buffer.concat([png, Buffer.alloc(sizeBytes - png.length)]));
    const [largest, larger] = [await sized(maxBytes), await sized(maxBytes + 1)];
    start({ inspect: async () => ({ kind: "failed", code: "not_decodable", detail: "inspected" }) });
    expect(await settled(largest)).toMatchObject({ status: "failed", errorDetail: "inspected" });
    expect(await settled(larger)).toMatchObject({ status: "failed", errorCode: "too_large" });
    await world.removed();
  });

  test.each([
    ["of another kind", () => noise(), "video", "asset_kind_mismatch"],
    ["of no accepted type", async () => Buffer.from("<svg></svg>"), "image", "unsupported_type"],
  ] as const)("an upload, %s: failed", async (_, bytes, kind, code) => {
    const asset = await world.seedUpload(await bytes(), kind);
    start();
    const ended = await settled(asset);
    expect(ended).toMatchObject({ status: "failed", errorCode: code });
    if (code === "unsupported_type")
      expect(ended?.errorDetail).toStartWith("This is an SVG drawing. Export it as PNG.");
    await world.removed();
    expect(await world.filesOf(asset)).toEqual({ original: false, public: false });
  });

  test("an upload whose file is missing in the store: tried again, with a possible reason in the log", async () => {
    const asset = await world.seedUpload(await noise());
    await world.storage.delete(originalKey(asset));
    start();
    expect(await settled(asset)).toMatchObject({
      status: "uploaded",
      lastError: expect.stringContaining("use one store?"),
    });
  });
});

describe("an asset from a URL", () => {
  test("a remote file, fetched: kept, and ready", async () => {
    const bytes = await noise();
    respond = () => file(bytes);
    const asset = await world.seedRemote(urlOf("ada.png"));
    start();
    expect(await settled(asset)).toMatchObject({ status: "ready" });
    const original = await world.storage.open(originalKey(asset));
    expect(Buffer.from(await new Response(original?.stream).arrayBuffer()).equals(bytes)).toBe(true);
  });

  test.each([
    [
      "is not there",
      () => http(404, {}),
      "unexpected_status",
      "The host responded with status 404 instead of 200. Use a URL at which everyone can get the file without signing in, or upload the file instead.",
    ],
    [
      "is larger than its kind may be",
      () => http(200, { "content-length": 17 * 1024 * 1024 }),
      "too_large",
      "The file is larger than 16 MiB. Scale the picture down, or export it as JPEG.",
    ],
    [
      "is a page of HTML",
      () => http(200, { "content-length": 6 }, "<html>"),
      "unsupported_type",
      "This is a page of HTML. Send the file itself, not the page that shows it. Accepted: JPEG, PNG or WebP.",
    ],
    [
      "is redirected to http",
      () => http(302, { location: "http://files.example.com/ada.png" }),
      "https_required",
      "The URL to which the host redirects does not begin with https://. Use a URL that begins with https://, or upload the file instead.",
    ],
  ])("a remote file that %s: failed at once, with advice", async (_, response, code, detail) => {
    respond = response;
    const asset = await world.seedRemote(urlOf("ada.png"));
    start();
    expect(await settled(asset)).toMatchObject({ status: "failed", errorCode: code, errorDetail: detail });
    await world.removed();
    expect(await world.filesOf(asset)).toEqual({ original: false, public: false });
  });

  test("a remote file whose host is unreachable for a time: fetched again, ready", async () => {
    const bytes = await noise();
    let requests = 0;
    respond = () => (requests++ === 0 ? http(503, {}) : file(bytes));
    const asset = await world.seedRemote(urlOf("ada.png"));
    start({ retrySeconds: 0 });
    await world.untilDone();
    expect([await world.stateOf(asset), requests]).toMatchObject([{ status: "ready" }, 2]);
  });

  test("a remote file whose host is permanently unreachable: failed with that reason", async () => {
    respond = () => http(503, {});
    const asset = await world.seedRemote(urlOf("ada.png"));
    start({ retrySeconds: 0 });
    await world.untilDone();
    expect(await world.stateOf(asset)).toMatchObject({
      status: "failed",
      errorCode: "unexpected_status",
      errorDetail:
        "The host responded with status 503 instead of 200. Import it again later, or upload the file instead.",
    });
  });

  test("a remote file, stored by an earlier attempt: not fetched again", async () => {
    const bytes = await noise();
    const asset = await world.seedRemote(urlOf("ada.png"));
    const stream = new Blob([Buffer.from(bytes)]).stream();
    await world.storage.put(originalKey(asset), { stream, sizeBytes: bytes.length }, "image/png");
    start();
    expect(await settled(asset)).toMatchObject({ status: "ready" });
    expect(server.connections()).toBe(0);
  });
});

describe("a crashing decoder", () => {
  /**
   * A program in place of the sandbox's child, which crashes the first `crashes` times. The test counts the starts,
   * because the program cannot open a file for that.
   */
  const crashing = (crashes: number) => {
    let started = 0;
    const report = `{"kind":"accepted","width":1,"height":1,"publicWidth":1,"publicHeight":1,"publicBytes":1}`;
    const succeed = `printf '${report}'; printf 'RIFF....WEBPVP8 ' >&3`;
    const command = () => {
      started += 1;
      return ["/bin/sh", "-c", started <= crashes ? "kill -SEGV $$" : succeed];
    };
    return { command, starts: () => started };
  };

  /** Waits until the asset has no job. */
  const ended = async (asset: AssetRecord) => {
    await until(async () => (await world.stateOf(asset)).attempts === null);
    return world.stateOf(asset);
  };

  test("that crashes once: the asset is ready after the next attempt", async () => {
    const { command, starts } = crashing(1);
    const asset = await world.seedUpload(await noise());
    start({ command, retrySeconds: 0 });
    expect(await ended(asset)).toMatchObject({ status: "ready" });
    expect([starts(), await world.filesOf(asset)]).toEqual([2, { original: true, public: true }]);
  });

  test("that always crashes: a fault of the service after all attempts; other assets are not affected", async () => {
    const { command, starts } = crashing(Number.POSITIVE_INFINITY);
    const [asset, video] = [await world.seedUpload(await noise()), await world.seedUpload(Buffer.from("x"))];
    start({ command, retrySeconds: 0 });
    expect(await ended(asset)).toMatchObject({ status: "failed", errorCode: "internal" });
    expect(await ended(video)).toMatchObject({ status: "failed", errorCode: "unsupported_type" });
    await world.removed();
    expect(starts()).toBe(MAX_ATTEMPTS);
  });

  test.skipIf(process.platform !== "linux")(
    "that takes too much processor time: a fault of the file, after one child",
    async () => {
      let starts = 0;
      const command = () => {
        starts += 1;
        return ["/bin/sh", "-c", "kill -XCPU $$"];
      };
      const asset = await world.seedUpload(await noise());
      start({ command });
      expect(await ended(asset)).toMatchObject({ status: "failed", errorCode: "inspection_failed" });
      expect(starts).toBe(1);
    },
  );
});

describe("an asset that changes meanwhile", () => {
  const remove = (asset: AssetRecord) =>
    deleteAsset(world.database.db, asset.id, { versions: null }, world.caller, seedOrigin(world.caller));

  test.each(["while its file is inspected", "while its public image is stored"])(
    "an asset, deleted %s: stays deleted; its files are removed",
    async (when) => {
      const asset = await world.seedUpload(await noise());
      const { storage } = world;
      const sandbox = createInspect({ log: world.log, command: inspector });
      const deleteNow = async (moment: string): Promise<void> => {
        if (when.includes(moment)) expect(await remove(asset)).toMatchObject({ kind: "written" });
      };
      start({
        inspect: async (...args) => {
          const inspection = await sandbox(...args);
          await deleteNow("inspected");
          return inspection;
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
      expect(await world.stateOf(asset)).toMatchObject({ status: "deleted", attempts: null });
      expect(await world.filesOf(asset)).toEqual({ original: false, public: false });
    },
  );

  test.each([
    ["original", originalKey],
    ["public image", publicKey],
  ] as const)("an asset whose %s is not stored: not recorded as stored, and tried again", async (_, keyOf) => {
    const bytes = await noise();
    respond = () => file(bytes);
    const asset = await world.seedRemote(urlOf("ada.png"));
    const { storage } = world;
    start({
      storage: {
        ...storage,
        put: async (key, ...others) => {
          if (key === keyOf(asset)) throw new StorageError("unavailable", "The store did not answer in time.");
          await storage.put(key, ...others);
        },
      },
    });
    expect(await settled(asset)).toMatchObject({
      status: "pending_upload",
      lastError: "The store did not answer in time.",
    });
  });

  test("a worker that loses its lease during the fetch: does not replace the next worker's file", async () => {
    const [first, second] = [await noise(), await noise()];
    const asset = await world.seedRemote(urlOf("ada.png"));
    respond = () => file(second);
    const fetched = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    let fetches = 0;
    const options: Partial<ProcessOptions> = {
      fetchRemote: async (url, request) => {
        const isFirst = fetches++ === 0;
        if (isFirst) respond = () => file(first);
        const outcome = await fetchRemote(url, { ...request, network: server.network });
        if (!isFirst) return outcome;
        respond = () => file(second);
        fetched.resolve();
        await goOn.promise;
        return outcome;
      },
    };
    start(options);
    await fetched.promise;
    // The first worker does not claim the job again, because it must run alone there.
    start(options);
    await world.expire();
    await world.untilDone();
    goOn.resolve();
    await world.ended(2);
    const stored = await world.storage.open(originalKey(asset));
    expect(Buffer.from(await new Response(stored?.stream).arrayBuffer()).equals(second)).toBe(true);
    expect(await world.stateOf(asset)).toMatchObject({ status: "ready" });
  });
});

describe.skipIf(!canMountDisk)("a full disk (as root, who may mount a small file system)", () => {
  test.each(["temporary files", "stored files"])(
    "a full disk, for %s: the job is tried again, with the reason",
    async (which) => {
      await withSmallDisk(async (full) => {
        const bytes = await noise(800);
        expect(bytes.length).toBeGreaterThan(1024 * 1024);
        respond = () => file(bytes);
        const asset = await world.seedRemote(urlOf("ada.png"));
        const disk = { kind: "disk", directory: join(full, "assets"), signingSecret: null } as const;
        const isStore = which === "stored files";
        const storage = isStore ? await openStorage(disk, { origin: () => "http://localhost" }) : world.storage;
        const temporary = createTemporaryFolders(isStore ? world.temporary : full);
        start({ storage, temporary });
        const state = await settled(asset);
        expect(state).toMatchObject({ status: "pending_upload", attempts: 1 });
        expect(state.lastError).toMatch(isStore ? /^The disk has no room for the file\.$/ : /ENOSPC/);
        expect((await readdir(isStore ? world.temporary : full)).filter((name) => name.startsWith("realtime"))).toEqual(
          [],
        );
        if (isStore) expect(await storage.stat(originalKey(asset))).toBeNull();
        await world.stopLoops();
      });
    },
  );
});
