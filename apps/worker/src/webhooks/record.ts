/** Records the outcomes of deliveries, with one statement for all waiting outcomes. */
import type { Db } from "@realtime-avatar/db/connection/pool";
import { type FinishedDelivery, finishDeliveries } from "@realtime-avatar/db/webhooks/sending";
import { newRequestId, type RandomBytes } from "@realtime-avatar/domain/id";
import type { Logger } from "@realtime-avatar/runtime/log";
import { pause } from "@realtime-avatar/runtime/pause";
import { errorText } from "../jobs/run-job.ts";

/** The maximum number of outcomes in one statement. */
const MAX_BATCH = 100;
/** The pause after a failed record. */
const FAILED_PAUSE_MS = 1000;
/** While records fail, one is logged each minute. */
const LOG_INTERVAL_MS = 60_000;

/** `leaseEndsAt`: until when the outcome can be recorded, by `performance.now()`. */
export type Finished = FinishedDelivery & { leaseEndsAt: number };

export type Recorder = {
  add(finished: Finished): void;
  /**
   * Records the waiting outcomes. The delivery of an outcome that cannot be recorded then is claimed again when its
   * lease ends.
   */
  stop(): Promise<void>;
};

/** `onRecorded` is called after each statement. */
export const createRecorder = (
  { db, log, random }: { db: Db; log: Logger; random: RandomBytes },
  onRecorded: () => void,
): Recorder => {
  const waiting: Finished[] = [];
  const stopping = new AbortController();
  let recording: Promise<void> | null = null;
  let loggedAt = Number.NEGATIVE_INFINITY;
  /**
   * After a failure, outcomes are recorded one by one until one succeeds, so that an outcome that the database refuses
   * does not block others.
   */
  let maxBatch = MAX_BATCH;

  const recordSome = async (): Promise<void> => {
    const batch = waiting.splice(0, maxBatch).filter(({ leaseEndsAt }) => leaseEndsAt > performance.now());
    if (batch.length === 0) return;
    const now = new Date();
    try {
      await finishDeliveries(db, batch, { actor: null, requestId: newRequestId(now, random), now, random });
      maxBatch = MAX_BATCH;
      onRecorded();
    } catch (error) {
      maxBatch = 1;
      waiting.push(...batch);
      if (performance.now() - loggedAt >= LOG_INTERVAL_MS) {
        loggedAt = performance.now();
        log.warn({ error: errorText(error) }, "failed to record deliveries; retrying");
      }
      await pause(FAILED_PAUSE_MS, stopping.signal);
    }
  };
  const recordAll = async (): Promise<void> => {
    while (waiting.length > 0 && !stopping.signal.aborted) await recordSome();
    recording = null;
  };
  return {
    add: (finished) => {
      waiting.push(finished);
      recording ??= recordAll();
    },
    stop: async () => {
      stopping.abort();
      await recording;
      for (let left = waiting.length; left > 0; left = waiting.length < left ? waiting.length : 0) await recordSome();
    },
  };
};
