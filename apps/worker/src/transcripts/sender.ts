/**
 * Sends the transcripts of ended calls, by the poster and the schedule of webhooks. Any number of workers may run it. A
 * transcript is sent at least once: if its outcome cannot be recorded, it is claimed again when its lease ends. After a
 * delivery, or the last attempt, the database no longer contains it, unless it is kept.
 */
import { type ClaimedTranscript, claimTranscripts, finishTranscript } from "@realtime-avatar/db/calls/transcripts";
import type { Db } from "@realtime-avatar/db/connection/pool";
import {
  type TranscriptSegment,
  transcriptBody,
  transcriptHeaders,
  transcriptSeals,
} from "@realtime-avatar/domain/calls/transcript";
import type { RandomBytes } from "@realtime-avatar/domain/id";
import type { Logger } from "@realtime-avatar/runtime/log";
import type { Metrics } from "@realtime-avatar/runtime/metrics";
import type { Tracing } from "@realtime-avatar/runtime/tracing";
import { startClaimLoop } from "../jobs/claim-loop.ts";
import type { UntilDue } from "../jobs/due-work.ts";
import { errorText } from "../jobs/run-job.ts";
import type { Poster } from "../remote/post.ts";
import { bodyHeaders, failedAfter, type PostResult, postMessage } from "../webhooks/attempt.ts";
import type { SenderTiming } from "../webhooks/sender.ts";

/** How many transcripts a process sends at once: each has up to 512 KiB in memory. */
export const TRANSCRIPT_SENDS = 64;
/**
 * The maximum number of transcripts of one claim, and of one tenant in it. A tenant waits while one of its transcripts
 * is being sent, so a slow receiver takes few places.
 */
const MAX_BATCH = 16;
const PER_TENANT = 4;
/**
 * The pause after a failed claim or record. A transcript is due seconds after its call, so it is shorter than that of
 * webhooks. The pool also tries to connect to a database that is down this often.
 */
const FAILED_MS = 250;

const NOT_READABLE =
  "a transcript cannot be opened: WEBHOOK_SECRET_KEY, or DATA_DIR, is not that of the API that has started its call";

export type TranscriptSenderOptions = {
  db: Db;
  log: Logger;
  random: RandomBytes;
  metrics: Pick<Metrics, "transcriptAttempted" | "transcriptEnded"> | null;
  tracing: Pick<Tracing, "record"> | null;
  poster: Poster;
  /** The key that opens transcripts, which is that of webhooks. */
  sealingKey: Uint8Array;
  userAgent: string;
  /** How many transcripts are sent at once. */
  sends: number;
  timing: SenderTiming;
  untilDue: UntilDue;
};

export type TranscriptSender = {
  /**
   * Stops claiming, waits for the transcripts that are being sent, and hands back those that take too long.
   * `hasCrashed`: their leases run out.
   */
  stop(hasCrashed?: boolean): Promise<void>;
};

/** The body of a transcript. A segment that cannot be opened is omitted. */
const bodyOf = (transcript: ClaimedTranscript, open: (sealed: Uint8Array) => TranscriptSegment | null): string => {
  const segments = transcript.segments.map(open).filter((segment) => segment !== null);
  const isTruncated = transcript.isTruncated || segments.length < transcript.segments.length;
  return transcriptBody({
    ...transcript,
    startedAt: transcript.startedAt ?? transcript.endedAt,
    isTruncated,
    segments,
  });
};

/** Signs and sends a transcript. Never rejects because of the receiver. */
const attempt = async (
  { poster, sealingKey, userAgent, log }: TranscriptSenderOptions,
  transcript: ClaimedTranscript,
  signal: AbortSignal,
): Promise<Pick<PostResult, "class" | "outcome" | "delayMs" | "durationMs">> => {
  const { tenantId, sessionId, attemptCount } = transcript;
  const { openReceiver, openSegment } = transcriptSeals(sealingKey, sessionId);
  const receiver = openReceiver(transcript.receiver);
  if (receiver === null) {
    log.warn({ tenantId, session: sessionId }, NOT_READABLE);
    // The attempt counts, so that the transcript is not kept for ever.
    return { class: "secret_not_readable", durationMs: 0, ...failedAfter(attemptCount + 1, null) };
  }
  const body = bodyOf(transcript, openSegment);
  const headers = { ...transcriptHeaders(body, receiver.secret, new Date()), ...bodyHeaders(userAgent) };
  return postMessage(poster, { receiver: tenantId, url: receiver.url, headers, body }, attemptCount, signal);
};

type Ended = Parameters<typeof finishTranscript>[2];

/**
 * Records the outcome of an attempt, and returns whether its lease was still held. While the database fails, tries again
 * until `leaseEndsAt`, because the transcript is sent again then. Throws the last error, also when the worker stops.
 */
const record = async (
  { db }: TranscriptSenderOptions,
  transcript: ClaimedTranscript,
  ended: Ended,
  { leaseEndsAt, stopping }: { leaseEndsAt: number; stopping: AbortSignal },
): Promise<boolean> => {
  for (;;) {
    try {
      return await finishTranscript(db, transcript, ended);
    } catch (error) {
      if (stopping.aborted || performance.now() + FAILED_MS > leaseEndsAt) throw error;
      await Bun.sleep(FAILED_MS);
    }
  }
};

/** Starts the sender. */
export const startTranscriptSender = (options: TranscriptSenderOptions): TranscriptSender => {
  const { db, log, random, metrics, tracing, sends, timing, untilDue } = options;
  const handBack = new AbortController();
  let hasCrashed = false;

  const send = async (transcript: ClaimedTranscript, lease: string): Promise<void> => {
    const leaseEndsAt = performance.now() + 1000 * timing.leaseSeconds;
    const result = await attempt(options, transcript, handBack.signal);
    const { class: attemptClass, outcome, delayMs, durationMs } = result;
    const { tenantId, sessionId } = transcript;
    metrics?.transcriptAttempted({ class: attemptClass, durationMs });
    const attributes = { session_id: sessionId, outcome: attemptClass };
    tracing?.record("transcript_attempt", Date.now() - durationMs, attributes, attemptClass !== "delivered");
    if (hasCrashed) return;
    const isAttempt = attemptClass !== "handed_back";
    const isHeld = await record(
      options,
      transcript,
      { lease, delayMs, isAttempt },
      { leaseEndsAt, stopping: handBack.signal },
    );
    if (!isHeld || outcome === "retry") return;
    metrics?.transcriptEnded(outcome === "delivered" ? "delivered" : "given_up");
    if (outcome === "delivered") return;
    log.warn({ tenantId, session: sessionId, class: attemptClass }, "a transcript is given up, and deleted");
  };
  const loop = startClaimLoop({
    ...{ name: "transcripts", log, random, places: sends, untilDue, failedMs: FAILED_MS },
    claim: ({ limit, ...claim }) =>
      claimTranscripts(db, {
        ...{ ...claim, leaseSeconds: timing.leaseSeconds, perTenant: PER_TENANT },
        limit: Math.min(MAX_BATCH, limit),
      }),
    run: (transcript, lease) =>
      // The lease then runs out. A failed transcript must not end the worker.
      send(transcript, lease).catch((error: unknown) =>
        log.warn({ session: transcript.sessionId, error: errorText(error) }, "failed to send a transcript"),
      ),
  });
  return {
    stop: async (crashed = false) => {
      hasCrashed = crashed;
      await loop.stop();
      const timer = setTimeout(() => handBack.abort(), crashed ? 0 : timing.stopMs);
      await loop.done();
      clearTimeout(timer);
    },
  };
};
