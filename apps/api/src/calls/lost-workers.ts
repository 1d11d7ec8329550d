/**
 * Detects lost avatar workers. A worker always has a sync at the service (`WIRE_2`). If its connection ends and no
 * other sync follows within a second, at this process or another, the worker was killed: its lease ends, and its calls
 * move to other workers. An unreachable worker keeps its connection, and loses its calls when its lease ends. A
 * stopping process of the API ends connections itself, so it counts no worker as lost.
 */
import { loseWorker } from "@realtime-avatar/db/calls/fleet";
import { expireWorkers } from "@realtime-avatar/db/calls/reconcile";
import { describeError } from "@realtime-avatar/db/connection/errors";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { WIRE_2 } from "@realtime-avatar/domain/calls/worker-sync";
import { newRequestId } from "@realtime-avatar/domain/id";
import type { Dependencies } from "../dependencies.ts";
import { type Realtime, requireRealtime } from "./realtime.ts";
import { BACKGROUND_MS } from "./room-checks.ts";

/**
 * The next sync must come within a second. The second is waited in four parts. Between them, a process that was stopped
 * or busy reads syncs that have arrived, before it decides.
 */
const PART_MS = 250;
const PARTS = 4;
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
  /** Moves the calls of a stopped worker in the background. The reconciler does the same. */
  moveCalls(db: Db): void;
};

/**
 * Moves the calls of workers without a lease to other workers at once. Other processes do the same every two seconds.
 */
const moveCalls = async (db: Db, { clock, random }: Dependencies, realtime: Realtime): Promise<number> => {
  const now = clock();
  const origin = { actor: null, requestId: newRequestId(now, random), now, random };
  const { moved, rooms } = await expireWorkers(db.within(BACKGROUND_MS), origin);
  realtime.rooms.deleteLater(rooms);
  realtime.waitingWorkers(db).look();
  return moved;
};

export const createLostWorkers = (dependencies: Dependencies): LostWorkers => {
  const { databases, isEnding, log } = dependencies;
  /**
   * For each worker, the number of syncs that arrived here, and the end of its lease according to the last written
   * sync.
   */
  const workers = new Map<string, { arrivals: number; leaseEnds: Date | null }>();

  const lose = async (workerId: string, leaseEnds: Date): Promise<void> => {
    const db = databases.ofWorker(workerId);
    if (!(await loseWorker(db.within(BACKGROUND_MS), workerId, leaseEnds))) return;
    const moved = await moveCalls(db, dependencies, requireRealtime(dependencies));
    log.warn(
      { worker: workerId, moved },
      "an avatar worker is lost: its connection has ended, and it did not sync again",
    );
  };

  return {
    moveCalls: (db) => {
      const failed = (error: unknown): void =>
        log.warn({ error: describeError(error) }, "failed to move the calls of an avatar worker that stops");
      void moveCalls(db, dependencies, requireRealtime(dependencies)).catch(failed);
    },
    watch: (workerId, features, signal) => {
      if (workers.size >= MAX_WORKERS) workers.clear();
      const worker = workers.get(workerId) ?? { arrivals: 0, leaseEnds: null };
      workers.set(workerId, worker);
      const arrival = ++worker.arrivals;
      const decide = async (): Promise<void> => {
        for (let part = 0; part < PARTS; part++) await Bun.sleep(PART_MS);
        // A sync that ends before it is written leaves the previous lease.
        const { leaseEnds } = worker;
        if (leaseEnds === null || isEnding() || worker.arrivals !== arrival) return;
        await lose(workerId, leaseEnds).catch((error: unknown) =>
          log.warn({ error: describeError(error) }, "failed to end the lease of an avatar worker that is lost"),
        );
      };
      const onAbort = (): void => {
        if (features.includes(WIRE_2) && !isEnding()) void decide();
      };
      if (signal.aborted) onAbort();
      else signal.addEventListener("abort", onAbort, { once: true });
      return {
        written: (ends) => {
          worker.leaseEnds = ends;
        },
        end: () => signal.removeEventListener("abort", onAbort),
      };
    },
  };
};
