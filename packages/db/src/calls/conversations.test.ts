/** The placement of calls that name a voice or a model, and the price of a conversation. */
import { afterEach, describe, expect, test } from "bun:test";
import { CONVERSATION } from "@realtime-avatar/domain/calls/worker-sync";
import type { SessionId } from "@realtime-avatar/domain/id";
import { callRequest, endLease, readyAvatar, seedCall, sync } from "@realtime-avatar/testing/calls/calls";
import { seedCaller } from "@realtime-avatar/testing/credits";
import { mutate } from "@realtime-avatar/testing/credits/mutations";
import { serviceDatabase } from "@realtime-avatar/testing/fixture";
import { inOneBatch } from "@realtime-avatar/testing/postgres/batching";
import { operatorOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { findCreditDrift } from "../credits/invariants.ts";
import { type CallRequest, type ConversationNeeds, type OpenCallOutcome, openCall } from "./calls.ts";
import { endLostCall, expireWorkers } from "./reconcile.ts";

const { db } = await serviceDatabase();
const { client } = db;
await mutate(db);

const tenantId = await seedTenant(db, { live: 1_000_000 });
const { caller } = await seedCaller(db, tenantId);
const avatarId = await readyAvatar(db, caller);

afterEach(async () => {
  expect(await findCreditDrift(db, tenantId, 10)).toEqual([]);
  const open = await client`select tenant_id, id from usage_sessions where ended_at is null`;
  for (const { tenant_id, id } of open) await endLostCall(db, tenant_id, id, "failed", operatorOrigin());
  await client`delete from fleet.avatar_slots`;
  await client`delete from fleet.avatar_workers`;
  await client`delete from call_tickets`;
});

/** A worker with conversations, these voices, and the model `m`. */
const speaks = (worker: string, voices: string[], slots = 1, models = ["m"]) =>
  sync(db, worker, { slots, features: [CONVERSATION], catalog: { voices, models } });
/** A worker that reports no voices, like the previous release. */
const isSilent = (worker: string, slots = 1) => sync(db, worker, { slots, features: ["voice"] });

const PRICE = 1;
const CONVERSATION_PRICE = 7;
const needs = (changes: Partial<ConversationNeeds> = {}): ConversationNeeds => ({
  ...{ price: CONVERSATION_PRICE, voiceId: null, model: null },
  ...changes,
});
const naming = (voiceId: string | null, model: string | null = null): Partial<CallRequest> => ({
  conversation: needs({ voiceId, model }),
});
const start = (changes: Partial<CallRequest>, by = caller): Promise<OpenCallOutcome> =>
  openCall(db, callRequest(by, avatarId, changes), by, null);

const ticketOf = (outcome: OpenCallOutcome): string => {
  if (outcome.kind !== "queued") throw new Error(`not queued: ${outcome.kind}`);
  return outcome.place.ticketId;
};
const workerOf = async (id: SessionId): Promise<string | null> =>
  (await client`select worker_id from fleet.avatar_slots where session_id = ${id}`)[0]?.["worker_id"] ?? null;
const placed = async (changes: Partial<CallRequest>): Promise<string | null> =>
  workerOf(await seedCall(db, caller, avatarId, changes));

describe("a call that names a voice or a model", () => {
  test("a voice that one of two workers has: placed at that worker, whichever has the first free slot", async () => {
    await speaks("a", ["flite-slt"], 3);
    await speaks("b", ["flite-slt", "new-voice"], 3);
    await speaks("c", ["flite-slt"], 3);
    expect([await placed(naming("new-voice")), await placed(naming("new-voice"))]).toEqual(["b", "b"]);
    expect(await placed(naming("new-voice"))).toBe("b");
    expect(await start(naming("new-voice"))).toMatchObject({ kind: "queued" });
  });

  test("a voice that no worker has: unsupported, nothing is held; with a worker that reports no voices: placed there", async () => {
    await speaks("a", ["flite-slt"]);
    expect(await start(naming("none"))).toEqual({ kind: "unsupported", fields: ["voice"] });
    expect(await start(naming("none", "none"))).toEqual({ kind: "unsupported", fields: ["voice", "model"] });
    expect(await start(naming("flite-slt", "none"))).toEqual({ kind: "unsupported", fields: ["model"] });
    expect(await client`select 1 from usage_sessions where tenant_id = ${tenantId} and ended_at is null`).toHaveLength(
      0,
    );
    await isSilent("b");
    expect(await placed(naming("none"))).toBe("b");
  });

  test("a voice that one worker reports, while another reports no voices: placed at the first of the two with a free slot", async () => {
    await isSilent("a", 2);
    await speaks("b", ["new-voice"]);
    expect(await placed(naming("new-voice"))).toBe("b");
    expect(await placed(naming("new-voice"))).toBe("a");
  });

  test("a voice and a model that no single worker has: unsupported", async () => {
    await speaks("a", ["one"], 1, ["m"]);
    await speaks("b", ["two"], 1, ["n"]);
    expect(await start(naming("one", "n"))).toEqual({ kind: "unsupported", fields: ["model"] });
    expect(await placed(naming("two", "n"))).toBe("b");
  });

  test("a worker with conversations that has not reported yet: the call waits for it", async () => {
    await sync(db, "a", { slots: 1, features: [CONVERSATION] });
    const ticketId = ticketOf(await start(naming("any-voice")));
    expect((await speaks("a", ["any-voice"])).hasVoices).toBe(true);
    expect(await placed({ ...naming("any-voice"), ticketId })).toBe("a");
  });

  test("without any worker: queued; after the lease of the only worker with the voice: unsupported", async () => {
    expect(await start(naming("one"))).toMatchObject({ kind: "queued" });
    await speaks("a", ["one"]);
    await speaks("b", ["two"]);
    await endLease(db, "a");
    expect(await start(naming("one"))).toEqual({ kind: "unsupported", fields: ["voice"] });
  });

  test("a sync without voices: keeps those of the worker; after the deletion of the worker: they are requested again", async () => {
    expect((await sync(db, "a", { slots: 1, features: [CONVERSATION] })).hasVoices).toBe(false);
    expect((await speaks("a", ["one"])).hasVoices).toBe(true);
    expect((await sync(db, "a", { slots: 1, features: [CONVERSATION] })).hasVoices).toBe(true);
    expect(await start(naming("two"))).toMatchObject({ kind: "unsupported" });
    await endLease(db, "a");
    await expireWorkers(db, operatorOrigin());
    expect((await sync(db, "a", { slots: 1, features: [CONVERSATION] })).hasVoices).toBe(false);
  });

  test("a batch of starts that name different voices, and none: each gets a slot of its worker, and no slot twice", async () => {
    await speaks("a", ["one"], 4);
    await speaks("b", ["two"], 4);
    await isSilent("c", 4);
    const names = ["one", "two", null, "one", "two", null, "three", "two"];
    const others = await Promise.all(names.map(() => seedCaller(db, tenantId)));
    const requests = names.map((name, at) => callRequest((others[at] ?? { caller }).caller, avatarId, naming(name)));
    const pool = inOneBatch(db);
    const outcomes = await Promise.all(
      requests.map((request, at) => openCall(pool, request, (others[at] ?? { caller }).caller, null)),
    );
    expect(outcomes.map(({ kind }) => kind)).toEqual(names.map(() => "written"));
    const workers = await Promise.all(requests.map(({ id }) => workerOf(id)));
    for (const [at, name] of names.entries()) {
      if (name !== null)
        expect([name, workers[at]]).toEqual([name, { one: "a", two: "b", three: "c" }[name] as string]);
    }
    expect(workers).not.toContain(null);
  });
});

describe("the price of a second", () => {
  const openOf = async (id: SessionId) =>
    (await client`select price::integer, reserved::integer, used::integer from usage_sessions where id = ${id}`)[0];

  test("at a worker with or without conversations, and of a call without a conversation: each has its price", async () => {
    await speaks("a", [], 2);
    const conversation = callRequest(caller, avatarId, { conversation: needs() });
    expect(await openCall(db, conversation, caller, null)).toMatchObject({
      kind: "written",
      responseFields: { reservedCreditMicros: 700, priceCreditMicrosPerSecond: CONVERSATION_PRICE },
    });
    expect(await openOf(conversation.id)).toEqual({ price: CONVERSATION_PRICE, reserved: 700, used: 0 });
    const agents = await seedCall(db, caller, avatarId, { conversation: null });
    expect(await openOf(agents)).toEqual({ price: PRICE, reserved: 100, used: 0 });
    await isSilent("b");
    const echo = await seedCall(db, caller, avatarId, { conversation: needs() });
    expect([await workerOf(echo), await openOf(echo)]).toEqual(["b", { price: PRICE, reserved: 100, used: 0 }]);
  });

  test("a conversation, reported and ended: charged at its price, also after a move to a worker without conversations", async () => {
    await speaks("a", []);
    const id = await seedCall(db, caller, avatarId, { conversation: needs() });
    const calls = [{ session_id: id, generation: 1, state: "started", used_seconds: 5 } as const];
    await sync(db, "a", { slots: 1, features: [CONVERSATION], calls });
    await isSilent("b");
    await endLease(db, "a");
    await expireWorkers(db, operatorOrigin());
    expect(await workerOf(id)).toBe("b");
    const { used: before } = (await openOf(id)) as { used: number };
    expect(before % CONVERSATION_PRICE).toBe(0);
    const used_seconds = before / CONVERSATION_PRICE + 4;
    await sync(db, "b", {
      slots: 1,
      calls: [{ session_id: id, generation: 2, state: "ended", used_seconds, reason: "user_ended" }],
    });
    expect((await openOf(id))?.["used"]).toBe(before + 4 * CONVERSATION_PRICE);
    const entries = await client`select kind, amount::integer from credit_entries where session_id = ${id} order by id`;
    expect(entries.map(({ kind, amount }) => [kind, amount])).toEqual([
      ["hold", 700],
      ["settle", before + 4 * CONVERSATION_PRICE],
      ["release", 700 - before - 4 * CONVERSATION_PRICE],
    ]);
  });

  test.each([
    [60 * CONVERSATION_PRICE, "written", 60],
    [60 * CONVERSATION_PRICE - 1, "spend_limit_exceeded", null],
    [65 * CONVERSATION_PRICE + 6, "written", 65],
  ])("a cap of %i credit micros, for a conversation of 60 seconds or more: %s", async (cap, kind, seconds) => {
    await speaks("a", []);
    const capped = await seedCaller(db, tenantId, { spendLimitCreditMicros: cap });
    const outcome = await start({ conversation: needs() }, capped.caller);
    expect(outcome.kind).toBe(kind as OpenCallOutcome["kind"]);
    const wanted =
      seconds === null
        ? { price: CONVERSATION_PRICE, limitedBy: "self" }
        : { responseFields: { reservedCreditMicros: seconds * CONVERSATION_PRICE } };
    expect(outcome).toMatchObject(wanted);
  });

  test("a balance that suffices for a call but not for a conversation: refused at a worker with conversations, held at another", async () => {
    const poor = await seedTenant(db, { live: 60 * CONVERSATION_PRICE - 1 });
    const { caller: buyer } = await seedCaller(db, poor);
    const own = await readyAvatar(db, buyer);
    const ask = (ticketId: string | null = null) =>
      openCall(db, callRequest(buyer, own, { conversation: needs(), ticketId }), buyer, null);
    await speaks("a", []);
    expect(await ask()).toEqual({ kind: "insufficient_credits", price: CONVERSATION_PRICE });
    await endLease(db, "a");
    // No slot is free, so the lower price decides whether the call may wait.
    const ticketId = ticketOf(await ask());
    await isSilent("b");
    expect(await ask(ticketId)).toMatchObject({
      kind: "written",
      responseFields: { priceCreditMicrosPerSecond: PRICE },
    });
    expect(await findCreditDrift(db, poor, 10)).toEqual([]);
  });

  test("a batch of three conversations with a balance for two: two are held, the third is refused", async () => {
    const buyers = await seedTenant(db, { live: 2 * 60 * CONVERSATION_PRICE + 59 });
    const callers = await Promise.all([1, 2, 3].map(() => seedCaller(db, buyers)));
    const own = await readyAvatar(db, (callers[0] as (typeof callers)[0]).caller);
    await speaks("a", [], 3);
    const pool = inOneBatch(db);
    const outcomes = await Promise.all(
      callers.map(({ caller: by }) =>
        openCall(pool, callRequest(by, own, { maxSeconds: 60, conversation: needs() }), by, null),
      ),
    );
    expect(outcomes.map(({ kind }) => kind).toSorted()).toEqual(["insufficient_credits", "written", "written"]);
    expect(await findCreditDrift(db, buyers, 10)).toEqual([]);
  });
});
