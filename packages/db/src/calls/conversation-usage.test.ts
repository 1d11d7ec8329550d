/**
 * The usage of conversations: summed exactly once for each tenant and day, even if reports are repeated, late or lost.
 * Also the limit of a day.
 */
import { expect, test } from "bun:test";
import { CONVERSATION, type ConversationUsage } from "@realtime-avatar/domain/calls/worker-sync";
import type { Environment } from "@realtime-avatar/domain/environment";
import type { SessionId, TenantId } from "@realtime-avatar/domain/id";
import { endLease, readyAvatar, report, SYNC_TERMS, seedCall, sync } from "@realtime-avatar/testing/calls/calls";
import { seedCaller } from "@realtime-avatar/testing/credits";
import { mutate } from "@realtime-avatar/testing/credits/mutations";
import { connectTo, IS_ONE_DATABASE } from "@realtime-avatar/testing/database";
import { fixture, serviceDatabase } from "@realtime-avatar/testing/fixture";
import { urlAt } from "@realtime-avatar/testing/postgres/clock";
import { operatorOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import fc from "fast-check";
import { releaseCall } from "./calls.ts";
import { expireWorkers } from "./reconcile.ts";

const database = await serviceDatabase();
const { db } = database;
const { client } = db;
await mutate(db);

const FIELDS = ["input_tokens", "output_tokens", "estimated_tokens", "heard_seconds", "spoken_characters"] as const;
type Numbers = [number, number, number, number, number];
const usage = (numbers: Numbers): ConversationUsage =>
  Object.fromEntries(FIELDS.map((field, at) => [field, numbers[at]])) as ConversationUsage;
/** A number of read and of written tokens. */
const tokens = (input: number, output = 0): ConversationUsage => usage([input, output, 0, 0, 0]);

const features = [CONVERSATION];
const slots = 16;
/** A tenant with a worker that has its calls. */
const world = async (environment: Environment = "live") => {
  await client`delete from fleet.avatar_slots`;
  await client`delete from fleet.avatar_workers`;
  await sync(db, "one", { slots, features });
  const tenantId = await seedTenant(db, { live: 1_000_000, test: 1_000_000 });
  const { caller } = await seedCaller(db, tenantId, { environment });
  const avatarId = await readyAvatar(db, caller);
  return { tenantId, caller, call: () => seedCall(db, caller, avatarId) };
};
const sums = async (tenantId: TenantId) =>
  (
    await client`
      select environment, day::text, input_tokens::integer, output_tokens::integer, estimated_tokens::integer,
        heard_seconds::integer, spoken_characters::integer
      from conversation_usage where tenant_id = ${tenantId} order by day, environment`
  ).map(({ environment, day, ...row }) => ({ environment, day, numbers: FIELDS.map((field) => row[field]) }));
const totalOf = async (tenantId: TenantId): Promise<number[]> => {
  const rows = await sums(tenantId);
  return FIELDS.map((_, at) => rows.reduce((sum, { numbers }) => sum + (numbers[at] as number), 0));
};

test("reports of a call: the growth of each number is added; a repeated report adds nothing", async () => {
  const { tenantId, call } = await world();
  const id = await call();
  const send = (numbers: Numbers, state: "started" | "ended" = "started") =>
    sync(db, "one", { slots, features, calls: [report(id, state, 1, { usage: usage(numbers) })] });
  await send([10, 2, 0, 1, 5]);
  await send([10, 2, 0, 1, 5]);
  await send([7, 9, 3, 0, 6]);
  expect(await totalOf(tenantId)).toEqual([10, 9, 3, 1, 6]);
  await send([20, 9, 3, 4, 6], "ended");
  await send([20, 9, 3, 4, 6], "ended");
  expect(await totalOf(tenantId)).toEqual([20, 9, 3, 4, 6]);
  expect(await sums(tenantId)).toMatchObject([{ environment: "live", day: new Date().toISOString().slice(0, 10) }]);
});

test("a call that a program has ended: a later report of its worker counts once; a report of another generation does not count", async () => {
  const { tenantId, caller, call } = await world();
  const id = await call();
  const send = (input: number, generation = 1) =>
    sync(db, "one", { slots, features, calls: [report(id, "ended", 1, { generation, usage: tokens(input) })] });
  await sync(db, "one", { slots, features, calls: [report(id, "started", 1, { usage: tokens(5) })] });
  await releaseCall(db, { kind: "session", id }, { reason: null }, caller, operatorOrigin(), null);
  await send(8);
  await send(8);
  await send(900, 2);
  expect(await totalOf(tenantId)).toEqual([8, 0, 0, 0, 0]);
});

test("a call that moves: the next worker continues from the counted usage; the lost worker adds nothing", async () => {
  const { tenantId, call } = await world();
  const id = await call();
  await sync(db, "one", { slots, features, calls: [report(id, "started", 1, { usage: tokens(100, 10) })] });
  await sync(db, "two", { slots, features });
  await endLease(db, "one");
  await expireWorkers(db, operatorOrigin());
  const { start, usage: before } = await sync(db, "two", { slots, features });
  expect(start).toMatchObject([{ sessionId: id, generation: 2 }]);
  expect(before).toMatchObject([
    { sessionId: id, generation: 2, inputTokens: 100, outputTokens: 10, tokensLeft: null },
  ]);
  await sync(db, "one", { slots, features, calls: [report(id, "started", 9, { usage: tokens(170, 20) })] });
  await sync(db, "two", {
    slots,
    features,
    calls: [report(id, "started", 9, { generation: 2, usage: tokens(150, 12) })],
  });
  expect(await totalOf(tenantId)).toEqual([150, 12, 0, 0, 0]);
});

test("two tenants and two environments in one sync: each has its own sums", async () => {
  const [one, other, inTest] = [await world(), await world(), await world("test")];
  const calls = await Promise.all([one.call(), other.call(), inTest.call(), one.call()]);
  const used = [tokens(1), tokens(20), tokens(300), tokens(4000)];
  const reports = calls.map((id, at) => report(id, "started", 1, { usage: used[at] as ConversationUsage }));
  await sync(db, "one", { slots, features, calls: reports });
  expect([await totalOf(one.tenantId), await totalOf(other.tenantId)].map(([input]) => input)).toEqual([4001, 20]);
  expect(await sums(inTest.tenantId)).toMatchObject([{ environment: "test", numbers: [300, 0, 0, 0, 0] }]);
});

test.skipIf(!IS_ONE_DATABASE)("the last moment of a day in UTC, and the first of the next: two days", async () => {
  const { tenantId, call } = await world();
  const id = await call();
  const { serviceUrl: url = "" } = database;
  for (const [moment, input] of [
    ["2031-03-09T23:59:59.900Z", 5],
    ["2031-03-10T00:00:00.100Z", 7],
  ] as const) {
    await client`update usage_sessions set expires_at = '2032-01-01' where id = ${id}`;
    const at = await fixture(connectTo({ url: await urlAt({ ...database, url }, moment) }));
    const request = { slots, features, calls: [report(id, "started", 1, { usage: tokens(input) })] };
    const { usage: counted } = await sync(at, "one", request, { ...SYNC_TERMS, dailyTokens: 100 });
    // On a new day, all tokens of the limit are available.
    expect(counted[0]?.tokensLeft).toBe(input === 5 ? 95 : 98);
  }
  expect((await sums(tenantId)).map(({ day, numbers }) => [day, numbers[0]])).toEqual([
    ["2031-03-09", 5],
    ["2031-03-10", 2],
  ]);
});

test("a limit of a day: shared by all calls of a tenant in both environments, separate for another tenant", async () => {
  const [one, other] = [await world(), await world()];
  const ids = [await one.call(), await one.call(), await other.call()];
  const { caller } = await seedCaller(db, one.tenantId, { environment: "test" });
  ids.push(await seedCall(db, caller, await readyAvatar(db, caller)));
  const left = async (calls: [SessionId, number][]) => {
    const reports = calls.map(([id, input]) => report(id, "started", 1, { usage: tokens(input) }));
    const { usage: counted } = await sync(
      db,
      "one",
      { slots, features, calls: reports },
      { ...SYNC_TERMS, dailyTokens: 100 },
    );
    const of = new Map(counted.map(({ sessionId, tokensLeft }) => [sessionId, tokensLeft]));
    return ids.map((id) => of.get(id));
  };
  expect(await left([])).toEqual([100, 100, 100, 100]);
  expect(await left([[ids[0] as SessionId, 30]])).toEqual([70, 70, 100, 70]);
  expect(await left([[ids[3] as SessionId, 65]])).toEqual([5, 5, 100, 5]);
  expect(await left([[ids[1] as SessionId, 90]])).toEqual([0, 0, 100, 0]);
});

test("a worker without conversations: reports and receives no usage", async () => {
  const { call } = await world();
  await call();
  expect((await sync(db, "one", { slots, features: ["voice"] })).usage).toEqual([]);
});

test("random reports, repeated, late, out of order, lost or of a lost worker: each token counts once", async () => {
  const steps = fc.array(
    fc.record({
      call: fc.nat(3),
      kind: fc.constantFrom("use", "use", "use", "send", "send", "resend", "lose", "move", "end"),
      growth: fc.tuple(fc.nat(50), fc.nat(50), fc.nat(50), fc.nat(9), fc.nat(99)),
      at: fc.nat(99),
    }),
    { minLength: 5, maxLength: 40 },
  );
  await fc.assert(
    fc.asyncProperty(steps, async (history) => {
      const [first, second] = [await world(), await world()];
      const calls = await Promise.all(
        [first, second, first, second].map(async ({ tenantId, call }) => ({
          ...{ tenantId, id: await call(), generation: 1, worker: "one", isEnded: false },
          ...{ used: [0, 0, 0, 0, 0] as Numbers, counted: [0, 0, 0, 0, 0] as Numbers },
          sent: [] as { worker: string; generation: number; numbers: Numbers; state: "started" | "ended" }[],
        })),
      );
      let workers = 1;
      const deliver = (call: (typeof calls)[0], { worker, generation, numbers, state }: (typeof call.sent)[0]) => {
        // In the current generation, each number counts up to the largest one that has arrived.
        if (generation === call.generation)
          call.counted = numbers.map((one, at) => Math.max(one, call.counted[at] ?? 0)) as Numbers;
        const calls = [report(call.id, state, 1, { generation, usage: usage(numbers) })];
        return sync(db, worker, { slots, features, calls });
      };
      for (const { call: at, kind, growth, at: which } of history) {
        const call = calls[at] as (typeof calls)[0];
        const { worker, generation } = call;
        const message = {
          worker,
          generation,
          numbers: [...call.used] as Numbers,
          state: "started" as "started" | "ended",
        };
        switch (kind) {
          case "use":
            call.used = call.used.map((one, field) => one + (growth[field] as number)) as Numbers;
            break;
          case "lose":
            call.sent.push(message);
            break;
          case "send":
            call.sent.push(message);
            await deliver(call, message);
            break;
          case "resend": {
            const earlier = call.sent[which % call.sent.length];
            if (earlier) await deliver(call, earlier);
            break;
          }
          case "end":
            await deliver(call, { ...message, state: "ended" });
            call.isEnded = true;
            break;
          case "move": {
            // A call moves once, and only while it is open.
            if (generation > 1 || call.isEnded) break;
            const next = `next ${++workers}`;
            await client`update fleet.avatar_slots set tenant_id = null, session_id = null where session_id = ${call.id}`;
            await client`update calls set generation = 2 where session_id = ${call.id}`;
            await sync(db, next, { slots: 1, features });
            await client`
              update fleet.avatar_slots set tenant_id = ${call.tenantId}, session_id = ${call.id} where worker_id = ${next}`;
            [call.worker, call.generation] = [next, 2];
            // The next worker gets the counted usage, and continues from there.
            call.used = [...call.counted];
            break;
          }
        }
      }
      for (const { tenantId } of [first, second]) {
        const counted = calls.filter((one) => one.tenantId === tenantId).map((one) => one.counted);
        expect(await totalOf(tenantId)).toEqual(
          FIELDS.map((_, at) => counted.reduce((sum, one) => sum + (one[at] ?? 0), 0)),
        );
      }
    }),
    { numRuns: process.env["LONG"] === "1" ? 500 : 15 },
  );
});

test("many workers that report calls of one tenant at once: the sum of all", async () => {
  const { tenantId, call } = await world();
  const ids = await Promise.all(Array.from({ length: 12 }, call));
  const pools = await Promise.all(
    [1, 2, 3].map(() => fixture(connectTo(database, { connections: 4, deadlineMs: 60_000 }))),
  );
  for (let round = 1; round <= 5; round++) {
    await Promise.all(
      ids.map((id, at) => {
        const calls = [report(id, "started", 1, { usage: tokens(round * (at + 1), round) })];
        return sync(pools[at % 3] as (typeof pools)[0], at % 2 === 0 ? "one" : "two", { slots, features, calls });
      }),
    );
  }
  expect(await totalOf(tenantId)).toEqual([5 * 78, 5 * 12, 0, 0, 0]);
});
