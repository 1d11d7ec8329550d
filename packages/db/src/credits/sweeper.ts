/**
 * The sweeper closes overdue usage sessions, so that their credits become available again. Any number of processes may
 * sweep. Correctness does not need it: an overdue session can be neither started nor reported, and the next session of
 * its tenant sweeps it first.
 */

import { setTimeout as pause } from "node:timers/promises";
import { newRequestId, type RandomBytes } from "@realtime-avatar/domain/id";
import { describeError } from "../connection/errors.ts";
import type { Db } from "../connection/pool.ts";
import { isOneOfSeveral, logFields } from "../connection/which-database.ts";
import { closeOverdueSessions, listOverdueTenants } from "./overdue-sessions.ts";

/**
 * Mean interval between two passes. The interval varies by half, so that the passes of several processes do not
 * coincide.
 */
export const SWEEP_INTERVAL_MS = 2000;
/** The interval in each of several databases. It is longer, because there may be many. */
const SWEEP_INTERVAL_OF_SEVERAL_MS = 6000;
/**
 * The maximum number of sessions of one tenant that one statement closes. The statement takes 20 ms, in which the
 * tenant can open no session. With 1,000 it would take 100 ms.
 */
const SESSIONS = 250;
/**
 * The maximum number of tenants that one pass visits, with one statement each. The next pass begins with the others.
 */
const TENANTS = 1000;

export type SweepStats = {
  /** Sessions that the sweeper has closed. */
  swept: number;
  /** An upper bound, in seconds, of how long the oldest overdue session has been overdue. */
  lagSeconds: number;
};

type Log = (fields: object, message: string) => void;
export type SweeperOptions = {
  db: Db;
  log: { info: Log; warn: Log };
  random: RandomBytes;
  /** By default that of the database. */
  intervalMs?: number;
};

export type Sweeper = {
  stats(): SweepStats;
  /** Waits for the running statement, and starts no further one. */
  stop(): Promise<void>;
};

/** Interval after a pass that has left overdue sessions behind. */
const BUSY_INTERVAL_MS = 100;
/**
 * The number of failed statements after which a pass ends, because one bad tenant must not stop the sweep of the
 * others.
 */
const MAX_FAILURES = 3;
/** While passes fail, one is logged each minute. */
const LOG_INTERVAL_MS = 60_000;

/** `lagSeconds`: how long the oldest session was overdue when the pass began. `isBehind`: sessions were left. */
type Pass = { swept: number; lagSeconds: number; isBehind: boolean; failures: unknown[] };

/**
 * Closes overdue sessions of each tenant, up to `SESSIONS` of each, beginning with the tenant whose session is overdue
 * longest. So a tenant with many such sessions delays the others by one statement a pass.
 */
const sweepOnce = async ({ db, random }: SweeperOptions, isStopping: () => boolean): Promise<Pass> => {
  const overdue = await listOverdueTenants(db, TENANTS);
  const pass: Pass = {
    swept: 0,
    lagSeconds: overdue[0]?.overdueSeconds ?? 0,
    isBehind: overdue.length === TENANTS,
    failures: [],
  };
  for (const { tenantId } of overdue) {
    if (isStopping() || pass.failures.length === MAX_FAILURES) break;
    const now = new Date();
    const origin = { actor: null, requestId: newRequestId(now, random), now, random };
    try {
      const { closed, visited } = await closeOverdueSessions(db, tenantId, SESSIONS, origin);
      pass.swept += closed;
      pass.isBehind ||= visited === SESSIONS;
    } catch (error) {
      pass.failures.push(error);
    }
  }
  return pass;
};

/** Starts a sweeper. A failed pass is logged. The next pass tries again. */
export const startSweeper = (options: SweeperOptions): Sweeper => {
  const { db, log } = options;
  const { intervalMs = isOneOfSeveral(db) ? SWEEP_INTERVAL_OF_SEVERAL_MS : SWEEP_INTERVAL_MS } = options;
  const stopping = new AbortController();
  let swept = 0;
  /** The lag according to the last list of overdue tenants, and the time of that list. */
  let known = { lagSeconds: 0, at: performance.now() };
  let loggedAt = Number.NEGATIVE_INFINITY;

  const pass = async (): Promise<Pass> => {
    const at = performance.now();
    const done = await sweepOnce(options, () => stopping.signal.aborted).catch((error: unknown) => ({
      swept: 0,
      lagSeconds: null,
      isBehind: false,
      failures: [error],
    }));
    const lagSeconds = done.lagSeconds ?? known.lagSeconds;
    if (done.lagSeconds !== null) known = { lagSeconds, at };
    swept += done.swept;
    if (done.swept > 0) log.info({ sessions: done.swept, lagSeconds }, "closed overdue sessions");
    const [failure] = done.failures;
    if (failure !== undefined && at - loggedAt >= LOG_INTERVAL_MS) {
      loggedAt = at;
      log.warn({ error: describeError(failure), ...logFields(db) }, "failed to close overdue sessions; retrying");
    }
    return { ...done, lagSeconds };
  };
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const { isBehind, failures } = await pass();
      const pauseMs = isBehind && failures.length === 0 ? Math.min(BUSY_INTERVAL_MS, intervalMs) : intervalMs;
      // Rejects when the sweeper stops.
      await pause(pauseMs * (0.5 + Math.random()), undefined, { signal: stopping.signal }).catch(() => {});
    }
  };
  const running = run();
  return {
    // The lag grows from the last list on, so that it also shows a sweeper that fails or hangs.
    stats: () => ({ swept, lagSeconds: known.lagSeconds + (performance.now() - known.at) / 1000 }),
    stop: () => {
      stopping.abort();
      return running;
    },
  };
};
