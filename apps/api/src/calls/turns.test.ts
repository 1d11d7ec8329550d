/** Turns that programs send into calls, from the request to the avatar worker and back. */
import { describe, expect, test } from "bun:test";
import { endDueCalls, expireWorkers } from "@realtime-avatar/db/calls/reconcile";
import { MAX_WAITING_TURNS } from "@realtime-avatar/domain/calls/turns";
import type { AssignedTurn } from "@realtime-avatar/domain/calls/worker-sync";
import { operatorOrigin } from "@realtime-avatar/testing/seeds";
import { listed, startTurnApi } from "../../test/support/calls/turns.ts";
import { expectProblem } from "../../test/support/routes.ts";

const { api, key, release, syncOf, spans, running, post, read, interrupt, statusOf, stored } = await startTurnApi();
const { db } = api.database;
const { client } = db;

describe("a turn", () => {
  test("a turn: its worker gets it once, and its statuses and heard words can be read", async () => {
    const { session, sync } = await running();
    const { status, body, headers } = await post({ session_id: session, text: "Your *table* is booked." });
    expect(status).toBe(202);
    expect(headers.get("etag")).toBe('"1"');
    expect(body).toMatchObject({ session_id: session, kind: "say", status: "queued", heard: null });
    const [turn] = await sync();
    expect(turn).toEqual({
      turn_id: body.id,
      session_id: session,
      generation: 1,
      kind: "say",
      text: "Your *table* is booked.",
      instructions: null,
      interrupt: true,
    } as AssignedTurn);
    const given = turn as AssignedTurn;
    // The response was lost, so the turn comes again. After its report, it does not.
    expect(await sync()).toEqual([given]);
    expect(await sync([listed(given, "queued")])).toEqual([]);
    expect(await statusOf(body.id)).toBe("queued");
    await sync([listed(given, "speaking")]);
    expect((await read(body.id)).body).toMatchObject({ status: "speaking", heard: null });
    await sync([listed(given, "said", "Your table is booked.")]);
    const { body: said, headers: saidHeaders } = await read(body.id);
    expect(said).toEqual({ ...body, status: "said", heard: "Your table is booked." });
    expect(saidHeaders.get("etag")).toBe('"3"');
    // Late and doubled reports change nothing.
    await sync([listed(given, "speaking")]);
    await sync([listed(given, "interrupted", "Your")]);
    expect((await read(body.id)).body).toEqual(said);
    expect(await sync()).toEqual([]);
  });

  test("an answer: sent with its instructions; the texts are erased when it is over", async () => {
    const { session, sync } = await running();
    const given = { kind: "answer", text: "Is it booked?", instructions: "Be brief.", interrupt: false };
    const { body } = await post({ session_id: session, ...given });
    const [turn] = await sync();
    expect(turn).toMatchObject(given);
    expect(await stored(body.id)).toMatchObject({ text: "Is it booked?", instructions: "Be brief." });
    await sync([listed(turn as AssignedTurn, "failed", "")]);
    expect(await stored(body.id)).toMatchObject({ status: "failed", text: null, instructions: null, heard: "" });
  });

  test("a waiting worker: gets turns at once, in the order of the requests", async () => {
    const { session, sync } = await running();
    const waiting = sync();
    const first = (await post({ session_id: session, text: "One." })).body.id;
    expect((await waiting).map(({ turn_id }) => turn_id)).toEqual([first]);
    const ids = [first];
    for (const text of ["Two.", "Three."]) ids.push((await post({ session_id: session, text })).body.id);
    expect((await sync()).map(({ turn_id }) => turn_id)).toEqual(ids);
  });

  test("before the person has joined: waits until the worker has both sides", async () => {
    const { session, sync } = await running();
    await sync([], "joining");
    const { body } = await post({ session_id: session });
    expect(await sync([], "joined")).toEqual([]);
    expect((await stored(body.id))?.["generation"]).toBeNull();
    expect((await sync()).map(({ turn_id }) => turn_id)).toEqual([body.id]);
  });

  test("a turn: one look-up and one write", async () => {
    const { session } = await running();
    spans.length = 0;
    await post({ session_id: session });
    expect(spans.filter((name) => name !== "list_workers_with_work")).toEqual(["find_credential", "create_turn"]);
  });

  test("30 turns at once, not interrupting: exactly 8 wait, and 22 are refused", async () => {
    const { session, sync } = await running();
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => post({ session_id: session, interrupt: false })),
    );
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(MAX_WAITING_TURNS);
    const refused = answers.filter(({ status }) => status === 409);
    expect(refused).toHaveLength(30 - MAX_WAITING_TURNS);
    for (const answer of refused) expectProblem(answer, "too_many_turns");
    const turns = await sync();
    expect(turns).toHaveLength(MAX_WAITING_TURNS);
    const reports = turns.map((turn) => listed(turn, "queued"));
    expect((await post({ session_id: session, interrupt: false })).status).toBe(409);
    // A turn that is being said does not count as waiting.
    await sync([listed(turns[0] as AssignedTurn, "speaking"), ...reports.slice(1)]);
    expect((await post({ session_id: session, interrupt: false })).status).toBe(202);
    expect((await post({ session_id: session, interrupt: false })).status).toBe(409);
  });

  test("an Idempotency-Key: one turn, and the same response", async () => {
    const { session, sync } = await running();
    const headers = { "idempotency-key": "turn-1" };
    const [first, second] = await Promise.all([
      post({ session_id: session }, key, headers),
      post({ session_id: session }, key, headers),
    ]);
    expect([first?.status, second?.status]).toEqual([202, 202]);
    expect(second?.body).toEqual(first?.body);
    expect([first, second].map((one) => one?.headers.get("idempotent-replayed")).toSorted()).toEqual([null, "true"]);
    expect(await sync()).toHaveLength(1);
    expectProblem(await post({ session_id: session, text: "Other." }, key, headers), "idempotency_key_reused");
    // A refused request keeps no claim.
    await release({ session_id: session });
    const other = { "idempotency-key": "turn-2" };
    expectProblem(await post({ session_id: session }, key, other), "call_not_running");
    expect((await post({ session_id: session }, key, headers)).body).toEqual(first?.body);
  });
});

describe("an interruption", () => {
  test("an interruption: reaches the worker after the turns that it has, and drops those that it does not have", async () => {
    const { session, sync } = await running();
    const first = (await post({ session_id: session, interrupt: false })).body.id;
    const [given] = await sync();
    const second = (await post({ session_id: session, interrupt: false })).body.id;
    const answer = await interrupt(session);
    expect([answer.status, answer.body]).toEqual([202, { session_id: session }]);
    expect((await read(second)).body).toMatchObject({ status: "dropped", heard: null });
    expect(await statusOf(first)).toBe("queued");
    const third = (await post({ session_id: session, interrupt: false })).body.id;
    const reports = [listed(given as AssignedTurn, "speaking")];
    const [stop, next] = await sync(reports);
    expect(stop).toMatchObject({ kind: "interrupt", text: null });
    expect(next).toMatchObject({ turn_id: third, kind: "say" });
    // An interruption is done once, and cannot be read as a turn.
    expectProblem(await read((stop as AssignedTurn).turn_id), "not_found");
    const done = [listed(stop as AssignedTurn, "said", ""), listed(next as AssignedTurn, "queued")];
    expect(await sync([listed(given as AssignedTurn, "interrupted", "Hel"), ...done])).toEqual([]);
    expect((await read(first)).body).toMatchObject({ status: "interrupted", heard: "Hel" });
  });

  test("many interruptions at once: one waits, not counted as a turn", async () => {
    const { session, sync } = await running();
    const headers = { "idempotency-key": "interrupt" };
    const all = Array.from({ length: 20 }, (_, n) => interrupt(session, key, n < 5 ? headers : {}));
    for (const { status } of await Promise.all(all)) expect(status).toBe(202);
    for (let n = 0; n < MAX_WAITING_TURNS; n++) {
      expect((await post({ session_id: session, interrupt: false })).status).toBe(202);
    }
    expect((await sync()).map(({ kind }) => kind)).toEqual(["interrupt", ...Array(MAX_WAITING_TURNS).fill("say")]);
  });
});

describe("the end of a call, and of a worker", () => {
  test("the call ends: waiting turns are dropped, the current one is interrupted, and both can be read", async () => {
    const { session, sync } = await running();
    const ids = [
      (await post({ session_id: session })).body.id,
      (await post({ session_id: session, interrupt: false })).body.id,
    ];
    const [first, second] = (await sync()) as [AssignedTurn, AssignedTurn];
    await sync([listed(first, "speaking"), listed(second, "queued")]);
    await release({ session_id: session });
    expect(await Promise.all(ids.map(statusOf))).toEqual(["interrupted", "dropped"]);
    expect(await stored(ids[1])).toMatchObject({ text: null, heard: null });
  });

  test("the worker ends the call: its last report of the turns counts", async () => {
    const { session, sync } = await running();
    const ids = [
      (await post({ session_id: session })).body.id,
      (await post({ session_id: session, interrupt: false })).body.id,
    ];
    const [first, second] = (await sync()) as [AssignedTurn, AssignedTurn];
    await sync([listed(first, "interrupted", "Hel"), listed(second, "queued")], "ended");
    expect((await read(ids[0])).body).toMatchObject({ status: "interrupted", heard: "Hel" });
    expect(await statusOf(ids[1])).toBe("dropped");
    expect((await client`select ended_at from usage_sessions where id = ${session}`)[0]?.["ended_at"]).not.toBeNull();
  });

  test("the worker is lost: its turns fail, and the next worker gets only the rest", async () => {
    const { session, sync, features } = await running();
    const said = (await post({ session_id: session })).body.id;
    const [given] = await sync();
    await sync([listed(given as AssignedTurn, "speaking")]);
    const waiting = (await post({ session_id: session, interrupt: false })).body.id;
    await client`update fleet.avatar_workers set lease_until = now() - interval '1 second' where id = 'wrk_a'`;
    await syncOf("wrk_b", { slots: 1, features });
    expect(await expireWorkers(db, operatorOrigin())).toMatchObject({ moved: 1 });
    expect((await read(said)).body).toMatchObject({ status: "failed", heard: null });
    expect(await statusOf(waiting)).toBe("queued");
    const calls = [{ session_id: session, generation: 2, state: "started" as const, used_seconds: 2 }];
    const { turns = [] } = await syncOf("wrk_b", { slots: 1, features, calls } as never);
    expect(turns).toMatchObject([{ turn_id: waiting, generation: 2 }]);
    // The lost worker comes back: it gets no turns, and its reports change nothing.
    expect(await sync([listed(given as AssignedTurn, "said", "Hello.")])).toEqual([]);
    expect(await statusOf(said)).toBe("failed");
    // The worker of the second generation reports for the first one.
    const late = [{ ...calls[0], turns: [{ turn_id: waiting, status: "said", heard: "" }] }];
    await syncOf("wrk_a", { slots: 1, features, calls: late } as never);
    expect(await statusOf(waiting)).toBe("queued");
  });

  test("a worker reports a turn of a call that it does not have: no change", async () => {
    const mine = await running("wrk_a");
    const other = await running("wrk_b");
    const { body } = await post({ session_id: other.session });
    const [given] = await other.sync();
    await mine.sync([listed(given as AssignedTurn, "said", "forged")]);
    expect(await statusOf(body.id)).toBe("queued");
  });

  test("an hour after it is over: deleted, also turns of sessions that an older release has ended", async () => {
    const { session, sync } = await running();
    const old = (await post({ session_id: session })).body.id;
    const [given] = await sync();
    await sync([listed(given as AssignedTurn, "said", "Hello.")]);
    const kept = (await post({ session_id: session })).body.id;
    await client`update call_turns set ended_at = now() - interval '1 hour' where id = ${old}`;
    await endDueCalls(db, 10, operatorOrigin());
    expectProblem(await read(old), "not_found");
    expect(await statusOf(kept)).toBe("queued");
    await release({ session_id: session });
    // The state that the functions of the previous release leave.
    await client`update call_turns set status = 'queued', ended_at = null, text = 'x' where id = ${kept}`;
    await endDueCalls(db, 10, operatorOrigin());
    expect(await stored(kept)).toBeUndefined();
  });
});
