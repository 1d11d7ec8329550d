/**
 * Closes overdue sessions, which still hold credits, before a request of their tenant is refused for lack of credits or
 * by a limit of open sessions.
 */

import type { Origin } from "@realtime-avatar/db/audit/audit-events";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { closeOverdueSessions, SWEPT } from "@realtime-avatar/db/credits/overdue-sessions";
import type { TenantId } from "@realtime-avatar/domain/id";
import type { Metrics } from "@realtime-avatar/runtime/metrics";

/** Minimum time between two sweeps of a tenant. */
const INTERVAL_MS = 1000;

/**
 * Closes at most a thousand overdue sessions of a tenant, at most once a second for each tenant. Requests of a tenant
 * share a sweep. Returns whether a sweep has ended after `since`, a time of `performance.now()`, because credits can
 * then have become free.
 */
export type SweepOverdue = (db: Db, tenantId: TenantId, origin: Origin, since: number) => Promise<boolean>;

/** A sweep. `endedAt`: null while it runs. */
type Sweep = { startedAt: number; endedAt: number | null; running: Promise<void> };

/** Closes the overdue sessions of a tenant, and counts them. */
const sweep = async (
  db: Db,
  tenantId: TenantId,
  origin: Origin,
  metrics: Pick<Metrics, "sessionSettled"> | null,
): Promise<void> => {
  const { closed } = await closeOverdueSessions(db, tenantId, SWEPT, origin);
  metrics?.sessionSettled(closed);
};

/** Each process counts for itself. */
export const createOverdueSweep = (metrics: Pick<Metrics, "sessionSettled"> | null): SweepOverdue => {
  /** The sweeps by tenant, the oldest start first. Sweeps that started more than a second ago are removed. */
  const recent = new Map<TenantId, Sweep>();
  return async (db, tenantId, origin, since) => {
    for (const [known, { startedAt }] of recent) {
      if (startedAt > performance.now() - INTERVAL_MS) break;
      recent.delete(known);
    }
    const known = recent.get(tenantId);
    if (known) {
      await known.running;
      return known.endedAt !== null && known.endedAt > since;
    }
    const running = sweep(db, tenantId, origin, metrics);
    const started: Sweep = { startedAt: performance.now(), endedAt: null, running };
    recent.set(tenantId, started);
    try {
      await running;
    } finally {
      started.endedAt = performance.now();
    }
    return true;
  };
};
