/**
 * Runs the sweeps independently of each other, at random intervals, so that those of several workers do not coincide.
 */
import type { Logger } from "@realtime-avatar/runtime/log";
import { pause } from "@realtime-avatar/runtime/pause";
import { errorText } from "../jobs/run-job.ts";

export type Sweep = {
  /** The removed things, for the log. */
  name: string;
  /** Mean pause between two passes. Each pause varies by half. */
  intervalMs: number;
  /**
   * Runs one pass, and returns how many things it has removed, ended or announced. Ends early when `signal` is aborted.
   */
  run(signal: AbortSignal): Promise<number>;
};

/**
 * The first pass of each sweep comes within this fraction of its interval, so that a worker that is often restarted
 * also sweeps.
 */
const FIRST_PART = 0.02;
/** While the passes of a sweep fail, one is logged each minute. */
const LOG_INTERVAL_MS = 60_000;

/** Starts the sweeps. Correctness does not depend on them: they remove only unneeded data. */
export const startSweeps = (sweeps: readonly Sweep[], log: Logger): { stop(): Promise<void> } => {
  const stopping = new AbortController();
  const { signal } = stopping;
  const repeat = async ({ name, intervalMs, run }: Sweep): Promise<void> => {
    let loggedAt = Number.NEGATIVE_INFINITY;
    await pause(intervalMs * FIRST_PART * Math.random(), signal);
    while (!signal.aborted) {
      try {
        const removed = await run(signal);
        if (removed > 0) log.info({ sweep: name, removed }, "swept");
      } catch (error) {
        if (!signal.aborted && performance.now() - loggedAt >= LOG_INTERVAL_MS) {
          loggedAt = performance.now();
          log.warn({ sweep: name, error: errorText(error) }, "a sweep has failed; trying again");
        }
      }
      await pause(intervalMs * (0.5 + Math.random()), signal);
    }
  };
  const running = sweeps.map(repeat);
  return {
    stop: async () => {
      stopping.abort();
      await Promise.all(running);
    },
  };
};
