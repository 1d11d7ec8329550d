/**
 * Joins the recordings of calls that have ended. Any number of workers may run it. When the lease of a killed worker
 * ends, another worker joins the fragments. Fragments are deleted only after the files are stored and their rows are
 * written.
 */
import type { Db } from "@realtime-avatar/db/connection/pool";
import {
  type ClaimedRecordings,
  claimRecordings,
  finishRecordings,
  type JoinOutcome,
  renewRecordings,
} from "@realtime-avatar/db/recordings/joining";
import { namedRecordingFiles } from "@realtime-avatar/db/recordings/stored";
import type { RandomBytes } from "@realtime-avatar/domain/id";
import type { Metrics } from "@realtime-avatar/runtime/metrics";
import { startClaimLoop } from "../jobs/claim-loop.ts";
import type { UntilDue } from "../jobs/due-work.ts";
import { errorText } from "../jobs/run-job.ts";
import { type AttemptOptions, deleteFiles, joinRecordings } from "./attempt.ts";

/** How many calls a process joins at once. Each needs disk space for two copies of its files. */
export const JOINS = 2;
/** Calls of one tenant that a claim takes. A tenant whose call is being joined waits. */
const PER_TENANT = 1;
/** The attempts, with pauses from ten seconds to an hour, take 17 hours, during which a store can be unavailable. */
const MAX_ATTEMPTS = 25;
const [FIRST_PAUSE_MS, MAX_PAUSE_MS] = [10_000, 3_600_000];
const RECORD_ATTEMPTS = 3;

export type JoinerTiming = { failedMs: number; leaseSeconds: number; renewMs: number };
export const JOINER_TIMING: JoinerTiming = { failedMs: 1000, leaseSeconds: 60, renewMs: 20_000 };

export type JoinerOptions = AttemptOptions & {
  db: Db;
  random: RandomBytes;
  metrics: Pick<Metrics, "recordingsJoined"> | null;
  /** How many calls are joined at once. */
  joins: number;
  timing: JoinerTiming;
  untilDue: UntilDue;
};

export type Joiner = {
  /** Stops claiming, and hands back the calls that are being joined. `hasCrashed`: its leases run out. */
  stop(hasCrashed?: boolean): Promise<void>;
};

const pauseAfter = (attempts: number): number => Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (attempts - 1));

/** Renews the lease of a call while it is being joined. `onLost`: another worker may have it. */
const holdLease = (
  { db, log, timing }: JoinerOptions,
  call: ClaimedRecordings,
  lease: string,
  onLost: () => void,
): (() => Promise<void>) => {
  let renewedAt = performance.now();
  let renewing = Promise.resolve();
  const renew = async (): Promise<void> => {
    try {
      const now = performance.now();
      if (await renewRecordings(db, call, { lease, leaseSeconds: timing.leaseSeconds })) renewedAt = now;
      else onLost();
    } catch (error) {
      log.warn({ session: call.sessionId, error: errorText(error) }, "failed to renew the lease of a recording");
      if (performance.now() - renewedAt > 1000 * timing.leaseSeconds) onLost();
    }
  };
  const timer = setInterval(() => {
    renewing = renew();
  }, timing.renewMs);
  return () => {
    clearInterval(timer);
    return renewing;
  };
};

/** Records the outcome of an attempt, and returns whether its lease was still held. */
const record = async (
  { db, timing }: JoinerOptions,
  call: ClaimedRecordings,
  end: { lease: string; outcome: JoinOutcome },
): Promise<boolean> => {
  for (let attempts = 1; ; attempts++) {
    try {
      return await finishRecordings(db, call, end);
    } catch (error) {
      if (attempts === RECORD_ATTEMPTS) throw error;
      await Bun.sleep(timing.failedMs);
    }
  }
};

/**
 * Deletes the files of an attempt whose lease was not held, and returns whether it was lost. An outcome that was
 * recorded although its response was lost holds no lease either. Its files belong to the recordings, so they stay.
 */
const deleteUnnamed = async (
  options: JoinerOptions,
  call: ClaimedRecordings,
  outcome: JoinOutcome,
): Promise<boolean> => {
  if (outcome.kind !== "ready") return true;
  const { tenantId, sessionId } = call;
  const files = outcome.files.map(({ key }) => ({ key, tenantId, sessionId, generation: null, n: null }));
  const named = await namedRecordingFiles(options.db, files);
  const unnamed = files.map(({ key }) => key).filter((key) => !named.includes(key));
  await deleteFiles(options, unnamed);
  return unnamed.length === files.length;
};

/** The outcome of an attempt that has thrown. */
const outcomeOf = (options: JoinerOptions, call: ClaimedRecordings, error: unknown): JoinOutcome => {
  const { tenantId, sessionId: session, attemptCount } = call;
  const isLast = attemptCount >= MAX_ATTEMPTS;
  const message = isLast ? "a recording has failed for the last time" : "failed to join a recording; trying again";
  options.log.warn({ tenantId, session, attempts: attemptCount, error: errorText(error) }, message);
  return isLast ? { kind: "failed", code: "recording_failed" } : { kind: "retry", delayMs: pauseAfter(attemptCount) };
};

/** Starts to join recordings. */
export const startJoiner = (options: JoinerOptions): Joiner => {
  const { db, log, random, metrics, joins, timing, untilDue } = options;
  const stopping = new AbortController();
  let hasCrashed = false;

  const attempt = async (call: ClaimedRecordings, lease: string): Promise<JoinOutcome | null> => {
    // Each earlier attempt has ended its worker.
    if (call.attemptCount > MAX_ATTEMPTS) return { kind: "failed", code: "recording_failed" };
    const losing = new AbortController();
    const release = holdLease(options, call, lease, () => losing.abort());
    try {
      return await joinRecordings(options, call, AbortSignal.any([stopping.signal, losing.signal]));
    } catch (error) {
      if (losing.signal.aborted) return null;
      return stopping.signal.aborted ? { kind: "retry", delayMs: 0 } : outcomeOf(options, call, error);
    } finally {
      await release();
    }
  };
  const join = async (call: ClaimedRecordings, lease: string): Promise<void> => {
    const startedAt = performance.now();
    const outcome = await attempt(call, lease);
    if (outcome === null || hasCrashed) return;
    const isHeld = await record(options, call, { lease, outcome });
    const isLost = !isHeld && (await deleteUnnamed(options, call, outcome));
    metrics?.recordingsJoined({ outcome: isLost ? "lost" : outcome.kind, durationMs: performance.now() - startedAt });
  };
  const loop = startClaimLoop({
    ...{ name: "recordings", log, random, places: joins, untilDue, failedMs: timing.failedMs },
    claim: (claim) => claimRecordings(db, { ...claim, leaseSeconds: timing.leaseSeconds, perTenant: PER_TENANT }),
    run: (call, lease) =>
      // The lease of the call runs out. A failed recording must not end the worker.
      join(call, lease).catch((error: unknown) =>
        log.warn({ session: call.sessionId, error: errorText(error) }, "failed to record the end of a recording"),
      ),
  });
  return {
    stop: async (crashed = false) => {
      hasCrashed = crashed;
      stopping.abort();
      await loop.stop();
      await loop.done();
    },
  };
};
