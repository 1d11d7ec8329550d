/** The history of a conversation in the API. A worker sends it, and the call's next worker gets it. */
import { describe, expect, test } from "bun:test";
import { expireWorkers } from "@realtime-avatar/db/calls/reconcile";
import {
  type TranscriptReport,
  type TranscriptSegment,
  transcriptSeals,
} from "@realtime-avatar/domain/calls/transcript";
import { RECOVERY, TOOL_HISTORY } from "@realtime-avatar/domain/calls/worker-sync";
import type { SessionId } from "@realtime-avatar/domain/id";
import { endLease } from "@realtime-avatar/testing/calls/calls";
import { random } from "@realtime-avatar/testing/random-bytes";
import { operatorOrigin } from "@realtime-avatar/testing/seeds";
import { TEST_WEBHOOKS } from "../../test/support/api.ts";
import { startCallApi, WORKER_SECRET } from "../../test/support/calls/calls.ts";
import { expectProblem } from "../../test/support/routes.ts";

const { api, spans, avatar, start, release, syncOf, takeSlots } = await startCallApi();
const { db } = api.database;
const avatar_id = await avatar();
const CAN = { slots: 4, features: [RECOVERY] };

const callAt = async (worker: string, features: string[] = [RECOVERY]) => {
  await takeSlots();
  await syncOf(worker, { slots: 4, features });
  const { body } = await start({ avatar_id });
  const { start: assigned } = await syncOf(worker, { slots: 4, features });
  const call = assigned.find(({ session_id }) => session_id === body.session_id);
  if (!call) throw new Error("the worker has not received the call");
  return call;
};
const put = (worker: string, id: string, report: Partial<TranscriptReport>) =>
  api.call("PUT", `/internal/avatar-workers/${worker}/calls/${id}/transcript`, {
    headers: { authorization: `Bearer ${WORKER_SECRET}` },
    body: { generation: 1, first: 0, segments: [], is_complete: false, ...report },
  });
const asks = (text: string): TranscriptSegment => ({ role: "user", text, ts: 1_795_000_000_000 });
const says = (text: string): TranscriptSegment => ({
  ...{ role: "assistant", text, ts: 1_795_000_000_001, interrupted: true },
});
/** Moves the call to another worker. Returns the assignment. */
const moveTo = async (worker: string, from: string, id: SessionId, features = CAN.features) => {
  await syncOf(worker, { slots: 4, features });
  await endLease(db, from);
  await expireWorkers(db, operatorOrigin());
  const { start: assigned } = await syncOf(worker, { slots: 4, features });
  return assigned.find(({ session_id }) => session_id === id);
};

describe("a conversation", () => {
  test("new: its worker gets an empty history", async () => {
    expect((await callAt("wrk_new")).history).toEqual({ segments: [], handed_over: false, lost_processes: 0 });
  });

  test("at a worker of the previous release: no history in the response, which is otherwise unchanged", async () => {
    expect("history" in (await callAt("wrk_before", []))).toBe(false);
  });

  test("whose worker is lost: the next one gets all heard words, by one statement; none are readable in database or log", async () => {
    const { session_id: id } = await callAt("wrk_lost");
    const segments = [asks("a tulip?"), says("Red tulips.")];
    spans.length = 0;
    expect((await put("wrk_lost", id, { segments, speaking: says("And tulip") })).status).toBe(200);
    expect(spans).toEqual(["write_transcript"]);
    const [stored] = await db.client<{ text: string }[]>`
      select (select string_agg(encode(segment, 'escape'), '') from call_segments where session_id = ${id})
        || (select encode(speaking, 'escape') from calls where session_id = ${id}) as text`;
    expect(stored?.text.length).toBeGreaterThan(100);
    expect(stored?.text).not.toMatch(/tulip/i);
    const moved = await moveTo("wrk_next", "wrk_lost", id);
    expect(moved).toMatchObject({ generation: 2, history: { segments: [...segments, says("And tulip")] } });
    expect(api.log.join("")).not.toMatch(/tulip/i);
  });

  test("whose next worker is of the previous release: it starts without the history", async () => {
    const { session_id: id } = await callAt("wrk_lost_2");
    await put("wrk_lost_2", id, { segments: [asks("a tulip?")] });
    const moved = await moveTo("wrk_next_2", "wrk_lost_2", id, []);
    expect(moved?.generation).toBe(2);
    expect(moved && "history" in moved).toBe(false);
  });

  test("with tool calls: a worker that takes them gets them, and one of the previous release gets the words alone", async () => {
    const features = [RECOVERY, TOOL_HISTORY];
    const { session_id: id, history } = await callAt("wrk_tools", features);
    expect(history?.takes_tools).toBe(true);
    const tool_calls = [{ id: "a", name: "order", args: "{}", result: "On its way." }];
    const segments = [asks("a tulip?"), { role: "assistant", text: "", ts: 2, tool_calls } as const, says("Red.")];
    expect((await put("wrk_tools", id, { segments })).status).toBe(200);
    const moved = await moveTo("wrk_tools_2", "wrk_tools", id, features);
    expect(moved?.history).toMatchObject({ segments, takes_tools: true });
    await db.client`update calls set generation = 1 where session_id = ${id}`;
    const old = await moveTo("wrk_tools_3", "wrk_tools_2", id);
    expect(old?.history).toEqual({
      segments: [segments[0], segments[2]],
      handed_over: false,
      lost_processes: 1,
    } as never);
  });

  test("sealed with another WEBHOOK_SECRET_KEY: the call continues without the history", async () => {
    const { session_id: id } = await callAt("wrk_key");
    await put("wrk_key", id, { segments: [asks("a tulip?")] });
    await db.client`update call_segments set segment = 'another key' where session_id = ${id}`;
    expect((await moveTo("wrk_next_3", "wrk_key", id))?.history).toMatchObject({ segments: [] });
  });

  test("sealed by a newer release: the call continues without unknown fields and invalid segments", async () => {
    const { session_id: id } = await callAt("wrk_newer");
    await put("wrk_newer", id, { segments: [asks("a"), asks("b")] });
    const { sealSegment } = transcriptSeals(TEST_WEBHOOKS.sealingKey, id);
    for (const [n, segment] of [
      { ...asks("a"), mood: "happy" },
      { ...asks("b"), role: "tool", text: "" },
    ].entries()) {
      const sealed = Buffer.from(sealSegment(segment as TranscriptSegment, random));
      await db.client`update call_segments set segment = ${sealed} where session_id = ${id} and n = ${n}`;
    }
    expect((await moveTo("wrk_next_4", "wrk_newer", id))?.history).toMatchObject({ segments: [asks("a")] });
  });

  test("after the end of its call: erased, and later reports are refused", async () => {
    const { session_id: id } = await callAt("wrk_over");
    await put("wrk_over", id, { segments: [asks("a tulip?")], speaking: says("Red") });
    await release({ session_id: id });
    expectProblem(await put("wrk_over", id, { first: 1, segments: [says("Red tulips.")] }), "not_found");
    const [left] = await db.client`
      select (select count(*)::integer from call_segments where session_id = ${id}) as segments, speaking, has_history
      from calls where session_id = ${id}`;
    expect({ ...left }).toEqual({ segments: 0, speaking: null, has_history: false });
  });
});

test("a worker that stops: its call moves at once, without the reconciler, and the new avatar must be ready before it joins", async () => {
  const { session_id: id } = await callAt("wrk_stops");
  await syncOf("wrk_stops", { ...CAN, calls: [{ session_id: id, generation: 1, state: "started", used_seconds: 1 }] });
  await syncOf("wrk_successor", CAN);
  await syncOf("wrk_stops", { ...CAN, slots: 0 });
  const { start: assigned } = await syncOf("wrk_successor", CAN);
  expect(assigned).toMatchObject([
    { session_id: id, generation: 2, history: { handed_over: true, lost_processes: 0 } },
  ]);
});
