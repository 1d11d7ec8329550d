/** The API for avatar workers, authenticated by their secret. */

import { heapStats } from "bun:jsc";
import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { manifestId, preparedFile, preparedKey } from "@realtime-avatar/domain/avatars/preparation";
import {
  DEFAULT_VOICE,
  type ReportedCall,
  SERVICE_FEATURES,
  SyncResponse,
  WIRE_2,
} from "@realtime-avatar/domain/calls/worker-sync";
import type { AvatarId, SessionId } from "@realtime-avatar/domain/id";
import { validate } from "@realtime-avatar/domain/schema";
import { until } from "@realtime-avatar/testing/until";
import { AccessToken, type ClaimGrants, TokenVerifier } from "livekit-server-sdk";
import { startCallApi, WORKER_SECRET } from "../../test/support/calls/calls.ts";
import { expectProblem } from "../../test/support/routes.ts";

const { api, livekit, spans, avatar, start, release, session, sync, syncOf } = await startCallApi(
  {},
  { sessionLeaseSeconds: 1 },
);
const headers = { authorization: `Bearer ${WORKER_SECRET}` };

const hashOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
const IMAGE = Buffer.from("the picture of an avatar");
const PICTURE = preparedFile(1, hashOf(IMAGE), "webp");
const MANIFEST = { pictures: { normalized: { file: PICTURE } } };

/** An avatar with its prepared files, as a preparation leaves them. */
const preparedAvatar = async (): Promise<AvatarId> => {
  const id = (await avatar()) as AvatarId;
  const owned = { tenantId: api.tenantId, id };
  const text = Buffer.from(JSON.stringify(MANIFEST));
  const put = async (file: string, bytes: Buffer, type: string) => {
    const stream = new Blob([bytes]).stream();
    await api.files.storage.put(preparedKey(owned, file), { stream, sizeBytes: bytes.length }, type);
  };
  await put(PICTURE, IMAGE, "image/webp");
  await put(preparedFile(1, hashOf(text), "json"), text, "application/json");
  await api.database.db.client`update avatars set cache_manifest_id = ${manifestId(1, hashOf(text))} where id = ${id}`;
  return id;
};
const ready = await preparedAvatar();

/** A worker with one slot, and its call. */
const workerWithCall = async (workerId: string, body: object = {}, features: string[] = []) => {
  await syncOf(workerId, { slots: 1, features });
  const { body: grant } = await start({ avatar_id: ready, ...body });
  // A sync waits for a second, and the room of the call may take longer.
  const [call] = await until(async () => {
    const { start: assigned } = await syncOf(workerId, { slots: 1, features });
    return assigned.length > 0 && assigned;
  });
  if (!call || call.session_id !== grant.session_id) throw new Error("the worker has not received the call");
  const report = (state: ReportedCall["state"], used_seconds: number, more: Partial<ReportedCall> = {}) => ({
    session_id: call.session_id,
    generation: call.generation,
    state,
    used_seconds,
    ...more,
  });
  return { grant, call, report };
};
/** Ends the lease of a worker. So it gets no calls of later tests. Its own calls do not move. */
const stop = (workerId: string) =>
  api.database.db
    .client`update fleet.avatar_workers set lease_until = now() - interval '1 hour', synced_at = null where id = ${workerId}`;

describe("a sync", () => {
  test("of many workers with many calls: little memory remains in use", async () => {
    const calls = Array.from({ length: 2000 }, (_, number): ReportedCall => {
      const session_id = `ses_${number}`.padEnd(64, "x") as SessionId;
      return { session_id, generation: 1, state: "joined", used_seconds: 0 };
    });
    const usedBytes = (): number => {
      Bun.gc(true);
      const { heapSize, extraMemorySize } = heapStats();
      return heapSize + extraMemorySize;
    };
    const syncAll = async (from: number, to: number): Promise<void> => {
      for (let number = from; number < to; number++) await syncOf(`wrk_many_${number}`, { slots: 1, calls });
    };
    await syncAll(0, 10);
    const before = usedBytes();
    await syncAll(10, 60);
    // The states of 50 such syncs are 8 MB.
    expect(usedBytes() - before).toBeLessThan(4_000_000);
    for (let number = 0; number < 60; number++) await stop(`wrk_many_${number}`);
  });

  test("after a start, once the room exists: contains the call for its renderer, again until it is reported", async () => {
    const asked = { instructions: "Be kind.", capabilities: ["client_tools"], mode: "voice" };
    const { grant, call } = await workerWithCall("wrk_a", asked, ["instructions"]);
    expect(grant.ignored).toEqual(["capabilities"]);
    expect(call).toMatchObject({
      generation: 1,
      environment: "live",
      url: livekit.url,
      mode: "voice",
      avatar: { avatar_id: ready, manifest: MANIFEST },
      max_seconds: grant.max_session_seconds,
      limit: "session_cap",
      used_seconds: 0,
      idle_seconds: 120,
    });
    expect(call.input).toEqual({ stt_mode: "server", instructions: "Be kind." });
    const claims = await new TokenVerifier(livekit.apiKey, livekit.apiSecret).verify(call.token);
    expect(claims).toMatchObject({ sub: "avatar", kind: "agent", video: { room: grant.room_name, roomJoin: true } });
    const again = await syncOf("wrk_a", { slots: 1 });
    expect(validate(SyncResponse, again)).toEqual([]);
    expect(again.start).toMatchObject([{ session_id: grant.session_id, generation: 1 }]);
    await release({ session_id: grant.session_id });
    await stop("wrk_a");
  });

  test("after a start with a voice: contains the voice only for a worker that supports it", async () => {
    const { client } = api.database.db;
    await client`update avatars set default_voice_id = 'flite-rms' where id = ${ready}`;
    const { grant, call } = await workerWithCall("wrk_v", {}, [DEFAULT_VOICE]);
    expect(call).toMatchObject({ default_voice_id: "flite-rms", input: { stt_mode: "server" } });
    const older = await syncOf("wrk_v", { slots: 1 });
    expect(older.start.map(({ session_id }) => session_id)).toEqual([grant.session_id]);
    expect(older.start[0]).not.toHaveProperty("default_voice_id");
    await client`update avatars set default_voice_id = null where id = ${ready}`;
    const without = await syncOf("wrk_v", { slots: 1, features: [DEFAULT_VOICE] });
    expect(without.start[0]).not.toHaveProperty("default_voice_id");
    await release({ session_id: grant.session_id });
    await stop("wrk_v");
  });

  test("its reports: start the call, charge it once, and free its slot and room at the end", async () => {
    const { grant, report } = await workerWithCall("wrk_b");
    await syncOf("wrk_b", { slots: 1, calls: [report("joined", 0)] });
    expect((await session(grant.session_id)).status).toBe("reserved");
    await syncOf("wrk_b", { slots: 1, calls: [report("started", 1)] });
    expect((await session(grant.session_id)).status).toBe("started");
    const ended = [report("ended", 7, { reason: "disconnected" })];
    await syncOf("wrk_b", { slots: 1, calls: ended });
    expect(await session(grant.session_id)).toMatchObject({ status: "released", billedCreditMicros: 7_000_000 });
    await until(() => !livekit.rooms().includes(grant.room_name));
    // A repeated report changes nothing.
    await syncOf("wrk_b", { slots: 1, calls: ended });
    expect((await session(grant.session_id)).billedCreditMicros).toBe(7_000_000);
    const next = await start({ avatar_id: ready });
    expect(next.status).toBe(200);
    // The call ends here, because the worker that stops in a later test would otherwise move it.
    await release({ session_id: next.body.session_id });
    await stop("wrk_b");
  });

  test("its reports, with a session lease of a second: a call stays open for a minute after each", async () => {
    const { grant, report } = await workerWithCall("wrk_m");
    await syncOf("wrk_m", { slots: 1, calls: [report("started", 1)] });
    const { startedAt, expiresAt } = await session(grant.session_id);
    expect(Date.parse(expiresAt) - Date.parse(startedAt)).toBe(60_000);
    await release({ session_id: grant.session_id });
    await stop("wrk_m");
  });

  test("that waits: returns at once for a new call, and for an end with its reason", async () => {
    await syncOf("wrk_c", { slots: 1 });
    const waiting = syncOf("wrk_c", { slots: 1 });
    const { body: grant } = await start({ avatar_id: ready });
    let assigned = (await waiting).start;
    // A token that takes long is in a later response.
    while (assigned.length === 0) assigned = (await syncOf("wrk_c", { slots: 1 })).start;
    expect(assigned).toMatchObject([{ session_id: grant.session_id }]);
    const calls = [{ session_id: grant.session_id, generation: 1, state: "joining" as const, used_seconds: 0 }];
    await syncOf("wrk_c", { slots: 1, calls });
    const next = syncOf("wrk_c", { slots: 1, calls });
    await release({ session_id: grant.session_id, reason: "idle_timeout" });
    expect((await next).end).toEqual([{ session_id: grant.session_id, generation: 1, reason: "idle" }]);
    await stop("wrk_c");
  });

  test("without work: one statement", async () => {
    await syncOf("wrk_d", { slots: 1 });
    spans.length = 0;
    expect(await syncOf("wrk_d", { slots: 1 })).toEqual({ lease_seconds: 15, start: [], end: [] });
    expect(spans).toEqual(["sync_worker"]);
    await stop("wrk_d");
  });

  test("with unknown fields: accepted; from a worker that reads `features`: a response with them", async () => {
    const later = { later: { deep: true } } as object;
    const calls = [
      { session_id: "ses_x" as SessionId, generation: 1, state: "joined" as const, used_seconds: 0, ...later },
    ];
    const response = await syncOf("wrk_n", { slots: 1, calls, ...later });
    expect(response).toEqual({
      lease_seconds: 15,
      start: [],
      end: [{ session_id: "ses_x", generation: 1, reason: null }],
    });
    expect((await syncOf("wrk_n", { slots: 2, features: [WIRE_2, "of-a-later-release"] })).features).toEqual([
      ...SERVICE_FEATURES,
    ]);
    expectProblem(await sync("wrk_n", { slots: -1, ...later }), "validation_failed");
    await stop("wrk_n");
  });

  test("that waits while a call ends: reports the end once, then waits, and reports a new call", async () => {
    const { grant, report } = await workerWithCall("wrk_o");
    await syncOf("wrk_o", { slots: 2, calls: [report("started", 1)] });
    await release({ session_id: grant.session_id });
    const calls = [report("started", 2)];
    const first = syncOf("wrk_o", { slots: 2, calls });
    expect((await first).end).toMatchObject([{ session_id: grant.session_id, reason: "user_ended" }]);
    // Meanwhile the worker leaves the room.
    const second = syncOf("wrk_o", { slots: 2, calls });
    const { body: next } = await start({ avatar_id: ready });
    expect((await second).start).toMatchObject([{ session_id: next.session_id }]);
    await release({ session_id: next.session_id });
    await stop("wrk_o");
  });

  /** Two calls. The manifest of the second is read from this stream. */
  const withManifest = async (workerId: string, stream: () => ReadableStream<Uint8Array>) => {
    await syncOf(workerId, { slots: 2 });
    const bad = await preparedAvatar();
    const { storage } = api.files;
    const { open } = storage;
    storage.open = (key, range) =>
      key.includes(bad) ? Promise.resolve({ stream: stream(), sizeBytes: 1 }) : open(key, range);
    const [failing, other] = [await start({ avatar_id: bad }), await start({ avatar_id: ready })];
    const restore = (): void => {
      storage.open = open;
    };
    return { failing: failing.body, other: other.body, restore };
  };
  const endless = () =>
    new ReadableStream<Uint8Array>({ pull: (controller) => controller.enqueue(new Uint8Array(65_536)) });
  const stalled = () => new ReadableStream<Uint8Array>({});

  test.each([
    ["is larger than 64 KiB", "wrk_p", endless],
    ["does not come", "wrk_q", stalled],
  ])(
    "of a call whose manifest %s: starts the other calls; only that call ends, at no charge",
    async (_, worker, stream) => {
      const { failing, other, restore } = await withManifest(worker, stream);
      try {
        const { start: started } = await syncOf(worker, { slots: 2 });
        expect(started.map(({ session_id }) => session_id)).toEqual([other.session_id]);
        const calls = started.map(({ session_id, generation }) => ({
          ...{ session_id, generation, state: "started" as const, used_seconds: 1 },
        }));
        await until(async () => {
          expect((await syncOf(worker, { slots: 2, calls })).start).toEqual([]);
          return (await session(failing.session_id)).status === "failed";
        });
        expect(await session(failing.session_id)).toMatchObject({ endReason: "failed", billedCreditMicros: 0 });
        await until(() => !livekit.rooms().includes(failing.room_name));
        expect((await session(other.session_id)).status).toBe("started");
      } finally {
        restore();
        await release({ session_id: other.session_id });
        await stop(worker);
      }
    },
  );

  test("of a call whose token is not signed yet: starts the other calls; that call comes in a later response", async () => {
    await syncOf("wrk_t", { slots: 2 });
    const [slow, other] = [(await start({ avatar_id: ready })).body, (await start({ avatar_id: ready })).body];
    // The library signs in a thread of the pool that also reads files. A disk that hangs blocks all of these threads.
    const { toJwt } = AccessToken.prototype;
    const signing = Promise.withResolvers<void>();
    AccessToken.prototype.toJwt = async function () {
      const { video } = (this as unknown as { grants: ClaimGrants }).grants;
      if (this.identity === "avatar" && video?.room === slow.room_name) await signing.promise;
      return toJwt.call(this);
    };
    try {
      const { start: first } = await syncOf("wrk_t", { slots: 2 });
      expect(first.map(({ session_id }) => session_id)).toEqual([other.session_id]);
      signing.resolve();
      const calls = [{ session_id: other.session_id, generation: 1, state: "joining" as const, used_seconds: 0 }];
      const { start: second } = await syncOf("wrk_t", { slots: 2, calls });
      expect(second.map(({ session_id }) => session_id)).toEqual([slow.session_id]);
    } finally {
      AccessToken.prototype.toJwt = toJwt;
      for (const { session_id } of [slow, other]) await release({ session_id });
      await stop("wrk_t");
    }
  });

  test("of a call whose manifest comes after the response: the call is in the next response, without a wait", async () => {
    const opened = Promise.withResolvers<void>();
    const slow = () =>
      new ReadableStream<Uint8Array>({
        pull: async (controller) => {
          await opened.promise;
          controller.enqueue(Buffer.from(JSON.stringify(MANIFEST)));
          controller.close();
        },
      });
    const { failing: slowCall, other, restore } = await withManifest("wrk_r", slow);
    const { start: first } = await syncOf("wrk_r", { slots: 2 });
    expect(first.map(({ session_id }) => session_id)).toEqual([other.session_id]);
    const calls = [{ session_id: other.session_id, generation: 1, state: "joining" as const, used_seconds: 0 }];
    const second = syncOf("wrk_r", { slots: 2, calls });
    opened.resolve();
    const started = [...(await second).start, ...(await syncOf("wrk_r", { slots: 2, calls })).start];
    expect(started).toContainEqual(expect.objectContaining({ session_id: slowCall.session_id }));
    restore();
    for (const { session_id } of [slowCall, other]) await release({ session_id });
    await stop("wrk_r");
  });

  test("whose avatar cannot be read from the store: omits the call, and contains it later", async () => {
    await syncOf("wrk_e", { slots: 1 });
    const { body: grant } = await start({ avatar_id: ready });
    const { storage } = api.files;
    const { open } = storage;
    storage.open = () => Promise.reject(new Error("the store is unavailable"));
    try {
      expect((await syncOf("wrk_e", { slots: 1 })).start).toEqual([]);
    } finally {
      storage.open = open;
    }
    expect((await syncOf("wrk_e", { slots: 1 })).start).toMatchObject([{ session_id: grant.session_id }]);
    await release({ session_id: grant.session_id });
    await stop("wrk_e");
  });

  test("accepted or refused: logged at the level debug, or at info with the problem", async () => {
    const { headers: ofSync } = await sync("wrk_f", { slots: 0 });
    const { headers: ofRefused } = await sync("wrk_f", {}, "another secret");
    // A line is written after its response is sent.
    const lineOf = async (sent: Headers) =>
      JSON.parse(await until(() => api.log.find((line) => line.includes(sent.get("x-request-id") ?? "none"))));
    expect(await lineOf(ofSync)).toMatchObject({ level: 20, route: "/internal/avatar-workers/:id/sync" });
    expect(await lineOf(ofRefused)).toMatchObject({ level: 30, problem: "invalid_credentials" });
  });
});

describe("a file of an avatar", () => {
  const get = (workerId: string, sessionId: string, file: string) =>
    api.call("GET", `/internal/avatar-workers/${workerId}/calls/${sessionId}/files/${file}`, { headers });

  test("of a call of the worker: sent; of another worker's call, an ended one, or an unknown file: 404", async () => {
    const { grant } = await workerWithCall("wrk_g");
    const answer = await get("wrk_g", grant.session_id, PICTURE);
    expect([answer.status, answer.text, answer.headers.get("content-type")]).toEqual([
      200,
      IMAGE.toString(),
      "image/webp",
    ]);
    for (const [worker, id, file] of [
      ["wrk_h", grant.session_id, PICTURE],
      ["wrk_g", "ses_01h455vb4pex5vsknk084sn02q", PICTURE],
      ["wrk_g", "x", PICTURE],
      ["wrk_g", grant.session_id, preparedFile(2, "0".repeat(64), "webp")],
      ["wrk_g", grant.session_id, "1/x"],
    ] as const) {
      expectProblem(await get(worker, id, file), "not_found");
    }
    await release({ session_id: grant.session_id });
    expectProblem(await get("wrk_g", grant.session_id, PICTURE), "not_found");
    await stop("wrk_g");
  });
});
