/** Errors of the database: their consequences for the statement and its connection, and their loggable parts. */
import postgres from "postgres";

/** Whether a statement was executed, after a failure of the database or the connection. */
export type DatabaseFailure =
  /** It was certainly not executed. */
  | "not_executed"
  /** The connection was lost, or the deadline passed, while it ran: it may have been executed. */
  | "outcome_unknown";

/** A statement failed because of the database or the connection, not because of its content. */
export class DatabaseError extends Error {
  override readonly name = "DatabaseError";

  constructor(
    readonly failure: DatabaseFailure,
    /** For the log: an SQLSTATE, an error code of the operating system, or a code of this package. */
    readonly code: string,
    message: string,
    options: { cause?: unknown } = {},
  ) {
    super(message, options);
  }
}

export const notExecuted = (code: string, message: string): DatabaseError =>
  new DatabaseError("not_executed", code, message);

/** The queue has its maximum length. */
export const queueFull = (): DatabaseError => notExecuted("QUEUE_FULL", "the queue is full");

const ABORTED = "ABORTED";
/** The statement was not sent, because its request had been aborted. */
export const aborted = (): DatabaseError => notExecuted(ABORTED, "the request was aborted before this was sent");

/** The deadline passed before the statement was sent. */
export const tooLate = (message: string): DatabaseError => notExecuted("DEADLINE_EXCEEDED", message);
/** The deadline passed after the statement was sent. */
export const noResponse = (): DatabaseError =>
  new DatabaseError("outcome_unknown", "DEADLINE_EXCEEDED", "the database did not respond in time");

/** Whether a statement was not sent because its request, or one of its batch, had been aborted. */
export const isAbort = (error: unknown): boolean => error instanceof DatabaseError && error.code === ABORTED;

/** How the database failed; `null` for a failure of the statement itself, and for any other error. */
export const databaseFailure = (error: unknown): DatabaseFailure | null =>
  error instanceof DatabaseError ? error.failure : null;

/** Errors that the driver throws before it sends anything. They are defects of the service. */
const NEVER_SENT = new Set(["UNDEFINED_VALUE", "MAX_PARAMETERS_EXCEEDED", "NOT_TAGGED_CALL"]);
/** SQLSTATEs and classes of them (PostgreSQL's appendix A) that describe the server's state, not a defect of the service. */
const LOST_STATE = /^(08|57P0[12]|40003)/;
const REFUSED_STATE = /^(28|3D000|3F000|25006|40|42501|42704|42883|42P01|42703|53|55P03|57|58)/;
const OBJECT_IS_GONE = /^(cache lookup failed for|could not open relation with OID) /;

/**
 * Converts the driver's error of a statement into a `DatabaseError` if the database or the connection has failed.
 * Returns any other error unchanged.
 */
export const toStatementError = (error: unknown): unknown => {
  if (!(error instanceof postgres.PostgresError)) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "UNREADABLE";
    if (NEVER_SENT.has(code)) return error;
    return new DatabaseError("outcome_unknown", code, "the connection was lost", { cause: error });
  }
  const { code, severity } = error;
  // FATAL and PANIC end the connection. They do not show whether the statement was executed.
  if (LOST_STATE.test(code) || severity !== "ERROR") {
    return new DatabaseError("outcome_unknown", code, "the connection was lost");
  }
  if (REFUSED_STATE.test(code) || isStatementForgotten(error) || hasShardMoved(error))
    return new DatabaseError("not_executed", code, "the database refuses the statement");
  return error;
};

/** SQLSTATEs after which the connection is discarded: read-only; cancelled, perhaps between two messages of a statement. */
const UNUSABLE_AFTER = new Set(["25006", "57014"]);
/** Whether the connection can be used again: only after an ERROR of the server, except those of `UNUSABLE_AFTER`. */
export const isConnectionUsable = (error: unknown): boolean =>
  error instanceof postgres.PostgresError && error.severity === "ERROR" && !UNUSABLE_AFTER.has(error.code);

/**
 * Whether the prepared statement was planned before a schema change. The prepared statements of other connections are
 * then outdated as well. If an object that the statement or its parameters use was dropped, the server reports an
 * internal error, with a text that it never translates. On the same connection it does so even after the object was
 * created again.
 */
export const isPlanOutdated = (error: unknown): boolean =>
  error instanceof postgres.PostgresError &&
  ((error.code === "0A000" && error.routine === "RevalidateCachedQuery") ||
    (error.code === "XX000" && error.severity === "ERROR" && OBJECT_IS_GONE.test(error.message)));

/**
 * Whether the server no longer has the prepared statement, or a plan that fits the schema. The statement was not
 * executed, and can be run on another connection.
 */
export const isStatementForgotten = (error: unknown): boolean =>
  isPlanOutdated(error) || (error instanceof postgres.PostgresError && error.code === "26000");

/** SQLSTATEs of a statement that a node cannot analyze: an unknown type of a parameter, and a form that is not supported. */
const UNFIT_FOR_NODE = new Set(["42P18", "0A000"]);
/**
 * Whether the shard moved to another node while the statement ran. Citus then sends the rest of a function to that
 * node, statement by statement. Some of these statements cannot be sent. An error of rows that Citus copies there has
 * no code. The transaction was rolled back. When the call is executed again, Citus sends it whole.
 */
export const hasShardMoved = (error: unknown): boolean =>
  error instanceof postgres.PostgresError &&
  (error.routine === "ReportCopyError" ||
    (UNFIT_FOR_NODE.has(error.code) && error.where?.startsWith("while executing command on ") === true));

/**
 * The errors of services on which this service depends. While such a service is down, each request gets such an error,
 * and the stack adds nothing.
 */
const OF_DEPENDENCIES = new Set(["DatabaseError", "StorageError", "LivekitError", "OidcError"]);

/** The loggable parts of an error. The message and detail of a PostgreSQL error can contain values of a row. */
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
      stack: OF_DEPENDENCIES.has(error.name) ? undefined : error.stack,
    };
  }
  return { name: typeof error };
};
