/** How a write is tried, and what is said when it does not come to an end. */
import { databaseFailure } from "@realtime-avatar/db/connection/errors";
import { Problem } from "@realtime-avatar/domain/problem";

/**
 * Runs a write; a connection that is lost meanwhile leaves its outcome unknown, and the answer says so. `isRepeatable`
 * says that the request may be sent again without being made twice.
 */
export const writing = async <Result>(write: () => Promise<Result>, isRepeatable = false): Promise<Result> => {
  try {
    return await write();
  } catch (error) {
    if (databaseFailure(error) !== "outcome_unknown") throw error;
    const what = isRepeatable ? "Send the request again, with its Idempotency-Key." : "Look whether it took effect.";
    const detail = `The database has not answered, or the connection to it was lost. ${what}`;
    throw new Problem("outcome_unknown", detail, { retryable: isRepeatable }, { cause: error });
  }
};

/** Each attempt fails because another write has succeeded; so many in a row, and the caller had better come back. */
const MAX_ATTEMPTS = 20;
/** Those who fail together do not try again together: each waits for a random part of this, more after each attempt. */
const SPREAD_MS = 4;

/**
 * Does `attempt` until it is done. It answers `false`, having written nothing, when something is no longer what it was
 * when it was looked up.
 */
export const untilDone = async <Result>(attempt: () => Promise<Result | false>): Promise<Result> => {
  for (let attempts = 1; attempts <= MAX_ATTEMPTS; attempts++) {
    const result = await attempt();
    if (result !== false) return result;
    if (attempts > 1 && attempts < MAX_ATTEMPTS) await Bun.sleep(Math.random() * SPREAD_MS * attempts);
  }
  throw new Problem("unavailable", "The API key is being changed. Try again.", { retryable: true });
};
