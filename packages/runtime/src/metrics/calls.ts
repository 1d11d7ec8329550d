/** The metrics of calls: of the API and the worker. Those of avatar workers are in `apps/avatar-worker`. */
import type { FleetCounts } from "@realtime-avatar/db/calls/reconcile";
import { cachedReads } from "./cached-reads.ts";
import { type OwnRegistry, SECONDS } from "./registry.ts";

/** A request to LiveKit: the method, and `ok` or the kind of its error. */
export type LivekitRequest = { method: string; outcome: string; durationMs: number };

/** Actions and state of this process's reconciler. */
export type ReconcilerStats = {
  /** Calls that it has ended. */
  ended: number;
  /** Calls that it has moved to another worker. */
  moved: number;
  /** Rooms without an open call that it has found. */
  orphans: number;
  /** Whether LiveKit creates a room when a participant joins; null while unknown. */
  autoCreate: boolean | null;
};

export type CallMetrics = {
  /** `outcome`: `started`, `queued`, or the code of the problem that refused the call. */
  callRequested(outcome: string): void;
  livekitResponded(request: LivekitRequest): void;
  /** Adds the metrics of a reconciler. */
  showReconciler(stats: () => ReconcilerStats): void;
  /** Adds the metrics of the avatar workers. `read` asks the database; it is called at most once in ten seconds. */
  showFleet(read: () => Promise<FleetCounts>): void;
};

const UNKNOWN: FleetCounts = { slots: Number.NaN, usedSlots: Number.NaN, openCalls: Number.NaN, tickets: Number.NaN };

export const callMetrics = ({ counter, histogram, readCounter, readGauge, readGauges }: OwnRegistry): CallMetrics => {
  const requests = counter("realtime_avatar_calls_total", "Requests for a call, by outcome.", ["outcome"]);
  const livekit = histogram("realtime_avatar_livekit_request_duration_seconds", "Duration of requests.", SECONDS, [
    "method",
    "outcome",
  ]);
  return {
    callRequested: (outcome) => requests.inc({ outcome }),
    livekitResponded: ({ method, outcome, durationMs }) => livekit.observe({ method, outcome }, durationMs / 1000),
    showReconciler: (stats) => {
      const ended = "Calls that this process has ended: their limit was reached, or their key or worker has ended.";
      readCounter("realtime_avatar_calls_reconciled_total", ended, () => stats().ended);
      readCounter("realtime_avatar_calls_moved_total", "Calls moved to another avatar worker.", () => stats().moved);
      readCounter("realtime_avatar_orphaned_rooms_total", "Rooms that had no open call.", () => stats().orphans);
      const help = "1 when LiveKit creates rooms for participants who join, NaN while unknown.";
      readGauge("realtime_avatar_livekit_auto_create", help, () => Number(stats().autoCreate ?? Number.NaN));
    },
    showFleet: (read) => {
      const cached = cachedReads(read, UNKNOWN);
      readGauges("realtime_avatar_call_slots", "Slots of the avatar workers.", "state", async () => {
        const { slots, usedSlots } = await cached();
        return { free: slots - usedSlots, used: usedSlots };
      });
      readGauge("realtime_avatar_open_calls", "Calls that have not ended.", async () => (await cached()).openCalls);
      const waiting = "Requests for a call that wait for a slot.";
      readGauge("realtime_avatar_call_tickets", waiting, async () => (await cached()).tickets);
    },
  };
};
