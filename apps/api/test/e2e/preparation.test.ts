/** The life of a preparation, over HTTP. The tests end each preparation like the worker. */
import { describe, expect, test } from "bun:test";
import { Avatar } from "@realtime-avatar/domain/avatars/schemas";
import { TEST_ASSETS } from "@realtime-avatar/domain/avatars/test-assets";
import { validate } from "@realtime-avatar/domain/schema";
import { readAnswer, startApi } from "../support/api.ts";
import { assetCalls } from "../support/assets.ts";
import { avatarCalls, FAILED, outcome, PASSED, PATH, preparationCalls } from "../support/avatars.ts";

const api = await startApi();
const key = await api.key();
const inTest = await api.key({ scopes: ["*"] });

const of = [api, key] as const;
const { make, get, patch, trail } = avatarCalls(...of);
const assets = assetCalls(...of);
const { start, endReady, ready, fail, processed, generationsOf } = preparationCalls(api);

/** Creates a processed photo; returns its id. */
const photo = async (): Promise<string> => {
  const { id } = await assets.make();
  await processed(id);
  return id;
};
const makeFrom = async (sourceAssetId: string) => make({ sourceAssetId });
const makeReady = async (sourceAssetId?: string): Promise<Avatar> => {
  const { id } = await makeFrom(sourceAssetId ?? (await photo()));
  expect(await ready(id)).toBe("finished");
  return (await get(id)).body;
};
const prepare = (
  id: string,
  { by = key, headers = {}, body }: { by?: string; headers?: object; body?: unknown } = {},
) =>
  api.call("POST", `${PATH}/${id}/prepare`, {
    key: by,
    headers: { ...headers },
    ...(body === undefined ? {} : { body }),
  });
const actionsOf = async (id: string) => (await trail(id)).map((event) => event["action"]);
const picture = async (url: string | null) => readAnswer(await fetch(url ?? ""));

describe("from the creation to ready", () => {
  test("an avatar with a source, polled with If-None-Match: preprocessing, then ready", async () => {
    const sourceAssetId = await photo();
    const created = await api.call("POST", PATH, {
      key,
      body: { displayName: "x", sourceKind: "image", sourceAssetId },
    });
    expect([created.status, created.body.status, created.headers.get("etag")]).toEqual([201, "preprocessing", '"1"']);
    expect(validate(Avatar, created.body)).toEqual([]);
    const { id } = created.body;
    expect((await get(id)).body).toEqual(created.body);
    expect(await generationsOf(id)).toEqual([1]);
    const poll = (etag: string) => get(id, { "if-none-match": etag });
    expect([(await poll('"1"')).status, (await poll('"1"')).text]).toEqual([304, ""]);

    const started = await start(id);
    expect(started.started.kind).toBe("started");
    expect((await poll('"1"')).status).toBe(304);
    expect(await endReady(started, "a face")).toBe("finished");
    const done = await poll('"1"');
    const after = done.body;
    expect([done.status, after.status, after.error, after.checks]).toEqual([200, "ready", null, [PASSED]]);
    expect(after.cacheManifestId).toMatch(/^man_1_[0-9a-f]{64}$/);
    expect([after.cacheVersion, after.sourceAssetId, after.pendingSourceAssetId]).toEqual([1, sourceAssetId, null]);
    expect(validate(Avatar, after)).toEqual([]);
    expect(done.headers.get("etag")).not.toBe('"1"');
    expect((await poll(done.headers.get("etag") ?? "")).status).toBe(304);
    expect(await generationsOf(id)).toEqual([]);
    expect(await trail(id)).toMatchObject([{ action: "avatar.prepared", actor_key_id: null }]);
  });

  test("a draft whose source is set later: prepared", async () => {
    const draft = await make();
    expect(outcome(await prepare(draft.id))).toEqual([409, "invalid_transition"]);
    expect((await prepare(draft.id)).body.detail).toBe("The avatar has no source. Set `sourceAssetId`.");
    const { status, body } = await patch(draft.id, { sourceAssetId: await photo() });
    expect([status, body.status]).toEqual([200, "preprocessing"]);
    expect(await ready(draft.id)).toBe("finished");
    expect((await get(draft.id)).body).toMatchObject({ status: "ready", cacheVersion: 1 });
  });

  test("a call with an avatar that is not ready: refused; later: opened", async () => {
    const { id } = await makeFrom(await photo());
    const open = () =>
      api.call("POST", "/api/v1/usage/sessions", { key, body: { maxSessionSeconds: 1, avatarId: id } });
    expect(outcome(await open())).toEqual([409, "avatar_not_ready"]);
    await ready(id);
    expect((await open()).status).toBe(201);
    // A new source is prepared in the background.
    await patch(id, { sourceAssetId: await photo() });
    expect((await open()).status).toBe(201);
  });
});

describe("a failed preparation", () => {
  test("a failed avatar, read, then with another source: its error, then prepared", async () => {
    const { id } = await makeFrom(await photo());
    expect(await fail(id)).toBe("finished");
    const failed = (await get(id)).body;
    expect(failed).toMatchObject({
      status: "failed",
      error: "No face was found. Use a photo of one face.",
      checks: [FAILED],
      previewUrl: null,
      animatedPreviewUrl: null,
      cacheManifestId: null,
      cacheVersion: 0,
    });
    expect(validate(Avatar, failed)).toEqual([]);
    const { body } = await patch(id, { sourceAssetId: await photo() });
    expect(body).toMatchObject({ status: "preprocessing", error: null, checks: [] });
    expect(await generationsOf(id)).toEqual([2]);
    await ready(id);
    expect(await actionsOf(id)).toEqual(["avatar.preparation_failed", "avatar.updated", "avatar.prepared"]);
  });

  test("a failed avatar, prepared again from the same source: ready", async () => {
    const { id } = await makeFrom(await photo());
    await fail(id);
    const again = await prepare(id, { body: {} });
    expect([again.status, again.body.status, again.body.error, again.body.checks]).toEqual([
      200,
      "preprocessing",
      null,
      [],
    ]);
    expect((await get(id)).body).toEqual(again.body);
    expect((await get(id)).headers.get("etag")).toBe(again.headers.get("etag"));
    const refused = await prepare(id);
    expect(outcome(refused)).toEqual([409, "invalid_transition"]);
    expect(refused.body).toMatchObject({
      detail: "The avatar is being prepared already. Its status becomes `ready` or `failed`.",
      currentStatus: "preprocessing",
      allowedStatuses: ["deleted"],
    });
    await ready(id);
    expect((await get(id)).body.status).toBe("ready");
  });
});

describe("another preparation", () => {
  test("a ready avatar, prepared again: unchanged until the new files are ready", async () => {
    const before = await makeReady();
    const { body, headers } = await prepare(before.id);
    expect(body).toEqual({ ...before, updatedAt: body.updatedAt });
    expect((await get(before.id)).body).toEqual(body);
    expect((await get(before.id)).headers.get("etag")).toBe(headers.get("etag"));
    await ready(before.id, "another picture");
    expect((await get(before.id)).body).toMatchObject({ status: "ready", cacheVersion: 2 });
  });

  test("40 preparations, at once: each response has its own version", async () => {
    const { id } = await makeReady();
    const answers = await Promise.all(Array.from({ length: 40 }, () => prepare(id)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(new Set(answers.map(({ headers }) => headers.get("etag"))).size).toBe(40);
    expect(await generationsOf(id)).toEqual([41]);
  });
});

describe("a new source of a ready avatar", () => {
  test("a new source, until ready: pending, and the old picture is served", async () => {
    const [first, second] = [await photo(), await photo()];
    const before = await makeReady(first);
    const { body } = await patch(before.id, { sourceAssetId: second });
    expect(body).toEqual({ ...before, pendingSourceAssetId: second, updatedAt: body.updatedAt });
    expect((await picture(before.previewUrl)).text).toBe("a face");
    expect(outcome(await assets.call("DELETE", `/${second}`))).toEqual([409, "asset_in_use"]);
    await ready(before.id, "another face");
    const after = (await get(before.id)).body;
    expect(after).toMatchObject({
      status: "ready",
      sourceAssetId: second,
      pendingSourceAssetId: null,
      cacheVersion: 2,
    });
    expect((await picture(after.previewUrl)).text).toBe("another face");
    expect((await assets.call("DELETE", `/${first}`)).status).toBe(200);
  });

  test("a new source whose preparation fails: the old picture stays, the error is shown", async () => {
    const before = await makeReady();
    await patch(before.id, { sourceAssetId: await photo() });
    await fail(before.id);
    const after = (await get(before.id)).body;
    const { error, checks, updatedAt } = after;
    expect(after).toEqual({ ...before, error, checks, updatedAt });
    expect([error, checks]).toEqual(["No face was found. Use a photo of one face.", [FAILED]]);
    expect((await picture(before.previewUrl)).text).toBe("a face");
  });

  test("a new source, then set to null: the preparation is dropped", async () => {
    const before = await makeReady();
    await patch(before.id, { sourceAssetId: await photo() });
    const late = await start(before.id);
    const { body } = await patch(before.id, { sourceAssetId: null });
    expect(body).toEqual({ ...before, sourceAssetId: null, updatedAt: body.updatedAt });
    expect(await generationsOf(before.id)).toEqual([]);
    expect(await endReady(late, "too late")).toBe("lost");
    expect((await get(before.id)).body).toEqual(body);
  });
});

describe("test assets", () => {
  const create = (sourceAssetId: string, by: string) =>
    api.call("POST", PATH, { key: by, body: { displayName: "x", sourceKind: "video", sourceAssetId } });

  test("a test asset, used by a test key: preprocessing", async () => {
    for (const name of Object.keys(TEST_ASSETS)) {
      const { status, body } = await create(name, inTest);
      expect([status, body.status, body.sourceAssetId]).toEqual([201, "preprocessing", name]);
    }
    const draft = await make({}, inTest);
    const { body } = await patch(draft.id, { sourceAssetId: "ast_test_no_face" }, {}, inTest);
    expect([body.status, body.sourceAssetId]).toEqual(["preprocessing", "ast_test_no_face"]);
    const { started } = await start(draft.id);
    expect(started).toMatchObject({ kind: "started", sourceAssetId: "ast_test_no_face", asset: null });
  });
});
