/** Sends what is said in a call to the service, as soon as it is said. */
import {
  MAX_REPORTED_SEGMENTS,
  MAX_TRANSCRIPT_BYTES,
  MAX_TRANSCRIPT_SEGMENTS,
  type TranscriptReport,
  type TranscriptSegment,
} from "@realtime-avatar/domain/calls/transcript";
import type { AssignedCall } from "@realtime-avatar/domain/calls/worker-sync";
import type { Service } from "./service.ts";

/** A report has more only when it has one segment. */
const MAX_REPORT_BYTES = 64 * 1024;
/** The pause after a report that has failed. */
const RETRY_MS = 500;
/** How long the end of a call waits for the last report, and how long that is tried: as long as the service waits for it. */
const TIMES_MS = { wait: 2000, last: 8000 };

export type TranscriptSender = {
  add(segment: TranscriptSegment): void;
  /** Nothing more is said. Resolves when the service has all of it, or after two seconds. */
  finish(): Promise<void>;
};

/** `times`: for tests. */
export const createTranscriptSender = (
  { session_id, generation }: AssignedCall,
  service: Pick<Service, "transcript">,
  times = TIMES_MS,
): TranscriptSender => {
  const waiting: { segment: TranscriptSegment; sizeBytes: number }[] = [];
  let [first, waitingBytes] = [0, 0];
  let hasDropped = false;
  /** Until when the last report is tried, by `performance.now()`; null before the end. */
  let endsAt: number | null = null;
  let isReported = false;
  let sending: Promise<void> | null = null;

  const takeReport = (): TranscriptReport => {
    let [count, sizeBytes] = [0, 0];
    for (const one of waiting.slice(0, MAX_REPORTED_SEGMENTS)) {
      sizeBytes += one.sizeBytes;
      if (count > 0 && sizeBytes > MAX_REPORT_BYTES) break;
      count++;
    }
    const segments = waiting.slice(0, count).map(({ segment }) => segment);
    return { generation, first, segments, is_complete: endsAt !== null && count === waiting.length && !hasDropped };
  };
  const isDone = (): boolean => waiting.length === 0 && (endsAt === null || isReported);
  const send = async (): Promise<void> => {
    while (!isDone() && (endsAt === null || performance.now() < endsAt)) {
      const report = takeReport();
      const isLast = endsAt !== null && report.segments.length === waiting.length;
      try {
        const { next } = await service.transcript(session_id, report);
        // It counts from the first one of this worker: it cannot have fewer than it has said, or more than were sent.
        const count = Math.min(Math.max(0, next - first), report.segments.length);
        for (const { sizeBytes } of waiting.splice(0, count)) waitingBytes -= sizeBytes;
        first += count;
        if (count < report.segments.length) throw new Error("the service has not taken all segments");
        isReported = isLast;
      } catch {
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  };
  const start = (): Promise<void> => {
    sending ??= send().finally(() => {
      sending = null;
      // What has come since the last look.
      if (!isDone() && endsAt === null) void start();
    });
    return sending;
  };
  return {
    add: (segment) => {
      const sizeBytes = Buffer.byteLength(JSON.stringify(segment));
      // While the service is not reached, no more is kept than it takes.
      if (waiting.length >= MAX_TRANSCRIPT_SEGMENTS || waitingBytes + sizeBytes > MAX_TRANSCRIPT_BYTES) {
        hasDropped = true;
        return;
      }
      waiting.push({ segment, sizeBytes });
      waitingBytes += sizeBytes;
      void start();
    },
    finish: async () => {
      endsAt ??= performance.now() + times.last;
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, times.wait);
      });
      // A report that is under way may have begun before the end.
      const all = async (): Promise<void> => {
        await start();
        if (!isDone()) await start();
      };
      await Promise.race([all(), late]);
      clearTimeout(timer);
    },
  };
};
