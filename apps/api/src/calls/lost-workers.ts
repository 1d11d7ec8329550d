/**
 * Finds avatar workers that are lost. A worker always has a sync at the service (`WIRE_2`). When the connection of one ends and
 * none follows within a second, at this process or at another, the worker was killed: its lease ends then, and its calls go to
 * other workers. A worker that only became unreachable keeps its connection, and loses its calls when its lease ends.
 *
 * A process of the API that stops ends connections itself, so it finds no worker lost.
 */
import { loseWorker } from "@realtime-avatar/db/calls/fleet";
import { expireWorkers } from "@realtime-avatar/db/calls/reconcile";
import { describeError } from "@realtime-avatar/db/connection/errors";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { WIRE_2 } from "@realtime-avatar/domain/calls/worker-sync";
import { newRequestId } from "@realtime-avatar/domain/id";
import type { Dependencies } from "../dependencies.ts";
import { type Realtime, realtimeOf } from "./realtime.ts";
import { BACKGROUND_MS } from "./room-checks.ts";

/**
 * The next sync must come within a second. In four parts: a process that was stopped or busy meanwhile reads what has arrived
 * between them, before it decides.
 */
const PART_MS = 250;
const PARTS = 4;
/** Maximum number of workers whose last sync is remembered. */
const MAX_WORKERS = 10_000;

export type WatchedSync = {
  /** The sync was written. `leaseEnds`: until when the worker has its calls. */
  written(leaseEnds: Date): void;
  /** The response is on its way. */
  end(): void;
};

export type LostWorkers = {
  /** Watches the connection of a sync. */
  watch(workerId: string, features: readonly string[], signal: AbortSignal): WatchedSync;
  /** Gives the calls of a worker that has stopped to others, in the background. The reconciler does so as well. */
  moveCalls(db: Db): void;
};

/** Gives the calls of workers without a lease to others, at once. Other processes do the same every two seconds. */
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
  /** By worker, how many syncs have arrived here, and until when it has its calls by the last one that was written. */
  const workers = new Map<string, { arrivals: number; leaseEnds: Date | null }>();

  const lose = async (workerId: string, leaseEnds: Date): Promise<void> => {
    const db = databases.ofWorker(workerId);
    if (!(await loseWorker(db.within(BACKGROUND_MS), workerId, leaseEnds))) return;
    const moved = await moveCalls(db, dependencies, realtimeOf(dependencies));
    log.warn(
      { worker: workerId, moved },
      "an avatar worker is lost: its connection has ended, and it did not sync again",
    );
  };

  return {
    moveCalls: (db) => {
      const failed = (error: unknown): void =>
        log.warn({ error: describeError(error) }, "failed to move the calls of an avatar worker that stops");
      void moveCalls(db, dependencies, realtimeOf(dependencies)).catch(failed);
    },
    watch: (workerId, features, signal) => {
      if (workers.size >= MAX_WORKERS) workers.clear();
      const worker = workers.get(workerId) ?? { arrivals: 0, leaseEnds: null };
      workers.set(workerId, worker);
      const arrival = ++worker.arrivals;
      const decide = async (): Promise<void> => {
        for (let part = 0; part < PARTS; part++) await Bun.sleep(PART_MS);
        // A sync that ends before it is written leaves the lease of the one before.
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
