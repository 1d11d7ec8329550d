/** The sweeper on a real database: fair, bounded, logged when it fails, and stopped between two statements. */
import { describe, expect, test } from "bun:test";
import type { TenantId } from "@realtime-avatar/domain/id";
import { PRICE, seedCaller, seedMovement, seedSession } from "@realtime-avatar/testing/credits";
import { session } from "@realtime-avatar/testing/database";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { untilBlocked } from "@realtime-avatar/testing/postgres/waits";
import { random } from "@realtime-avatar/testing/random-bytes";
import { seedTenant } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { findCreditBalance } from "./credits.ts";
import { findCreditDrift } from "./invariants.ts";
import { type SweeperOptions, startSweeper } from "./sweeper.ts";

const database = await fileDatabase();
const lines: { level: string; message: string; sessions?: number; error?: { code?: string } }[] = [];
const logAs = (level: string) => (fields: object, message: string) => void lines.push({ level, message, ...fields });
const log = { info: logAs("info"), warn: logAs("warn") };

const start = (changes: Partial<SweeperOptions> = {}) =>
  startSweeper({ db: database.db, log, random, intervalMs: 20, ...changes });

/** Opens `count` sessions of a new tenant, all overdue for the given seconds. */
const seedOverdue = async (count: number, seconds: number): Promise<TenantId> => {
  const { db } = database;
  const tenantId = await seedTenant(db);
  await seedMovement(db, tenantId);
  const { caller } = await seedCaller(db, tenantId);
  for (let opened = 0; opened < count; opened++) await seedSession(db, caller, { maxSeconds: 1, minSeconds: 1 });
  await db.client`
    update usage_sessions set expires_at = now() - make_interval(secs => ${seconds}) where tenant_id = ${tenantId}`;
  return tenantId;
};
const openSessions = async (tenantId: TenantId): Promise<number> => {
  const [row] = await database.db.client`
    select count(*)::integer as open from usage_sessions where tenant_id = ${tenantId} and ended_at is null`;
  return row?.["open"];
};

describe("the sweeper", () => {
  test("overdue sessions of several tenants: closed; other sessions stay open", async () => {
    const tenants = [await seedOverdue(3, 200), await seedOverdue(2, 100)];
    const current = await seedTenant(database.db);
    await seedMovement(database.db, current);
    await seedSession(database.db, (await seedCaller(database.db, current)).caller);
    const sweeper = start();
    await until(() => sweeper.stats().swept === 5);
    await sweeper.stop();
    for (const tenantId of tenants) {
      expect(await findCreditBalance(database.db, tenantId, "live")).toMatchObject({
        availableCreditMicros: 100 * PRICE,
        reservedCreditMicros: 0,
      });
      expect(await findCreditDrift(database.db, tenantId, 10)).toEqual([]);
    }
    expect(await openSessions(current)).toBe(1);
    expect(lines.filter(({ message }) => message === "closed overdue sessions").at(0)?.sessions).toBe(5);
  });

  test("a sweep with a locked tenant: sweeps the other tenants, and a stop waits for the statement", async () => {
    const [blocked, other] = [await seedOverdue(1, 200), await seedOverdue(1, 100)];
    const holder = session(database.url);
    await holder.client`begin`;
    await holder.client`select from credit_accounts where tenant_id = ${blocked} for update`;
    const first = start();
    const second = start();
    await untilBlocked(database.db);
    // One sweeper waits for the session of the blocked tenant. The other sweeper skips it.
    await until(async () => (await openSessions(other)) === 0);
    let hasStopped = false;
    const stopping = Promise.all([first.stop(), second.stop()]).then(() => (hasStopped = true));
    await Bun.sleep(20);
    expect(hasStopped).toBe(false);
    await holder.client`commit`;
    await stopping;
    await holder.close();
    expect(await openSessions(blocked)).toBe(0);
  });

  test("a sweep with a failing tenant: sweeps the other tenants", async () => {
    const [bad, good] = [await seedOverdue(1, 200), await seedOverdue(1, 100)];
    const { client } = database.db;
    // A constraint of its counters refuses the change.
    await client`update credit_accounts set reserved = 0 where tenant_id = ${bad}`;
    const sweeper = start();
    await until(async () => (await openSessions(good)) === 0);
    await sweeper.stop();
    expect(await openSessions(bad)).toBe(1);
    expect(lines.some(({ level, error }) => level === "warn" && error?.code === "23514")).toBe(true);
    await client`update credit_accounts set reserved = ${PRICE} where tenant_id = ${bad} and environment = 'live'`;
    const again = start();
    await until(async () => (await openSessions(bad)) === 0);
    await again.stop();
    expect(await findCreditDrift(database.db, bad, 10)).toEqual([]);
  });

  test("a sweep with a failing database: logged and tried again; the lag grows", async () => {
    const { client } = database.db;
    await client`alter table usage_sessions rename to elsewhere`;
    const before = lines.length;
    const sweeper = start();
    await until(() => lines.length > before);
    await Bun.sleep(100);
    expect(lines.slice(before).map(({ level, error }) => [level, error?.code])).toEqual([["warn", "42P01"]]);
    const lag = sweeper.stats().lagSeconds;
    await Bun.sleep(20);
    expect(sweeper.stats().lagSeconds).toBeGreaterThan(lag);
    await client`alter table elsewhere rename to usage_sessions`;
    const tenantId = await seedOverdue(1, 500);
    await until(async () => (await openSessions(tenantId)) === 0);
    await sweeper.stop();
    expect(sweeper.stats().swept).toBe(1);
  });

  test("an overdue session that cannot be closed: its age is shown as lag", async () => {
    const tenantId = await seedOverdue(1, 500);
    const holder = session(database.url);
    await holder.client`begin`;
    await holder.client`select from usage_sessions where tenant_id = ${tenantId} for update`;
    const sweeper = start();
    await until(() => sweeper.stats().lagSeconds >= 500, { pollMs: 5 });
    await holder.client`commit`;
    await until(() => sweeper.stats().lagSeconds < 500);
    await sweeper.stop();
    await holder.close();
  });
});
