/** The retry loop of stale writes: their caller or target has changed since its look-up. */
import { Problem } from "@realtime-avatar/domain/problem";

/**
 * The maximum number of attempts of one request. An attempt is stale only when another write has succeeded, so this
 * number in a row is rare.
 */
const MAX_ATTEMPTS = 20;
/**
 * The maximum wait before the next attempt, per attempt so far. Requests wait for a random part of it, so that they do
 * not retry at the same time.
 */
const SPREAD_MS = 4;

type Stale = { kind: "stale" };

/**
 * Waits before the next attempt of a write, after `attempts` stale ones. A stale attempt has written nothing: the
 * caller or its target has changed since its look-up. Throws the problem `unavailable` after 20 attempts.
 */
export const pauseBeforeRetry = async (attempts: number): Promise<void> => {
  if (attempts === MAX_ATTEMPTS) {
    throw new Problem("unavailable", "The caller or its target is being changed. Try again.", { retryable: true });
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
