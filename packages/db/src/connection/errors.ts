/** What can go wrong between here and the database, and what may be said of it. */
import postgres from "postgres";

/** Why a statement failed, where the reason lies with the database rather than with the statement. */
export type DatabaseFailure =
  /** It was certainly not executed. */
  | "not_executed"
  /** The connection was lost on the way: it may have been executed. */
  | "outcome_unknown";

/** A statement that takes longer may wait for ever: its connection may have silently gone, or it may wait for a lock. */
export const HANGS_MS = 1000;

/** A statement that the database has not executed, or perhaps has. */
export class DatabaseError extends Error {
  override readonly name = "DatabaseError";

  constructor(
    readonly failure: DatabaseFailure,
    /** What went wrong, for a log: an SQLSTATE, an error code of the system's, or one of ours. */
    readonly code: string,
    message: string,
    options: { cause?: unknown } = {},
  ) {
    super(message, options);
  }
}

export const notExecuted = (code: string, message: string): DatabaseError =>
  new DatabaseError("not_executed", code, message);

/** The code of a statement that was not sent because its request had been aborted. */
export const ABORTED = "ABORTED";
export const aborted = (): DatabaseError => notExecuted(ABORTED, "the request was aborted before this was sent");

/** Whether `error` says that the work was not sent because its request, or one in its batch, had been aborted. */
export const isAbort = (error: unknown): boolean => error instanceof DatabaseError && error.code === ABORTED;

/** Tells a failing database from a failing statement; `null` for the latter, and for whatever is no database error. */
export const databaseFailure = (error: unknown): DatabaseFailure | null =>
  error instanceof DatabaseError ? error.failure : null;

/** What the driver refuses before it sends anything: mistakes of ours. */
const NEVER_SENT = new Set(["UNDEFINED_VALUE", "MAX_PARAMETERS_EXCEEDED", "NOT_TAGGED_CALL"]);
/** SQLSTATEs and their classes (PostgreSQL's appendix A) that tell of the server's state, not of a mistake of ours. */
const LOST_STATE = /^(08|57P0[12]|40003)/;
const REFUSED_STATE = /^(28|3D000|25006|40|42P01|42703|53|55P03|57|58)/;

/** The error of a statement that was sent: one of the database's own, or else one of the way to it. */
export const sentFailure = (error: unknown): unknown => {
  if (!(error instanceof postgres.PostgresError)) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "UNREADABLE";
    if (NEVER_SENT.has(code)) return error;
    return new DatabaseError("outcome_unknown", code, "the connection was lost", { cause: error });
  }
  const { code, severity } = error;
  // With a FATAL the connection ends, and nobody says how far the statement has come.
  if (LOST_STATE.test(code) || severity !== "ERROR") {
    return new DatabaseError("outcome_unknown", code, "the connection was lost");
  }
  if (REFUSED_STATE.test(code)) return new DatabaseError("not_executed", code, "the database refuses the statement");
  return error;
};

/** Whether a connection can be used again after this: only the server's answer to a statement leaves it whole. */
export const isSound = (error: unknown): boolean =>
  error instanceof postgres.PostgresError && error.severity === "ERROR" && error.code !== "25006";

/** Whether the statement's plan is of a schema that is no more. Those of other connections are as well, then. */
export const isOutdated = (error: unknown): boolean =>
  error instanceof postgres.PostgresError && error.code === "0A000" && error.routine === "RevalidateCachedQuery";

/** Whether the server has forgotten the statement, or has outdated plans: it was not executed, and can be elsewhere. */
export const isStale = (error: unknown): boolean =>
  isOutdated(error) || (error instanceof postgres.PostgresError && error.code === "26000");

/** What may be said of an error in a log. A PostgreSQL error's own words can hold the values of a row. */
export const describeError = (error: unknown): Record<string, unknown> => {
  if (error instanceof postgres.PostgresError) {
    const { code, severity, constraint_name, table_name, column_name, routine } = error;
    return {
      name: error.name,
      code,
      severity,
      constraint: constraint_name,
      table: table_name,
      column: column_name,
      routine,
    };
  }
  if (error instanceof Error) {
    return {
      name: error.name,
      code: "code" in error ? error.code : undefined,
      message: error.message,
      stack: error.stack,
    };
  }
  return { name: typeof error };
};
