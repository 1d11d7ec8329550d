/** Resuming calls, with a simulated LiveKit and workers that sync. */
import { describe, expect, test } from "bun:test";
import { CallGrant } from "@realtime-avatar/domain/calls/schemas";
import { RESUME, type ReportedCall, SyncResponse } from "@realtime-avatar/domain/calls/worker-sync";
import { validate } from "@realtime-avatar/domain/schema";
import type { TestDb } from "@realtime-avatar/testing/database";
import { inTurn } from "@realtime-avatar/testing/postgres/waits";
import { until } from "@realtime-avatar/testing/until";
import { TokenVerifier } from "livekit-server-sdk";
import { callAnew } from "../../test/support/api.ts";
import { callOptions, START, startCallApi } from "../../test/support/calls/calls.ts";
import { expectProblem } from "../../test/support/routes.ts";

const PATH = `${START}/resume`;
const { api, livekit, spans, start, release, session, tenantWith, syncOf } = await startCallApi();
const features = [RESUME, "voice"];

let workers = 0;
/** A call with a person, at a worker without other calls. */
const callOf = async (can: string[] = features, state: ReportedCall["state"] = "started") => {
  const tenant = await tenantWith(10_000);
  await api.database.db.client`delete from fleet.avatar_slots where session_id is null`;
  const worker = `wrk_resume_${++workers}`;
  await syncOf(worker, { slots: 1, features: can });
  const body = { avatar_id: tenant.avatarId, instructions: "Be kind.", max_session_seconds: 600 };
  const key = { "idempotency-key": "start" };
  const { body: grant } = await start(body, tenant.root.key, key);
  const [assigned] = (await syncOf(worker, { slots: 1, features: can })).start;
  const sync = (changes: Partial<ReportedCall> = {}) => {
    const own = { session_id: grant.session_id, generation: 1, state, used_seconds: 1, ...changes };
    return syncOf(worker, { slots: 1, features: can, calls: [own] });
  };
  await sync();
  const resume = (by = tenant.root.key, headers: Record<string, string> = {}, id: string = grant.session_id) =>
    api.call("POST", PATH, { key: by, body: { session_id: id }, headers });
  const startAgain = () => start(body, tenant.root.key, key);
  return { ...tenant, grant: grant as CallGrant, assigned, sync, resume, startAgain, worker };
};
const resumed = (room_number: number) => ({ resume: { room_number, gap_count: 1, gap_seconds: 0 } });
/** Rooms are deleted in the background. */
const untilRooms = (...names: string[]) =>
  until(() => {
    const known = livekit.rooms().filter((name) => names.some((one) => name.endsWith(one.slice(-30))));
    return known.sort().join() === [...names].sort().join();
  });

describe("a call that is resumed", () => {
  test("a new room and a token for it only; a move for the worker; the previous room is deleted", async () => {
    const { grant, root, assigned, sync, resume } = await callOf();
    expect(assigned?.resume).toEqual({ room_number: 1, gap_count: 0, gap_seconds: 0, return_seconds: 60 });
    const answer = await resume();
    expect([answer.status, answer.headers.get("etag")]).toEqual([200, null]);
    const next = answer.body;
    expect(validate(CallGrant, next)).toEqual([]);
    expect(next).toMatchObject({
      ...{ status: "ready", session_id: grant.session_id, livekit_url: livekit.url, participant_identity: "person" },
      ...{ join_timeout_seconds: 60, max_session_seconds: 600, stt_mode: "server", ignored: ["instructions"] },
    });
    expect(next.room_name).not.toBe(grant.room_name);
    expect(Date.parse(next.reservation_expires_at) - Date.now()).toBeWithin(30_000, 61_000);
    const verifier = new TokenVerifier(livekit.apiKey, livekit.apiSecret);
    const claims = await verifier.verify(next.participant_token);
    expect(claims).toMatchObject({ sub: "person", video: { room: next.room_name, canPublishSources: ["microphone"] } });
    expect(claims.video?.roomCreate ?? false).toBe(false);
    expect((claims.exp ?? 0) - (claims.nbf ?? 0)).toBe(60);
    await untilRooms(next.room_name);
    const told = await sync(resumed(1));
    expect(validate(SyncResponse, told)).toEqual([]);
    expect(told.move).toMatchObject([
      { session_id: grant.session_id, generation: 1, room_number: 2, url: livekit.url },
    ]);
    const avatar = await verifier.verify(told.move?.[0]?.token ?? "");
    expect(avatar).toMatchObject({ sub: "avatar", kind: "agent", video: { room: next.room_name } });
    expect((await sync({ ...resumed(2), state: "joined" })).move).toBeUndefined();
    expect(await session(grant.session_id, root.key)).toMatchObject({ status: "started" });
  });

  test("many requests at once: the same room for all, and one move; later: another room", async () => {
    const { grant, root, newKey, sync, resume } = await callOf();
    const ancestor = root.key;
    const others = [ancestor, (await newKey({}, root.record)).key];
    expectProblem(await resume(others[1]), "not_found");
    const lock = ({ client }: TestDb) => client`select from usage_sessions where id = ${grant.session_id} for update`;
    const answers = await inTurn(
      api.database,
      lock,
      Array.from({ length: 8 }, () => () => resume(ancestor)),
    );
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.room_name}`)).size).toBe(1);
    const { body: later } = await resume();
    await untilRooms(later.room_name);
    expect((await sync(resumed(1))).move).toMatchObject([{ room_number: 3 }]);
    await release({ session_id: grant.session_id, reason: "manual" }, ancestor);
    await untilRooms();
    expectProblem(await resume(), "session_closed");
  });

  test("the same Idempotency-Key: the same grant, no further room; refused after another move", async () => {
    const { resume, root } = await callOf();
    const headers = { "idempotency-key": "resume" };
    const first = await resume(root.key, headers);
    const again = await resume(root.key, headers);
    expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([200, "true"]);
    expect(again.body).toEqual(first.body);
    await untilRooms(first.body.room_name);
    await resume();
    expectProblem(await resume(root.key, headers), "call_not_resumable");
  });

  test("the start with its Idempotency-Key: the grant of the start until a person has joined, then a new room", async () => {
    const waiting = await callOf(features, "joined");
    expect((await waiting.startAgain()).body).toEqual(waiting.grant);
    const { grant, startAgain, sync, resume } = await callOf();
    const again = await startAgain();
    expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([200, "true"]);
    expect(validate(CallGrant, again.body)).toEqual([]);
    expect(again.body.session_id).toBe(grant.session_id);
    expect(again.body.room_name).not.toBe(grant.room_name);
    await untilRooms(again.body.room_name);
    expect((await sync(resumed(1))).move).toMatchObject([{ room_number: 2 }]);
    await resume();
    expect((await startAgain()).body.room_name).toContain("-4-");
    await release({ session_id: grant.session_id }, (await callOf()).root.key);
  });

  test("the start with its Idempotency-Key, at a worker that cannot move calls: the grant of the start", async () => {
    const { grant, startAgain, resume } = await callOf(["voice"]);
    expect((await startAgain()).body).toEqual(grant);
    expectProblem(await resume(), "call_not_resumable");
  });
});

describe("a failing LiveKit", () => {
  test("a resume: 503; the call continues; repeated: the same room", async () => {
    const { grant, root, sync } = await callOf();
    const call = callAnew(api.database.db, callOptions(livekit));
    const send = () =>
      call("POST", PATH, {
        ...{ key: root.key, body: { session_id: grant.session_id } },
        headers: { "idempotency-key": "resume" },
      });
    livekit.setFault({ kind: "refuses", status: 500 });
    const refused = await send();
    livekit.setFault(null);
    expectProblem(refused, "unavailable");
    expect(await session(grant.session_id, root.key)).toMatchObject({ status: "started" });
    expect((await sync(resumed(1))).move).toBeUndefined();
    const answer = await until(async () => {
      const again = await send();
      return again.status === 200 && again;
    });
    expect(answer.body.room_name).toContain("-2-");
    expect(livekit.rooms()).toContain(answer.body.room_name);
    expect((await sync(resumed(1))).move).toMatchObject([{ room_number: 2 }]);
  });
});

describe("a refused resume", () => {
  test("a call of another key, tenant or environment, or an unknown one: not found, without a write", async () => {
    const { grant, root, newKey, resume } = await callOf();
    const sibling = await newKey();
    const inTest = await newKey({ environment: "test" });
    const foreign = await tenantWith(10);
    spans.length = 0;
    for (const { key } of [sibling, inTest, foreign.root]) expectProblem(await resume(key), "not_found");
    expectProblem(await resume(root.key, {}, "ses_01kasdy6x1ejfv3nxkhg5t0wf3"), "not_found");
    expectProblem(await resume(root.key, {}, "x"), "not_found");
    expect(spans).not.toContain("resume_call");
    expect(spans).not.toContain("livekit_create_room");
    expect(livekit.rooms()).toContain(grant.room_name);
  });

  test("a call that has ended, was never joined, or has a revoked key: refused", async () => {
    const ended = await callOf();
    await release({ session_id: ended.grant.session_id }, ended.root.key);
    expectProblem(await ended.resume(), "session_closed");
    const { root, newKey, resume } = await callOf(features, "joined");
    const answer = await resume();
    expectProblem(answer, "call_not_resumable");
    expect(answer.body.detail).toContain("Idempotency-Key");
    const scoped = await newKey({ scopes: ["usage:write"] }, root.record);
    expectProblem(await resume(scoped.key), "insufficient_scope");
  });
});

describe("a release", () => {
  test("a release by a left page: the call continues and can be resumed; by the user: it ends", async () => {
    const { grant, root, sync, resume } = await callOf();
    const gone = { session_id: grant.session_id, reason: "page_hide" };
    expect((await release(gone, root.key)).body).toEqual({ ok: true });
    expect(await session(grant.session_id, root.key)).toMatchObject({ status: "started" });
    expect((await sync(resumed(1))).end).toEqual([]);
    expect((await resume()).status).toBe(200);
    await release({ ...gone, reason: "manual" }, root.key);
    expect(await session(grant.session_id, root.key)).toMatchObject({ status: "released", releaseReason: "manual" });
  });
});
