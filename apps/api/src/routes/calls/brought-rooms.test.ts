/** Calls in rooms of somebody else, as the plugin `bey` of LiveKit Agents asks for them. */
import { describe, expect, test } from "bun:test";
import { endDueCalls, expireWorkers, listRoomsToDelete } from "@realtime-avatar/db/calls/reconcile";
import { findCreditDrift } from "@realtime-avatar/db/credits/invariants";
import { sweepSessions } from "@realtime-avatar/db/credits/usage-sessions";
import { personToken } from "@realtime-avatar/domain/calls/room";
import type { ReportedCall } from "@realtime-avatar/domain/calls/worker-sync";
import { startReconciler } from "@realtime-avatar/livekit/reconciler";
import { mintToken } from "@realtime-avatar/livekit/tokens";
import { Secret } from "@realtime-avatar/storage/secret";
import { random } from "@realtime-avatar/testing/random-bytes";
import { operatorOrigin } from "@realtime-avatar/testing/seeds";
import { callAnew, rowCounts } from "../../../test/support/api.ts";
import { bringTo, ROOM_URL, roomClaims, roomToken } from "../../../test/support/calls/brought.ts";
import { callOptions, startCallApi, until } from "../../../test/support/calls/calls.ts";
import { dump } from "../../../test/support/dump.ts";
import { expectProblem } from "../../../test/support/routes.ts";

const { api, livekit, rooms, tenantWith, release, session, syncOf, giveSlots, takeSlots } = await startCallApi();
const { db } = api.database;
const bring = bringTo(api.call);
const one = await tenantWith(1_000_000);
const { key } = one.root;

const report = (id: string, state: ReportedCall["state"], used_seconds: number, more: Partial<ReportedCall> = {}) => ({
  ...({ session_id: id, generation: 1, state, used_seconds } as ReportedCall),
  ...more,
});
const slotsUsed = async (): Promise<number> =>
  (await db.client`select from fleet.avatar_slots where session_id is not null`).length;
const kept = async (): Promise<number> => (await db.client`select from call_agents`).length;
const drift = () => findCreditDrift(db, one.tenantId, 10);
/** Brings a room to a worker that has nothing else to do. */
const broughtTo = async (workerId: string) => {
  await takeSlots();
  await giveSlots(1, workerId);
  const token = roomToken();
  const { body } = await bring(key, one.avatarId, { livekit_token: token });
  const [call] = (await syncOf(workerId, { slots: 1 })).start;
  if (call?.session_id !== body.id) throw new Error("the worker has not got the call");
  return { id: body.id as string, token, call };
};

describe("a room that an agent brings", () => {
  test("201 with the id of a session; its worker gets url, token and agent of the request; LiveKit here is not asked", async () => {
    livekit.requests.length = 0;
    const { id, token, call } = await broughtTo("wrk_a");
    expect(call).toMatchObject({
      ...{ url: ROOM_URL, token, agent_identity: "agent-AJ_x", mode: "avatar", max_seconds: 1800 },
      ...{ away_seconds: 15, generation: 1, environment: "live", avatar: { avatar_id: one.avatarId } },
    });
    expect(await session(id, key)).toMatchObject({ status: "reserved", reservedCreditMicros: 1_800_000_000 });
    await syncOf("wrk_a", { slots: 1, calls: [report(id, "started", 1)] });
    await syncOf("wrk_a", { slots: 1, calls: [report(id, "ended", 7, { reason: "disconnected" })] });
    expect(await session(id, key)).toMatchObject({
      ...{ status: "released", endReason: "disconnected", billedCreditMicros: 7_000_000 },
    });
    expect([await slotsUsed(), await kept(), livekit.requests]).toEqual([0, 0, []]);
    expect(await drift()).toEqual([]);
  });

  test("a response is problem+json, and a success has the path of the session", async () => {
    await giveSlots(1, "wrk_b");
    const { status, body, headers } = await bring(key, one.avatarId);
    expect([status, headers.get("location")]).toEqual([201, `/api/v1/usage/sessions/${body.id}`]);
    expect((await release({ session_id: body.id }, key)).status).toBe(200);
    expect([await slotsUsed(), await kept()]).toEqual([0, 0]);
  });

  test("without a worker's report for 120 s: ends at no charge, and says that it was not started", async () => {
    const { id } = await broughtTo("wrk_c");
    await db.client`update usage_sessions set expires_at = now() where id = ${id}`;
    await sweepSessions(db, one.tenantId, operatorOrigin());
    expect(await session(id, key)).toMatchObject({ status: "failed", endReason: "not_started", billedCreditMicros: 0 });
    expect([await slotsUsed(), await kept()]).toEqual([0, 0]);
  });

  test("that LiveKit refuses to the worker: ends at no charge, and says that it failed", async () => {
    const { id } = await broughtTo("wrk_d");
    await syncOf("wrk_d", { slots: 1, calls: [report(id, "ended", 0, { reason: "failed" })] });
    expect(await session(id, key)).toMatchObject({ status: "failed", endReason: "failed", billedCreditMicros: 0 });
    expect([await slotsUsed(), await kept()]).toEqual([0, 0]);
  });

  test("whose worker is lost: given to another one once, with the same token; then it ends", async () => {
    const { id, token } = await broughtTo("wrk_e");
    await syncOf("wrk_e", { slots: 1, calls: [report(id, "started", 3)] });
    await takeSlots();
    await giveSlots(1, "wrk_f");
    expect(await expireWorkers(db, operatorOrigin())).toMatchObject({ moved: 1, ended: 0 });
    const [moved] = (await syncOf("wrk_f", { slots: 1 })).start;
    expect(moved).toMatchObject({ session_id: id, generation: 2, token, url: ROOM_URL, used_seconds: 3 });
    await takeSlots();
    await giveSlots(1, "wrk_g");
    expect(await expireWorkers(db, operatorOrigin())).toEqual({ moved: 0, ended: 1, rooms: [] });
    expect([await slotsUsed(), await kept(), await drift()]).toEqual([0, 0, []]);
  });

  test("the reconciler: creates, lists and deletes no room for it, and ends it when its key is revoked", async () => {
    const { record, key: revoked } = await one.newKey();
    await takeSlots();
    await giveSlots(1, "wrk_h");
    const { body } = await bring(revoked, one.avatarId);
    await syncOf("wrk_h", { slots: 1, calls: [report(body.id, "started", 1)] });
    livekit.requests.length = 0;
    const log = { info: () => {}, warn: () => {} };
    const reconciler = startReconciler({ db, rooms, log, random, tracing: null, intervalsMs: { end: 50, list: 50 } });
    await until(() => livekit.requests.filter(({ method }) => method === "ListRooms").length >= 4);
    expect((await session(body.id, key)).status).toBe("started");
    await api.call("DELETE", `/api/v1/api-keys/${record.id}`, { key });
    await until(async () => (await session(body.id, key)).status === "released");
    const others = livekit.requests.length;
    await until(() => livekit.requests.length > others + 2);
    await reconciler.stop();
    expect(new Set(livekit.requests.map(({ method }) => method))).toEqual(new Set(["ListRooms"]));
    expect(await session(body.id, key)).toMatchObject({ endReason: "key_ended" });
    const { end } = await syncOf("wrk_h", { slots: 1, calls: [report(body.id, "started", 1)] });
    expect(end).toEqual([{ session_id: body.id, generation: 1, reason: "user_ended" }]);
    expect([await listRoomsToDelete(db, 10), await kept()]).toEqual([[], 0]);
  });

  test("the token, in the database: sealed, while the call is open and afterwards", async () => {
    const { id, token } = await broughtTo("wrk_i");
    const parts = token.split(".").flatMap((part) => [part, Buffer.from(part).toString("hex")]).slice(2);
    const open = await dump(db);
    await release({ session_id: id }, key);
    const closed = await dump(db);
    expect(open).toContain("agent-AJ_x");
    expect(closed).not.toContain("agent-AJ_x");
    for (const part of parts) expect(open + closed).not.toContain(part);
  });

  test("whose token was sealed with another SESSION_SECRET: the worker does not get it, and the log says so without it", async () => {
    const { id, token } = await broughtTo("wrk_j");
    const other = callAnew(db, { ...callOptions(livekit), sessionSecret: new Secret("another secret, of another replica") });
    const sync = await other("POST", "/internal/avatar-workers/wrk_j/sync", {
      body: { slots: 1, features: [], calls: [] },
      headers: { authorization: "Bearer the-secret-of-the-avatar-workers-of-tests" },
    });
    expect([sync.status, sync.body.start]).toEqual([200, []]);
    expect((await syncOf("wrk_j", { slots: 1 })).start).toMatchObject([{ session_id: id, token }]);
    await release({ session_id: id }, key);
  });

  test("ended by the functions of an earlier version, which leave it: forgotten by the next pass", async () => {
    await takeSlots();
    await giveSlots(1, "wrk_k");
    const other = await tenantWith(10_000);
    const { id } = (await bring(other.root.key, other.avatarId)).body;
    await db.client`update usage_sessions set status = 'failed', ended_at = now(), is_counted = false where id = ${id}`;
    await endDueCalls(db, 10, operatorOrigin());
    expect([await slotsUsed(), await kept()]).toEqual([0, 0]);
  });
});

describe("the same token", () => {
  test("of the same key: the same call, one after another and at once, at two replicas, with one hold", async () => {
    await takeSlots();
    await giveSlots(10, "wrk_l");
    const replica = bringTo(callAnew(db, callOptions(livekit)));
    const { record, key: own } = await one.newKey({ maxConcurrentSessions: 1 });
    const token = roomToken();
    const tries = Array.from({ length: 40 }, (_, at) => (at % 2 ? bring : replica)(own, one.avatarId, { livekit_token: token }));
    const answers = await Promise.all(tries);
    answers.push(await bring(own, one.avatarId, { livekit_token: token }));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    const ids = new Set(answers.map(({ body }) => body.id));
    expect(ids.size).toBe(1);
    expect(answers.every(({ body, headers }) => headers.get("location")?.endsWith(body.id))).toBe(true);
    expect(await db.client`select from usage_sessions where api_key_id = ${record.id}`).toHaveLength(1);
    expect([await slotsUsed(), await kept(), await drift()]).toEqual([1, 1, []]);
    // Another token at the limit of one call.
    expectProblem(await bring(own, one.avatarId), "concurrency_limit_reached");
    // When the call has ended, the token starts another one.
    const [id] = ids;
    await release({ session_id: id }, own);
    const next = await bring(own, one.avatarId, { livekit_token: token });
    expect([next.status, next.body.id === id]).toEqual([201, false]);
    await release({ session_id: next.body.id }, own);
  });

  test("of another key, or of another tenant: a call of its own, which tells nothing of the first", async () => {
    const token = roomToken();
    const other = await tenantWith(10_000);
    const { key: sibling } = await one.newKey();
    const first = await bring(key, one.avatarId, { livekit_token: token });
    const second = await bring(sibling, one.avatarId, { livekit_token: token });
    const third = await bring(other.root.key, other.avatarId, { livekit_token: token });
    const ids = [first, second, third].map(({ body }) => body.id);
    expect([new Set(ids).size, first.status, second.status, third.status]).toEqual([3, 201, 201, 201]);
    expectProblem(await api.call("GET", `/api/v1/usage/sessions/${ids[0]}`, { key: other.root.key }), "not_found");
    for (const by of [key, sibling, other.root.key]) await release({ session_id: ids.shift() }, by);
    expect(await kept()).toBe(0);
  });

  test("with an Idempotency-Key: replayed, and with another body refused", async () => {
    const body = { livekit_token: roomToken() };
    const headers = { "idempotency-key": "a-key-of-a-program" };
    const first = await bring(key, one.avatarId, body, headers);
    const again = await bring(key, one.avatarId, body, headers);
    expect([again.text, again.headers.get("idempotent-replayed")]).toEqual([first.text, "true"]);
    expectProblem(await bring(key, one.avatarId, {}, headers), "idempotency_key_reused");
    await release({ session_id: first.body.id }, key);
  });
});

describe("refused: ", () => {
  const own = new URL(livekit.url);
  const urls = [
    ...["https://project.livekit.cloud", "ws://project.livekit.cloud", "wss://livekit.cloud", "wss://evil.example"],
    ...["wss://project.livekit.cloud.evil.example", "wss://evil.example/.livekit.cloud", "wss://xlivekit.cloud"],
    ...["wss://user@project.livekit.cloud", "wss://a:b@project.livekit.cloud", "wss://evil.example#.livekit.cloud"],
    ...["wss://project.livekit.cloud/rtc", "wss://project.livekit.cloud/../x", "wss://project.livekit.cloud?x=1"],
    ...["wss://project.livekit.cloud:8443", "wss://project.livekit.cloud.", "wss://evil.example\\.livekit.cloud"],
    ...["wss://127.0.0.1", "wss://2130706433", "wss://0x7f.1", "wss://0177.0.0.1", "wss://[::1]", "wss://[::ffff:127.0.0.1]"],
    ...["wss://169.254.169.254", "wss://10.0.0.1", "wss://192.168.1.1", "wss://[fd00::1]", "wss://[fe80::1]", "wss://0"],
    ...["wss://localhost", "ws://localhost:7880", "ws://127.0.0.1:1", `ws://127.0.0.1:${Number(own.port) + 1}`],
    ...["wss://metadata.google.internal", "wss://%31%32%37.0.0.1", "wss://①②⑦.0.0.1", "wss://project.livekit。cloud"],
    ...["wss:project.livekit.cloud", "//project.livekit.cloud", " wss://project.livekit.cloud", "wss://project.livekit.cloud\n"],
    ...["wss://project.livekit.cloud@evil.example", "wss://evil.example%00.livekit.cloud", "javascript:x", "wss://"],
  ];
  test.each(urls)("the URL %j: 422", async (livekit_url) => {
    const answer = await bring(key, one.avatarId, { livekit_url });
    expectProblem(answer, "validation_failed");
    expect(answer.body.errors).toMatchObject([{ pointer: "#/livekit_url", code: "unsupported_url" }]);
  });

  const claims = roomClaims();
  const { video, attributes } = claims;
  const later = Math.floor(Date.now() / 1000) + 3600;
  const tokens: [fault: string, changes: object, detail: string][] = [
    ["expired", { exp: Math.floor(Date.now() / 1000) - 1 }, "`exp`"],
    ["valid for half a minute", { exp: Math.floor(Date.now() / 1000) + 30 }, "`exp`"],
    ["without an end", { exp: undefined }, "`exp`"],
    ["with an end that is text", { exp: "9999999999" }, "`exp`"],
    ["not valid yet", { nbf: later }, "`nbf`"],
    ["without a room", { video: { ...video, room: undefined } }, "`video.room`"],
    ["with an empty room", { video: { ...video, room: "" } }, "`video.room`"],
    ["with a room that is a list", { video: { ...video, room: ["x"] } }, "`video.room`"],
    ["with a room that cannot be stored", { video: { ...video, room: "x\u0000" } }, "`video.room`"],
    ["that may not join", { video: { room: "x" } }, "`video.roomJoin`"],
    ["that joins by a text", { video: { ...video, roomJoin: "true" } }, "`video.roomJoin`"],
    ["of a person", { kind: "standard" }, "`kind`"],
    ["of no kind", { kind: undefined }, "`kind`"],
    ["without an identity", { sub: undefined }, "`sub`"],
    ["with an identity that is too long", { sub: "x".repeat(513) }, "`sub`"],
    ["without an agent", { attributes: undefined }, "lk.publish_on_behalf"],
    ["with an agent that is an object", { attributes: { "lk.publish_on_behalf": {} } }, "lk.publish_on_behalf"],
    ["with attributes that are a list", { attributes: [attributes] }, "lk.publish_on_behalf"],
    ["that may not publish", { video: { ...video, canPublish: false } }, "`video.canPublish`"],
    ["that may send no data", { video: { ...video, canPublishData: false } }, "`video.canPublish`"],
    ["that may publish a microphone alone", { video: { ...video, canPublishSources: ["microphone"] } }, "`video.canPublish`"],
    ["with all in a prototype", { kind: undefined, ["__proto__"]: { kind: "agent" } }, "`kind`"],
  ];
  test.each(tokens)("a token %s: 422, which names it", async (_, changes, detail) => {
    const answer = await bring(key, one.avatarId, { livekit_token: roomToken(changes) });
    expectProblem(answer, "validation_failed");
    expect(answer.body.errors.map((error: Record<string, string>) => error["pointer"])).toEqual(["#/livekit_token"]);
    expect(answer.body.errors[0].detail).toContain(detail);
  });

  const encoded = (text: string | Uint8Array): string => Buffer.from(text).toString("base64url");
  const deep = (levels: number): string => `x.${encoded("[".repeat(levels) + "]".repeat(levels))}.x`;
  const unreadable = [
    ...["x", "a.b", "a.b.c.d", "..", `x.${encoded("null")}.x`, `x.${encoded("[]")}.x`, `x.${encoded('"x"')}.x`],
    ...[`x.${encoded("{")}.x`, `x.${encoded(Uint8Array.of(0xff, 0xfe))}.x`, deep(1000), "é.é.é", "x. .x"],
    `x.${encoded('{"__proto__": {"kind": "agent", "video": {"roomJoin": true, "room": "x"}}}')}.x`,
  ];
  test.each(unreadable)("the text %j as a token: 422", async (livekit_token) => {
    const answer = await bring(key, one.avatarId, { livekit_token });
    expectProblem(answer, "validation_failed");
    expect(JSON.stringify(answer.body)).not.toContain("roomJoin\\");
  });

  test("a token of 10 MB, of more than 4,096 characters, of another type, and unknown fields: 413 and 422", async () => {
    expectProblem(await bring(key, one.avatarId, { livekit_token: "x".repeat(10_000_000) }), "body_too_large");
    for (const livekit_token of [roomToken({ name: "x".repeat(4000) }), "", 5, null, ["x"], {}]) {
      expectProblem(await bring(key, one.avatarId, { livekit_token }), "validation_failed");
    }
    expectProblem(await bring(key, one.avatarId, { session_id: "x" }), "validation_failed");
  });

  const powers = ["roomAdmin", "roomCreate", "roomList", "roomRecord", "ingressAdmin", "agent"];
  test.each(powers)("a token with %s: 422 token_too_powerful, whatever else it lacks", async (power) => {
    for (const granted of [true, "true", 1, {}]) {
      const livekit_token = roomToken({ kind: "standard", video: { ...video, [power]: granted } });
      const answer = await bring(key, one.avatarId, { livekit_token });
      expectProblem(answer, "token_too_powerful");
      expect(answer.body.detail).toContain(power);
    }
    const without = await bring(key, one.avatarId, { livekit_token: roomToken({ video: { ...video, [power]: false } }) });
    expect(without.status).toBe(201);
    await release({ session_id: without.body.id }, key);
  });

  test("a token for telephony: 422 token_too_powerful", async () => {
    expectProblem(await bring(key, one.avatarId, { livekit_token: roomToken({ sip: { admin: true } }) }), "token_too_powerful");
  });

  test("a room of a call of this service, and the tokens of its calls: 422", async () => {
    const [{ instance } = { instance: "" }] = await db.client`select instance from fleet.service`;
    const room = `rta-${instance}-ses_01h455vb4pex5vsknk084sn02q`;
    const livekit_token = roomToken({ video: { ...video, room } });
    for (const livekit_url of [livekit.url, livekit.url.replace("127.0.0.1", "localhost")]) {
      expectProblem(await bring(key, one.avatarId, { livekit_url, livekit_token }), "validation_failed");
    }
    const config = { ...livekit, apiSecret: new Secret(livekit.apiSecret) };
    const ofPerson = await mintToken(config, personToken(room));
    expectProblem(await bring(key, one.avatarId, { livekit_url: livekit.url, livekit_token: ofPerson }), "validation_failed");
    // Another room on the LiveKit server of the service is a room like any other.
    const { status, body } = await bring(key, one.avatarId, { livekit_url: livekit.url });
    expect(status).toBe(201);
    await release({ session_id: body.id }, key);
  });

  test("without a key, with a wrong one, or with one elsewhere: 401; without the scope: 403; nothing is read", async () => {
    const before = await rowCounts(api.database);
    const post = (headers: Record<string, string>) => api.call("POST", "/compat/bey/v1/session", { body: "no JSON", headers });
    expectProblem(await post({}), "missing_api_key");
    expectProblem(await post({ authorization: `Bearer ${key}` }), "missing_api_key");
    expectProblem(await post({ cookie: "rta_session=x" }), "missing_api_key");
    for (const wrong of ["", "x", `Bearer ${key}`, `${key}x`, key.slice(0, -1), `rta_live_${"x".repeat(40)}`]) {
      expectProblem(await post({ "x-api-key": wrong }), "invalid_api_key");
    }
    const { record, key: revoked } = await one.newKey();
    await api.call("DELETE", `/api/v1/api-keys/${record.id}`, { key });
    expectProblem(await post({ "x-api-key": revoked }), "revoked_api_key");
    const { key: reader } = await one.newKey({ scopes: ["avatars:read"] });
    expectProblem(await post({ "x-api-key": reader }), "insufficient_scope");
    // Only this route takes the header.
    expectProblem(await api.call("GET", "/api/v1/avatars", { headers: { "x-api-key": key } }), "missing_api_key");
    expect((await rowCounts(api.database))["usage_sessions"]).toBe(before["usage_sessions"]);
  });

  test("an avatar that is not ready, unknown, or of another tenant; a cap, the balance: as for any call", async () => {
    const { avatar } = { avatar: async (status: string) => {
      const body = { displayName: "x", sourceKind: "image" };
      const { id } = (await api.call("POST", "/api/v1/avatars", { key, body })).body;
      await db.client`update avatars set status = ${status} where id = ${id}`;
      return id as string;
    } };
    expectProblem(await bring(key, await avatar("draft")), "avatar_not_ready");
    const other = await tenantWith(30);
    for (const id of ["x", "ava_01h455vb4pex5vsknk084sn02q", other.avatarId]) {
      expectProblem(await bring(key, id), "not_found");
    }
    expectProblem(await bring(other.root.key, other.avatarId), "insufficient_credits");
    const { key: capped } = await one.newKey({ spendLimitCreditMicros: 1_000_000 });
    expectProblem(await bring(capped, one.avatarId), "spend_limit_exceeded");
    const { key: ofTest } = await one.newKey({ environment: "test" });
    expectProblem(await bring(ofTest, one.avatarId), "not_found");
  });

  test("without a free slot: 429 that can be sent again; the same token keeps its place, and gets the next slot", async () => {
    await takeSlots();
    const token = roomToken();
    const first = await bring(key, one.avatarId, { livekit_token: token });
    expectProblem(first, "rate_limited");
    expect([first.headers.get("retry-after"), first.body.retryable]).toEqual(["2", true]);
    await db.client`update call_tickets set polled_at = polled_at - interval '2 seconds'`;
    expectProblem(await bring(key, one.avatarId, { livekit_token: token }), "rate_limited");
    expect(await db.client`select from call_tickets where tenant_id = ${one.tenantId}`).toHaveLength(1);
    await db.client`update call_tickets set polled_at = polled_at - interval '2 seconds'`;
    await giveSlots(1, "wrk_z");
    // Who comes later waits for his turn.
    expectProblem(await bring(key, one.avatarId), "rate_limited");
    const { status, body } = await bring(key, one.avatarId, { livekit_token: token });
    expect(status).toBe(201);
    await release({ session_id: body.id }, key);
    await db.client`delete from call_tickets`;
  });

  test("without LiveKit or the secret of avatar workers: 501", async () => {
    const { config } = callOptions(livekit);
    const without = bringTo(callAnew(db, { config: { ...config, livekit: null } }));
    expectProblem(await without(key, one.avatarId), "realtime_not_configured");
  });

  test("requests over the rate: 429, the keys of a lineage together", async () => {
    const { config } = callOptions(livekit);
    const limited = bringTo(callAnew(db, { config: { ...config, rateLimit: { perSecond: 1, burst: 0 } } }));
    const answers = await Promise.all(Array.from({ length: 5 }, () => limited(key, "x")));
    expect(answers.filter(({ status }) => status === 429).length).toBeGreaterThanOrEqual(3);
    for (const { status, body } of answers) if (status === 429) expect(body.code).toBe("rate_limited");
  });
});
