import { describe, expect, test } from "bun:test";
import { claimJob } from "@realtime-avatar/db/jobs/jobs";
import { finishVideo, startVideo } from "@realtime-avatar/db/videos/rendering";
import { originalKey } from "@realtime-avatar/domain/assets/asset";
import type { Environment } from "@realtime-avatar/domain/environment";
import { isId } from "@realtime-avatar/domain/id";
import { validate } from "@realtime-avatar/domain/schema";
import { Video } from "@realtime-avatar/domain/videos/schemas";
import { videoFile } from "@realtime-avatar/testing/avatars/videos";
import { jobClaim, ROOMY } from "@realtime-avatar/testing/postgres/jobs";
import { operatorOrigin, seedAsset, seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { rowCounts, startApi, TEST_CONFIG, testStorage } from "../../test/support/api.ts";

const PATH = "/api/v1/videos";
const SECOND = 1_000_000;
const TEXT = "This is said by the face";

const api = await startApi(testStorage, { config: { ...TEST_CONFIG, maxRunningVideosPerTenant: 20 } });
const { client } = api.database.db;
const key = await api.key();

const avatarIn = async (status: string, caller = key): Promise<string> => {
  const body = { displayName: "Ada", sourceKind: "image" };
  const { id } = (await api.call("POST", "/api/v1/avatars", { key: caller, body })).body;
  await client`update avatars set status = ${status} where id = ${id}`;
  return id;
};
const avatarId = await avatarIn("ready");

const create = (body: object, caller = key, headers: Record<string, string> = {}) =>
  api.call("POST", PATH, { key: caller, body, headers });
const created = async (body: object = {}, caller = key) => {
  const answer = await create({ avatarId, text: TEXT, ...body }, caller);
  expect(answer.status).toBe(201);
  return answer.body;
};
const read = (id: string, caller = key) => api.call("GET", `${PATH}/${id}`, { key: caller });
const remove = (id: string, caller = key, headers: Record<string, string> = {}) =>
  api.call("DELETE", `${PATH}/${id}`, { key: caller, headers });

/** Renders the video of the next job like a worker. */
const render = async (bytes = "film") => {
  const { db } = api.database;
  const job = await claimJob(db, jobClaim({ kinds: ["render_video"], slots: 9 }));
  if (!job) throw new Error("no job");
  expect(await startVideo(db, job)).toMatchObject({ kind: "started" });
  const file = videoFile(job, { sizeBytes: bytes.length });
  const stream = new Blob([bytes]).stream();
  await api.files.storage.put(originalKey(file), { stream, sizeBytes: bytes.length }, "video/mp4");
  const result = { kind: "ready", asset: file, durationMs: 2100, warnings: [], quota: ROOMY } as const;
  expect(await finishVideo(db, job, result, operatorOrigin())).toBe("ready");
  return { ...job, file };
};

describe("the creation of a video", () => {
  test("a text: 201 with location and version, the same when read and listed", async () => {
    const metadata = { user_id: "u-7", "": [1.5, null] };
    const { status, headers, body } = await create({ avatarId, text: `**${TEXT}** 👋`, metadata });
    expect([status, headers.get("location"), headers.get("etag")]).toEqual([201, `${PATH}/${body.id}`, '"1"']);
    expect(isId("vid", body.id)).toBe(true);
    expect(validate(Video, body)).toEqual([]);
    expect(body).toMatchObject({
      ...{ environment: "live", avatarId, text: `**${TEXT}** 👋`, audioAssetId: null, voiceId: "flite-slt" },
      // The marks and the emoji are not spoken.
      ...{ status: "queued", progress: 0, assetId: null, videoUrl: null, reservedCreditMicros: 3 * SECOND, metadata },
    });
    const found = await read(body.id);
    expect([found.status, found.headers.get("etag"), found.body]).toEqual([200, '"1"', body]);
    const known = await api.call("GET", `${PATH}/${body.id}`, { key, headers: { "if-none-match": '"1"' } });
    expect(known.status).toBe(304);
    for (const query of ["", `?avatarId=${avatarId}`, "?status=queued", `?avatarId=${avatarId}&status=queued`]) {
      const list = await api.call("GET", `${PATH}${query}`, { key });
      expect(list.body.data).toContainEqual(body);
    }
    expect((await api.call("GET", `${PATH}?status=ready&avatarId=${avatarId}`, { key })).body.data).toEqual([]);
    const session = await api.call("GET", `/api/v1/usage/sessions/${body.sessionId}`, { key });
    expect(session.body).toMatchObject({ status: "started", metadata: { user_id: "u-7" } });
  });

  test.each<[string, object, [pointer: string, code: string][]]>([
    ["neither text nor audio", {}, [["#/text", "required"]]],
    ["both", { text: "Hi.", audioAssetId: "ast_x" }, [["#/audioAssetId", "not_allowed"]]],
    ["an empty text", { text: "" }, [["#/text", "too_short"]]],
    ["a text that is too long", { text: "a".repeat(5001) }, [["#/text", "too_long"]]],
    ["only markup", { text: "**  ** `x()` https://example.com" }, [["#/text", "nothing_to_say"]]],
    ["only emoji", { text: "🎉 👩‍🚀" }, [["#/text", "nothing_to_say"]]],
    ["another script, without a voice that speaks it", { text: "Привет" }, [["#/text", "nothing_to_say"]]],
    ["an unknown voice", { text: "Hi.", voiceId: "flite-none" }, [["#/voiceId", "unsupported_voice"]]],
    ["a voice with audio", { audioAssetId: "ast_x", voiceId: "flite-slt" }, [["#/voiceId", "not_allowed"]]],
    ["an audio with a malformed id", { audioAssetId: "x" }, [["#/audioAssetId", "asset_not_found"]]],
    ["an unknown field", { text: "Hi.", format: "webm" }, [["#/format", "unknown_field"]]],
    [
      "several errors",
      { text: "🎉", voiceId: "flite-none" },
      [
        ["#/text", "nothing_to_say"],
        ["#/voiceId", "unsupported_voice"],
      ],
    ],
  ])("%s: 422 without a write", async (_, body, errors) => {
    const before = await rowCounts(api.database);
    const answer = await create({ avatarId, ...body });
    expect([answer.status, answer.body.code]).toEqual([422, "validation_failed"]);
    expect(answer.body.errors.map(({ pointer, code }: { pointer: string; code: string }) => [pointer, code])).toEqual(
      errors,
    );
    expect(await rowCounts(api.database)).toEqual(before);
  });

  test("an avatar that is unknown, foreign or of the other environment: 404; not ready: 409 with its status", async () => {
    const inTest = await api.key({ environment: "test", scopes: ["*"] });
    for (const id of ["x", "ava_01h455vb4pex5vsknk084sn02q", await avatarIn("ready", inTest)]) {
      expect((await create({ avatarId: id, text: TEXT })).body.code).toBe("not_found");
    }
    const { status, body } = await create({ avatarId: await avatarIn("preprocessing"), text: TEXT });
    expect([status, body.code]).toEqual([409, "avatar_not_ready"]);
    expect(body.detail).toContain("`preprocessing`");
  });

  test("an audio: its seconds are held; a foreign one, another kind or too long: 422 at the field", async () => {
    const { id } = await seedAsset(api.database.db, api.tenantId, "live", "audio");
    await client`update assets set duration_ms = 4200 where id = ${id}`;
    const made = await create({ avatarId, audioAssetId: id });
    expect(made.body).toMatchObject({ audioAssetId: id, text: null, voiceId: null, reservedCreditMicros: 5 * SECOND });
    await client`update assets set duration_ms = 600001 where id = ${id}`;
    const other = await seedAsset(api.database.db, await seedTenant(api.database.db), "live", "audio");
    const picture = await seedAsset(api.database.db, api.tenantId);
    const waiting = await seedAsset(api.database.db, api.tenantId, "live", "audio", "processing");
    for (const [audioAssetId, code] of [
      [id, "too_long"],
      [other.id, "asset_not_found"],
      [picture.id, "asset_kind_mismatch"],
      [waiting.id, "asset_not_usable"],
    ]) {
      const { status, body } = await create({ avatarId, audioAssetId });
      expect([status, body.errors]).toMatchObject([422, [{ pointer: "#/audioAssetId", code }]]);
    }
  });

  test("too few credits: 402 with the required credits; too many videos: 429 with the limit", async () => {
    const tenantId = await seedTenant(api.database.db, { live: 90 * SECOND });
    const newKey = async (environment: Environment = "live") =>
      (await seedKey(api.database.db, tenantId, { environment, scopes: ["*"] })).secret.reveal();
    const own = await newKey();
    const owned = { avatarId: await avatarIn("ready", own), text: TEXT };
    const poor = await create({ ...owned, text: "the ".repeat(200) }, own);
    expect([poor.status, poor.body]).toMatchObject([
      402,
      { code: "insufficient_credits", requiredCreditMicros: 100 * SECOND },
    ]);
    const all = await Promise.all(Array.from({ length: 21 }, () => create(owned, own)));
    expect(all.filter(({ status }) => status === 201)).toHaveLength(20);
    const [limited] = all.filter(({ status }) => status !== 201);
    const expected = { code: "concurrency_limit_reached", limitedBy: "tenant", maxConcurrentSessions: 20 };
    expect([limited?.status, limited?.body]).toMatchObject([429, expected]);
    // The other environment has separate credits and a separate limit.
    const tester = await newKey("test");
    const inTest = { avatarId: await avatarIn("ready", tester), text: TEXT };
    expect((await create(inTest, tester)).body).toMatchObject({ environment: "test", status: "queued" });
    expect((await create(owned, tester)).status).toBe(404);
  });

  test("an Idempotency-Key, repeated: the same response, also after the avatar was deleted; with another body: 422", async () => {
    const own = await avatarIn("ready");
    const headers = { "idempotency-key": crypto.randomUUID() };
    const first = await create({ avatarId: own, text: TEXT }, key, headers);
    await api.call("DELETE", `/api/v1/avatars/${own}`, { key });
    const again = await create({ avatarId: own, text: TEXT }, key, headers);
    expect([again.status, again.text, again.headers.get("idempotent-replayed")]).toEqual([201, first.text, "true"]);
    expect((await create({ avatarId: own, text: "x" }, key, headers)).body.code).toBe("idempotency_key_reused");
  });
});

describe("a video that was created", () => {
  test("rendered: ready, with an address at which anyone can read its file, also in parts", async () => {
    await client`delete from jobs`;
    const { id } = await created();
    const { file } = await render();
    const { body } = await read(id);
    expect(validate(Video, body)).toEqual([]);
    expect(body).toMatchObject({ status: "ready", assetId: file.id, durationSeconds: 2.1, billedSeconds: 3 });
    const answer = await fetch(body.videoUrl);
    expect([answer.status, answer.headers.get("content-type"), await answer.text()]).toEqual([
      200,
      "video/mp4",
      "film",
    ]);
    const part = await fetch(body.videoUrl, { headers: { range: "bytes=1-2" } });
    expect([part.status, await part.text()]).toEqual([206, "il"]);
    const asset = await api.call("GET", `/api/v1/assets/${file.id}`, { key });
    expect(asset.body).toMatchObject({ kind: "video", origin: "generated", publicUrl: body.videoUrl, status: "ready" });
  });

  test("only its file is deleted, read with the old entity tag: sent again, without the file", async () => {
    await client`delete from jobs`;
    const { id } = await created();
    const { file } = await render();
    const headers = { "if-none-match": (await read(id)).headers.get("etag") ?? "" };
    const readAgain = () => api.call("GET", `${PATH}/${id}`, { key, headers });
    expect((await readAgain()).status).toBe(304);
    expect((await api.call("DELETE", `/api/v1/assets/${file.id}`, { key })).status).toBe(200);
    const { status, body } = await readAgain();
    expect([status, body]).toMatchObject([200, { status: "ready", assetId: null, videoUrl: null }]);
  });

  test("deleted when ready: text, file and asset are gone; deleted again: no effect", async () => {
    await client`delete from jobs`;
    const { id } = await created();
    const { file } = await render();
    const { videoUrl } = (await read(id)).body;
    expect((await remove(id, key, { "if-match": '"1"' })).status).toBe(412);
    const answer = await remove(id);
    expect([answer.status, answer.body]).toMatchObject([200, { status: "deleted", text: null, assetId: null }]);
    expect(validate(Video, answer.body)).toEqual([]);
    expect((await read(id)).body).toEqual(answer.body);
    expect((await remove(id)).body).toEqual(answer.body);
    expect((await fetch(videoUrl)).status).toBe(404);
    expect(await api.files.storage.stat(originalKey(file))).toBeNull();
    expect((await api.call("GET", `/api/v1/assets/${file.id}`, { key })).body.status).toBe("deleted");
  });

  test("canceled while it is queued: not charged", async () => {
    const { id, sessionId } = await created();
    const { status, body } = await remove(id);
    expect([status, body]).toMatchObject([200, { status: "canceled", billedCreditMicros: 0, error: null }]);
    const session = await api.call("GET", `/api/v1/usage/sessions/${sessionId}`, { key });
    expect(session.body).toMatchObject({ status: "released", endReason: "released", billedCreditMicros: 0 });
  });

  test("its usage session, reported or released: 409 with `mustEnd`", async () => {
    const engine = await api.key({ environment: "live", scopes: ["usage:write"] });
    const { sessionId } = await created();
    const path = `/api/v1/usage/sessions/${sessionId}`;
    const report = await api.call("POST", `${path}/usage`, { key: engine, body: { usedCreditMicros: 1 } });
    expect([report.status, report.body.code]).toEqual([409, "session_closed"]);
    const release = await api.call("POST", `${path}/release`, { key: engine, body: { usedCreditMicros: SECOND } });
    expect([release.status, release.body]).toMatchObject([200, { status: "started", mustEnd: true }]);
  });

  test("of another key, tenant or environment: not deleted; by a key with avatars:write: deleted", async () => {
    const { id } = await created();
    const child = await api.key({ environment: "live", scopes: ["realtime:write", "avatars:read"] });
    const { status, body } = await remove(id, child);
    expect([status, body.code, body.requiredScope]).toEqual([403, "insufficient_scope", "avatars:write"]);
    expect((await read(id, child)).status).toBe(200);
    const foreign = (
      await seedKey(api.database.db, await seedTenant(api.database.db), { environment: "live", scopes: ["*"] })
    ).secret.reveal();
    for (const other of [foreign, await api.key({ environment: "test", scopes: ["*"] })]) {
      expect((await read(id, other)).status).toBe(404);
      expect((await remove(id, other)).status).toBe(404);
    }
    const own = await created({}, child);
    expect((await remove(own.id, child)).status).toBe(200);
    expect((await remove(id)).status).toBe(200);
  });
});
