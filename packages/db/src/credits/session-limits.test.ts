/** Limits of open sessions: a batch has the same outcomes as its requests one by one. Each counter changes once. */
import { expect, test } from "bun:test";
import { newId, type TenantId } from "@realtime-avatar/domain/id";
import { mutate } from "@realtime-avatar/testing/credits/mutations";
import { CreditWorld, type NewKey, type SessionToOpen } from "@realtime-avatar/testing/credits/world";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { random } from "@realtime-avatar/testing/random-bytes";
import { operatorOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { auditEvent } from "../audit/audit-events.ts";
import { changeSessionLimit } from "./credits.ts";

const database = await fileDatabase();
await mutate(database.db);

/** A line of keys, each the child of the one before, and credits for all of their sessions. */
const worldOf = async (...keys: Partial<NewKey>[]): Promise<CreditWorld> => {
  const line = keys.map((key, at) => ({
    ...{ parent: at === 0 ? null : at - 1, environment: "live" as const, cap: null, isMetered: true },
    ...key,
  }));
  const world = await CreditWorld.create(database.db, line);
  const grant = { environment: "live", amount: 1_000_000, sessionId: null, reference: null } as const;
  await world.move("grant", grant);
  return world;
};
const toOpen = (key: number): SessionToOpen => ({
  ...{ key, isOld: false, avatar: null, maxSeconds: 10, minSeconds: 10, price: 1, claim: null },
});
const kindsOf = async (world: CreditWorld, keys: readonly number[]): Promise<string[]> => {
  const outcomes = await world.open(keys.map(toOpen));
  for (const { stored, expected } of outcomes) expect(stored).toEqual(expected);
  const counters = await world.counters();
  expect(counters.stored).toEqual(counters.expected);
  return outcomes.map(({ stored }) => ("limitedBy" in stored ? `${stored.kind} ${stored.limitedBy}` : stored.kind));
};

test("a batch above the limits of the key, an ancestor and the tenant: as many sessions as each limit allows", async () => {
  const world = await worldOf({ maxSessions: 3 }, { maxSessions: 2 }, {}, { environment: "test" });
  expect(await kindsOf(world, [1, 2, 1, 0, 0])).toEqual([
    ...["written", "written", "concurrency_limit_reached self", "written", "concurrency_limit_reached self"],
  ]);
  expect(await kindsOf(world, [2])).toEqual(["concurrency_limit_reached ancestor"]);

  const other = await worldOf({}, {});
  await other.setMaxSessions(null, 2);
  expect(await kindsOf(other, [0, 1, 0])).toEqual(["written", "written", "concurrency_limit_reached tenant"]);
  expect(await kindsOf(other, [1])).toEqual(["concurrency_limit_reached tenant"]);
});

test("a session that ends, by a release, by the sweep or without a start: frees its place", async () => {
  const world = await worldOf({ maxSessions: 1 });
  for (const end of [
    () => world.release(world.session(0), true, 1, 0),
    () => world.release(world.session(1), false, null, 0),
    () => world.expire(world.session(2)).then(() => world.sweep()),
  ]) {
    expect(await kindsOf(world, [0])).toEqual(["written"]);
    expect(await kindsOf(world, [0])).toEqual(["concurrency_limit_reached self"]);
    await end();
    const counters = await world.counters();
    expect(counters.stored).toEqual(counters.expected);
  }
});

test("a started session, released by its key: keeps its place until its end", async () => {
  const world = await worldOf({ maxSessions: 1 });
  await kindsOf(world, [0]);
  await world.report(world.session(0), 1, 0);
  const marked = await world.release(world.session(0), false, null, 0);
  expect(marked.stored).toEqual(marked.expected);
  expect(await kindsOf(world, [0])).toEqual(["concurrency_limit_reached self"]);
  await world.expire(world.session(0));
  // The lease has ended, so this release ends the session and charges the reported usage.
  const ended = await world.release(world.session(0), false, null, 0);
  expect(ended.stored).toEqual(ended.expected);
  expect(await kindsOf(world, [0])).toEqual(["written"]);
});

test("a limit that is lowered below the number of open sessions: no session ends, and no session opens", async () => {
  const world = await worldOf({});
  await kindsOf(world, [0, 0, 0]);
  await world.setMaxSessions(0, 1);
  expect(await kindsOf(world, [0])).toEqual(["concurrency_limit_reached self"]);
  await world.setMaxSessions(0, 4);
  expect(await kindsOf(world, [0, 0])).toEqual(["written", "concurrency_limit_reached self"]);
});

test("the limit of a tenant, changed by the operator: stored, with its audit event; of an unknown tenant: not written", async () => {
  const { db } = database;
  const tenantId = await seedTenant(db);
  const origin = operatorOrigin();
  const change = async (id: TenantId) => {
    const event = auditEvent("credits.limit_changed", { tenantId: id, id, environment: "live" }, origin, []);
    return changeSessionLimit(db, { tenantId: id, environment: "live", sessionLimit: 3 }, event);
  };
  expect(await change(tenantId)).toBe(true);
  expect(await change(newId("ten", origin.now, random))).toBe(false);
  const [account] = await db.run<{ limit: number }>(
    `select max_concurrent_sessions::integer as "limit" from credit_accounts where tenant_id = $1 and environment = 'live'`,
    [tenantId],
  );
  expect(account?.limit).toBe(3);
  expect(await db.run("select 1 from audit_events where action = 'credits.limit_changed'", [])).toHaveLength(1);
});
