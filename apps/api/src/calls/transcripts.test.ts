/** Transcripts of calls in the API: the fields of a start, and the reports of avatar workers. */
import { describe, expect, test } from "bun:test";
import { type TranscriptReport, transcriptSeals } from "@realtime-avatar/domain/calls/transcript";
import { TRANSCRIPT } from "@realtime-avatar/domain/calls/worker-sync";
import type { SessionId } from "@realtime-avatar/domain/id";
import { TEST_WEBHOOKS } from "../../test/support/api.ts";
import { startCallApi, WORKER_SECRET } from "../../test/support/calls/calls.ts";
import { expectProblem } from "../../test/support/routes.ts";

const { api, spans, avatar, start, release, syncOf, giveSlots, takeSlots, tenantWith } = await startCallApi();
const { client } = api.database.db;
const SECRET = "a secret of sixteen characters";
const WEBHOOK = { url: "https://hooks.example.com/transcripts?token=tulip", secret: SECRET };
const avatar_id = await avatar();

const rowOf = async (id: string) => {
  const [row] = await client<{ receiver: Buffer; segments: Buffer[] }[]>`
    select receiver, (select count(*)::integer from call_segments where session_id = ${id}) as count
    from call_transcripts where session_id = ${id}`;
  return row;
};
const segmentsOf = async (id: string) => {
  const { openSegment } = transcriptSeals(TEST_WEBHOOKS.sealingKey, id as SessionId);
  const rows = await client<
    { segment: Buffer }[]
  >`select segment from call_segments where session_id = ${id} order by n`;
  return rows.map(({ segment }) => openSegment(segment)?.text);
};
/** A call with a transcript at a worker that supports transcripts. */
const callAt = async (workerId: string, body: object = {}) => {
  await takeSlots();
  await syncOf(workerId, { slots: 4, features: [TRANSCRIPT] });
  const { body: grant } = await start({ avatar_id, transcript_webhook: WEBHOOK, ...body });
  const { start: assigned } = await syncOf(workerId, { slots: 4, features: [TRANSCRIPT] });
  const call = assigned.find(({ session_id }) => session_id === grant.session_id);
  if (!call) throw new Error("the worker has not received the call");
  return { id: call.session_id, grant, call };
};
const segment = (text: string) => ({ role: "user" as const, text, ts: 1_795_000_000_000 });
const put = (
  workerId: string,
  id: string,
  report: Partial<TranscriptReport>,
  headers: Record<string, string> = { authorization: `Bearer ${WORKER_SECRET}` },
) =>
  api.call("PUT", `/internal/avatar-workers/${workerId}/calls/${id}/transcript`, {
    headers,
    body: { generation: 1, first: 0, segments: [], is_complete: false, ...report },
  });

describe("a start with a transcript", () => {
  test("accepted: its receiver is stored sealed; response, log and worker do not contain it", async () => {
    const { id, grant, call } = await callAt("wrk_sealed");
    expect(call.transcript).toBe(true);
    expect(JSON.stringify([grant, call])).not.toMatch(/tulip|sixteen/);
    expect(api.log.join("")).not.toMatch(/tulip|sixteen/);
    const row = await rowOf(id);
    const stored = row?.receiver ?? Buffer.alloc(0);
    expect(stored.toString("latin1")).not.toMatch(/tulip|sixteen/);
    expect(transcriptSeals(TEST_WEBHOOKS.sealingKey, id).openReceiver(stored)).toEqual(WEBHOOK);
    const tables = ["calls", "usage_sessions", "idempotency_claims", "call_tickets", "audit_events"];
    for (const table of tables) {
      const [found] = await client.unsafe(
        `select count(*)::integer as count from ${table} t where t::text ~ 'tulip|sixteen'`,
      );
      expect(`${table} ${found?.["count"]}`).toBe(`${table} 0`);
    }
  });

  test("at a worker of the previous release: the call starts; the worker gets no transcript fields", async () => {
    await takeSlots();
    await syncOf("wrk_before", { slots: 4, features: [] });
    const { body: grant } = await start({ avatar_id, transcript_webhook: WEBHOOK });
    const { start: assigned } = await syncOf("wrk_before", { slots: 4, features: [] });
    expect(assigned.map(({ session_id, ...call }) => [session_id, "transcript" in call])).toEqual([
      [grant.session_id, false],
    ]);
  });

  test.each(["off", false, undefined])("disabled by %p: no stored transcript", async (transcript_webhook) => {
    await giveSlots(4);
    const { status, body } = await start({
      avatar_id,
      ...(transcript_webhook !== undefined && { transcript_webhook }),
    });
    expect(status).toBe(200);
    expect(await rowOf(body.session_id)).toBeUndefined();
  });

  test("replayed with its Idempotency-Key: the same call, and one transcript", async () => {
    await giveSlots(4);
    const headers = { "idempotency-key": "transcript" };
    const body = { avatar_id, transcript_webhook: WEBHOOK };
    const [first, second] = [await start(body, undefined, headers), await start(body, undefined, headers)];
    expect(second.body).toEqual(first.body);
    expect(await rowOf(first.body.session_id)).toBeDefined();
    const other = { ...body, transcript_webhook: { ...WEBHOOK, secret: "another secret of the tenant" } };
    expectProblem(await start(other, undefined, headers), "idempotency_key_reused");
  });

  test.each([
    ["http://hooks.example.com/", "unsupported_url"],
    ["https://127.0.0.1/", "unsupported_url"],
    ["https://169.254.169.254/latest/meta-data", "unsupported_url"],
    ["https://localhost:8443/", "unsupported_url"],
    ["no URL", "unsupported_url"],
    [`https://example.com/${"x".repeat(500)}`, "too_long"],
  ])("the URL %s: 422 %s", async (url, code) => {
    const answer = await start({ avatar_id, transcript_webhook: { url, secret: SECRET } });
    expectProblem(answer, "validation_failed");
    expect(answer.body.errors).toMatchObject([{ pointer: "#/transcript_webhook/url", code }]);
  });

  test("1,000 transcripts of the tenant waiting for another attempt: 409 without a call", async () => {
    const one = await tenantWith(10_000);
    await giveSlots(4);
    await client.unsafe(`insert into call_transcripts (tenant_id, session_id, receiver, due_at, attempt_count)
      select '${one.tenantId}', 'ses_' || lpad(i::text, 26, '0'), 'x', now(), 1 from generate_series(1, 1000) i`);
    const body = { avatar_id: one.avatarId, transcript_webhook: WEBHOOK };
    expectProblem(await start(body, one.root.key), "quota_exceeded");
    expect((await start({ avatar_id: one.avatarId }, one.root.key)).status).toBe(200);
  });
});

describe("a report of a worker", () => {
  test("with segments: stored once and sealed; repeated and overlapping reports change nothing", async () => {
    const { id } = await callAt("wrk_said");
    const first = { segments: [segment("tulip one"), segment("tulip two")] };
    spans.length = 0;
    expect((await put("wrk_said", id, first)).body).toEqual({ next: 2 });
    expect(spans).toEqual(["write_transcript"]);
    expect((await put("wrk_said", id, first)).body).toEqual({ next: 2 });
    const more = { first: 1, segments: [segment("tulip two"), segment("tulip three")], is_complete: true };
    expect((await put("wrk_said", id, more)).body).toEqual({ next: 3 });
    expect(await segmentsOf(id)).toEqual(["tulip one", "tulip two", "tulip three"]);
    const [row] = await client`
      select count(*)::integer as count from call_segments where encode(segment, 'escape') like '%tulip%'`;
    expect(row?.["count"]).toBe(0);
    expect(api.log.join("")).not.toContain("tulip");
  });

  test("of a call of another worker, another generation, or another call: 404", async () => {
    const { id } = await callAt("wrk_own");
    const segments = [segment("no")];
    expectProblem(await put("wrk_other", id, { segments }), "not_found");
    expectProblem(await put("wrk_own", id, { segments, generation: 2 }), "not_found");
    expectProblem(await put("wrk_own", "ses_01h455vb4pex5vsknk084sn02q", { segments }), "not_found");
    expectProblem(await put("wrk_own", "ses_1", { segments }), "not_found");
    expectProblem(await put("a.b", id, { segments }), "not_found");
    expect(await segmentsOf(id)).toEqual([]);
  });

  test("without the secret, or with an API key: 401 without a look-up", async () => {
    const { id } = await callAt("wrk_secret");
    spans.length = 0;
    for (const headers of [{}, { authorization: `Bearer ${await api.key()}` }, { authorization: "Bearer x" }]) {
      expectProblem(await put("wrk_secret", id, { segments: [segment("no")] }, headers), "invalid_credentials");
    }
    expect(spans.filter((name) => name === "write_transcript")).toEqual([]);
  });

  test("malformed: 422; of more than 256 KiB: 413; with a field of a later release: accepted", async () => {
    const { id } = await callAt("wrk_form");
    expectProblem(
      await put("wrk_form", id, { segments: [{ ...segment("x"), role: "system" as never }] }),
      "validation_failed",
    );
    expectProblem(await put("wrk_form", id, { segments: Array(65).fill(segment("x")) }), "validation_failed");
    const long = Array(64).fill(segment("x".repeat(8000)));
    expectProblem(await put("wrk_form", id, { segments: long }), "body_too_large");
    const later = { ...segment("x"), mood: "glad" } as never;
    expect((await put("wrk_form", id, { segments: [later] })).body).toEqual({ next: 1 });
  });

  test("after the release of the call: its worker adds the last words", async () => {
    const { id } = await callAt("wrk_late");
    await put("wrk_late", id, { segments: [segment("one")] });
    await release({ session_id: id });
    expectProblem(await put("wrk_other", id, { first: 1, segments: [segment("no")] }), "not_found");
    const last = { first: 1, segments: [segment("two")], is_complete: true };
    expect((await put("wrk_late", id, last)).body).toEqual({ next: 2 });
    expect(await segmentsOf(id)).toEqual(["one", "two"]);
    const [row] = await client`select due_at <= now() as "isDue" from call_transcripts where session_id = ${id}`;
    expect(row?.["isDue"]).toBe(true);
  });
});
