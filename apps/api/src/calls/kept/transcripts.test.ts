/** Kept transcripts: the setting of the tenant, reads and deletions, and their content. */
import { describe, expect, test } from "bun:test";
import { personGrantor } from "@realtime-avatar/domain/api-keys/grant";
import { Transcript } from "@realtime-avatar/domain/calls/kept-transcript";
import { TRANSCRIPT } from "@realtime-avatar/domain/calls/worker-sync";
import { validate } from "@realtime-avatar/domain/schema";
import { startCallApi, WORKER_SECRET } from "../../../test/support/calls/calls.ts";
import { expectProblem } from "../../../test/support/routes.ts";

const { api, spans, start, release, syncOf, takeSlots, tenantWith } = await startCallApi();
const { client } = api.database.db;
const SETTINGS = "/api/v1/settings";
const pathOf = (id: string) => `/api/v1/usage/sessions/${id}/transcript`;

type Tenant = Awaited<ReturnType<typeof tenantWith>>;
const keep = (key: string, keepTranscripts: unknown = true) =>
  api.call("PATCH", SETTINGS, { key, body: { keepTranscripts } });
const read = (id: string, key: string) => api.call("GET", pathOf(id), { key });
const remove = (id: string, key: string) => api.call("DELETE", pathOf(id), { key });
const actionsOf = async ({ root }: Tenant, action: string) =>
  (await api.call("GET", `/api/v1/audit-events?action=${action}`, { key: root.key })).body.data;

/** A tenant that keeps transcripts, with a call at the worker. */
const callOf = async (workerId: string, { isKept = true, key }: { isKept?: boolean; key?: string } = {}) => {
  const tenant = await tenantWith(10_000);
  if (isKept) expect((await keep(tenant.root.key)).status).toBe(200);
  await takeSlots();
  const worker = { slots: 4, features: [TRANSCRIPT] };
  await syncOf(workerId, worker);
  const { body: grant } = await start({ avatar_id: tenant.avatarId }, key ?? tenant.root.key);
  const { start: assigned } = await syncOf(workerId, worker);
  await syncOf(workerId, {
    ...worker,
    calls: assigned.map(({ session_id, generation }) => ({
      session_id,
      generation,
      state: "started",
      used_seconds: 1,
    })),
  });
  return { tenant, id: grant.session_id as string };
};
const SAID = [
  {
    role: "user" as const,
    text: "When do you open, tulip?",
    ts: 1_795_000_000_000,
    turn_id: "one",
    input_provenance: {
      ...{ version: 1, observed_source: "text" as const, observed_by: "sdk" as const },
      ...{ declared_source: "client_stt" as const, declaration_scope: "turn" as const, ingress: "room_text" as const },
    },
  },
  {
    role: "assistant" as const,
    text: "At nine, tulip.",
    ts: 1_795_000_001_000,
    turn_id: "one",
    timings: { heard: 240 },
  },
];
const say = (workerId: string, id: string, report: object) =>
  api.call("PUT", `/internal/avatar-workers/${workerId}/calls/${id}/transcript`, {
    headers: { authorization: `Bearer ${WORKER_SECRET}` },
    body: { generation: 1, first: 0, segments: SAID, is_complete: true, ...report },
  });

describe("the setting", () => {
  test("turned on and off: off before the first change; each change is in the audit trail with its key", async () => {
    const tenant = await tenantWith(1);
    const [before] = [await api.call("GET", SETTINGS, { key: tenant.root.key })];
    const owner = { tenantId: tenant.tenantId, environment: "live" };
    expect(before.body).toEqual({ ...owner, keepTranscripts: false, updatedAt: null });
    expect((await keep(tenant.root.key)).body).toMatchObject({ ...owner, keepTranscripts: true });
    expect((await keep(tenant.root.key)).status).toBe(200);
    expect((await keep(tenant.root.key, false)).body).toMatchObject({ keepTranscripts: false });
    const event = { targetId: tenant.tenantId, changedFields: ["keepTranscripts"], actorId: tenant.root.record.id };
    expect(await actionsOf(tenant, "settings.updated")).toMatchObject([event, event]);
  });

  test("changed by a key of a developer, with every scope that a person can grant: 403; malformed: 422", async () => {
    const tenant = await tenantWith(1);
    const { key } = await tenant.newKey({ scopes: [...personGrantor("live").scopes] });
    expectProblem(await keep(key), "insufficient_scope");
    for (const value of [1, "true", null]) expectProblem(await keep(tenant.root.key, value), "validation_failed");
    expectProblem(await api.call("PATCH", SETTINGS, { key: tenant.root.key, body: {} }), "validation_failed");
  });

  test("changed with If-Match: 412 for another version, which a change raises only if a value differs", async () => {
    const { root } = await tenantWith(1);
    const change = async (keepTranscripts: boolean, version: string) => {
      const options = { key: root.key, headers: { "if-match": version }, body: { keepTranscripts } };
      const { status, headers, body } = await api.call("PATCH", SETTINGS, options);
      return [status, headers.get("etag"), body.keepTranscripts];
    };
    const read = async () => (await api.call("GET", SETTINGS, { key: root.key })).headers.get("etag");
    expect(await read()).toBe('"1"');
    expect((await change(true, '"2"'))[0]).toBe(412);
    expect(await read()).toBe('"1"');
    expect(await change(false, '"1"')).toEqual([200, '"2"', false]);
    expect(await change(true, '"2"')).toEqual([200, '"3"', true]);
    expect(await change(true, "*")).toEqual([200, '"3"', true]);
    expect((await change(false, '"2"'))[0]).toBe(412);
    expect((await change(false, "3"))[0]).toBe(422);
    expect(await read()).toBe('"3"');
  });

  test("changed twice at once with the same If-Match: one change is written, the other is 412", async () => {
    const { root } = await tenantWith(1);
    const options = { key: root.key, headers: { "if-match": '"1"' }, body: { keepTranscripts: true } };
    const both = await Promise.all([1, 2].map(() => api.call("PATCH", SETTINGS, options)));
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 412]);
  });

  test("changed in the test environment: unchanged in live", async () => {
    const tenant = await tenantWith(1);
    const { key } = await tenant.newKey({ environment: "test", scopes: ["usage:write"] });
    expect((await keep(key)).body).toMatchObject({ environment: "test", keepTranscripts: true });
    expect((await api.call("GET", SETTINGS, { key: tenant.root.key })).body).toMatchObject({ keepTranscripts: false });
  });
});

describe("a transcript", () => {
  test("during the call and after it: the segments with timings, by one statement, sealed at rest", async () => {
    const { tenant, id } = await callOf("wrk_kept");
    await say("wrk_kept", id, { segments: SAID.slice(0, 1), is_complete: false });
    const open = await read(id, tenant.root.key);
    expect(open.body).toMatchObject({ sessionId: id, status: "open", truncated: false, deletesAt: null });
    await say("wrk_kept", id, { first: 1, segments: SAID.slice(1) });
    await release({ session_id: id }, tenant.root.key);
    spans.length = 0;
    const { status, body } = await read(id, tenant.root.key);
    expect(spans.filter((name) => name.includes("transcript"))).toEqual(["find_kept_transcript"]);
    expect([status, validate(Transcript, body)]).toEqual([200, []]);
    expect(body).toMatchObject({ status: "final", truncated: false });
    const session = (await api.call("GET", `/api/v1/usage/sessions/${id}`, { key: tenant.root.key })).body;
    expect(Date.parse(body.deletesAt) - Date.parse(session.endedAt)).toBe(30 * 86_400_000);
    expect(body.segments).toEqual([{ ...SAID[0], input_source: "client_stt" }, SAID[1]]);
    const [row] = await client`
      select count(*)::integer as count from call_segments where encode(segment, 'escape') like '%tulip%'`;
    expect(row?.["count"]).toBe(0);
    expect(api.log.join("")).not.toContain("tulip");
  });

  test("of a call that began without keeping, or of a session without a call: 404 with that reason; of an unknown session: 404", async () => {
    const { tenant, id } = await callOf("wrk_none", { isKept: false });
    await keep(tenant.root.key);
    expectProblem(await read(id, tenant.root.key), "transcript_not_kept");
    expectProblem(await remove(id, tenant.root.key), "transcript_not_kept");
    const plain = { key: tenant.root.key, body: { maxSessionSeconds: 1 } };
    const opened = await api.call("POST", "/api/v1/usage/sessions", plain);
    expectProblem(await read(opened.body.sessionId, tenant.root.key), "transcript_not_kept");
    for (const unknown of ["ses_01h455vb4pex5vsknk084sn02q", "ses_1"]) {
      expectProblem(await read(unknown, tenant.root.key), "not_found");
      expectProblem(await remove(unknown, tenant.root.key), "not_found");
    }
  });

  test("of another tenant, or of the other environment: 404, read and deleted", async () => {
    const { tenant, id } = await callOf("wrk_foreign");
    await say("wrk_foreign", id, {});
    const other = await tenantWith(1);
    const inTest = await tenant.newKey({ environment: "test", scopes: ["*", "usage:write"] });
    for (const { key } of [other.root, inTest]) {
      expectProblem(await read(id, key), "not_found");
      expectProblem(await remove(id, key), "not_found");
    }
    expect((await read(id, tenant.root.key)).body.segments).toHaveLength(2);
  });

  test("by a key without the scope: 403", async () => {
    const { tenant, id } = await callOf("wrk_scope");
    const reader = await tenant.newKey({ scopes: ["usage:read"] });
    const writer = await tenant.newKey({ scopes: ["usage:write", "realtime:write"] });
    expectProblem(await read(id, writer.key), "insufficient_scope");
    expectProblem(await remove(id, reader.key), "insufficient_scope");
    expect((await read(id, reader.key)).status).toBe(200);
  });

  test("deleted: 404 afterwards, and an event in the audit trail", async () => {
    const { tenant, id } = await callOf("wrk_deleted");
    await say("wrk_deleted", id, {});
    await release({ session_id: id }, tenant.root.key);
    const { status, body } = await remove(id, tenant.root.key);
    expect([status, body]).toEqual([
      200,
      { sessionId: id, status: "deleted", truncated: false, deletesAt: null, segments: [] },
    ]);
    expectProblem(await read(id, tenant.root.key), "transcript_not_kept");
    expectProblem(await remove(id, tenant.root.key), "transcript_not_kept");
    expect(await actionsOf(tenant, "transcript.deleted")).toMatchObject([
      { targetId: id, actorId: tenant.root.record.id },
    ]);
    const [left] = await client`select count(*)::integer as count from call_segments where session_id = ${id}`;
    expect(left?.["count"]).toBe(0);
  });

  test("older than the retention: 404, even before the sweep", async () => {
    const { tenant, id } = await callOf("wrk_old");
    await say("wrk_old", id, {});
    await release({ session_id: id }, tenant.root.key);
    const age = async (days: number) =>
      client`update usage_sessions set ended_at = ended_at - make_interval(days => ${days}) where id = ${id}`;
    await age(29);
    expect((await read(id, tenant.root.key)).status).toBe(200);
    await age(1);
    expectProblem(await read(id, tenant.root.key), "transcript_not_kept");
  });

  test("partly sealed with another secret: truncated, without that part", async () => {
    const { tenant, id } = await callOf("wrk_secret");
    await say("wrk_secret", id, {});
    await release({ session_id: id }, tenant.root.key);
    await client`update call_segments set segment = 'x' where session_id = ${id} and n = 0`;
    const { body } = await read(id, tenant.root.key);
    expect(body).toMatchObject({ truncated: true, segments: [{ text: "At nine, tulip." }] });
  });
});
