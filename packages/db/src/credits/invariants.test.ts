/**
 * The findings of `find_credit_drift`: no finding after a history of every movement, and one for each counter that a
 * test changes.
 */
import { describe, expect, test } from "bun:test";
import type { TenantId } from "@realtime-avatar/domain/id";
import { readyAvatar, report, seedCall, sync } from "@realtime-avatar/testing/calls/calls";
import { PRICE, seedCaller, seedMovement, seedSession } from "@realtime-avatar/testing/credits";
import { IS_ONE_DATABASE } from "@realtime-avatar/testing/database";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { operatorOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { findCreditDrift, listKeysAboveCap, listTenantIds } from "./invariants.ts";
import { closeOverdueSessions, listOverdueTenants } from "./overdue-sessions.ts";
import { releaseSession, reportUsage } from "./usage-sessions.ts";

const database = await fileDatabase();
const { db } = database;

/** Each kind of movement, in both environments, by keys of three generations. */
const history = async (tenant: TenantId) => {
  const root = await seedCaller(db, tenant, { spendLimitCreditMicros: 90 * PRICE });
  const child = await seedCaller(db, tenant, {}, root.record);
  const inTest = await seedCaller(db, tenant, { environment: "test" }, child.record);
  await seedMovement(db, tenant, { reference: "first" });
  await seedMovement(db, tenant, { kind: "void", amount: 7 * PRICE });
  const released = await seedSession(db, child.caller);
  await reportUsage(db, released, { used: 3 * PRICE, leaseSeconds: 60 }, root.caller);
  const engine = { isEngine: true, used: 4 * PRICE, reason: null };
  await releaseSession(db, released, engine, child.caller, operatorOrigin());
  await seedMovement(db, tenant, { kind: "adjust", amount: PRICE, sessionId: released });
  const overdue = [await seedSession(db, child.caller), await seedSession(db, inTest.caller)];
  await db.client`update usage_sessions set expires_at = now() - interval '90 seconds' where id = any(${overdue}::text[])`;
  await closeOverdueSessions(db, tenant, 10, operatorOrigin());
  await seedSession(db, inTest.caller);
  const left = await seedSession(db, root.caller);
  const avatarId = await readyAvatar(db, inTest.caller);
  await sync(db, "worker", { slots: 9 });
  const ended = await seedCall(db, inTest.caller, avatarId, { price: PRICE, maxSeconds: 1, minSeconds: 1 });
  await sync(db, "worker", { slots: 9, calls: [report(ended, "ended", 1, { reason: "idle" })] });
  const called = await seedCall(db, inTest.caller, avatarId, { price: PRICE, maxSeconds: 1, minSeconds: 1 });
  return { rootId: root.record.id, childId: child.record.id, charged: released, open: left, ended, called };
};

// Another tenant with a history, whose rows must not affect the first one.
await history(await seedTenant(db));
const tenantId = await seedTenant(db);
/** `charged` is a charged session, `open` an open one. */
const { rootId, childId, charged, open, ended, called } = await history(tenantId);

/** Drops the constraints that refuse wrong numbers, so that a test can write them. */
const CHECKS = [
  "alter table credit_accounts drop constraint credit_accounts_available_check",
  "alter table credit_accounts drop constraint credit_accounts_counters_check",
  "alter table usage_sessions drop constraint usage_sessions_used_check",
];
// A node refuses to drop constraints. So the coordinator drops them before the tests.
if (!IS_ONE_DATABASE) for (const text of CHECKS) await database.db.client.unsafe(text);

/**
 * The findings while `change` is in place. The change is rolled back, including its effect on the append-only trigger.
 */
const findingsAfter = async (change: string): Promise<string[]> => {
  const { client } = database.db;
  return client
    .begin(async (transaction) => {
      await transaction.unsafe("alter table credit_entries disable trigger user");
      for (const text of [...(IS_ONE_DATABASE ? CHECKS : []), ...change.split(";")]) await transaction.unsafe(text);
      const run = (text: string, parameters: readonly unknown[]) => transaction.unsafe(text, parameters as never[]);
      const drift = await findCreditDrift({ run, within: () => ({ run }) } as never, tenantId, 100);
      throw Object.assign(new Error("undo"), { drift });
    })
    .catch((error: { drift?: Awaited<ReturnType<typeof findCreditDrift>> }) => {
      if (!error.drift) throw error;
      return error.drift
        .map(({ invariant, subject, counter, expected, actual }) =>
          [invariant, subject, counter, expected, actual].join(" "),
        )
        .sort();
    });
};

describe("the drift of credits", () => {
  test("no drift, after every kind of movement: no finding", async () => {
    expect(await findingsAfter("select 1")).toEqual([]);
    for (const id of await listTenantIds(database.db, null, 10)) {
      expect(await findCreditDrift(database.db, id, 10)).toEqual([]);
    }
  });

  test.each(["granted", "forfeited", "settled", "reserved"])("drift of %s of the account: found", async (counter) => {
    const findings = await findingsAfter(
      `update credit_accounts set ${counter} = ${counter} + 1 where tenant_id = '${tenantId}' and environment = 'live'`,
    );
    expect(findings.filter((line) => line.startsWith(`account_replay live ${counter}`))).toHaveLength(1);
    expect(findings).toHaveLength(counter === "reserved" ? 2 : 1);
  });

  test("drift of an account below 0: found", async () => {
    const findings = await findingsAfter(
      `update credit_accounts set forfeited = granted + 1 where tenant_id = '${tenantId}' and environment = 'live'`,
    );
    expect(findings.map((line) => line.split(" ")[0])).toEqual(["account_available", "account_replay"]);
  });

  test("drift of the meters of a key and an ancestor: found", async () => {
    expect(await findingsAfter(`update api_key_meters set settled = 5 where api_key_id = '${childId}'`)).toEqual([
      `meter_replay ${childId} settled ${3 * PRICE} 5`,
    ]);
    expect(await findingsAfter(`update api_key_meters set reserved = 0 where api_key_id = '${rootId}'`)).toEqual([
      `meter_replay ${rootId} reserved ${10 * PRICE} 0`,
      `meter_sessions ${rootId} reserved ${10 * PRICE} 0`,
    ]);
    expect(await findingsAfter(`delete from api_key_meters where api_key_id = '${childId}'`)).toEqual([
      `meter_replay ${childId} settled ${3 * PRICE} 0`,
    ]);
  });

  test("drift of the slot and the room of a call: found", async () => {
    const freed = "update fleet.avatar_slots set tenant_id = null, session_id = null";
    expect(await findingsAfter(`${freed} where session_id = '${called}'`)).toEqual([`call_slot ${called} slots 1 0`]);
    const kept = `update fleet.avatar_slots set tenant_id = '${tenantId}', session_id = '${ended}' where n = 9`;
    expect(await findingsAfter(kept)).toEqual([`call_slot ${ended} slots 0 1`]);
    expect(await findingsAfter(`update calls set room = 'exists' where session_id = '${ended}'`)).toEqual([
      `call_room ${ended} room delete or gone exists`,
    ]);
    expect(await findingsAfter(`update calls set room = 'gone' where session_id = '${called}'`)).toEqual([
      `call_room ${called} room create, exists or foreign gone`,
    ]);
  });

  test("drift of a count of open sessions, or of a wrongly counted session: found", async () => {
    const one = (table: string, where: string) =>
      `update ${table} set open_sessions = open_sessions + 1 where ${where}`;
    const account = `tenant_id = '${tenantId}' and environment = 'live'`;
    expect(await findingsAfter(one("credit_accounts", account))).toEqual(["account_sessions live openSessions 1 2"]);
    expect(await findingsAfter(one("api_key_meters", `api_key_id = '${childId}'`))).toEqual([
      `meter_sessions ${childId} openSessions 0 1`,
    ]);
    const counted = `alter table usage_sessions disable trigger usage_sessions_count;
      update usage_sessions set is_counted = true where id = '${charged}'`;
    expect(await findingsAfter(counted)).toEqual([`session_count ${charged} openSessions 0 1`]);
  });

  test("drift of the closer of a session, which differs from its entries or is not a key of the tenant: found", async () => {
    const closed = await findingsAfter(`update usage_sessions set closed_by = '${rootId}' where id = '${charged}'`);
    expect(closed).toEqual(Array(2).fill(`session_closer ${charged} closedBy ${rootId} ${childId}`));
    const reported = await findingsAfter(
      `update credit_entries set reported_by = null where session_id = '${charged}'`,
    );
    expect(reported).toEqual(Array(2).fill(`session_closer ${charged} reportedBy ${rootId} `));
    const stranger = await findingsAfter(`update usage_sessions set reported_by = 'key_x' where id = '${open}'`);
    expect(stranger).toEqual([`session_closer ${open} reportedBy a key of the tenant key_x`]);
  });

  test.each(["grant", "void", "adjust"])("drift of a %s without its audit event: found", async (kind) => {
    const findings = await findingsAfter(`alter table audit_events disable trigger user;
      delete from audit_events where tenant_id = '${tenantId}' and target_id in (
        select id from credit_entries where tenant_id = '${tenantId}' and kind = '${kind}'
      )`);
    expect(findings).toHaveLength(1);
    expect(findings[0]).toMatch(new RegExp(`^entry_audit ent_[a-z0-9]+ ${kind} an audit event none$`));
  });

  test("drift of a session that is settled twice or never: found", async () => {
    const copy = (kind: string, id: string) => `insert into credit_entries
      select tenant_id, 'ent_01h455vb4pex5vsknk084sn02q', environment, kind, amount, session_id, api_key_id, null, request_id, created_at
      from credit_entries where session_id = '${id}' and kind = '${kind}'`;
    const twice = await findingsAfter(copy("settle", charged));
    expect(twice).toContain(`session_entries ${charged} settles 1 2`);
    expect(twice).toContain(`session_entries ${charged} settled ${4 * PRICE} ${8 * PRICE}`);
    expect(await findingsAfter(copy("release", charged))).toContain(`session_entries ${charged} rests 1 2`);
    expect(await findingsAfter(copy("hold", open))).toContain(
      `session_entries ${open} held ${10 * PRICE} ${20 * PRICE}`,
    );
    const never = await findingsAfter(
      `delete from credit_entries where session_id = '${charged}' and kind in ('settle', 'release')`,
    );
    expect(never).toContain(`session_entries ${charged} settles 1 0`);
    expect(never).toContain(`session_entries ${charged} rests 1 0`);
    expect(await findingsAfter(copy("adjust", charged))).not.toEqual([]);
  });

  test("drift of a session that is closed without entries, open with closing entries, or overused: found", async () => {
    const closed = await findingsAfter(
      `update usage_sessions set status = 'failed', ended_at = now() where id = '${open}'`,
    );
    expect(closed).toContain(`session_entries ${open} settles 1 0`);
    expect(closed).toContain(`account_sessions live reserved 0 ${10 * PRICE}`);
    const reopened = await findingsAfter(
      `update usage_sessions set status = 'started', ended_at = null where id = '${charged}'`,
    );
    expect(reopened).toContain(`session_entries ${charged} settles 0 1`);
    expect(await findingsAfter(`update usage_sessions set used = reserved + 1 where id = '${open}'`)).toEqual([
      `session_entries ${open} used ${10 * PRICE} ${10 * PRICE + 1}`,
    ]);
    expect(await findingsAfter(`delete from usage_sessions where id = '${charged}'`)).toContain(
      `session_entries ${charged} holds 0 1`,
    );
  });

  test("drift of the keys to which a session is charged: found", async () => {
    expect(await findingsAfter(`update usage_sessions set lineage = '{${childId}}' where id = '${charged}'`)).toEqual([
      `session_lineage ${charged} lineage ${rootId},${childId} ${childId}`,
    ]);
  });
});

test("a busy tenant, checked 60 times: no drift", async () => {
  const { db } = database;
  const busy = await seedTenant(db);
  await seedMovement(db, busy, { amount: 1000 * PRICE });
  const root = await seedCaller(db, busy, { spendLimitCreditMicros: 200 * PRICE });
  const callers = [root, await seedCaller(db, busy, {}, root.record), await seedCaller(db, busy)];
  let isOver = false;
  const use = async ({ caller }: (typeof callers)[number], turn: number): Promise<void> => {
    for (let round = turn; !isOver; round++) {
      const id = await seedSession(db, caller);
      if (round % 3 === 0) {
        await db.client`update usage_sessions set expires_at = now() - interval '1 second' where id = ${id}`;
        await closeOverdueSessions(db, busy, 10, operatorOrigin());
      } else {
        await reportUsage(db, id, { used: round % 7, leaseSeconds: 60 }, caller);
        await releaseSession(db, id, { isEngine: true, used: null, reason: null }, caller, operatorOrigin());
        await seedMovement(db, busy, { kind: "adjust", amount: round % 7, sessionId: id });
      }
    }
  };
  const users = Promise.all(callers.flatMap((caller, turn) => [use(caller, turn), use(caller, turn + 1)]));
  for (let count = 0; count < 60; count++) expect(await findCreditDrift(db, busy, 10)).toEqual([]);
  isOver = true;
  await users;
  expect(await findCreditDrift(db, busy, 10)).toEqual([]);
});

test("a key whose cap is lowered below its charge: listed above its cap", async () => {
  expect(await listKeysAboveCap(database.db, tenantId)).toEqual([]);
  await database.db.client`update api_keys set spend_limit_credit_micros = 1 where id = ${childId}`;
  expect(await listKeysAboveCap(database.db, tenantId)).toEqual([
    { apiKeyId: childId, spendLimit: "1", charged: String(3 * PRICE) },
  ]);
  await database.db.client`update api_keys set spend_limit_credit_micros = null where id = ${childId}`;
});

test("overdue sessions, of a busy and a quiet tenant: found for each, closed up to a limit", async () => {
  const { db } = database;
  expect(await listOverdueTenants(db, 10)).toEqual([]);
  const busy = await seedTenant(db);
  await seedMovement(db, busy);
  const { caller } = await seedCaller(db, busy);
  for (let count = 0; count < 5; count++) await seedSession(db, caller, { maxSeconds: 1, minSeconds: 1 });
  await db.client`update usage_sessions set expires_at = now() - interval '100 seconds' where tenant_id = ${busy}`;
  await db.client`update usage_sessions set expires_at = now() - interval '50 seconds' where id = ${open}`;
  const overdue = await listOverdueTenants(db, 10);
  expect(overdue.map((one) => one.tenantId)).toEqual([busy, tenantId]);
  expect(overdue[0]?.overdueSeconds).toBeGreaterThanOrEqual(100);
  expect(await listOverdueTenants(db, 1)).toHaveLength(1);
  expect(await closeOverdueSessions(db, busy, 3, operatorOrigin())).toMatchObject({ closed: 3 });
  expect(await closeOverdueSessions(db, busy, 3, operatorOrigin())).toMatchObject({ closed: 2 });
  expect((await listOverdueTenants(db, 10)).map((one) => one.tenantId)).toEqual([tenantId]);
  expect(await closeOverdueSessions(db, tenantId, 3, operatorOrigin())).toMatchObject({ closed: 1 });
  expect(await listOverdueTenants(db, 10)).toEqual([]);
  for (const id of [busy, tenantId]) expect(await findCreditDrift(db, id, 10)).toEqual([]);
});
