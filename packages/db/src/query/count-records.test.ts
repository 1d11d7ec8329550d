/** The totals of lists that only grow: sessions, credit entries, audit events and deliveries. */
import { beforeAll, expect, test } from "bun:test";
import type { TenantId } from "@realtime-avatar/domain/id";
import { MAX_COUNTED, parseItems, type Total, type WrittenPage } from "@realtime-avatar/domain/page";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { rowId } from "@realtime-avatar/testing/postgres/plans";
import { countingRows } from "@realtime-avatar/testing/postgres/rows-read";
import { seedTenant } from "@realtime-avatar/testing/seeds";
import { countAuditEvents, listAuditEvents } from "../audit/audit-events.ts";
import type { Db } from "../connection/pool.ts";
import { countCreditEntries, listCreditEntries } from "../credits/credits.ts";
import { countUsageSessions, listUsageSessions } from "../credits/list-usage-sessions.ts";
import { countDeliveries, listDeliveries } from "../webhooks/deliveries.ts";

const { db } = await fileDatabase();
const [small, large] = [await seedTenant(db), await seedTenant(db)];
/** More rows than the maximum of a count. */
const ROWS = MAX_COUNTED + 100;
const KEY = "key_01h455vb4p0000000000000001";

/**
 * Inserts rows of each list. Mixed: a third of them in `test`, with values of which each filter selects a part.
 * Otherwise: all are equal.
 */
const insertRows = (tenantId: TenantId, rows: number, isMixed: boolean) => {
  const either = (condition: string, one: string, other: string) =>
    isMixed ? `case when ${condition} then '${one}' else '${other}' end` : `'${other}'`;
  const environment = either("i % 3 = 0", "test", "live");
  const from = `from generate_series(1, ${rows}) i`;
  const key = either("i % 4 = 0", "key_other", KEY);
  return db.client.unsafe(`
    insert into usage_sessions (
      tenant_id, id, environment, api_key_id, avatar_id, lineage, status, reserved, price, metadata, created_at, expires_at, ended_at
    )
    select '${tenantId}', ${rowId("ses")}, ${environment}, ${key}, ${either("i % 2 = 0", "ava_1", "ava_2")}, '{}',
      ${either("i % 5 = 0", "failed", "released")}, 0, 1, jsonb_build_object('user_id', ${either("i % 7 = 0", "b", "a")}),
      now(), now(), now() ${from};
    insert into credit_entries (tenant_id, id, environment, kind, amount, session_id, api_key_id, request_id, created_at)
    select '${tenantId}', ${rowId("ent")}, ${environment}, ${either("i % 5 = 0", "settle", "hold")}, 1,
      ${either("i % 2 = 0", "ses_1", "ses_2")}, ${key}, 'r', now() ${from};
    insert into audit_events (tenant_id, id, environment, actor_id, actor_key_id, action, target_id, request_id, created_at)
    select '${tenantId}', ${rowId("aud")}, ${environment}, ${key}, ${either("i % 7 = 0", "b", "a")},
      ${either("i % 5 = 0", "api_key.updated", "avatar.created")}, ${either("i % 5 = 0", KEY, "ava_1")}, 'r', now() ${from};
    insert into webhook_deliveries (
      tenant_id, id, environment, endpoint_id, event_id, event_type, target_id, sequence, status, next_attempt_at, created_at
    )
    select '${tenantId}', ${rowId("whd")}, ${environment}, ${either("i % 4 = 0", "whe_1", "whe_2")}, ${rowId("evt")},
      ${either("i % 2 = 0", "avatar.created", "avatar.updated")}, ${either("i % 7 = 0", "ava_1", "ava_2")}, 1,
      ${either("i % 5 = 0", "failed", "delivered")}, null, now() ${from};
    analyze usage_sessions, credit_entries, audit_events, webhook_deliveries`);
};
beforeAll(async () => {
  await insertRows(small, 120, true);
  await insertRows(large, ROWS, false);
});

type Environment = "live" | "test";
type Of = { tenantId: TenantId; environment: Environment };
type List = {
  /** Filters, each with a value that some of the rows have. */
  values: Record<string, string>;
  list: (db: Db, of: Of, page: never) => Promise<WrittenPage>;
  count: (db: Db, of: Of, filters: never) => Promise<Total>;
};
/** Rows have ids of this time. */
const window = { from: "2023-01-01T00:00:00.000Z", to: "2024-01-01T00:00:00.000Z" };
const LISTS: Record<string, List> = {
  "usage sessions": {
    values: { status: "failed", apiKeyId: KEY, avatarId: "ava_1", endUserId: "a" },
    list: listUsageSessions,
    count: countUsageSessions,
  },
  "credit entries": {
    values: { kind: "settle", apiKeyId: KEY, sessionId: "ses_1" },
    list: listCreditEntries,
    count: countCreditEntries,
  },
  "credit entries of a key": {
    values: { kind: "settle" },
    list: (owned, of, page) => listCreditEntries(owned, { ...of, ofLineage: KEY }, page),
    count: (owned, of, filters) => countCreditEntries(owned, { ...of, ofLineage: KEY }, filters),
  },
  "audit events": {
    values: { action: "api_key.updated", targetId: KEY, actorId: KEY, actorKeyId: "a" },
    list: listAuditEvents,
    count: countAuditEvents,
  },
  deliveries: {
    values: { endpointId: "whe_1", status: "failed", eventType: "avatar.created", targetId: "ava_1" },
    list: listDeliveries,
    count: countDeliveries,
  },
};
const windowOf = (name: string) => (name === "usage sessions" ? window : {});

/** All subsets of these filters. */
const choicesOf = (values: Record<string, string>): Record<string, string>[] =>
  Object.entries(values).reduce<Record<string, string>[]>(
    (choices, [name, value]) => choices.flatMap((choice) => [choice, { ...choice, [name]: value }]),
    [{}],
  );

test.each(Object.keys(LISTS))(
  "%s, counted with each choice of filters: equals the number of items on all pages",
  async (name) => {
    const { values, list, count } = LISTS[name] as List;
    const counts = new Set<number>();
    for (const environment of ["live", "test"] as const) {
      for (const choice of choicesOf(values)) {
        const filters = { ...windowOf(name), ...choice };
        const of = { tenantId: small, environment };
        let items = 0;
        for (let before: string | null = null; ; ) {
          const page = await list(db, of, { filters, before, limit: 50 } as never);
          items += parseItems(page).length;
          if (page.next === null) break;
          before = page.next;
        }
        expect([filters, await count(db, of, filters as never)]).toEqual([filters, { count: items, isExact: true }]);
        counts.add(items);
      }
    }
    if (name !== "credit entries of a key") expect(counts.size).toBeGreaterThan(3);
  },
);

test.each(Object.keys(LISTS).filter((name) => name !== "credit entries of a key"))(
  "%s, more than the maximum: the maximum, in one statement that reads a bounded number of rows",
  async (name) => {
    const { count } = LISTS[name] as List;
    const reads: number[] = [];
    const of = { tenantId: large, environment: "live" as const };
    expect(await count(countingRows(db, reads), of, windowOf(name) as never)).toEqual({
      count: MAX_COUNTED,
      isExact: false,
    });
    expect([reads.length, Math.max(...reads) <= 2 * MAX_COUNTED + 2]).toEqual([1, true]);
  },
);
