/**
 * The connection to PostgreSQL, and how a statement reaches it. Statements are written with Drizzle's `sql`, which
 * knows the tables, turned into text once, and run as prepared statements by the `postgres` driver: one round trip.
 *
 * Nothing here uses the driver's `begin()`: when a connection dies, `postgres` 3.4 can run the rest of one such block
 * in another's transaction (github.com/porsager/postgres, issues 1215 and 1216). What belongs together is one statement.
 */
import { type Column, fillPlaceholders, getTableColumns, type Placeholder, type SQL, sql } from "drizzle-orm";
import { PgDialect, type PgTable } from "drizzle-orm/pg-core";
import postgres from "postgres";

export type Db = {
  readonly client: postgres.Sql;
  /** How long a request's statement may take, in milliseconds. */
  readonly deadlineMs: number;
  /** Whether statements stay prepared on their connection. */
  readonly prepare: boolean;
  /** Lets running statements end, for a second at most, then closes every connection. */
  close(): Promise<void>;
};

/**
 * `text[]`. What is written may be anything, and is quoted; what is read is scopes, ids and names of fields, and hold
 * nothing that PostgreSQL would quote.
 */
const TEXT_ARRAY = {
  to: 1009,
  from: [1009],
  serialize: (list: readonly (string | null)[]): string =>
    `{${list.map((item) => (item === null ? "NULL" : `"${item.replace(/["\\]/g, "\\$&")}"`)).join(",")}}`,
  parse: (text: string): string[] => (text === "{}" ? [] : text.slice(1, -1).split(",")),
};

export type ConnectOptions = {
  connections?: number;
  deadlineMs?: number;
  /** False behind a pooler in transaction mode that does not keep prepared statements (PgBouncer before 1.21). */
  prepare?: boolean;
};

/** Opens a pool on a `postgres://` URL. Nothing is sent before the first statement. */
export const connect = (url: string, options: ConnectOptions = {}): Db => {
  const { prepare = true } = options;
  const client = postgres(url, {
    max: options.connections ?? 10,
    connect_timeout: 5,
    prepare,
    // The driver's own backoff grows to tens of seconds: a database that is back would be found late.
    backoff: () => 0.25,
    onnotice: () => {},
    // The driver would ask each new connection for the types of arrays, and let the process end if that connection dies
    // meanwhile: nothing handles the rejection. We know the one type of array that we use.
    fetch_types: false,
    types: { textArray: TEXT_ARRAY },
    connection: { application_name: "realtime-avatar" },
  });
  // The driver waits without end for a connection that died under a statement: hence the limit. Whoever closes has
  // waited for the requests in flight before.
  return { client, deadlineMs: options.deadlineMs ?? 5000, prepare, close: () => client.end({ timeout: 1 }) };
};

/** The server has not answered in time. The statement may still be executed. */
class DeadlineExceeded extends Error {
  readonly code = "DEADLINE_EXCEEDED";
}

/** The driver itself waits without end for a server that is frozen, or for a connection that has silently gone. */
const within = <Result>(milliseconds: number, work: Promise<Result>): Promise<Result> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new DeadlineExceeded("the database did not answer in time")), milliseconds);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });

const dialect = new PgDialect();

/**
 * Turns a query into a function that runs it, prepared, with a value for each of its named placeholders, and fails when
 * it takes longer than the deadline.
 */
export const statement = <Row extends object>(query: SQL) => {
  const { sql: text, params } = dialect.sqlToQuery(query);
  return (db: Db, values: Record<string, unknown>): Promise<Row[]> =>
    within(
      db.deadlineMs,
      db.client.unsafe<Row[]>(text, fillPlaceholders(params, values) as never[], { prepare: db.prepare }),
    );
};

/** Every column of `table`, to be selected under the name that it has in the code. */
export const columnsOf = (table: PgTable): SQL =>
  sql.join(
    Object.entries<Column>(getTableColumns(table)).map(([key, column]) => sql`${column} as ${sql.identifier(key)}`),
    sql`, `,
  );

/**
 * The newest rows below the id `before` of those in which the columns have these values, as an index has them that begins
 * with the columns and ends with the id. Written as comparisons of rows, whose first column is not that of the primary
 * key: otherwise the server is free to read the primary key and to filter, which it does when nearly all rows have the
 * same values, or when it has not counted them yet, and then it reads the whole table for values that few of them have.
 */
export const newestOf = (
  values: readonly (readonly [column: Column, value: SQL | Placeholder])[],
  id: Column,
  before: SQL,
): { where: SQL; orderBy: SQL } => {
  const list = (items: readonly (Column | SQL | Placeholder)[]): SQL => sql.join([...items], sql`, `);
  const [columns, wanted] = [values.map(([column]) => column), values.map(([, value]) => value)];
  return {
    where: sql`(${list([...columns, id])}) < (${list([...wanted, before])}) and (${list(columns)}) >= (${list(wanted)})`,
    orderBy: list([...columns, id].map((column) => sql`${column} desc`)),
  };
};

/** What a column of an inserted row gets: a named placeholder, or an expression. */
type ColumnValue = Placeholder | SQL;

/** `insert into table (…) select …`, for each row of `from`. Every column must be given. */
export const insertFrom = <Table extends PgTable>(
  table: Table,
  values: Record<keyof Table["_"]["columns"], ColumnValue>,
  from: SQL,
): SQL => {
  const columns = Object.entries<Column>(getTableColumns(table));
  const names = columns.map(([, column]) => sql.identifier(column.name));
  const expressions = columns.map(([key, column]) => {
    const value = values[key as keyof typeof values];
    return sql`${value}::${sql.raw(column.getSQLType())}`;
  });
  return sql`insert into ${table} (${sql.join(names, sql`, `)}) select ${sql.join(expressions, sql`, `)} from ${from}`;
};

/** A named placeholder for each column of `table`; `rowValues` with the same prefix gives their values. */
export const placeholders = <Table extends PgTable>(
  table: Table,
  prefix: string,
): Record<keyof Table["_"]["columns"], Placeholder> =>
  Object.fromEntries(
    Object.keys(getTableColumns(table)).map((key) => [key, sql.placeholder(`${prefix}.${key}`)]),
  ) as Record<keyof Table["_"]["columns"], Placeholder>;

/** The values for `placeholders(table, prefix)`. */
export const rowValues = (prefix: string, row: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(row).map(([key, value]) => [`${prefix}.${key}`, value]));

/** Why a statement failed, where the reason lies with the database rather than with the statement. */
export type DatabaseFailure =
  /** It was certainly not executed. */
  | "not_executed"
  /** The connection was lost on the way: it may have been executed. */
  | "outcome_unknown";

const LOST_CONNECTION = new Set([
  "DEADLINE_EXCEEDED",
  "CONNECTION_CLOSED",
  "CONNECTION_DESTROYED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
]);
const NO_CONNECTION = new Set([
  "CONNECT_TIMEOUT",
  "CONNECTION_ENDED",
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "ENOENT",
  "EAI_AGAIN",
]);
/** SQLSTATEs and their classes (PostgreSQL's appendix A) that tell of the server's state, not of a mistake of ours. */
const LOST_STATE = /^(08|57P0[12]|40003)/;
const REFUSED_STATE = /^(28|3D000|25006|40|42P01|42703|53|55P03|57|58)/;

/** Tells a failing database from a failing statement; `null` for the latter, and for whatever is no database error. */
export const databaseFailure = (error: unknown): DatabaseFailure | null => {
  const code = error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
  if (LOST_CONNECTION.has(code) || LOST_STATE.test(code)) return "outcome_unknown";
  if (NO_CONNECTION.has(code) || (error instanceof postgres.PostgresError && REFUSED_STATE.test(code)))
    return "not_executed";
  return null;
};

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

/** Refuses a server on which the service would not keep its word. The error says what is wrong with it. */
export const checkServer = async (db: Db): Promise<void> => {
  const [row] = await db.client<{ version: string; encoding: string; isolation: string }[]>`
    select current_setting('server_version_num') as version,
           current_setting('server_encoding') as encoding,
           current_setting('default_transaction_isolation') as isolation`;
  if (!row) throw new Error("PostgreSQL did not answer.");
  if (Number(row.version) < 150_000) throw new Error("PostgreSQL 15 or later is needed.");
  if (row.encoding !== "UTF8") throw new Error(`The database's encoding is ${row.encoding}; it must be UTF8.`);
  if (row.isolation !== "read committed") {
    throw new Error(`The database's default_transaction_isolation is ${row.isolation}; it must be read committed.`);
  }
};
