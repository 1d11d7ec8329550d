/** Repeated starts: after a failure of LiveKit, or with an Idempotency-Key. */
import { describe, expect, test } from "bun:test";
import { createLog } from "@realtime-avatar/runtime/log";
import { until } from "@realtime-avatar/testing/until";
import { callAnew } from "../../test/support/api.ts";
import { callOptions, START, startCallApi } from "../../test/support/calls/calls.ts";
import { expectProblem } from "../../test/support/routes.ts";

const SECOND = 1_000_000;
const { api, livekit, spans, avatar, start, release, tenantWith, giveSlots } = await startCallApi();
const ready = await avatar();
await giveSlots(100);

describe("a failing LiveKit", () => {
  /** When the pause after a failure began. The API logs it. */
  let pausedAt = 0;
  const log = createLog("warn", {
    write: (line) => {
      if (line.includes("LiveKit did not create a room")) pausedAt = performance.now();
    },
  });
  /** Starts another API, which has its own pause after a failure. */
  const anew = () => callAnew(api.database.db, { ...callOptions(livekit), log });

  test.each([
    ["refuses", { kind: "refuses", status: 500 } as const],
    ["loses its response", { kind: "loses_response" } as const],
    ["is too slow", { kind: "slow", ms: 2500 } as const],
  ])("%s: 503 with Retry-After and no hold; then refused without a write; then accepted", async (_, fault) => {
    const { root, avatarId } = await tenantWith(1000);
    const call = anew();
    const startOnce = () =>
      call("POST", START, {
        key: root.key,
        body: { avatar_id: avatarId },
        headers: { "idempotency-key": "retried" },
      });
    livekit.setFault(fault);
    const refused = await startOnce();
    livekit.setFault(null);
    expectProblem(refused, "unavailable");
    expect([refused.headers.get("retry-after"), refused.body.retryable]).toEqual(["1", true]);
    const balance = async () => (await api.call("GET", "/api/v1/credits/balance", { key: root.key })).body;
    expect(await balance()).toMatchObject({ reservedCreditMicros: 0, lifetimeUsedCreditMicros: 0 });
    spans.length = 0;
    // For one second after the failure, a start is refused after the look-up. A slow machine may need more time.
    const next = await startOnce();
    if (performance.now() - pausedAt < 1000) expectProblem(next, "unavailable");
    const answer = await until(async () => {
      const again = next.status === 200 ? next : await startOnce();
      return again.status === 200 && again;
    });
    expect(answer.headers.get("idempotent-replayed")).toBeNull();
    // One call and one hold, although the request was sent several times.
    expect(await balance()).toMatchObject({ reservedCreditMicros: 1000 * SECOND });
    const { data } = (await api.call("GET", "/api/v1/usage/sessions", { key: root.key })).body;
    expect(data.map(({ status }: { status: string }) => status)).toEqual(["reserved", "failed"]);
  });

  test("a client that disconnects meanwhile: the call is still undone", async () => {
    const { root, avatarId } = await tenantWith(1000);
    livekit.setFault({ kind: "slow", ms: 2500 });
    const gone = new AbortController();
    const sent = fetch(api.url + START, {
      method: "POST",
      body: JSON.stringify({ avatar_id: avatarId }),
      headers: { authorization: `Bearer ${root.key}`, "content-type": "application/json" },
      signal: gone.signal,
    }).catch(() => null);
    await until(async () => {
      const { body } = await api.call("GET", "/api/v1/credits/balance", { key: root.key });
      return body.reservedCreditMicros > 0;
    });
    gone.abort();
    await sent;
    await until(async () => {
      const { body } = await api.call("GET", "/api/v1/credits/balance", { key: root.key });
      return body.reservedCreditMicros === 0;
    });
    livekit.setFault(null);
    // The pause after a failure is over when a start succeeds.
    await until(async () => (await start({ avatar_id: ready })).status === 200);
  });
});

describe("a start, repeated with its Idempotency-Key", () => {
  const headers = { "idempotency-key": "again" };

  test("an open call: the same grant, one hold, and its room created again", async () => {
    const { root, avatarId } = await tenantWith(10_000);
    const body = { avatar_id: avatarId, instructions: "x" };
    const first = await start(body, root.key, headers);
    livekit.requests.length = 0;
    const again = await start(body, root.key, headers);
    expect([again.text, again.headers.get("idempotent-replayed")]).toEqual([first.text, "true"]);
    expect(livekit.requests).toEqual([{ method: "CreateRoom", name: first.body.room_name }]);
    const { data } = (await api.call("GET", "/api/v1/usage/sessions", { key: root.key })).body;
    expect(data).toHaveLength(1);
    const other = await start({ avatar_id: avatarId }, root.key, headers);
    expectProblem(other, "idempotency_key_reused");
    expect(livekit.requests).toHaveLength(1);
  });

  test("at the limit of its key: the same grant", async () => {
    const { newKey, avatarId } = await tenantWith(10_000);
    const limited = await newKey({ maxConcurrentSessions: 1 });
    const first = await start({ avatar_id: avatarId }, limited.key, headers);
    const again = await start({ avatar_id: avatarId }, limited.key, headers);
    expect([again.status, again.text]).toEqual([200, first.text]);
  });

  test("a call that has ended: the same grant, and no room", async () => {
    const { root, avatarId } = await tenantWith(10_000);
    const first = await start({ avatar_id: avatarId }, root.key, headers);
    await release({ session_id: first.body.session_id }, root.key);
    await until(() => !livekit.rooms().includes(first.body.room_name));
    livekit.requests.length = 0;
    expect((await start({ avatar_id: avatarId }, root.key, headers)).text).toBe(first.text);
    expect(livekit.requests).toEqual([]);
  });

  test("three at the same time: one call for all", async () => {
    const { root, avatarId } = await tenantWith(10_000);
    const all = await Promise.all([1, 2, 3].map(() => start({ avatar_id: avatarId }, root.key, headers)));
    expect(new Set(all.map(({ text }) => text)).size).toBe(1);
    const { data } = (await api.call("GET", "/api/v1/usage/sessions", { key: root.key })).body;
    expect(data).toHaveLength(1);
  });

  test("after a rotation of its key, by the new secret: 409", async () => {
    const { root, avatarId, newKey } = await tenantWith(10_000);
    const child = await newKey({}, root.record);
    await start({ avatar_id: avatarId }, child.key, headers);
    const path = `/api/v1/api-keys/${child.record.id}/rotate`;
    const rotated = await api.call("POST", path, { key: root.key, body: { overlapSeconds: 60 } });
    const answer = await start({ avatar_id: avatarId }, rotated.body.apiKey, headers);
    expectProblem(answer, "replay_unavailable");
    expect(answer.headers.get("location")).toBeNull();
  });
});
