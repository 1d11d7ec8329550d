/** Leases: a report writes to no index, and overdue sessions are still found. */
import { expect, test } from "bun:test";
import type { SessionId } from "@realtime-avatar/domain/id";
import { PRICE, seedCaller, seedSession } from "@realtime-avatar/testing/credits";
import { mutate } from "@realtime-avatar/testing/credits/mutations";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { ofOneDatabase } from "@realtime-avatar/testing/postgres/one-database";
import { operatorOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { reportUsages } from "../../generated/functions.ts";
import { listOverdueTenants } from "./overdue-sessions.ts";
import { sweepSessions } from "./usage-sessions.ts";

const database = await fileDatabase();
const { db } = database;
const { client } = db;
await mutate(db);
const newCaller = async () => (await seedCaller(db, await seedTenant(db, { live: 1000 * PRICE }))).caller;
const caller = await newCaller();

// On Citus the statistics are those of the parts of a table.
ofOneDatabase(
  "reports, in one call and in a batch: write to no index, except one report in a quarter of the lease",
  async () => {
    const ids = [await seedSession(db, caller), await seedSession(db, caller), await seedSession(db, caller)];
    const report = (sessionIds: readonly SessionId[]) =>
      client.begin(async (transaction) => {
        const run = async (text: string, parameters: readonly unknown[]) =>
          [...(await transaction.unsafe(text, parameters as never[]))] as never[];
        // The statistics also count earlier work of the connection until it is flushed.
        const counts = async () => {
          const [row] = await transaction`
          select n_tup_upd::integer as updates, n_tup_hot_upd::integer as hot
          from pg_stat_xact_user_tables where relname = 'usage_sessions'`;
          return { updates: Number(row?.["updates"]), hot: Number(row?.["hot"]) };
        };
        const before = await counts();
        const rows = await reportUsages(
          { run },
          {
            callers: [caller],
            callerAt: sessionIds.map(() => 1),
            changes: sessionIds.map((sessionId) => ({
              ...{ environment: "live", sessionId, isEngine: true, used: PRICE, leaseSeconds: 60 },
              ...{ reason: null, settleEntryId: null, restEntryId: null, requestId: null },
            })),
            claims: null,
            wait: false,
          },
        );
        expect(rows.map(({ kind }) => kind)).toEqual(sessionIds.map(() => "written"));
        const after = await counts();
        return { updates: after.updates - before.updates, hot: after.hot - before.hot };
      });
    // The first report shortens the start lease of 120 s, which moves `sweep_at`.
    await report(ids);
    expect(await report(ids)).toEqual({ updates: 3, hot: 3 });
    expect(await report(ids.slice(0, 1))).toEqual({ updates: 1, hot: 1 });
    // Simulates 50 seconds.
    await client`
    update usage_sessions set expires_at = now() + interval '10 seconds', sweep_at = now() + interval '10 seconds'
    where id = any(${ids})`;
    expect(await report(ids)).toEqual({ updates: 3, hot: 0 });
    expect(await report(ids)).toEqual({ updates: 3, hot: 3 });
  },
);

test("the indexes of sessions: none has a column that a report changes", async () => {
  const changed = ["status", "started_at", "used", "reported_by", "expires_at", "version"];
  const rows = await client`select indexdef from pg_indexes where tablename = 'usage_sessions'`;
  expect(rows.length).toBeGreaterThan(3);
  for (const { indexdef } of rows) expect(changed.filter((column) => indexdef.includes(column))).toEqual([]);
});

/** Whether the sweep is due at the end of the lease, or before it. */
const sweepOf = async (id: SessionId) => {
  const [row] = await client`
    select case when sweep_at = expires_at then 'at its end' when sweep_at < expires_at then 'before' else 'late' end as sweep
    from usage_sessions where id = ${id}`;
  return row?.["sweep"];
};
const setLease = (id: SessionId, seconds: number) => client`
  update usage_sessions set expires_at = now() + make_interval(secs => ${seconds}) where id = ${id}`;

test("a lease that an older writer, which ignores the sweep, shortens or extends: found in time", async () => {
  const id = await seedSession(db, caller);
  expect(await sweepOf(id)).toBe("at its end");
  for (const [lease, sweep] of [
    [1000, "before"],
    [400, "before"],
    [100, "at its end"],
    [800, "before"],
    [10, "at its end"],
    [600, "at its end"],
    [700, "before"],
    [-1, "at its end"],
    [400, "at its end"],
  ] as const) {
    await setLease(id, lease);
    expect([lease, await sweepOf(id)]).toEqual([lease, sweep]);
  }
});

test("a session whose sweep is due and whose lease is extended: neither overdue nor swept", async () => {
  const [extended, overdue] = [await newCaller(), await newCaller()];
  const [first, second] = [await seedSession(db, extended), await seedSession(db, extended)];
  const lost = await seedSession(db, overdue);
  await setLease(lost, -7);
  // Simulates more than a quarter of the lease without a report. The trigger then moves the written value.
  await client.begin(async (transaction) => {
    await transaction`alter table usage_sessions disable trigger usage_sessions_sweep`;
    await transaction`
      update usage_sessions set expires_at = now() + interval '10 minutes', sweep_at = now() - interval '5 seconds'
      where id = any(${[first, second]})`;
    await transaction`alter table usage_sessions enable trigger usage_sessions_sweep`;
  });
  const due = (await listOverdueTenants(db, 10)).map(({ tenantId, overdueSeconds }) => [tenantId, overdueSeconds]);
  expect(due).toEqual([
    [overdue.tenantId, expect.any(Number)],
    [extended.tenantId, 0],
  ]);
  expect(await sweepSessions(db, extended.tenantId, operatorOrigin())).toBe(0);
  // Its sweep is postponed, so no pass visits the session before the end of its lease.
  expect(await listOverdueTenants(db, 10)).toMatchObject([{ tenantId: overdue.tenantId }]);
  expect(await sweepOf(first)).toBe("at its end");
  await setLease(second, -1);
  expect((await listOverdueTenants(db, 10)).map(({ tenantId }) => tenantId)).toEqual([
    overdue.tenantId,
    extended.tenantId,
  ]);
  expect(await sweepSessions(db, null, operatorOrigin())).toBe(2);
  const rows =
    await client`select id from usage_sessions where ended_at is null and id = any(${[first, second, lost]})`;
  expect(rows.map(({ id }) => id)).toEqual([first]);
});
