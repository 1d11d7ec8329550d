/** The preparation of an avatar: from its source, or from a test asset, to its files and its row. */
import { beforeEach, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Caller } from "@realtime-avatar/db/callers/callers";
import { originalKey } from "@realtime-avatar/domain/assets/asset";
import type { AvatarRecord } from "@realtime-avatar/domain/avatars/avatar";
import { REQUIREMENTS } from "@realtime-avatar/domain/avatars/checks";
import { loopFile } from "@realtime-avatar/domain/avatars/idle-loop";
import { manifestFile, preparedKey } from "@realtime-avatar/domain/avatars/preparation";
import { TEST_ASSETS } from "@realtime-avatar/domain/avatars/test-assets";
import { newId } from "@realtime-avatar/domain/id";
import { createMetrics } from "@realtime-avatar/runtime/metrics";
import { portraitPath } from "@realtime-avatar/testing/photos";
import { random } from "@realtime-avatar/testing/random-bytes";
import { findTestCaller, seedKey } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import sharp from "sharp";
import { inspector } from "../../test/support/inspector.ts";
import { preparationTests } from "../../test/support/preparations.ts";
import { accept, FAILED, MESH, PASSED, refuse } from "../../test/support/source-checks.ts";
import { noise } from "../../test/support/world.ts";
import { createCheckSource } from "./check-source.ts";

const { world, start, seed, settled, auditOf } = preparationTests();

const read = async (avatar: AvatarRecord, file: string): Promise<Buffer> => {
  const stored = await world.storage.open(preparedKey(avatar, file));
  return Buffer.from(await new Response(stored?.stream).arrayBuffer());
};
const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

describe("the source of an avatar", () => {
  test("a source, passing every check: a ready avatar with four named files", async () => {
    const bytes = await noise();
    const asset = await world.seedReady(bytes);
    const avatar = await world.seedAvatar(asset.id);
    start();
    const ready = await settled(avatar);
    expect(ready).toMatchObject({ status: "ready", error: null, checks: [PASSED], cacheVersion: 1, generation: 1 });
    const [normalized, thumb, animated] = [1, 2, 4].map((part) => sha256(bytes.subarray(0, bytes.length / part)));
    const manifest = /^man_1_([0-9a-f]{64})$/.exec(ready.cacheManifestId ?? "")?.[1] ?? "";
    expect(await world.preparedOf(avatar)).toEqual(
      [`1/${normalized}-webp`, `1/${thumb}-webp`, `1/${animated}-webp`, `1/${manifest}-json`].sort(),
    );
    expect(ready.previewFile).toBe(`1/${thumb}-webp`);
    expect(ready.previewToken).toMatch(/^[A-Za-z0-9_-]{43}$/);
    const text = await read(avatar, `1/${manifest}-json`);
    expect(sha256(text)).toBe(manifest);
    expect(JSON.parse(text.toString())).toEqual({
      format: 1,
      tenantId: avatar.tenantId,
      avatarId: avatar.id,
      generation: 1,
      modelId: avatar.modelId,
      sourceKind: "image",
      source: { assetId: asset.id, sha256: sha256(bytes) },
      checks: [PASSED],
      pictures: {
        normalized: {
          file: `1/${normalized}-webp`,
          contentType: "image/webp",
          sizeBytes: bytes.length,
          sha256: normalized,
        },
        thumb: {
          file: `1/${thumb}-webp`,
          contentType: "image/webp",
          sizeBytes: Math.floor(bytes.length / 2),
          sha256: thumb,
        },
        animated: {
          file: `1/${animated}-webp`,
          contentType: "image/webp",
          sizeBytes: Math.floor(bytes.length / 4),
          sha256: animated,
        },
      },
      face: { version: 1, mesh: MESH },
    });
    expect(await world.storage.stat(preparedKey(avatar, ready.previewFile ?? ""))).toMatchObject({
      contentType: "image/webp",
    });
    expect(await auditOf(avatar)).toEqual(["avatar.created", "avatar.prepared"]);
    await world.removed();
  });

  test("a source with an idle loop: the loop stored, and named in the manifest", async () => {
    const asset = await world.seedReady(await noise());
    const avatar = await world.seedAvatar(asset.id);
    const loop = random(500);
    start({
      checkSource: async (source, signal) => {
        const checked = await accept(source, signal);
        const path = join(source.folder, "loop");
        await writeFile(path, loop);
        if (checked.kind !== "checked" || checked.files === null) throw new Error("The source was not accepted.");
        return { ...checked, files: { ...checked.files, loop: path } };
      },
    });
    const ready = await settled(avatar);
    const file = `1/${sha256(loop)}-loop`;
    expect(await read(avatar, file)).toEqual(Buffer.from(loop));
    const manifest = JSON.parse((await read(avatar, manifestFile(ready.cacheManifestId ?? "") ?? "")).toString());
    expect(loopFile(manifest)).toBe(file);
    expect(manifest.loop).toEqual({
      ...{ version: 1, file, contentType: "application/octet-stream", sizeBytes: 500, sha256: sha256(loop) },
    });
    await world.removed();
  });

  test("a source, failing a check: a failed avatar with the reason, no file stored", async () => {
    const avatar = await seed();
    start({ checkSource: refuse });
    expect(await settled(avatar)).toMatchObject({
      status: "failed",
      error: "No face was found.",
      checks: [PASSED, FAILED],
      cacheManifestId: null,
      cacheVersion: 0,
      previewToken: null,
    });
    expect(await world.preparedOf(avatar)).toEqual([]);
    expect(await auditOf(avatar)).toEqual(["avatar.created", "avatar.preparation_failed"]);
    await world.removed();
  });

  test("a source, without a picture: a ready avatar without a preview", async () => {
    const avatar = await seed();
    start({ checkSource: async () => ({ kind: "checked", checks: [PASSED], files: null }) });
    const ready = await settled(avatar);
    expect(ready).toMatchObject({ status: "ready", previewToken: null, previewFile: null, cacheVersion: 1 });
    expect(await world.preparedOf(avatar)).toEqual([expect.stringMatching(/^1\/[0-9a-f]{64}-json$/)]);
  });

  test("a source that is still being processed: awaited, without using an attempt", async () => {
    const asset = await world.seedUpload(await noise());
    const avatar = await world.seedAvatar(asset.id);
    const metrics = createMetrics("1.2.3");
    let isDone = false;
    const { client } = world.database.db;
    start({
      metrics,
      processAsset: async () => {
        await until(() => isDone, { pollMs: 5 });
        return { kind: "gone" };
      },
    });
    const text = async () => (await metrics.fetch(new Request("http://localhost/metrics"))).text();
    const waits = async () =>
      Number(/duration_seconds_count\{kind="prepare_avatar",outcome="waiting"\} (\d+)/.exec(await text())?.[1] ?? 0);
    await until(async () => (await waits()) >= 2);
    expect(await world.currentOf(avatar)).toMatchObject({ status: "preprocessing", attempts: 0, lastError: null });
    const stored = await world.storage.open(originalKey(asset));
    const digest = sha256(Buffer.from(await new Response(stored?.stream).arrayBuffer()));
    await client`update assets set status = 'ready', sha256 = ${digest} where id = ${asset.id}`;
    await client`delete from jobs where target_id = ${asset.id}`;
    isDone = true;
    expect(await settled(avatar)).toMatchObject({ status: "ready", cacheVersion: 1 });
    metrics.stop();
  });

  test("a source, failed: the avatar fails with its reason", async () => {
    const asset = await world.seedUpload(await noise());
    const avatar = await world.seedAvatar(asset.id);
    const { client } = world.database.db;
    await client`
      update assets set status = 'failed', error_code = 'not_decodable', error_detail = 'The file is cut off.'
      where id = ${asset.id}`;
    await client`delete from jobs where target_id = ${asset.id}`;
    start();
    expect(await settled(avatar)).toMatchObject({
      status: "failed",
      error: "The source asset has failed. The file is cut off.",
      checks: [],
    });
  });

  test.each(["ast_test_ready", newId("ast", new Date(), random)])(
    "a source, %s in live: not found; the avatar fails",
    async (sourceAssetId) => {
      const avatar = await seed();
      await world.database.db.client`update avatars set source_asset_id = ${sourceAssetId} where id = ${avatar.id}`;
      start();
      expect(await settled(avatar)).toMatchObject({
        status: "failed",
        error: expect.stringMatching(/^The source asset does not exist\./),
      });
    },
  );

  test("a source whose file is missing or changed: tried again", async () => {
    const assets = [await world.seedReady(await noise()), await world.seedReady(await noise())] as const;
    const avatars = [await world.seedAvatar(assets[0].id), await world.seedAvatar(assets[1].id)] as const;
    await world.storage.delete(originalKey(assets[0]));
    const other = await noise();
    const stream = new Blob([other]).stream();
    await world.storage.put(originalKey(assets[1]), { stream, sizeBytes: other.length }, "image/png");
    start();
    const [missing, changed] = [await settled(avatars[0]), await settled(avatars[1])];
    expect(missing).toMatchObject({ status: "preprocessing", lastError: expect.stringContaining("use one store?") });
    expect(changed).toMatchObject({ status: "preprocessing", lastError: expect.stringContaining("not the file") });
  });
});

// `check-source.system.test.ts` tests a photo without a face, with the error of its avatar.
describe("a photo in the sandbox", () => {
  const checkBundled = () => createCheckSource({ log: world.log, command: inspector });

  test("a photo, of one face: a ready avatar with a preview of 256 pixels", async () => {
    const avatar = await world.seedAvatar((await world.seedReady(await readFile(portraitPath()))).id);
    start({ checkSource: checkBundled() });
    const ready = await settled(avatar);
    expect(ready).toMatchObject({ status: "ready", error: null });
    expect(ready.checks.map(({ code }) => code)).toEqual(REQUIREMENTS.image.map(({ code }) => code));
    const files = await world.preparedOf(avatar);
    expect(files).toHaveLength(4);
    expect(await sharp(await read(avatar, ready.previewFile ?? "")).metadata()).toMatchObject({
      format: "webp",
      width: 256,
      height: 256,
    });
    await world.removed();
    // A second preparation writes the same files.
    await world.stopLoops();
    await world.database.db.client`
      update avatars set status = 'preprocessing', generation = 1 where id = ${avatar.id}`;
    await world.seedPreparation(avatar);
    start({ checkSource: checkBundled() });
    expect(await settled(avatar)).toMatchObject({ status: "ready", cacheManifestId: ready.cacheManifestId });
    expect(await world.preparedOf(avatar)).toEqual(files);
  });
});

describe("a test asset", () => {
  let caller: Caller;
  beforeEach(async () => {
    const { db } = world.database;
    const { secret } = await seedKey(db, world.caller.tenantId, { environment: "test", scopes: ["*"] });
    caller = await findTestCaller(db, secret.keyId);
  });

  test.each(Object.entries(TEST_ASSETS))("a test asset, %s: its outcome", async (id, outcome) => {
    const avatar = await world.seedAvatar(id, caller);
    const metrics = createMetrics("1.2.3");
    start({ metrics });
    await world.untilDone();
    const state = await world.currentOf(avatar);
    expect(state).toMatchObject({ status: outcome.kind === "ready" ? "ready" : "failed", attempts: null });
    const verdictsOf = (verdict: string) =>
      state.checks.filter((check) => check.verdict === verdict).map(({ code }) => code);
    if (outcome.kind === "internal") {
      expect(state).toMatchObject({ checks: [], error: expect.stringContaining("not in its source") });
      await world.ended(5);
      // The caller requested the failure, so the operator is not warned.
      expect(world.lines.filter(({ level }) => Number(level) > 30)).toEqual([]);
      const text = await (await metrics.fetch(new Request("http://localhost/metrics"))).text();
      expect(text).not.toContain('outcome="exhausted"');
    } else if (outcome.kind === "failed") {
      expect(verdictsOf("fail")).toEqual([outcome.check]);
      expect(state.error).toBe(state.checks.find(({ verdict }) => verdict === "fail")?.detail ?? "");
      expect(await world.preparedOf(avatar)).toEqual([]);
    } else {
      expect(verdictsOf("fail")).toEqual([]);
      expect(verdictsOf("warn")).toEqual(outcome.warning === null ? [] : [outcome.warning]);
      const picture = await read(avatar, state.previewFile ?? "");
      expect([picture.toString("latin1", 0, 4), picture.toString("latin1", 8, 12)]).toEqual(["RIFF", "WEBP"]);
      expect(state).toMatchObject({ error: null, cacheVersion: 1, previewToken: expect.any(String) });
    }
    metrics.stop();
  });
});
