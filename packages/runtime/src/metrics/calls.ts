/** The metrics of calls: of the API and the worker. An avatar worker has metrics of its own. */
import { cachedReads } from "./cached-reads.ts";
import { type OwnRegistry, SECONDS } from "./registry.ts";

/** A request to LiveKit: its name, and how it ended. */
export type LivekitRequest = {
  operation: "create_room" | "delete_room" | "list_rooms" | "validate";
  outcome: "ok" | "unreachable" | "timed_out" | "refused";
  durationMs: number;
};

export type FleetStats = { slots: number; usedSlots: number; openCalls: number; tickets: number };

export type CallMetrics = {
  /** `outcome`: `started`, `queued`, or the code of the problem that refused the call. */
  callRequested(outcome: string): void;
  livekitResponded(request: LivekitRequest): void;
  /** Rooms that were deleted: those of ended calls, and those without a call. */
  roomsDeleted(kind: "ended" | "orphaned", count: number): void;
  /** Whether LiveKit creates rooms for those who join; null while that is unknown. */
  showAutoCreate(read: () => boolean | null): void;
  /** Adds the metrics of the avatar workers. `read` asks the database; it is called at most once in ten seconds. */
  showFleet(read: () => Promise<FleetStats>): void;
};

const UNKNOWN: FleetStats = { slots: Number.NaN, usedSlots: Number.NaN, openCalls: Number.NaN, tickets: Number.NaN };

export const callMetrics = ({ counter, histogram, readGauge, readGauges }: OwnRegistry): CallMetrics => {
  const requests = counter("realtime_avatar_calls_total", "Requests for a call, by what became of them.", ["outcome"]);
  const livekit = histogram("realtime_avatar_livekit_request_duration_seconds", "Duration of requests.", SECONDS, [
    "operation",
    "outcome",
  ]);
  const deleted = counter("realtime_avatar_rooms_deleted_total", "Rooms that were deleted.", ["kind"]);
  return {
    callRequested: (outcome) => requests.inc({ outcome }),
    livekitResponded: ({ operation, outcome, durationMs }) =>
      livekit.observe({ operation, outcome }, durationMs / 1000),
    roomsDeleted: (kind, count) => deleted.inc({ kind }, count),
    showAutoCreate: (read) => {
      const help = "1 when LiveKit lets those who join create rooms, NaN while that is unknown.";
      readGauge("realtime_avatar_livekit_auto_create", help, () => Number(read() ?? Number.NaN));
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
