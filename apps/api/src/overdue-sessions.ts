/** Overdue sessions still hold credits: they are closed before a request of their tenant is refused for lack of credits or by a limit of open sessions. */

import type { Origin } from "@realtime-avatar/db/audit/audit-events";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { closeOverdueSessions, SWEPT } from "@realtime-avatar/db/credits/overdue-sessions";
import type { TenantId } from "@realtime-avatar/domain/id";
import type { Metrics } from "@realtime-avatar/runtime/metrics";

/** How often the sessions of a tenant are swept at most. */
const INTERVAL_MS = 1000;

/**
 * Closes overdue sessions of a tenant, at most a thousand, and at most once a second for a tenant. Returns whether a sweep
 * has ended since the call: then credits may have become free. Requests of a tenant share a sweep.
 */
export type SweepOverdue = (db: Db, tenantId: TenantId, origin: Origin) => Promise<boolean>;

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

/** Each process counts for itself. `now` is in milliseconds. */
export const createOverdueSweep = (
  metrics: Pick<Metrics, "sessionSettled"> | null,
  now: () => number = () => performance.now(),
): SweepOverdue => {
  /** By tenant, the oldest start first: those that were started a second ago are removed. */
  const recent = new Map<TenantId, { startedAt: number; running: Promise<void> | null }>();
  return async (db, tenantId, origin) => {
    for (const [known, { startedAt }] of recent) {
      if (startedAt > now() - INTERVAL_MS) break;
      recent.delete(known);
    }
    const known = recent.get(tenantId);
    if (known) {
      const isRunning = known.running !== null;
      await known.running;
      return isRunning;
    }
    const started: { startedAt: number; running: Promise<void> | null } = { startedAt: now(), running: null };
    recent.set(tenantId, started);
    started.running = sweep(db, tenantId, origin, metrics);
    try {
      await started.running;
    } finally {
      started.running = null;
    }
    return true;
  };
};
