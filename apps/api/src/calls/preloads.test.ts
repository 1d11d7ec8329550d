/** Preloads: avatars that workers load before a call. */
import { afterEach, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { manifestId, preparedFile, preparedKey } from "@realtime-avatar/domain/avatars/preparation";
import { PRELOAD, preloadFilePath, SyncResponse } from "@realtime-avatar/domain/calls/worker-sync";
import type { AvatarId } from "@realtime-avatar/domain/id";
import { validate } from "@realtime-avatar/domain/schema";
import { startApi } from "../../test/support/api.ts";
import { startCallApi, WORKER_SECRET } from "../../test/support/calls/calls.ts";
import { expectProblem } from "../../test/support/routes.ts";

const PREPARE = "/api/v1/realtime/prepare";
// Without WIRE_2, a worker is not lost when its next sync is late. Each test sends single syncs.
const FEATURES = [PRELOAD];

const { api, key, avatar, start, release, syncOf, tenantWith, takeSlots } = await startCallApi();
const { client } = api.database.db;
const prepare = async (avatar_id: string, by = key, headers: Record<string, string> = {}) => {
  // Extends the lease of a worker that has synced, so that it does not end on a slow machine.
  await client`update fleet.avatar_workers set lease_until = now() + interval '1 hour' where synced_at is not null`;
  return api.call("POST", PREPARE, { key: by, body: { avatar_id }, headers });
};

const hashOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
const IMAGE = Buffer.from("the picture of an avatar");
const PICTURE = preparedFile(1, hashOf(IMAGE), "webp");
const MANIFEST = { pictures: { normalized: { file: PICTURE } } };

/** An avatar with its prepared files, as a preparation leaves them. */
const preparedAvatar = async (): Promise<AvatarId> => {
  const id = (await avatar()) as AvatarId;
  const text = Buffer.from(JSON.stringify(MANIFEST));
  const put = async (file: string, bytes: Buffer, type: string) => {
    const owned = preparedKey({ tenantId: api.tenantId, id }, file);
    await api.files.storage.put(owned, { stream: new Blob([bytes]).stream(), sizeBytes: bytes.length }, type);
  };
  await put(PICTURE, IMAGE, "image/webp");
  await put(preparedFile(1, hashOf(text), "json"), text, "application/json");
  await client`update avatars set cache_manifest_id = ${manifestId(1, hashOf(text))} where id = ${id}`;
  return id;
};
const ready = await preparedAvatar();

/** The avatars that a worker must load. */
const preloadsOf = async (workerId: string, features = FEATURES, slots = 1) =>
  (await syncOf(workerId, { slots, features })).preload ?? [];
/** The first response with a preload or a call. A manifest that is read late comes with a later response. */
const untilSent = async (kind: "preload" | "start"): Promise<SyncResponse> => {
  const response = await syncOf("wrk_a", { slots: 1, features: FEATURES });
  return (response[kind] ?? []).length > 0 ? response : untilSent(kind);
};
const readFile = (workerId: string, avatarId: string, file = PICTURE, secret = WORKER_SECRET) =>
  api.call("GET", preloadFilePath(workerId, avatarId, file), { headers: { authorization: `Bearer ${secret}` } });

afterEach(async () => {
  await takeSlots();
  await client`delete from fleet.avatar_preloads`;
});

describe("a prepared call", () => {
  test("the worker of the next call: gets the avatar with its manifest, and reads its files", async () => {
    await preloadsOf("wrk_a");
    await preloadsOf("wrk_b");
    expect(await prepare(ready)).toMatchObject({ status: 200, body: { avatar_id: ready, expires_in_seconds: 60 } });
    const response = await untilSent("preload");
    expect(validate(SyncResponse, response)).toEqual([]);
    expect(response.preload).toMatchObject([{ avatar: { avatar_id: ready, manifest: MANIFEST } }]);
    expect(await preloadsOf("wrk_b")).toEqual([]);
    expect((await readFile("wrk_a", ready)).status).toBe(200);
    const { body: grant } = await start({ avatar_id: ready });
    const { start: calls } = await untilSent("start");
    expect(calls).toMatchObject([{ session_id: grant.session_id }]);
    await release({ session_id: grant.session_id });
  });

  test("a waiting worker: gets the preload at once", async () => {
    await preloadsOf("wrk_a");
    const waiting = preloadsOf("wrk_a");
    await prepare(ready);
    expect(await waiting).toHaveLength(1);
  });

  test("a prepared call: no session, credit entry, slot or audit event", async () => {
    await preloadsOf("wrk_a");
    const count = async () =>
      (
        await client`
          select (select count(*) from usage_sessions) as sessions, (select count(*) from credit_entries) as entries,
            (select count(*) from fleet.avatar_slots where session_id is not null) as slots,
            (select count(*) from audit_events) as events`
      )[0];
    const before = await count();
    await prepare(ready);
    expect(await count()).toEqual(before);
  });

  test("another avatar of the tenant: replaces the first; the same avatar again: another request", async () => {
    await preloadsOf("wrk_a");
    await prepare(ready);
    const { preload: [first] = [] } = await untilSent("preload");
    const other = await avatar();
    await prepare(other);
    expect((await preloadsOf("wrk_a")).map((preload) => preload.avatar.avatar_id)).toEqual([other]);
    expect((await readFile("wrk_a", ready)).status).toBe(404);
    await prepare(ready);
    const { preload: [again] = [] } = await untilSent("preload");
    expect(again?.avatar).toEqual(first?.avatar as never);
    expect(again?.preload_id).not.toBe(first?.preload_id);
  });

  test("of many tenants: a worker gets the latest four", async () => {
    await preloadsOf("wrk_a");
    const avatars: string[] = [];
    for (let number = 0; number < 6; number++) {
      const { root, avatarId } = await tenantWith(0);
      avatars.unshift(avatarId);
      expect((await prepare(avatarId, root.key)).status).toBe(200);
    }
    const asked = (await preloadsOf("wrk_a")).map(({ avatar: { avatar_id } }) => avatar_id);
    expect(asked).toEqual(avatars.slice(0, 4) as never);
  });

  test("after 60 seconds: expired; its row is deleted with the next request", async () => {
    await preloadsOf("wrk_a");
    await prepare(ready);
    await client`update fleet.avatar_preloads set ends_at = now() - interval '1 millisecond'`;
    expect(await preloadsOf("wrk_a")).toEqual([]);
    expect((await readFile("wrk_a", ready)).status).toBe(404);
    const { root, avatarId } = await tenantWith(0);
    await prepare(avatarId, root.key);
    expect(await client`select avatar_id from fleet.avatar_preloads`).toEqual([{ avatar_id: avatarId }] as never);
  });

  test("no worker that can load avatars, or no free slot: 200 without a write", async () => {
    expect((await prepare(ready)).status).toBe(200);
    expect(await preloadsOf("wrk_old", [])).toEqual([]);
    expect((await prepare(ready)).status).toBe(200);
    expect(await client`select 1 from fleet.avatar_preloads`).toHaveLength(0);
  });

  test("an avatar that is disabled or deleted meanwhile: not loaded", async () => {
    await preloadsOf("wrk_a");
    const id = await avatar();
    await prepare(id);
    await client`update avatars set status = 'disabled' where id = ${id}`;
    expect(await preloadsOf("wrk_a")).toEqual([]);
  });

  test("with an Idempotency-Key: executed once, the same response", async () => {
    await preloadsOf("wrk_a");
    const once = { "idempotency-key": crypto.randomUUID() };
    const first = await prepare(ready, key, once);
    const { preload: [preload] = [] } = await untilSent("preload");
    const again = await prepare(ready, key, once);
    expect([again.status, again.body]).toEqual([200, first.body]);
    expect((await preloadsOf("wrk_a"))[0]?.preload_id).toBe(preload?.preload_id as string);
  });
});

describe("a prepared call that is refused", () => {
  test("an unknown or foreign avatar, one of the other environment, or a malformed id: 404 in the same bytes", async () => {
    const { avatarId: foreign } = await tenantWith(0);
    const test = await avatar(await api.key({ environment: "test", scopes: ["*"] }));
    const bytes = async (id: string) => {
      const answer = await prepare(id);
      expectProblem(answer, "not_found");
      return JSON.stringify({ ...answer.body, requestId: null });
    };
    const all = await Promise.all(["ava_01h455vb4pex5vsknk084sn02q", foreign, test, "maria"].map(bytes));
    expect(new Set(all).size).toBe(1);
  });

  test.each(["draft", "preprocessing", "failed", "disabled"])(
    "an avatar that is %s: 409 that names its status; no claim is kept",
    async (status) => {
      await preloadsOf("wrk_a");
      const id = await avatar(key, status);
      const once = { "idempotency-key": crypto.randomUUID() };
      const answer = await prepare(id, key, once);
      expectProblem(answer, "avatar_not_ready");
      expect(answer.body.detail).toStartWith(`The status of the avatar is \`${status}\`. `);
      await client`update avatars set status = 'ready' where id = ${id}`;
      expect((await prepare(id, key, once)).status).toBe(200);
    },
  );

  test("a service without LiveKit: 501", async () => {
    const other = await startApi();
    const answer = await other.call("POST", PREPARE, { key: await other.key(), body: { avatar_id: ready } });
    expectProblem(answer, "realtime_not_configured");
  });

  test("a file for another worker, with another secret, or not prepared: 404, 401, 404", async () => {
    await preloadsOf("wrk_a");
    await prepare(ready);
    expect((await readFile("wrk_b", ready)).status).toBe(404);
    expect((await readFile("wrk_a", ready, PICTURE, "x".repeat(40))).status).toBe(401);
    expect((await readFile("wrk_a", ready, "1/picture.webp")).status).toBe(404);
    expect((await readFile("wrk_a", "ava_x")).status).toBe(404);
  });
});
