/** Starts that name a voice or a model, at workers with conversations, and the price of a second of a conversation. */
import { afterEach, expect, test } from "bun:test";
import { CONVERSATION, MAX_CATALOG, type ReportedCall, SyncResponse } from "@realtime-avatar/domain/calls/worker-sync";
import { UsageSummaryPage } from "@realtime-avatar/domain/credits/schemas";
import type { SessionId } from "@realtime-avatar/domain/id";
import { validate } from "@realtime-avatar/domain/schema";
import { startCallApi } from "../../test/support/calls/calls.ts";
import { expectProblem } from "../../test/support/routes.ts";

const PRICE = 1_000_000;
const CONVERSATION_PRICE = 3_000_000;
const { api, avatar, start, release, session, tenantWith, ...calls } = await startCallApi(
  {},
  { creditPriceMicrosPerSecond: PRICE, conversationPriceMicrosPerSecond: CONVERSATION_PRICE, dailyTokens: 1000 },
);
/** Each test has its own workers, because a repeated sync of a worker waits for work. */
let round = 0;
const sync: typeof calls.sync = (worker, request) => calls.sync(`${worker}_${round}`, request);
const syncOf: typeof calls.syncOf = (worker, request) => calls.syncOf(`${worker}_${round}`, request);
const ready = await avatar();
// Without WIRE_2, a worker is not lost when its next sync is late. Tests send single syncs.
const FEATURES = [CONVERSATION, "voice", "llm"];
const CATALOG = { voices: ["flite-slt", "kokoro-heart"], models: ["small", "large"] };

/** A worker with conversations, which has reported its voices and models. */
const speaks = (worker: string, catalog: Partial<typeof CATALOG> = {}, slots = 1) =>
  syncOf(worker, { slots, features: FEATURES, catalog: { ...CATALOG, ...catalog } });

afterEach(async () => {
  round++;
  const { client } = api.database.db;
  const open = await client`select session_id from fleet.avatar_slots where session_id is not null`;
  for (const { session_id } of open) await release({ session_id });
  await client`delete from fleet.avatar_slots`;
  await client`delete from fleet.avatar_workers`;
});

test("a worker with conversations: asked for its voices and models until it has sent them", async () => {
  expect(await syncOf("wrk_a", { slots: 1, features: FEATURES })).toMatchObject({ wants_catalog: true });
  expect(await speaks("wrk_a")).not.toHaveProperty("wants_catalog");
  // The sync does not wait for work, because the change of its slots is news.
  expect(await syncOf("wrk_a", { slots: 2, features: FEATURES })).not.toHaveProperty("wants_catalog");
  expect(await syncOf("wrk_b", { slots: 1, features: ["voice"] })).not.toHaveProperty("wants_catalog");
});

test.each([
  ["voices", MAX_CATALOG.voices],
  ["models", MAX_CATALOG.models],
] as const)("more %s than %i, or a long name: 422", async (list, maximum) => {
  const names = (count: number) => Array.from({ length: count }, (_, at) => `name-${at}`);
  expect((await speaks("wrk_a", { [list]: names(maximum) })).lease_seconds).toBeGreaterThan(0);
  for (const wrong of [names(maximum + 1), ["x".repeat(161)], [""], ["a\u0000"]]) {
    const answer = await sync("wrk_a", { features: FEATURES, catalog: { ...CATALOG, [list]: wrong } });
    expect([answer.status, answer.body.errors?.length]).toEqual([422, 1]);
  }
});

test("a start with a voice and a model: placed at a worker that has them, and sent to it", async () => {
  await speaks("wrk_a", { voices: ["flite-slt"] });
  await speaks("wrk_b");
  const { body } = await start({ avatar_id: ready, voice: { voice_id: "kokoro-heart" }, llm: { model: "large" } });
  expect(body).toMatchObject({ status: "ready", ignored: [] });
  const { start: assigned } = await syncOf("wrk_b", { slots: 1, features: FEATURES });
  expect(assigned).toMatchObject([
    { session_id: body.session_id, input: { voice: { voice_id: "kokoro-heart" }, llm: { model: "large" } } },
  ]);
});

test.each([
  [{ voice: { voice_id: "none-such" } }, [["#/voice/voice_id", "unsupported_voice"]]],
  [{ voice: { voice_id: 5 } }, [["#/voice/voice_id", "unsupported_voice"]]],
  [{ llm: { model: "none-such" } }, [["#/llm/model", "unsupported_model"]]],
  [
    { voice: { provider: "cartesia", voice_id: "x" }, llm: { backend: "openai", model: "gpt-9" } },
    [
      ["#/voice/voice_id", "unsupported_voice"],
      ["#/llm/model", "unsupported_model"],
    ],
  ],
])("a start with %j, which no worker has: 422 without a hold", async (named, errors) => {
  await speaks("wrk_a");
  const answer = await start({ avatar_id: ready, ...named });
  expectProblem(answer, "validation_failed");
  expect(answer.body.errors.map(({ pointer, code }: Record<string, string>) => [pointer, code])).toEqual(errors);
  const balance = await api.call("GET", "/api/v1/credits/balance", {
    key: await api.key({ scopes: ["credits:read"] }),
  });
  expect(balance.body.reservedCreditMicros).toBe(0);
});

test.each([
  [{ voice: {} }],
  [{ voice: { voice_id: null } }],
  [{ llm: null }],
  [{ llm: {} }],
  [{ llm: { model: null } }],
])("a start without a voice and a model, %j: granted", async (named) => {
  await speaks("wrk_a");
  expect((await start({ avatar_id: ready, ...named })).body).toMatchObject({ status: "ready", ignored: [] });
});

test("a voice, at a worker of the previous release and at one without conversations: unchanged behaviour", async () => {
  await syncOf("wrk_a", { slots: 1, features: ["voice"] });
  const named = { avatar_id: ready, voice: { voice_id: "none-such" }, llm: { model: "none-such" } };
  expect((await start(named)).body).toMatchObject({ status: "ready", ignored: ["llm"] });
  await syncOf("wrk_b", { slots: 1, features: [] });
  expect((await start(named)).body).toMatchObject({ status: "ready", ignored: ["voice", "llm"] });
});

test("a conversation: its price is in the grant, the session and the ledger, and decides how many seconds fit", async () => {
  await speaks("wrk_a", {}, 2);
  const { root, avatarId } = await tenantWith(200);
  const { body: grant } = await start({ avatar_id: avatarId }, root.key, { "idempotency-key": "one" });
  expect(grant).toMatchObject({ price_credit_micros_per_second: CONVERSATION_PRICE, max_session_seconds: 66 });
  expect(await session(grant.session_id, root.key)).toMatchObject({
    priceCreditMicrosPerSecond: CONVERSATION_PRICE,
    reservedCreditMicros: 66 * CONVERSATION_PRICE,
  });
  const entries = await api.call("GET", "/api/v1/credits/entries?kind=hold", { key: root.key });
  expect(entries.body.data).toMatchObject([
    { sessionId: grant.session_id, kind: "hold", amountCreditMicros: 66 * CONVERSATION_PRICE },
  ]);
  const again = await start({ avatar_id: avatarId }, root.key, { "idempotency-key": "one" });
  expect([again.body, again.headers.get("idempotent-replayed")]).toEqual([grant, "true"]);
  await release({ session_id: grant.session_id }, root.key);
});

test("a cap that covers a plain call but not a conversation: 402 with the credits of a conversation", async () => {
  await speaks("wrk_a");
  const { newKey, avatarId } = await tenantWith(1000);
  const { key } = await newKey({ spendLimitCreditMicros: 100 * PRICE });
  const refused = await start({ avatar_id: avatarId }, key);
  expectProblem(refused, "spend_limit_exceeded");
  expect(refused.body).toMatchObject({ limitedBy: "self", requiredCreditMicros: 60 * CONVERSATION_PRICE });
  await syncOf("wrk_a", { slots: 0 });
  await syncOf("wrk_b", { slots: 1, features: [] });
  expect((await start({ avatar_id: avatarId }, key)).body).toMatchObject({
    price_credit_micros_per_second: PRICE,
    max_session_seconds: 100,
  });
});

test("a stored grant of the previous release, without a price: the price of a plain call", async () => {
  await speaks("wrk_a");
  const header = { "idempotency-key": "release-before" };
  const { body: grant } = await start({ avatar_id: ready }, undefined, header);
  const { client } = api.database.db;
  await client`
    update idempotency_claims set response_fields = (response_fields::jsonb - 'priceCreditMicrosPerSecond')::json
    where idempotency_key = ${header["idempotency-key"]}`;
  const { body } = await start({ avatar_id: ready }, undefined, header);
  expect(body).toMatchObject({ session_id: grant.session_id, price_credit_micros_per_second: PRICE });
});

const NONE = { input_tokens: 0, output_tokens: 0, estimated_tokens: 0, heard_seconds: 0, spoken_characters: 0 };

test("usage of conversations: in the tenant's daily summary; the day's remaining tokens in each response", async () => {
  await speaks("wrk_a", {}, 3);
  const { root, avatarId, newKey } = await tenantWith(12_000);
  const other = await tenantWith(2000);
  const { body: grant } = await start({ avatar_id: avatarId }, root.key);
  const { body: otherGrant } = await start({ avatar_id: other.avatarId }, other.root.key);
  const { start: assigned } = await syncOf("wrk_a", { slots: 3, features: FEATURES });
  expect(assigned).toHaveLength(2);
  for (const call of assigned) expect(call).toMatchObject({ usage: NONE, tokens_left: 1000 });
  const used = {
    input_tokens: 600,
    output_tokens: 100,
    estimated_tokens: 50,
    heard_seconds: 12,
    spoken_characters: 340,
  };
  const report = (session_id: SessionId, usage: typeof NONE): ReportedCall => ({
    ...{ session_id, generation: 1, state: "started", used_seconds: 1, usage },
  });
  const reports = [report(grant.session_id, used), report(otherGrant.session_id, NONE)];
  const response = await syncOf("wrk_a", { slots: 3, features: FEATURES, calls: reports });
  expect(validate(SyncResponse, response)).toEqual([]);
  const bySession = new Map(response.tokens?.map(({ session_id, used, left }) => [session_id, [used, left]]));
  expect([bySession.get(grant.session_id), bySession.get(otherGrant.session_id)]).toEqual([
    [700, 300],
    [0, 1000],
  ]);
  await start({ avatar_id: avatarId }, root.key);
  const { start: next } = await syncOf("wrk_a", { slots: 3, features: FEATURES, calls: reports });
  expect(next.map(({ tokens_left }) => tokens_left)).toEqual([300]);

  const path = "/api/v1/usage/summary";
  const { key } = await newKey({ scopes: ["usage:read"] });
  const { body } = await api.call("GET", path, { key });
  expect(validate(UsageSummaryPage, body)).toEqual([]);
  expect(body.conversations).toEqual([
    {
      ...{ day: new Date().toISOString().slice(0, 10), inputTokens: 600, outputTokens: 100, estimatedTokens: 50 },
      ...{ heardSeconds: 12, spokenCharacters: 340 },
    },
  ]);
  const until = (to: string) => api.call("GET", `${path}?to=${to}`, { key });
  expect((await until(`${new Date().toISOString().slice(0, 10)}T00:00:00Z`)).body.conversations).toEqual([]);
  expect((await api.call("GET", path, { key: other.root.key })).body.conversations).toEqual([]);
  const { key: blind } = await newKey({ scopes: ["avatars:read"] });
  expect((await api.call("GET", path, { key: blind })).status).toBe(403);
});

test("a worker without conversations: no usage; impossible numbers: 422", async () => {
  await syncOf("wrk_a", { slots: 1, features: ["voice"] });
  const { body: grant } = await start({ avatar_id: ready });
  const { start: assigned } = await syncOf("wrk_a", { slots: 1, features: ["voice"] });
  expect(assigned.map((call) => "usage" in call || "tokens_left" in call)).toEqual([false]);
  for (const input_tokens of [-1, 2 ** 31, 1.5]) {
    const usage = { ...NONE, input_tokens };
    const calls = [{ session_id: grant.session_id, generation: 1, state: "started", used_seconds: 1, usage } as const];
    expect((await sync("wrk_a", { features: FEATURES, calls })).status).toBe(422);
  }
});
