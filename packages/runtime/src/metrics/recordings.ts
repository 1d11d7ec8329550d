/** The metrics of recordings: of the worker, which joins their fragments. */
import type { RecordingStats } from "@realtime-avatar/db/recordings/joining";
import { cachedReads } from "./cached-reads.ts";
import type { OwnRegistry } from "./registry.ts";

/** How an attempt to join the fragments of a call has ended. `lost`: another worker has the call, or its recordings were deleted. */
export type JoinedRecordings = { outcome: "ready" | "failed" | "retry" | "lost"; durationMs: number };

export type RecordingMetrics = {
  recordingsJoined(joined: JoinedRecordings): void;
  /** Adds the metrics of the queue and of stored files. `read` asks the database; it is called at most once in ten seconds. */
  showRecordings(read: () => Promise<RecordingStats>): void;
};

/** A call of a day takes minutes. */
const JOIN_SECONDS = [0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const UNKNOWN: RecordingStats = {
  oldestDueSeconds: Number.NaN,
  oldestUnneededSeconds: Number.NaN,
  storedBytes: Number.NaN,
};

export const recordingMetrics = ({ histogram, readGauge }: OwnRegistry): RecordingMetrics => {
  const help = "Duration of the attempts to join the fragments of a call, by outcome.";
  const joins = histogram("realtime_avatar_recording_join_duration_seconds", help, JOIN_SECONDS, ["outcome"]);
  return {
    recordingsJoined: ({ outcome, durationMs }) => joins.observe({ outcome }, durationMs / 1000),
    showRecordings: (read) => {
      const cached = cachedReads(read, UNKNOWN);
      const due = "For how long the oldest recording that no worker is joining has been due.";
      readGauge("realtime_avatar_recording_oldest_due_seconds", due, async () => (await cached()).oldestDueSeconds);
      const unneeded = "For how long the oldest unneeded file of a recording has waited for its deletion.";
      readGauge(
        "realtime_avatar_recording_oldest_unneeded_seconds",
        unneeded,
        async () => (await cached()).oldestUnneededSeconds,
      );
      const bytes = "Size of the files of recordings, and of the fragments of others.";
      readGauge("realtime_avatar_recording_stored_bytes", bytes, async () => (await cached()).storedBytes);
    },
  };
};
