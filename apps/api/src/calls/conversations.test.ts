/** Starts that name a voice or a model, at workers with conversations; and what a second of a conversation costs. */
import { afterEach, expect, test } from "bun:test";
import { CONVERSATION, MAX_CATALOG, WIRE_2 } from "@realtime-avatar/domain/calls/worker-sync";
import { startCallApi } from "../../test/support/calls/calls.ts";
import { expectProblem } from "../../test/support/routes.ts";

const PRICE = 1_000_000;
const CONVERSATION_PRICE = 3_000_000;
const { api, avatar, start, release, session, tenantWith, ...calls } = await startCallApi(
  {},
  { creditPriceMicrosPerSecond: PRICE, conversationPriceMicrosPerSecond: CONVERSATION_PRICE },
);
/** Each test has workers of its own: a worker that repeats its last sync waits for work. */
let round = 0;
const sync: typeof calls.sync = (worker, request) => calls.sync(`${worker}_${round}`, request);
const syncOf: typeof calls.syncOf = (worker, request) => calls.syncOf(`${worker}_${round}`, request);
const ready = await avatar();
const FEATURES = [WIRE_2, CONVERSATION, "voice", "llm"];
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
  // It does not wait for work: the change of its slots is news.
  expect(await syncOf("wrk_a", { slots: 2, features: FEATURES })).not.toHaveProperty("wants_catalog");
  expect(await syncOf("wrk_b", { slots: 1, features: [WIRE_2, "voice"] })).not.toHaveProperty("wants_catalog");
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

test("a start that names a voice and a model: placed at the worker that has them, which gets both", async () => {
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
])("a start that names what no worker has, %j: 422, and nothing is held", async (named, errors) => {
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
])("a start that names nothing, %j: granted", async (named) => {
  await speaks("wrk_a");
  expect((await start({ avatar_id: ready, ...named })).body).toMatchObject({ status: "ready", ignored: [] });
});

test("a voice, at a worker of the release before and at one without conversations: as it was", async () => {
  await syncOf("wrk_a", { slots: 1, features: [WIRE_2, "voice"] });
  const named = { avatar_id: ready, voice: { voice_id: "none-such" }, llm: { model: "none-such" } };
  expect((await start(named)).body).toMatchObject({ status: "ready", ignored: ["llm"] });
  await syncOf("wrk_b", { slots: 1, features: [WIRE_2] });
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

test("a cap that pays for a call and not for a conversation: 402 with what a conversation needs", async () => {
  await speaks("wrk_a");
  const { newKey, avatarId } = await tenantWith(1000);
  const { key } = await newKey({ spendLimitCreditMicros: 100 * PRICE });
  const refused = await start({ avatar_id: avatarId }, key);
  expectProblem(refused, "spend_limit_exceeded");
  expect(refused.body).toMatchObject({ limitedBy: "self", requiredCreditMicros: 60 * CONVERSATION_PRICE });
  await syncOf("wrk_a", { slots: 0 });
  await syncOf("wrk_b", { slots: 1, features: [WIRE_2] });
  expect((await start({ avatar_id: avatarId }, key)).body).toMatchObject({
    price_credit_micros_per_second: PRICE,
    max_session_seconds: 100,
  });
});

test("a grant that the release before has stored, without a price: that of a call", async () => {
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
