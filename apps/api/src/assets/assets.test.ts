import { describe, expect, test } from "bun:test";
import { ASSET_LIMITS } from "@realtime-avatar/domain/assets/limits";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { within } from "@realtime-avatar/testing/until";
import { type Answer, createTestApp, readAnswer, requestInit, startApi, TEST_CONFIG } from "../../test/support/api.ts";
import { assetCalls } from "../../test/support/assets.ts";
import { PNG } from "../../test/support/forms.ts";

const api = await startApi();
const key = await api.key();
const { make, call, put, trail, upload, stored } = assetCalls(api, key);
const outcome = ({ status, body }: Answer) => [status, body?.code, body?.errors?.[0]?.pointer, body?.errors?.[0]?.code];

const remote = { kind: "video", remoteUrl: "https://cdn.example.com/loop.mp4" };

describe("an import from a URL", () => {
  test("an import, repeated with its Idempotency-Key: one asset and one job", async () => {
    const headers = { "idempotency-key": "import-1" };
    const request = { ...remote, originalFilename: "loop.mp4", metadata: { a: [1e-7] } };
    const answer = await call("POST", "/remote", request, headers);
    expect([answer.status, answer.body]).toMatchObject([
      201,
      {
        ...{ kind: "video", status: "pending_upload", contentType: null, sizeBytes: null, sha256: null, error: null },
        ...{ originalFilename: "loop.mp4", metadata: { a: [1e-7] }, environment: "live" },
      },
    ]);
    // The import address is not shown, because it can contain a secret of its owner.
    expect(answer.text).not.toContain("cdn.example.com");
    const { id } = answer.body;
    expect(answer.headers.get("location")).toBe(`/api/v1/assets/${id}`);
    expect((await call("GET", `/${id}`)).text).toBe(answer.text);
    expect((await call("POST", "/remote", request, headers)).text).toBe(answer.text);
    const jobs = await api.database.db.client`select kind from jobs where target_id = ${id}`;
    expect([...jobs]).toEqual([{ kind: "process_asset" }]);
    expect(outcome(await call("POST", `/${id}/complete`)).slice(0, 2)).toEqual([409, "invalid_transition"]);
  });

  // `remote-url.test.ts` of the domain has more cases. `conformance.test.ts` tests the fields.
  test.each(["http://example.com/a", "https://127.0.0.1/a"])("an import, from %s: 422", async (remoteUrl) => {
    expect(outcome(await call("POST", "/remote", { ...remote, remoteUrl }))).toEqual([
      ...[422, "validation_failed"],
      ...["#/remoteUrl", "unsupported_url"],
    ]);
  });
});

test("a list of assets, filtered: newest first, without the deleted", async () => {
  const { db } = api.database;
  const tenantId = await seedTenant(db);
  const by = (await seedKey(db, tenantId, { environment: "live", scopes: ["*"] })).secret.reveal();
  const image = await make({ by });
  const video = (await call("POST", "/remote", remote, {}, by)).body;
  const gone = await make({ by });
  await call("DELETE", `/${gone.id}`, undefined, {}, by);
  const list = async (query: string) => {
    const { status, body } = await call("GET", query, undefined, {}, by);
    return [status, body.data?.map(({ id }: { id: string }) => id)];
  };
  expect(await list("")).toEqual([200, [video.id, image.id]]);
  expect(await list("?kind=image")).toEqual([200, [image.id]]);
  expect(await list("?status=pending_upload&kind=video")).toEqual([200, [video.id]]);
  expect(await list("?status=deleted")).toEqual([200, [gone.id]]);
  const first = (await call("GET", "?limit=1", undefined, {}, by)).body;
  expect(first.data).toEqual([video]);
  expect(await list(`?limit=1&cursor=${first.nextCursor}`)).toEqual([200, [image.id]]);
  expect((await list("?kind=text"))[0]).toBe(422);
});

test("an asset, read: 304 if its version is known; 404 for other tenants and environments", async () => {
  const asset = await make();
  const answer = await call("GET", `/${asset.id}`);
  expect([answer.status, answer.body, answer.headers.get("etag")]).toEqual([200, asset, '"1"']);
  expect((await call("GET", `/${asset.id}`, undefined, { "if-none-match": '"1"' })).status).toBe(304);
  const inTest = await api.key({ scopes: ["*"] });
  const { db } = api.database;
  const foreignKey = (await seedKey(db, await seedTenant(db), { environment: "live", scopes: ["*"] })).secret.reveal();
  for (const by of [inTest, foreignKey]) {
    expect((await call("GET", `/${asset.id}`, undefined, {}, by)).status).toBe(404);
    expect((await call("DELETE", `/${asset.id}`, undefined, {}, by)).status).toBe(404);
    expect((await call("POST", `/${asset.id}/complete`, undefined, {}, by)).status).toBe(404);
  }
});

describe("the deletion of an asset", () => {
  test("a deletion, of an old version: 412; of the current one: files removed; repeated: no effect", async () => {
    const { id } = await make();
    expect(outcome(await call("DELETE", `/${id}`, undefined, { "if-match": '"2"' })).slice(0, 2)).toEqual([
      ...[412, "precondition_failed"],
    ]);
    const answer = await call("DELETE", `/${id}`, undefined, { "if-match": '"1"' });
    expect([answer.status, answer.body.status, answer.headers.get("etag")]).toEqual([200, "deleted", '"2"']);
    expect((await stored()).filter((file) => file.includes(id))).toEqual([]);
    expect((await call("DELETE", `/${id}`)).text).toBe(answer.text);
    expect((await trail(id)).map(({ action }) => action)).toEqual(["asset.created", "asset.deleted"]);
    expect((await call("GET", `/${id}`)).text).toBe(answer.text);
  });

  test("a deletion, while an avatar refers to the asset: 409", async () => {
    const { id } = await make();
    const body = { displayName: "x", sourceKind: "image", sourceAssetId: id };
    const avatar = (await api.call("POST", "/api/v1/avatars", { key, body })).body;
    expect(outcome(await call("DELETE", `/${id}`)).slice(0, 2)).toEqual([409, "asset_in_use"]);
    expect((await stored()).filter((file) => file.includes(id))).toHaveLength(1);
    await api.call("DELETE", `/api/v1/avatars/${avatar.id}`, { key });
    expect((await call("DELETE", `/${id}`)).status).toBe(200);
  });
});

describe("the asset of an avatar", () => {
  const avatarWith = (sourceAssetId: unknown, more = {}) =>
    api.call("POST", "/api/v1/avatars", {
      key,
      body: { displayName: "x", sourceKind: "image", sourceAssetId, ...more },
    });

  test("an avatar's asset, not yet ready: accepted", async () => {
    const { id } = (await call("POST", "/remote", { ...remote, kind: "image" })).body;
    for (const status of ["pending_upload", "uploaded", "processing"] as const) {
      await put(id, status);
      expect((await avatarWith(id)).body).toMatchObject({ sourceAssetId: id });
    }
  });

  test("an avatar's asset, deleted, or of another tenant, environment or kind: refused", async () => {
    const { db } = api.database;
    const by = (await seedKey(db, await seedTenant(db), { environment: "live", scopes: ["*"] })).secret.reveal();
    const inTest = await api.key({ scopes: ["*"] });
    const deleted = await make();
    await call("DELETE", `/${deleted.id}`);
    const cases: [string, string][] = [
      ["asset", "asset_not_found"],
      ["ast_01h455vb4pex5vsknk084sn02q", "asset_not_found"],
      [(await make({ by })).id, "asset_not_found"],
      [(await make({ by: inTest })).id, "asset_not_found"],
      [(await call("POST", "/remote", remote)).body.id, "asset_kind_mismatch"],
      [deleted.id, "asset_not_usable"],
    ];
    const avatar = (await avatarWith(undefined)).body;
    const headers = { "idempotency-key": "avatar-1" };
    for (const [id, code] of cases) {
      const refused = [422, "validation_failed", "#/sourceAssetId", code];
      expect(outcome(await avatarWith(id))).toEqual(refused);
      const body = { displayName: "x", sourceKind: "image", sourceAssetId: id };
      // A refusal is not stored.
      for (let times = 0; times < 2; times++) {
        expect(outcome(await api.call("POST", "/api/v1/avatars", { key, body, headers }))).toEqual(refused);
      }
      const change = { sourceAssetId: id };
      expect(outcome(await api.call("PATCH", `/api/v1/avatars/${avatar.id}`, { key, body: change }))).toEqual(refused);
    }
    const { id } = await make();
    const changed = await api.call("PATCH", `/api/v1/avatars/${avatar.id}`, { key, body: { sourceAssetId: id } });
    expect([changed.status, changed.body.sourceAssetId]).toEqual([200, id]);
    await db.client`update avatars set status = 'ready' where id = ${avatar.id}`;
    const cleared = await api.call("PATCH", `/api/v1/avatars/${avatar.id}`, { key, body: { sourceAssetId: null } });
    expect([cleared.status, cleared.body.sourceAssetId]).toEqual([200, null]);
  });
});

test("a form, above the quota: refused without waiting for its body, which is canceled", async () => {
  const { db } = api.database;
  const tenantId = await seedTenant(db);
  const by = (await seedKey(db, tenantId, { environment: "live", scopes: ["*"] })).secret.reveal();
  const app = createTestApp(db, { ...api.files, config: { ...TEST_CONFIG, maxAssetsPerTenant: 0 } });
  const canceled = Promise.withResolvers<void>();
  const answer = await app.handle(
    new Request("http://x/api/v1/assets", {
      method: "POST",
      headers: { authorization: `Bearer ${by}`, "content-type": "multipart/form-data; boundary=b" },
      body: new ReadableStream({ cancel: () => canceled.resolve() }),
    }),
  );
  expect(await answer.json()).toMatchObject({ code: "quota_exceeded" });
  await within("the cancellation of the body", canceled.promise);
});

test("an upload, above the quota: 409; a replay: still 201", async () => {
  const { db } = api.database;
  const tenantId = await seedTenant(db);
  const by = (await seedKey(db, tenantId, { environment: "live", scopes: ["*"] })).secret.reveal();
  const headers = { "idempotency-key": "quota-1" };
  const first = await upload(PNG, { by, headers });
  const { maxBytes } = ASSET_LIMITS.video;
  const ask = async (limits: object, method: string, path: string, body: unknown, type = "application/json") => {
    const app = createTestApp(db, { ...api.files, config: { ...TEST_CONFIG, ...limits } });
    const init = requestInit(method, {
      key: by,
      body,
      headers: { "content-type": type, ...(path === "" ? headers : {}) },
    });
    return readAnswer(await app.handle(new Request(`http://x/api/v1/assets${path}`, init)));
  };
  const full = { maxAssetsPerTenant: 1 };
  expect(outcome(await ask(full, "POST", "/remote", remote)).slice(0, 2)).toEqual([409, "quota_exceeded"]);
  const bytes = { maxAssetBytesPerTenant: PNG.length + maxBytes };
  expect(outcome(await ask({ maxAssetBytesPerTenant: PNG.length + maxBytes - 1 }, "POST", "/remote", remote))[0]).toBe(
    409,
  );
  expect((await ask(bytes, "POST", "/remote", remote)).status).toBe(201);
  const before = await stored();
  const { encodeForm, filePart, formType } = await import("../../test/support/forms.ts");
  const form = encodeForm([filePart(PNG, "again.png")]);
  const replay = await ask(full, "POST", "", form, formType());
  expect([replay.status, replay.text.length]).toEqual([201, first.text.length]);
  expect((await upload(PNG, { by })).status).toBe(201);
  expect((await stored()).length).toBe(before.length + 1);
});
