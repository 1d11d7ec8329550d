/** How the server executes the functions of credits: by indexes, in tables of many rows, with plans for any values. */
import { expect, test } from "bun:test";
import { type ApiKeyId, newId, type SessionId } from "@realtime-avatar/domain/id";
import { CreditWorld, type SessionToOpen } from "@realtime-avatar/testing/credits/world";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { ofOneDatabase } from "@realtime-avatar/testing/postgres/one-database";
import {
  expectIndexed,
  explainedSession,
  insertEndpointRows,
  insertKeyRows,
  insertRecordingRows,
  plansWithoutStatistics,
  rowId,
} from "@realtime-avatar/testing/postgres/plans";
import { random } from "@realtime-avatar/testing/random-bytes";
import { releaseSessions, reportUsages } from "../../generated/functions.ts";
import { findCreditBalance, listCreditEntries } from "./credits.ts";
import { countOpenSessions } from "./list-usage-sessions.ts";

const ROWS = 3000;

const database = await fileDatabase();
const { db, plans, explain } = await explainedSession(database.url);
const key = { environment: "live", cap: 1_000_000, isMetered: true } as const;
const world = await CreditWorld.create({ ...database.db, ...db }, [
  { ...key, parent: null },
  { ...key, parent: 0 },
  { ...key, parent: 1 },
]);
const { tenantId } = world;
await world.move("grant", { environment: "live", amount: 1_000_000, sessionId: null, reference: null });
await database.db.client.unsafe(`
  ${insertKeyRows(tenantId, ROWS)}
  insert into api_key_meters select '${tenantId}', ${rowId("key")}, 0, 0 from generate_series(1, ${ROWS}) i;
  insert into credit_accounts (tenant_id, environment, granted, updated_at) select ${rowId("ten")}, 'live', 0, now()
    from generate_series(1, ${ROWS}) i;
  insert into usage_sessions (tenant_id, id, environment, api_key_id, lineage, status, reserved, price, metadata, created_at, expires_at,
      is_counted)
    select '${tenantId}', ${rowId("ses")}, 'live', ${rowId("key")}, array[${rowId("key")}], 'reserved', 1, 1, '{}', now(),
      now() + interval '1 hour', true from generate_series(1, ${ROWS}) i;
  insert into calls (tenant_id, session_id, room_name, room, mode, input, max_seconds)
    select '${tenantId}', ${rowId("ses")}, 'r', 'gone', 'voice', '{}', 1 from generate_series(1, ${ROWS}) i;
  insert into call_agents select '${tenantId}', ${rowId("ses")}, now(), 'wss://x', 'x', sha256(i::text::bytea), 'x'
    from generate_series(1, ${ROWS}) i;
  insert into call_transcripts (tenant_id, session_id, receiver, due_at, attempt_count)
    select '${tenantId}', ${rowId("ses")}, 'x', now() + interval '1 hour', i % 2 from generate_series(1, ${ROWS}) i;
  ${insertRecordingRows(tenantId, ROWS)}
  insert into call_segments select '${tenantId}', ${rowId("ses")}, 1, n, 'x' from generate_series(1, ${ROWS}) i, generate_series(0, 3) n;
  insert into credit_entries (tenant_id, id, environment, kind, amount, session_id, api_key_id, request_id, created_at)
    select '${tenantId}', ${rowId("ent")}, 'live', 'hold', 1, ${rowId("ses")}, ${rowId("key")}, 'r', now() from generate_series(1, ${ROWS}) i;
  insert into idempotency_claims (tenant_id, caller_id, request, idempotency_key, attempt_id, body_hash, status, etag, response_body, created_at)
    select '${tenantId}', '${world.records[0]?.id}', 'POST /api/v1/usage/sessions', i::text, ${rowId("ent")}, sha256('x'), 201, '1', 'x', now()
    from generate_series(1, ${ROWS}) i;
  insert into avatars (tenant_id, id, environment, display_name, source_kind, model_id, status, cache_version, settings, metadata,
    version, created_at, updated_at)
    select '${tenantId}', ${rowId("ava")}, 'live', 'n', 'image', 'm', 'ready', 0, '{}', '{}', 1, now(), now()
    from generate_series(1, ${ROWS}) i;
  ${insertEndpointRows(ROWS)}
  analyze`);
await explain();

const toOpen = (changes: Partial<SessionToOpen> = {}): SessionToOpen => ({
  ...{ key: 2, isOld: false, avatar: "ready", maxSeconds: 6, minSeconds: 6, price: 1, claim: null },
  ...changes,
});
const open = (count: number, isClaimed: boolean) =>
  world.open(Array.from({ length: count }, (_, at) => toOpen({ key: at, claim: isClaimed ? `new ${at}` : null })));
const opened = async () => {
  await world.open([toOpen()]);
  return world.sessions.at(-1) ?? newId("ses", new Date(), random);
};

/** A report or a release of eight sessions in one call. */
const change = async (work: typeof reportUsages) => {
  const ids: SessionId[] = [];
  for (let at = 0; at < 8; at++) ids.push(await opened());
  plans.length = 0;
  const rows = await work(db, {
    callers: [world.caller(0)],
    callerAt: ids.map(() => 1),
    changes: ids.map((sessionId) => ({
      ...{ environment: "live", sessionId, isEngine: true, used: 1, leaseSeconds: 60, reason: null, requestId: "r" },
      ...{ settleEntryId: newId("ent", new Date(), random), restEntryId: newId("ent", new Date(), random) },
    })),
    claims: null,
    wait: false,
  });
  expect(rows.map(({ kind }) => kind)).toEqual(ids.map(() => "written"));
};

test.each([
  ["opening a session", () => open(1, false)],
  ["opening a batch of sessions", () => open(8, false)],
  ["opening a batch of sessions with claims", () => open(8, true)],
  ["replaying a batch", () => open(8, true)],
  ["a report", async () => world.report(await opened(), 1, 0)],
  ["a release", async () => world.release(await opened(), true, 1, 0)],
  ["a batch of reports", () => change(reportUsages)],
  ["a batch of releases", () => change(releaseSessions)],
  [
    "a sweep of one tenant",
    async () => {
      await world.expire(await opened());
      await world.sweep();
    },
  ],
  [
    "a refund",
    async () => {
      const sessionId = await opened();
      await world.release(sessionId, true, 3, 0);
      await world.move("adjust", { environment: "live", amount: 1, sessionId, reference: "a" });
    },
  ],
])("the function for %s, explained: reads no whole table", async (_, work: () => Promise<unknown>) => {
  plans.length = 0;
  await work();
  expect(plans.length).toBeGreaterThan(3);
  expectIndexed(plans);
});

ofOneDatabase.each([0, 1, 5])(
  "opening with claims, explained with %d claims in the table: reads each by its whole key",
  async (rows) => {
    // In a table with few rows, the server prefers another index, and keeps that plan while the table grows.
    await database.db.client.unsafe(`
    delete from idempotency_keys where ctid not in (select ctid from idempotency_keys limit ${rows})`);
    await database.db.client.unsafe("vacuum full analyze idempotency_keys");
    // The setting of the service's connections.
    await db.client.unsafe("set enable_seqscan = off");
    plans.length = 0;
    await world.open(Array.from({ length: 8 }, (_, at) => toOpen({ key: at, claim: `${rows} rows ${at}` })));
    await db.client.unsafe("reset enable_seqscan");
    expect(plans.join("\n")).toContain("idempotency_key = ");
    expectIndexed(plans);
  },
);

ofOneDatabase("a batch of balances, explained: reads by the whole primary key", async () => {
  plans.length = 0;
  const environments = ["live", "test", "live"] as const;
  await Promise.all(environments.map((environment) => findCreditBalance(db, world.tenantId, environment)));
  expect(plans.length).toBeGreaterThan(0);
  for (const plan of plans) {
    expect(plan).toMatch(
      /using credit_accounts_tenant_id_environment_pk .*\n +Index Cond: .*tenant_id.* AND .*environment/,
    );
    expect(plan).not.toContain("Seq Scan");
  }
});

test.each([{}, { kind: "hold" }, { apiKeyId: "key" }] as const)(
  "a page of the entries of a lineage, filtered by %p: read by indexes, and each key by its primary key",
  async (filters) => {
    plans.length = 0;
    const { id: ofLineage } = world.records[1] as { id: ApiKeyId };
    const own = "apiKeyId" in filters ? { apiKeyId: ofLineage } : filters;
    const owner = { tenantId: world.tenantId, environment: "live", ofLineage } as const;
    await listCreditEntries(db, owner, { filters: own, before: null, limit: 100 });
    expect(plans.filter((plan) => plan.includes("Seq Scan"))).toEqual([]);
    expect(plans.join("\n")).toMatch(/using api_keys_\w*pk\w* .*\n +Index Cond: .*tenant_id.* AND .*id/);
  },
);

test("the count of open sessions of a key: reads only those of its tenant", async () => {
  plans.length = 0;
  await countOpenSessions(db, { tenantId: world.tenantId, environment: "live", id: world.caller(0).id });
  expect(plans.join("\n")).toMatch(/using usage_sessions_tenant_sweep_index .*\n +Index Cond: .*tenant_id/);
});

test.each([
  ["a report", async () => world.report(await opened(), 1, 0)],
  ["a release", async () => world.release(await opened(), true, 1, 0)],
  ["a batch of reports", () => change(reportUsages)],
  ["a batch of releases", () => change(releaseSessions)],
] as [string, () => Promise<unknown>][])(
  "the function for %s, explained without statistics: does not read all open sessions of the tenant",
  async (_, work) => {
    const all = await plansWithoutStatistics({ db, plans }, "usage_sessions", work);
    expectIndexed(plans);
    expect(all).toContain("usage_sessions_tenant_id_id_pk");
    expect(all).not.toContain("usage_sessions_tenant_sweep_index");
  },
);
