/** The retry loop of writes that found their caller or their target changed. */
import { Problem } from "@realtime-avatar/domain/problem";

/** Attempts of one request. Each fails because another write succeeded, so this many in a row are rare. */
const MAX_ATTEMPTS = 20;
/** Requests that fail together wait for a random part of this before they try again, more after each attempt. */
const SPREAD_MS = 4;

type Stale = { kind: "stale" };

/**
 * Waits before a write is tried again whose latest of `attempts` was stale. A stale attempt has written nothing, because
 * something was no longer what it was when it was looked up. Throws the problem `unavailable` after 20 attempts.
 */
export const pauseBeforeRetry = async (attempts: number): Promise<void> => {
  if (attempts === MAX_ATTEMPTS) {
    throw new Problem("unavailable", "The API key is being changed. Try again.", { retryable: true });
  }
  if (attempts > 1) await Bun.sleep(Math.random() * SPREAD_MS * attempts);
};

/** Runs `attempt` until its outcome is not stale, at most 20 times: see `pauseBeforeRetry`. */
export const retryWhileStale = async <Outcome extends { kind: string }>(
  attempt: () => Promise<Outcome>,
): Promise<Exclude<Outcome, Stale>> => {
  for (let attempts = 1; ; attempts++) {
    const outcome = await attempt();
    if (outcome.kind !== "stale") return outcome as Exclude<Outcome, Stale>;
    await pauseBeforeRetry(attempts);
  }
};
