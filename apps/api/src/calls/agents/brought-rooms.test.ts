/** Calls in brought rooms, as the plugin `bey` of LiveKit Agents requests them. */
import { describe, expect, test } from "bun:test";
import { endDueCalls, expireWorkers, listRoomsToDelete } from "@realtime-avatar/db/calls/reconcile";
import { findCreditDrift } from "@realtime-avatar/db/credits/invariants";
import { sweepSessions } from "@realtime-avatar/db/credits/usage-sessions";
import type { ReportedCall } from "@realtime-avatar/domain/calls/worker-sync";
import { startReconciler } from "@realtime-avatar/livekit/reconciler";
import { Secret } from "@realtime-avatar/storage/secret";
import { random } from "@realtime-avatar/testing/random-bytes";
import { operatorOrigin } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { callAnew } from "../../../test/support/api.ts";
import { bringTo, ROOM_URL, roomToken } from "../../../test/support/calls/brought.ts";
import { callOptions, startCallApi } from "../../../test/support/calls/calls.ts";
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
/** Brings a room to an idle worker. */
const broughtTo = async (workerId: string) => {
  await takeSlots();
  await giveSlots(1, workerId);
  const token = roomToken();
  const { body } = await bring(key, one.avatarId, { livekit_token: token });
  const [call] = (await syncOf(workerId, { slots: 1 })).start;
  if (call?.session_id !== body.id) throw new Error("the worker has not received the call");
  return { id: body.id as string, token, call };
};

describe("a room that an agent brings", () => {
  test("with a valid token: 201 with a session; its worker gets url, token and agent; no request to the service's LiveKit", async () => {
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

  test("brought, then released by its key: 201 with the path of the session, then the slot is free", async () => {
    await giveSlots(1, "wrk_b");
    const { status, body, headers } = await bring(key, one.avatarId);
    expect([status, headers.get("location")]).toEqual([201, `/api/v1/usage/sessions/${body.id}`]);
    expect((await release({ session_id: body.id }, key)).status).toBe(200);
    expect([await slotsUsed(), await kept()]).toEqual([0, 0]);
  });

  test("without a worker's report for 120 s: ends at no charge, as not started", async () => {
    const { id } = await broughtTo("wrk_c");
    await db.client`update usage_sessions set expires_at = now() - interval '1 second' where id = ${id}`;
    await sweepSessions(db, one.tenantId, operatorOrigin());
    expect(await session(id, key)).toMatchObject({ status: "failed", endReason: "not_started", billedCreditMicros: 0 });
    expect([await slotsUsed(), await kept()]).toEqual([0, 0]);
  });

  test("that LiveKit refuses to the worker: ends at no charge, as failed", async () => {
    const { id } = await broughtTo("wrk_d");
    await syncOf("wrk_d", { slots: 1, calls: [report(id, "ended", 0, { reason: "failed" })] });
    expect(await session(id, key)).toMatchObject({ status: "failed", endReason: "failed", billedCreditMicros: 0 });
    expect([await slotsUsed(), await kept()]).toEqual([0, 0]);
  });

  test("whose worker is lost: moves to another worker once, with the same token; the next loss ends it", async () => {
    const { id, token } = await broughtTo("wrk_e");
    await syncOf("wrk_e", { slots: 1, calls: [report(id, "started", 3)] });
    await takeSlots();
    await giveSlots(1, "wrk_f");
    expect(await expireWorkers(db, operatorOrigin())).toMatchObject({ moved: 1, ended: 0 });
    const [moved] = (await syncOf("wrk_f", { slots: 1 })).start;
    expect(moved).toMatchObject({ session_id: id, generation: 2, token, url: ROOM_URL, used_seconds: 3 });
    await takeSlots();
    await giveSlots(1, "wrk_g");
    expect(await expireWorkers(db, operatorOrigin())).toMatchObject({ moved: 0, ended: 1, rooms: [] });
    expect([await slotsUsed(), await kept(), await drift()]).toEqual([0, 0, []]);
  });

  test("the reconciler: sends LiveKit only requests for the list of rooms; ends the call when its key is revoked", async () => {
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

  test("the token, in the database: sealed during the call and afterwards", async () => {
    const { id, token } = await broughtTo("wrk_i");
    const parts = token
      .split(".")
      .flatMap((part) => [part, Buffer.from(part).toString("hex")])
      .slice(2);
    const open = await dump(db);
    await release({ session_id: id }, key);
    const closed = await dump(db);
    expect(open).toContain("agent-AJ_x");
    expect(closed).not.toContain("agent-AJ_x");
    for (const part of parts) expect(open + closed).not.toContain(part);
  });

  test("whose token was sealed with another SESSION_SECRET: not sent to the worker; logged without the token", async () => {
    const { id, token } = await broughtTo("wrk_j");
    const other = callAnew(db, {
      ...callOptions(livekit),
      sessionSecret: new Secret("another secret, of another replica"),
    });
    const sync = await other("POST", "/internal/avatar-workers/wrk_j/sync", {
      body: { slots: 1, features: [], calls: [] },
      headers: { authorization: "Bearer the-secret-of-the-avatar-workers-of-tests" },
    });
    expect([sync.status, sync.body.start]).toEqual([200, []]);
    expect((await syncOf("wrk_j", { slots: 1 })).start).toMatchObject([{ session_id: id, token }]);
    await release({ session_id: id }, key);
  });

  test("whose call was ended by functions of an earlier version, which keep the token: the next pass deletes it", async () => {
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
  test("of the same key, in sequence and at once, at two replicas: the same call, one hold", async () => {
    await takeSlots();
    await giveSlots(10, "wrk_l");
    const replica = bringTo(callAnew(db, callOptions(livekit)));
    const { record, key: own } = await one.newKey({ maxConcurrentSessions: 1 });
    const token = roomToken();
    const tries = Array.from({ length: 40 }, (_, at) =>
      (at % 2 ? bring : replica)(own, one.avatarId, { livekit_token: token }),
    );
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
    // After the end of the call, the token starts another call.
    const [id] = ids;
    await release({ session_id: id }, own);
    const next = await bring(own, one.avatarId, { livekit_token: token });
    expect([next.status, next.body.id === id]).toEqual([201, false]);
    await release({ session_id: next.body.id }, own);
  });

  test("of another key, or of another tenant: a separate call that reveals nothing about the first", async () => {
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
