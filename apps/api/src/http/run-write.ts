/** Writes whose outcome is unknown, as a problem. */
import { databaseFailure } from "@realtime-avatar/db/connection/errors";
import { Problem } from "@realtime-avatar/domain/problem";

/**
 * Throws the error of a write. When the connection was lost meanwhile, the write may or may not have been executed: the
 * problem `outcome_unknown` says so. `isRepeatable` says that the request may be sent again without being executed twice.
 */
export const throwWriteError = (error: unknown, isRepeatable: boolean): never => {
  if (databaseFailure(error) !== "outcome_unknown") throw error;
  const what = isRepeatable ? "Send the request again, with its Idempotency-Key." : "Check whether it took effect.";
  const detail = `The database did not respond, or the connection to it was lost. ${what}`;
  throw new Problem("outcome_unknown", detail, { retryable: isRepeatable }, { cause: error });
};

/** Runs a write of a request without an `Idempotency-Key`. */
export const runWrite = <Outcome>(write: () => Promise<Outcome>): Promise<Outcome> =>
  write().catch((error: unknown) => throwWriteError(error, false));
