/** How a write is tried again while its caller or its target changes, and what is said when its outcome is unknown. */
import { databaseFailure } from "@realtime-avatar/db/connection/errors";
import { Problem } from "@realtime-avatar/domain/problem";

/**
 * Runs a write. When the connection is lost meanwhile, the write may or may not have been executed: the
 * problem `outcome_unknown` says so. `isRepeatable` says that the request may be sent again without being executed twice.
 */
export const runWrite = async <Outcome>(write: () => Promise<Outcome>, isRepeatable = false): Promise<Outcome> => {
  try {
    return await write();
  } catch (error) {
    if (databaseFailure(error) !== "outcome_unknown") throw error;
    const what = isRepeatable ? "Send the request again, with its Idempotency-Key." : "Check whether it took effect.";
    const detail = `The database did not respond, or the connection to it was lost. ${what}`;
    throw new Problem("outcome_unknown", detail, { retryable: isRepeatable }, { cause: error });
  }
};

/** Attempts of one request. Each fails because another write succeeded, so this many in a row are rare. */
const MAX_ATTEMPTS = 20;
/** Requests that fail together wait for a random part of this before they try again, more after each attempt. */
const SPREAD_MS = 4;

type Stale = { kind: "stale" };

/**
 * Runs `attempt` until its outcome is not stale. A stale attempt has written nothing, because something was no longer
 * what it was when it was looked up. Throws the problem `unavailable` after 20 attempts.
 */
export const retryWhileStale = async <Outcome extends { kind: string }>(
  attempt: () => Promise<Outcome>,
): Promise<Exclude<Outcome, Stale>> => {
  for (let attempts = 1; attempts <= MAX_ATTEMPTS; attempts++) {
    const outcome = await attempt();
    if (outcome.kind !== "stale") return outcome as Exclude<Outcome, Stale>;
    if (attempts > 1 && attempts < MAX_ATTEMPTS) await Bun.sleep(Math.random() * SPREAD_MS * attempts);
  }
  throw new Problem("unavailable", "The API key is being changed. Try again.", { retryable: true });
};
