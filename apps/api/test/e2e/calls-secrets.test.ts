/** Tokens of calls, and the secrets of LiveKit and of avatar workers: found only in their intended responses. */
import { afterAll, expect, test } from "bun:test";
import { createLog } from "@realtime-avatar/runtime/log";
import { createMetrics } from "@realtime-avatar/runtime/metrics";
import { startTracing } from "@realtime-avatar/runtime/tracing";
import { readTracingConfig } from "@realtime-avatar/runtime/tracing-config";
import { Secret } from "@realtime-avatar/storage/secret";
import { startCollector } from "@realtime-avatar/testing/network/collector";
import { until } from "@realtime-avatar/testing/until";
import { callAnew } from "../support/api.ts";
import { bringTo, roomToken } from "../support/calls/brought.ts";
import { callOptions, EVENTS, START, signEvent, startCallApi, WORKER_SECRET } from "../support/calls/calls.ts";
import { dump } from "../support/dump.ts";

const collector = startCollector();
// The exporter reads the environment itself.
process.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = collector.url;
const config = readTracingConfig(process.env, "test");
if (!config) throw new Error("tracing is not configured");
const tracing = startTracing(config, "1.0.0", () => {});
const metrics = createMetrics("1.0.0");
afterAll(async () => {
  delete process.env["OTEL_EXPORTER_OTLP_ENDPOINT"];
  metrics.stop();
  await tracing.stop(1000);
  await collector.close();
});

const { api, livekit, key, avatar, start, release, syncOf, sync } = await startCallApi({ tracing, metrics });
const { db } = api.database;
const log = createLog("trace", { write: (line) => void api.log.push(line) });
const ready = await avatar();
await syncOf("wrk_1", { slots: 4 });

/** The secrets that must not be found. */
const secrets: string[] = [WORKER_SECRET, livekit.apiSecret];
const statuses = new Set<number>();

// A call with its replay, its worker, and its end.
const headers = { "idempotency-key": "secret" };
const { body: grant } = await start({ avatar_id: ready }, key, headers);
const replay = await start({ avatar_id: ready }, key, headers);
statuses.add(replay.status);
const assigned = (await syncOf("wrk_1", { slots: 4 })).start;
secrets.push(grant.participant_token, ...assigned.map(({ token }) => token));
const call = { session_id: grant.session_id, generation: 1, used_seconds: 1 };
await syncOf("wrk_1", { slots: 4, calls: [{ ...call, state: "started" }] });
// The token in wrong places.
const token = grant.participant_token;
statuses.add((await start({ avatar_id: token, [token]: token })).status);
statuses.add((await release({ session_id: token })).status);
statuses.add((await start({ avatar_id: "ava_x" }, token)).status);
statuses.add((await sync(token.slice(0, 64), {}, token)).status);
statuses.add((await sync("wrk_1", {}, `${WORKER_SECRET}x`)).status);
// Events, whose signature is also a token.
const event = JSON.stringify({ event: "room_started", room: { name: grant.room_name } });
const signature = await signEvent(event, livekit);
secrets.push(signature);
for (const authorization of [signature, `${signature}x`, token, WORKER_SECRET]) {
  const sent = { body: event, headers: { authorization, "content-type": "application/webhook+json" } };
  statuses.add((await api.call("POST", EVENTS, sent)).status);
}
// A LiveKit that fails in every way. The library's error for a refused request quotes its token.
const options = callOptions({ ...livekit, apiSecret: `${livekit.apiSecret}x` });
const refused = callAnew(db, { ...options, log, tracing, metrics });
statuses.add((await refused("POST", START, { key, body: { avatar_id: ready } })).status);
for (const fault of [{ kind: "refuses", status: 500 } as const, { kind: "loses_response" } as const]) {
  livekit.setFault(fault);
  const failing = callAnew(db, { ...callOptions(livekit), log, tracing, metrics });
  statuses.add((await failing("POST", START, { key, body: { avatar_id: ready }, headers })).status);
  const other = { key, body: { avatar_id: ready, mode: "voice" } };
  statuses.add((await failing("POST", START, other)).status);
}
livekit.setFault(null);
// A brought room: accepted, repeated, assigned, moved, and refused, with the token in every place.
const roomSecret = roomToken();
const brought = { livekit_token: roomSecret };
const bring = bringTo(api.call);
secrets.push(roomSecret);
statuses.add((await bring(key, ready, brought)).status);
const opened = await bring(key, ready, brought, { "idempotency-key": "brought" });
statuses.add((await bring(key, ready, { ...brought, livekit_url: `wss://evil.example` })).status);
statuses.add((await bring(key, ready, { livekit_url: roomSecret, livekit_token: `${roomSecret}x.y` })).status);
statuses.add((await bring(key, roomSecret, brought)).status);
statuses.add((await bring(roomSecret, ready, brought)).status);
statuses.add((await bring(key, ready, { [roomSecret]: roomSecret })).status);
const roomAssigned = (await syncOf("wrk_1", { slots: 4, calls: [] })).start.find(
  ({ session_id }) => session_id === opened.body.id,
);
const otherSecret = {
  ...callOptions(livekit),
  sessionSecret: new Secret("another secret, of a replica that cannot open"),
  log,
};
statuses.add(
  (
    await callAnew(db, otherSecret)("POST", "/internal/avatar-workers/wrk_1/sync", {
      body: { slots: 4, features: [], calls: [] },
      headers: { authorization: `Bearer ${WORKER_SECRET}` },
    })
  ).status,
);
// An agent in a room of the service, with the key of a call.
const agents = { livekitHosts: [], name: "my-agent" };
const withAgent = callAnew(db, { config: { ...callOptions(livekit).config, agents }, log, tracing, metrics });
const { body: agentGrant } = await withAgent("POST", START, { key, body: { avatar_id: ready } });
const { api_key: callKey } = JSON.parse(livekit.dispatches(agentGrant.room_name)[0]?.metadata ?? "{}");
const agentToken = roomToken({ video: { roomJoin: true, room: agentGrant.room_name } });
secrets.push(callKey, agentToken);
const attach = { livekit_url: livekit.url, livekit_token: agentToken };
statuses.add((await bringTo(withAgent)(callKey, ready, attach)).status);
statuses.add((await bringTo(withAgent)(`${callKey}x`, ready, attach)).status);
statuses.add((await withAgent("GET", "/api/v1/avatars", { key: callKey })).status);
// The key in wrong places.
const misplaced = { "x-request-id": callKey };
statuses.add((await withAgent("GET", `/api/v1/avatars/${callKey}`, { key, headers: misplaced })).status);
statuses.add((await bring(key, callKey, { [callKey]: callKey }, { "idempotency-key": callKey })).status);
const sealed = await dump(db);
await release({ session_id: agentGrant.session_id });
await release({ session_id: grant.session_id });
await until(() => !livekit.rooms().includes(grant.room_name));

/** The secret parts of a token, without its public header: its content and its signature. */
const parts = (): string[] => secrets.flatMap((secret) => [secret, ...secret.split(".").slice(1), secret.slice(-20)]);

test("requests of calls, of workers and of LiveKit: with every kind of outcome", () => {
  expect([...statuses].sort()).toEqual([200, 201, 400, 401, 404, 422, 503]);
  expect(roomAssigned?.token).toBe(roomSecret);
  expect(replay.body.participant_token).toBe(token);
  expect(assigned).toHaveLength(1);
});

test("the tokens and secrets, in the log and the metrics: none", async () => {
  const lines = api.log.join("");
  expect(lines).toContain("LiveKit did not create a room");
  const shown = await (await metrics.fetch(new Request("http://localhost/metrics"))).text();
  // Metrics have counted these outcomes.
  expect(shown).toMatch(/^realtime_avatar_calls_total\{outcome="started"\} [1-9]/m);
  expect(shown).toMatch(
    /^realtime_avatar_livekit_request_duration_seconds_count\{method="create",outcome="refused"\} [1-9]/m,
  );
  for (const part of parts()) {
    expect(lines).not.toContain(part);
    expect(shown).not.toContain(part);
  }
});

test("the tokens and secrets, in traces: none", async () => {
  await tracing.stop(5000);
  const traces = collector.bodies.map((body) => Buffer.from(body).toString("latin1")).join("");
  expect(traces).toContain("livekit_create_room");
  for (const part of parts()) expect(traces).not.toContain(part);
});

test("the tokens and secrets, in the database: none in clear text", async () => {
  const text = sealed + (await dump(db));
  expect(text).toContain(grant.session_id);
  expect(sealed).toContain("agent-AJ_x");
  for (const part of parts()) {
    expect(text).not.toContain(part);
    expect(text).not.toContain(Buffer.from(part).toString("hex"));
  }
});
