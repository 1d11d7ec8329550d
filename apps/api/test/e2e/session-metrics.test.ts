/** The metrics of usage sessions: each session that is opened, closed or refused is counted once. */
import { afterAll, describe, expect, test } from "bun:test";
import type { CreateApiKey } from "@realtime-avatar/domain/api-keys/schemas";
import { createMetrics } from "@realtime-avatar/runtime/metrics";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import type { CallOptions } from "../support/api.ts";
import { callAnew } from "../support/api.ts";

const PATH = "/api/v1/usage/sessions";
const SECOND = 1_000_000;
const metrics = createMetrics("1.2.3");
const database = await fileDatabase();
afterAll(() => metrics.stop());

/** A tenant with 100 seconds and a key, and requests with it to a separate application. */
const startTenant = async () => {
  const tenantId = await seedTenant(database.db, { live: 100 * SECOND });
  const call = callAnew(database.db, { metrics });
  const newKey = async (request: Partial<CreateApiKey>, parent?: Awaited<ReturnType<typeof seedKey>>["record"]) => {
    const { record, secret } = await seedKey(database.db, tenantId, { environment: "live", ...request }, parent);
    return { record, key: secret.reveal() };
  };
  const { key, record } = await newKey({ scopes: ["*", "usage:write"] });
  const post = (path: string, options: CallOptions) => call("POST", path, { key, ...options });
  return {
    tenantId,
    record,
    newKey,
    open: (seconds: number, options: CallOptions = {}) =>
      post(PATH, { body: { maxSessionSeconds: seconds }, ...options }),
    report: (id: string) => post(`${PATH}/${id}/usage`, { body: { usedCreditMicros: 1 } }),
    release: (id: string, options: CallOptions = {}) => post(`${PATH}/${id}/release`, options),
    /** Lets the leases of all sessions end. */
    expire: () =>
      database.db
        .client`update usage_sessions set expires_at = now() - interval '1 second' where tenant_id = ${tenantId}`,
  };
};

type Counts = Record<"held" | "settled" | "self" | "ancestor" | "balance", number>;
const counts = async (): Promise<Counts> => {
  const text = await (await metrics.fetch(new Request("http://localhost/metrics"))).text();
  const read = (name: string): number => {
    const [, count = "0"] =
      text
        .split("\n")
        .map((line) => line.split(" "))
        .find(([found]) => found === `realtime_avatar_sessions_${name}`) ?? [];
    return Number(count);
  };
  const refused = (limit: string): number => read(`refused_total{limit="${limit}"}`);
  return {
    held: read("held_total"),
    settled: read("settled_total"),
    self: refused("self"),
    ancestor: refused("ancestor"),
    balance: refused("balance"),
  };
};
/** The growth of each count while `work` runs, without unchanged counts. */
const growth = async (work: () => Promise<unknown>): Promise<Partial<Counts>> => {
  const before = await counts();
  await work();
  const after = Object.entries(await counts()) as [keyof Counts, number][];
  return Object.fromEntries(after.map(([name, count]) => [name, count - before[name]]).filter(([, by]) => by !== 0));
};

describe("the count of opened sessions", () => {
  test("an opened session, replayed: counted once", async () => {
    const { open } = await startTenant();
    const headers = { "idempotency-key": "call" };
    const opened = () => Promise.all([open(1), open(1, { headers }), open(1, { headers })]);
    expect(await growth(opened)).toEqual({ held: 2 });
    expect(await growth(() => open(1, { headers }))).toEqual({});
  });

  test("a session, refused for a reason other than credits: not counted", async () => {
    const { open } = await startTenant();
    const refused = async () => {
      expect((await open(0)).status).toBe(422);
      expect((await open(1, { key: "none" })).status).toBe(401);
      expect((await open(1, { body: { maxSessionSeconds: 1, avatarId: "ava_x" } })).status).toBe(404);
    };
    expect(await growth(refused)).toEqual({});
  });
});

describe("the count of refused sessions", () => {
  test("a refused session, by cap or balance, written or only looked up: counted under that limit", async () => {
    const { open, newKey, record } = await startTenant();
    const capped = await newKey({ scopes: ["realtime:write"], spendLimitCreditMicros: 5 * SECOND }, record);
    const child = await newKey({ scopes: ["realtime:write"] }, capped.record);
    const refused = async (seconds: number, key?: string) =>
      expect((await open(seconds, key === undefined ? {} : { key })).status).toBe(402);
    expect(await growth(() => refused(6, capped.key))).toEqual({ self: 1 });
    expect(await growth(() => refused(6, child.key))).toEqual({ ancestor: 1 });
    expect(await growth(() => refused(101))).toEqual({ balance: 1 });
    // Concurrent requests that fit only one by one: the look-ups admit both; the write refuses one.
    const both = () => Promise.all([open(4, { key: capped.key }), open(4, { key: capped.key })]);
    expect(await growth(both)).toEqual({ held: 1, self: 1 });
  });

  test("a replayed session, credits now lacking: not counted as refused", async () => {
    const { open } = await startTenant();
    const headers = { "idempotency-key": "all" };
    expect((await open(100, { headers })).status).toBe(201);
    const again = async () => expect((await open(100, { headers })).status).toBe(201);
    expect(await growth(again)).toEqual({});
  });
});

describe("the count of closed sessions", () => {
  test("a closed session, reported or released again: counted once", async () => {
    const { open, report, release } = await startTenant();
    const { sessionId } = (await open(10)).body;
    expect(await growth(() => report(sessionId))).toEqual({});
    const headers = { "idempotency-key": "end" };
    const ended = () => Promise.all(Array.from({ length: 3 }, () => release(sessionId, { headers })));
    expect(await growth(ended)).toEqual({ settled: 1 });
    const again = async () => {
      expect((await release(sessionId)).status).toBe(200);
      expect((await release(sessionId, { body: { usedCreditMicros: 9 } })).body.code).toBe("session_closed");
      expect((await release("ses_01h455vb4pex5vsknk084sn02q")).status).toBe(404);
    };
    expect(await growth(again)).toEqual({});
  });

  test("a session that is released after the end of its lease: counted as closed once", async () => {
    const { open, release, expire } = await startTenant();
    const { sessionId } = (await open(10)).body;
    await expire();
    const late = async () =>
      expect((await release(sessionId, { body: { usedCreditMicros: 9 } })).body.code).toBe("session_closed");
    expect(await growth(late)).toEqual({ settled: 1 });
    expect(await growth(late)).toEqual({});
  });

  test("overdue sessions, closed to make room: counted as closed", async () => {
    const { open, expire } = await startTenant();
    for (let opened = 0; opened < 2; opened++) expect((await open(50)).status).toBe(201);
    await expire();
    const next = async () => expect((await open(100)).status).toBe(201);
    expect(await growth(next)).toEqual({ held: 1, settled: 2 });
  });
});
