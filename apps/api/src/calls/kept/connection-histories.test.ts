/** Connection histories: a page uploads with the token of its grant, and the published SDK reads. */
import { describe, expect, test } from "bun:test";
import { newConnectionHistoryGrant } from "@realtime-avatar/domain/calls/kept/connection-history";
import type { SessionId, TenantId } from "@realtime-avatar/domain/id";
import { inTurn } from "@realtime-avatar/testing/postgres/waits";
import { isQueued, RealtimeAvatar } from "realtime-avatar/server";
import { PUBLIC_URL } from "../../../test/support/api.ts";
import { startCallApi } from "../../../test/support/calls/calls.ts";
import { expectProblem } from "../../../test/support/routes.ts";
import { UPLOADS_PER_MINUTE } from "./connection-histories.ts";

const { api, spans, start, release, giveSlots, syncOf, tenantWith } = await startCallApi();
const { client } = api.database.db;
const UPLOADS = "/public/connection-histories";
const RESUME = "/api/v1/realtime/livekit/session/resume";
const pathOf = (id: string) => `/api/v1/sessions/${id}/connection-history`;
type Grant = { endpoint: string; token: string; expiresAt: string };
const observed = (sequence: number, changes: object = {}) => ({
  ...{ sequence, elapsedMs: sequence * 10, clientObservedAt: "2026-11-20T12:00:00.000Z", connectionState: "connected" },
  ...{ localQuality: "good", audioQuality: "excellent", videoQuality: null },
  ...changes,
});
const many = (from: number, count: number) => Array.from({ length: count }, (_, at) => observed(from + at));

/** A call whose pages upload their history. */
const callOf = async (body: object = { connection_history: true }) => {
  await giveSlots(1000);
  const tenant = await tenantWith(10_000);
  const sdk = new RealtimeAvatar({ apiKey: tenant.root.key, baseUrl: `${api.url}/api/v1` });
  const { body: call } = await start({ avatar_id: tenant.avatarId, ...body }, tenant.root.key);
  const id = call.session_id as string;
  const grant = call.connection_history as Grant;
  const upload = (observations: unknown, { token = grant.token, sessionId = id } = {}) =>
    api.call("POST", UPLOADS, { headers: { authorization: `Bearer ${token}` }, body: { sessionId, observations } });
  const read = async () => (await sdk.getConnectionHistory(id)).observations;
  return { tenant, sdk, id, grant, upload, read };
};
const rows = async (id: string) => (await client`select from connection_histories where session_id = ${id}`).length;

describe("the SDK", () => {
  test("starts a call with connectionHistory: a grant for https, an empty history; then reads the uploads of the page", async () => {
    const { tenant, sdk } = await callOf();
    const call = await sdk.startCall({ avatarId: tenant.avatarId, connectionHistory: true });
    if (isQueued(call)) throw new Error("the call waits");
    const { connection_history: grant } = call.raw as unknown as { connection_history: Grant };
    expect(grant.endpoint).toBe(`${PUBLIC_URL}${UPLOADS}`);
    expect((await sdk.getConnectionHistory(call.sessionId)).observations).toEqual([]);
    const headers = { authorization: `Bearer ${grant.token}` };
    const body = { sessionId: call.sessionId, observations: [observed(1), observed(2, { clientObservedAt: null })] };
    spans.length = 0;
    const answer = await api.call("POST", UPLOADS, { headers, body });
    expect([answer.status, answer.text]).toEqual([204, ""]);
    expect(spans).toEqual(["add_observations"]);
    expect((await sdk.getConnectionHistory(call.sessionId)).observations).toEqual(body.observations as never);
  });

  test("starts a call without connectionHistory: no grant, no row, and 404", async () => {
    for (const body of [{}, { connection_history: false }, { connection_history: "off" }]) {
      const { id, grant, tenant } = await callOf(body);
      expect(grant).toBeUndefined();
      expect(await rows(id)).toBe(0);
      expectProblem(await api.call("GET", pathOf(id), { key: tenant.root.key }), "not_found");
    }
  });
});

describe("an upload", () => {
  test("repeated, or in another order: each observation once, in the order of the page", async () => {
    const { upload, read } = await callOf();
    await upload([observed(3)]);
    for (let times = 0; times < 2; times++) await upload([observed(1), observed(2)]);
    await upload([observed(2, { connectionState: "reconnecting" })]);
    expect(await read()).toEqual([observed(1), observed(2), observed(3)] as never);
  });

  test("more often than a page needs: 429, without a statement; another call is not affected", async () => {
    const { upload } = await callOf();
    const other = await callOf();
    const answers = await Promise.all(Array.from({ length: UPLOADS_PER_MINUTE }, () => upload([observed(1)])));
    expect(answers.map(({ status }) => status)).toEqual(Array(UPLOADS_PER_MINUTE).fill(204));
    spans.length = 0;
    const refused = await upload([observed(2)]);
    expectProblem(refused, "rate_limited");
    expect(Number(refused.headers.get("retry-after"))).toBeWithin(1, 61);
    expect(spans).toEqual([]);
    expect((await other.upload([observed(1)])).status).toBe(204);
  });

  test("eight at once that wait for one lock: every observation is kept", async () => {
    const { id, upload, read } = await callOf();
    const lock = ({ client }: typeof api.database.db) =>
      client`select from connection_histories where session_id = ${id} for update`;
    const uploads = Array.from({ length: 8 }, (_, at) => () => upload([observed(at + 1)]));
    const answers = await inTurn(api.database, lock, uploads);
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(204));
    expect(await read()).toHaveLength(8);
  });

  test("of a page after a resume: continues the history; above 240 observations: the first 240 are kept", async () => {
    const { tenant, id, upload, read } = await callOf();
    const [worker] = await client`select worker_id from fleet.avatar_slots where session_id = ${id}`;
    const report = { session_id: id as SessionId, generation: 1, state: "started" as const, used_seconds: 1 };
    await syncOf(worker?.["worker_id"], { slots: 1000, features: ["voice", "resume"], calls: [report] });
    await upload(many(1, 32));
    const resumed = await api.call("POST", RESUME, { key: tenant.root.key, body: { session_id: id } });
    const { token } = resumed.body.connection_history as Grant;
    expect(token).toStartWith(`rth_${tenant.tenantId}_${id}_`);
    for (let from = 1; from <= 225; from += 32)
      expect((await upload(many(from, Math.min(32, 241 - from)), { token })).status).toBe(204);
    const observations = await read();
    expect(observations.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 240 }, (_, at) => at + 1));
    expect(observations[32]?.elapsedMs).toBeGreaterThanOrEqual(10);
    expect((await upload([observed(240)], { token })).status).toBe(204);
    expect(await read()).toHaveLength(240);
  });

  test("without a token, with an API key, or with a token that was changed or is of another call: 401, nothing is stored", async () => {
    const { tenant, id, grant, upload, read } = await callOf();
    const other = await callOf();
    for (const token of ["", tenant.root.key, `${grant.token}x`, grant.token.replace(id, other.id)]) {
      expectProblem(await upload([observed(1)], { token }), "invalid_credentials");
    }
    expectProblem(await upload([observed(1)], { token: other.grant.token }), "not_found");
    expectProblem(await api.call("POST", UPLOADS, { body: "{" }), "invalid_credentials");
    expect([await read(), await other.read()]).toEqual([[], []]);
  });

  test("malformed: 422 with each error", async () => {
    const { upload, read } = await callOf();
    const answer = await upload([observed(241, { elapsedMs: -1, localQuality: "fine", rtt: 1 })]);
    expectProblem(answer, "validation_failed");
    expect(answer.body.errors.map(({ pointer }: { pointer: string }) => pointer).toSorted()).toEqual(
      ["elapsedMs", "localQuality", "rtt", "sequence"].map((name) => `#/observations/0/${name}`),
    );
    for (const observations of [[], many(1, 33), "x"]) expectProblem(await upload(observations), "validation_failed");
    expect(await read()).toEqual([]);
  });

  test("of a call without a history, with a token of this service: 404, no row is written", async () => {
    const { tenant, id, upload } = await callOf({});
    const page = { tenantId: tenant.tenantId as TenantId, sessionId: id as SessionId };
    const terms = { origin: PUBLIC_URL, secret: { reveal: () => "" }, now: new Date() };
    expectProblem(await upload([observed(1)], newConnectionHistoryGrant(page, terms)), "invalid_credentials");
    const other = await callOf();
    await client`delete from connection_histories where session_id = ${other.id}`;
    expectProblem(await other.upload([observed(1)]), "not_found");
    expect([await rows(id), await rows(other.id)]).toEqual([0, 0]);
  });

  test("after the end of the call: accepted for a minute, then 404", async () => {
    const { tenant, id, upload, read } = await callOf();
    await release({ session_id: id }, tenant.root.key);
    expect((await upload([observed(1)])).status).toBe(204);
    await client`update usage_sessions set ended_at = ended_at - interval '1 minute' where id = ${id}`;
    expectProblem(await upload([observed(2)]), "not_found");
    expect(await read()).toHaveLength(1);
  });

  test("by a page of another origin: no CORS headers", async () => {
    const { grant } = await callOf();
    const headers = { origin: "https://page.example", authorization: `Bearer ${grant.token}` };
    const preflight = await fetch(`${api.url}${UPLOADS}`, { method: "OPTIONS", headers });
    const answer = await api.call("POST", UPLOADS, { headers, body: {} });
    for (const { headers } of [preflight, answer]) expect(headers.get("access-control-allow-origin")).toBeNull();
  });
});

describe("a history", () => {
  test("of another tenant or environment, of a malformed id, or without the scope: refused", async () => {
    const { tenant, id, upload } = await callOf();
    await upload([observed(1)]);
    const other = await tenantWith(1);
    const inTest = await tenant.newKey({ environment: "test" });
    for (const { key } of [other.root, inTest]) expectProblem(await api.call("GET", pathOf(id), { key }), "not_found");
    const { key } = tenant.root;
    for (const wrong of ["ses_1", "ses_01h455vb4pex5vsknk084sn02q"]) {
      expectProblem(await api.call("GET", pathOf(wrong), { key }), "not_found");
    }
    const writer = await tenant.newKey({ scopes: ["usage:write", "realtime:write"] });
    expectProblem(await api.call("GET", pathOf(id), { key: writer.key }), "insufficient_scope");
  });

  test("older than the retention: 404, even before the sweep", async () => {
    const { tenant, id, upload, read } = await callOf();
    await upload([observed(1)]);
    const age = (days: number) =>
      client`update connection_histories set updated_at = updated_at - make_interval(days => ${days}) where session_id = ${id}`;
    await age(29);
    expect(await read()).toHaveLength(1);
    await age(1);
    expectProblem(await api.call("GET", pathOf(id), { key: tenant.root.key }), "not_found");
  });
});

test("a start with connection_history while the public URL is http: 422, and no call", async () => {
  const plain = await startCallApi({ publicUrl: () => "http://localhost:3000" });
  await plain.giveSlots(1);
  const tenant = await plain.tenantWith(100);
  const answer = await plain.start({ avatar_id: tenant.avatarId, connection_history: true }, tenant.root.key);
  expectProblem(answer, "validation_failed");
  expect(answer.body.errors).toMatchObject([{ pointer: "#/connection_history", code: "not_supported" }]);
});
