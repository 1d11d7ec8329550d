/** Overdue sessions: open sessions whose lease has ended without a report. */
import { newId, type TenantId } from "@realtime-avatar/domain/id";
import { sql } from "drizzle-orm";
import { sweepSessions as callSweep } from "../../generated/functions.ts";
import type { Origin } from "../audit/audit-events.ts";
import type { Runner } from "../connection/batch.ts";
import { statement } from "../query/statement.ts";
import { usageSessions } from "../schema/credits.ts";

/**
 * Visits the first open session of each tenant in the index of overdue sessions, one step of the index for each tenant,
 * so that one tenant's thousands of overdue sessions do not hide those of the others. For 10,000 tenants with open
 * sessions this takes 50 ms. While no sweep is due, it ends after one read of the index of all tenants. A session whose
 * sweep is due need not be overdue, because a report may have extended its lease: then the sweep is postponed.
 */
const select = statement<{ tenantId: TenantId; overdueSeconds: number }>(
  "list_overdue_tenants",
  sql`
    with recursive first (tenant_id, sweep_at, expires_at) as (
      (
        select tenant_id, sweep_at, expires_at from ${usageSessions}
        where ended_at is null and exists (select from ${usageSessions} where ended_at is null and sweep_at <= now())
        order by tenant_id, sweep_at limit 1
      )
      union all
      select next.tenant_id, next.sweep_at, next.expires_at
      from first cross join lateral (
        select tenant_id, sweep_at, expires_at from ${usageSessions}
        where ended_at is null and tenant_id > first.tenant_id order by tenant_id, sweep_at limit 1
      ) next
    )
    select tenant_id as "tenantId", greatest(0, ceil(extract(epoch from now() - expires_at)))::integer as "overdueSeconds"
    from first where sweep_at <= now()
    order by expires_at limit ${sql.placeholder("limit")}::integer`,
);

/**
 * A tenant with sessions whose sweep is due, and for how long the first session has been overdue; 0 when it is not
 * overdue.
 */
export type OverdueTenant = { tenantId: TenantId; overdueSeconds: number };

/** Up to `limit` tenants with such sessions, the longest overdue first. One statement. */
export const listOverdueTenants = (db: Runner, limit: number): Promise<OverdueTenant[]> => select(db, { limit });

/** The maximum number of sessions that one statement closes. */
export const SWEPT = 1000;

/**
 * Closes overdue sessions, of one tenant or, with null, of all. Visits up to `limit` sessions whose sweep is due.
 * Returns how many it has closed and visited. One statement: see `sweep_sessions.sql`.
 */
export const closeOverdueSessions = async (
  db: Runner,
  tenantId: TenantId | null,
  limit: number,
  { now, random, requestId }: Origin,
): Promise<{ closed: number; visited: number }> => {
  const entryIds = Array.from({ length: 2 * limit }, () => newId("ent", now, random));
  const [row] = await callSweep(db, { tenantId, entryIds, requestId });
  return { closed: row?.closed ?? 0, visited: row?.visited ?? 0 };
};
