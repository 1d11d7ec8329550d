/**
 * Detects lost avatar workers. A worker always has a sync at the service, or sends one within half a second (`WIRE_2`).
 * If the connection of its sync ends and no other sync follows within a second, at this process or another, the worker
 * was killed: its lease ends, and its calls move to other workers. A worker that is killed between two syncs has no such
 * connection, so it is lost when no sync follows a response within 1.5 seconds. An unreachable worker keeps its
 * connection, and loses its calls when its lease ends. A stopping process of the API ends connections itself, so it
 * counts no worker as lost.
 */
import { loseWorker } from "@realtime-avatar/db/calls/fleet";
import { type ExpiredWorkers, expireWorkers } from "@realtime-avatar/db/calls/reconcile";
import { describeError } from "@realtime-avatar/db/connection/errors";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { LEASE_SECONDS } from "@realtime-avatar/domain/calls/limits";
import { WIRE_2 } from "@realtime-avatar/domain/calls/worker-sync";
import { newRequestId } from "@realtime-avatar/domain/id";
import type { Dependencies } from "../dependencies.ts";
import { requireRealtime } from "./realtime.ts";
import { BACKGROUND_MS } from "./room-checks.ts";

/**
 * The next sync must come within a second after the end of a connection, and within 1.5 after a response. The wait is
 * split into parts. After each part, a process that was stopped or busy first reads the syncs that have arrived, and then
 * decides.
 */
const PART_MS = 250;
const PARTS = { ended: 4, answered: 6 };
/** The pause between two tries to move calls that wait for a slot. */
const RETRY_MS = 250;
/** How long the last sync of a worker that stops waits for the move of its calls. */
const HANDOVER_MS = 1000;
/** How often a failed decision is repeated. The lease ends before the last repetition. */
const MAX_FAILURES = 60;
/** Maximum number of workers whose last sync is remembered. */
const MAX_WORKERS = 10_000;

export type WatchedSync = {
  /** The sync was written. `leaseEnds`: the end of the worker's lease. */
  written(leaseEnds: Date): void;
  /** The response is being sent. */
  end(): void;
};

export type LostWorkers = {
  /** Watches the connection of a sync. */
  watch(workerId: string, features: readonly string[], signal: AbortSignal): WatchedSync;
  /**
   * Moves the calls of a worker that stops. Resolves within a second: whether other workers have taken some of its calls.
   * The reconciler does the same.
   */
  handOver(workerId: string): Promise<boolean>;
};

/**
 * Returns a function that moves the calls of workers without a lease to other workers, and returns their number. While
 * calls wait for a slot, it tries again in the background. The reconciler does the same every two seconds.
 */
const createMoving = (dependencies: Dependencies) => {
  const { clock, random, isEnding } = dependencies;
  /** The databases whose calls wait for a slot, and when the last try is. */
  const lastTries = new Map<Db, number>();
  const move = async (db: Db): Promise<ExpiredWorkers> => {
    const { rooms, waitingWorkers } = requireRealtime(dependencies);
    const now = clock();
    const origin = { actor: null, requestId: newRequestId(now, random), now, random };
    const expired = await expireWorkers(db.within(BACKGROUND_MS), origin);
    rooms.deleteLater(expired.rooms);
    waitingWorkers(db).look();
    return expired;
  };
  const moveLater = async (db: Db): Promise<void> => {
    for (let waiting = 1; waiting > 0 && performance.now() < (lastTries.get(db) ?? 0); ) {
      await Bun.sleep(RETRY_MS);
      if (isEnding()) break;
      ({ waiting } = await move(db).catch(() => ({ waiting })));
    }
    lastTries.delete(db);
  };
  return async (db: Db): Promise<number> => {
    const { moved, waiting } = await move(db);
    if (waiting > 0) {
      const isRetried = lastTries.has(db);
      lastTries.set(db, performance.now() + LEASE_SECONDS * 1000);
      if (!isRetried) void moveLater(db);
    }
    return moved;
  };
};

/**
 * A worker of this process. `arrivals`: the number of its syncs. `leaseEnds`: the end of its lease according to the last
 * written one. `partsLeft`: the number of parts after which it is lost; null while it has a sync here, and after a decision.
 */
type Worker = { arrivals: number; leaseEnds: Date | null; partsLeft: number | null; isWatched: boolean };

export const createLostWorkers = (dependencies: Dependencies): LostWorkers => {
  const { databases, isEnding, log } = dependencies;
  const workers = new Map<string, Worker>();
  const moveCalls = createMoving(dependencies);

  const lose = async (workerId: string, leaseEnds: Date): Promise<void> => {
    const db = databases.ofWorker(workerId);
    if (!(await loseWorker(db.within(BACKGROUND_MS), workerId, leaseEnds))) return;
    const moved = await moveCalls(db);
    log.warn({ worker: workerId, moved }, "an avatar worker is lost: it has no connection, and did not sync again");
  };
  /** Returns whether the decision was made. */
  const decide = async (workerId: string, { leaseEnds }: Worker): Promise<boolean> => {
    // A sync that ends before it is written leaves the previous lease.
    if (leaseEnds === null) return true;
    try {
      await lose(workerId, leaseEnds);
      return true;
    } catch (error) {
      log.warn({ error: describeError(error) }, "failed to end the lease of an avatar worker that is lost");
      return false;
    }
  };
  /** Runs once for each worker that is absent. */
  const watchAbsence = async (workerId: string, worker: Worker): Promise<void> => {
    if (worker.isWatched) return;
    worker.isWatched = true;
    for (let failures = 0; worker.partsLeft !== null && failures < MAX_FAILURES; ) {
      await Bun.sleep(PART_MS);
      if (isEnding()) break;
      if (worker.partsLeft === null || --worker.partsLeft > 0) continue;
      const { arrivals } = worker;
      worker.partsLeft = null;
      if (await decide(workerId, worker)) continue;
      failures++;
      // A sync that came meanwhile shows that the worker is alive.
      if (worker.arrivals === arrivals) worker.partsLeft ??= 1;
    }
    worker.isWatched = false;
  };

  return {
    handOver: (workerId) => {
      const failed = (error: unknown): number => {
        log.warn({ error: describeError(error) }, "failed to move the calls of an avatar worker that stops");
        return 0;
      };
      const moved = moveCalls(databases.ofWorker(workerId)).catch(failed);
      return Promise.race([moved.then((count) => count > 0), Bun.sleep(HANDOVER_MS).then(() => false)]);
    },
    watch: (workerId, features, signal) => {
      if (workers.size >= MAX_WORKERS) workers.clear();
      const worker = workers.get(workerId) ?? { arrivals: 0, leaseEnds: null, partsLeft: null, isWatched: false };
      workers.set(workerId, worker);
      const arrival = ++worker.arrivals;
      worker.partsLeft = null;
      const miss = (parts: number): void => {
        if (!features.includes(WIRE_2) || isEnding() || worker.arrivals !== arrival) return;
        worker.partsLeft = parts;
        void watchAbsence(workerId, worker);
      };
      const onAbort = (): void => miss(PARTS.ended);
      if (signal.aborted) onAbort();
      else signal.addEventListener("abort", onAbort, { once: true });
      return {
        written: (ends) => {
          worker.leaseEnds = ends;
          // The worker can have been lost before.
          if (signal.aborted) miss(PARTS.ended);
        },
        end: () => {
          signal.removeEventListener("abort", onAbort);
          if (!signal.aborted) miss(PARTS.answered);
        },
      };
    },
  };
};
