/** Sends the segments of a call to the service as soon as they are said. */
import {
  MAX_REPORTED_SEGMENTS,
  MAX_TRANSCRIPT_BYTES,
  MAX_TRANSCRIPT_SEGMENTS,
  type TranscriptReport,
  type TranscriptSegment,
} from "@realtime-avatar/domain/calls/transcript";
import type { AssignedCall } from "@realtime-avatar/domain/calls/worker-sync";
import { RefusedRequest, type Service } from "./service.ts";

/** A larger report has only one segment. */
const MAX_REPORT_BYTES = 64 * 1024;
/** The pause after a failed report, and after a failed last report: the transcript waits for that one. */
const RETRY_MS = { report: 500, last: 250 };
/** How often speech in progress is sent. Its beginning is sent at once. */
const SPEAKING_MS = 1000;
/**
 * How long the end of a call waits for the last report, and how long that report is retried: as long as the service
 * waits for it.
 */
const TIMES_MS = { wait: 2000, last: 8000 };

export type TranscriptSender = {
  add(segment: TranscriptSegment): void;
  /** The heard part of the speech in progress; null: the avatar is silent. */
  speak(segment: TranscriptSegment | null): void;
  /** Ends the transcript. Resolves when the service has all of it, or after two seconds. */
  finish(): Promise<void>;
  /** Sends no more, because the call has ended or another worker has it. */
  drop(): void;
};

/** The unsent segments. `dropCalls`: removes tool calls. `take`: the first ones, up to the limit of a report. `remove`: the service has them. */
const createWaiting = () => {
  const waiting: { segment: TranscriptSegment; sizeBytes: number }[] = [];
  let waitingBytes = 0;
  return {
    count: () => waiting.length,
    /**
     * Returns whether the segment is kept. While the service is unreachable, at most the number that it accepts is
     * kept.
     */
    add: (segment: TranscriptSegment): boolean => {
      const sizeBytes = Buffer.byteLength(JSON.stringify(segment));
      if (waiting.length >= MAX_TRANSCRIPT_SEGMENTS || waitingBytes + sizeBytes > MAX_TRANSCRIPT_BYTES) return false;
      waiting.push({ segment, sizeBytes });
      waitingBytes += sizeBytes;
      return true;
    },
    take: (): TranscriptSegment[] => {
      let [count, sizeBytes] = [0, 0];
      for (const one of waiting.slice(0, MAX_REPORTED_SEGMENTS)) {
        sizeBytes += one.sizeBytes;
        if (count > 0 && sizeBytes > MAX_REPORT_BYTES) break;
        count++;
      }
      return waiting.slice(0, count).map(({ segment }) => segment);
    },
    dropCalls: (): void => {
      for (let at = waiting.length - 1; at >= 0; at--) {
        const one = waiting[at];
        if (one?.segment.tool_calls) waitingBytes -= waiting.splice(at, 1)[0]?.sizeBytes ?? 0;
      }
    },
    remove: (count: number): void => {
      for (const { sizeBytes } of waiting.splice(0, count)) waitingBytes -= sizeBytes;
    },
  };
};

/** Speech in progress, and whether to send it. `onNews`: called when it must be sent now. */
const createSpeech = (onNews: () => void) => {
  let current: TranscriptSegment | null = null;
  /** Whether the service may have received speech in progress. */
  let isTold = false;
  let isNews = false;
  let toldAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  const tell = (): void => {
    timer = undefined;
    // The final segment was already sent.
    if (current === null && !isTold) return;
    isNews = true;
    onNews();
  };
  return {
    isNews: () => isNews,
    set: (segment: TranscriptSegment | null): void => {
      current = segment;
      if (timer !== undefined) return;
      const pauseMs = segment === null ? 0 : toldAt + SPEAKING_MS - performance.now();
      if (pauseMs <= 0) tell();
      else timer = setTimeout(tell, pauseMs);
    },
    end: (): void => {
      current = null;
    },
    /** Returns the speech for a report that is sent now. */
    take: (): { speaking?: TranscriptSegment } => {
      isNews = false;
      if (current === null) return {};
      isTold = true;
      toldAt = performance.now();
      return { speaking: current };
    },
    taken: ({ speaking }: TranscriptReport): void => {
      isTold = speaking !== undefined;
    },
    failed: (): void => {
      isNews ||= isTold;
    },
    stop: (): void => {
      clearTimeout(timer);
      [current, isTold, isNews] = [null, false, false];
    },
  };
};

/** `times`: for tests. */
export const createTranscriptSender = (
  { session_id, generation }: AssignedCall,
  service: Pick<Service, "transcript">,
  times = TIMES_MS,
): TranscriptSender => {
  const waiting = createWaiting();
  const speech = createSpeech(() => void start());
  let first = 0;
  let hasDropped = false;
  /** Deadline of the last report, by `performance.now()`; null before the end. */
  let endsAt: number | null = null;
  let isReported = false;
  let sending: Promise<void> | null = null;

  const takeReport = (): TranscriptReport => {
    const segments = waiting.take();
    const isAll = segments.length === waiting.count();
    const is_complete = endsAt !== null && isAll && !hasDropped;
    // The speech in progress comes after all segments.
    return { generation, first, segments, is_complete, ...(isAll && speech.take()) };
  };
  const isDone = (): boolean => waiting.count() === 0 && !speech.isNews() && (endsAt === null || isReported);
  const send = async (): Promise<void> => {
    while (!isDone() && (endsAt === null || performance.now() < endsAt)) {
      const report = takeReport();
      const isLast = endsAt !== null && report.segments.length === waiting.count();
      try {
        const { next } = await service.transcript(session_id, report);
        // The count starts at the first segment of this worker. It is clamped to the range from acknowledged to sent
        // segments.
        const count = Math.min(Math.max(0, next - first), report.segments.length);
        waiting.remove(count);
        first += count;
        if (count < report.segments.length) throw new Error("the service has not taken all segments");
        speech.taken(report);
        isReported = isLast;
      } catch (error) {
        // A replica of an older release refuses tool calls.
        if (error instanceof RefusedRequest && error.status === 422) waiting.dropCalls();
        speech.failed();
        await new Promise((resolve) => setTimeout(resolve, endsAt === null ? RETRY_MS.report : RETRY_MS.last));
      }
    }
  };
  const start = (): Promise<void> => {
    sending ??= send().finally(() => {
      sending = null;
      // Segments may have come since the last look.
      if (!isDone() && endsAt === null) void start();
    });
    return sending;
  };
  return {
    add: (segment) => {
      if (segment.role === "assistant" && !segment.tool_calls) speech.end();
      if (waiting.add(segment)) void start();
      else hasDropped = true;
    },
    speak: (segment) => {
      if (endsAt === null) speech.set(segment);
    },
    drop: () => {
      speech.stop();
      endsAt = Number.NEGATIVE_INFINITY;
    },
    finish: async () => {
      speech.stop();
      endsAt ??= performance.now() + times.last;
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, times.wait);
      });
      // A report in flight may have begun before the end.
      const all = async (): Promise<void> => {
        await start();
        if (!isDone()) await start();
      };
      await Promise.race([all(), late]);
      clearTimeout(timer);
    },
  };
};
