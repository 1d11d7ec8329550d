/**
 * How a statement reaches PostgreSQL. It is written with Drizzle's `sql`, which knows the tables, turned into text at
 * its first use (converting all at the start took half of the start-up time of a process), and run as a prepared
 * statement by the pool in one round trip.
 */
import { type Column, getTableColumns, is, Placeholder, type SQL, sql } from "drizzle-orm";
import { PgDialect, PgTable } from "drizzle-orm/pg-core";
import type { Described } from "../../generated/described.ts";
import type { Runner } from "../connection/batch.ts";
import { encodeValue } from "../connection/server/encode.ts";

const dialect = new PgDialect();

/** The names of the statements whose columns, as the server describes them, are those of `Row`. */
export type StatementOf<Row> = {
  [Name in keyof Described]: [keyof Row, keyof Described[Name]] extends [keyof Described[Name], keyof Row]
    ? Row extends Described[Name]
      ? Name
      : never
    : never;
}[keyof Described];

/** The text of every statement that has been defined so far. */
export const TEXTS: { name: string; readonly text: string }[] = [];

/** Like `statement`, for a query that is not listed. Its row type is not checked. */
export const prepared = <Row extends object, Values extends object = Record<string, unknown>>(
  name: string,
  query: SQL,
) => {
  let compiled: ReturnType<typeof dialect.sqlToQuery> | null = null;
  return (db: Runner, values: Values): Promise<Row[]> => {
    compiled ??= dialect.sqlToQuery(sql`${sql.raw(`/* ${name} */`)} ${query}`);
    const { sql: text, params } = compiled;
    const parameters = params.map((param) => {
      if (!is(param, Placeholder)) return param;
      if (!(param.name in values)) throw new TypeError(`no value for the placeholder ${param.name}`);
      return values[param.name as keyof Values];
    });
    return db.run<Row>(text, parameters, name);
  };
};

/**
 * Turns a query into a function that runs it, prepared. Each named placeholder gets the value of its name. A missing
 * value throws a `TypeError`. Logs, metrics and the server's views show `name`. `statements.sql` lists every statement.
 * `Row` must fit the columns that the server describes, which `bun run statements` records.
 */
export const statement = <Row extends object, Values extends object = Record<string, unknown>>(
  name: StatementOf<Row>,
  query: SQL,
) => {
  TEXTS.push({
    name,
    get text() {
      return dialect.sqlToQuery(query).sql;
    },
  });
  return prepared<Row, Values>(name, query);
};

const asText = (value: unknown): string | null => (value === null || value === undefined ? null : encodeValue(value));

/** The column of the table of inputs that has the values of this name, as text. */
export const inputColumn = (name: string): SQL => sql`inputs.${sql.identifier(name)}`;

/** The row of a batched statement. `position` is the number of its input, from 1. */
export type Positioned<Row> = Row & { position: number };

/**
 * A statement that does the work of a whole batch. `query` reads from `inputs`, a table with a row for each input: a column
 * for each of `names`, as text, and `position`.
 */
export const batchStatement = <Row extends object, Input extends object>(
  name: StatementOf<Positioned<Row>>,
  names: readonly (keyof Input & string)[],
  query: (inputs: SQL) => SQL,
) => {
  const lists = names.map((key) => sql`${sql.placeholder(key)}::text[]`);
  const columns = names.map((key) => sql.identifier(key));
  const inputs = sql`unnest(${sql.join(lists, sql`, `)}) with ordinality inputs (${sql.join(columns, sql`, `)}, position)`;
  const run = statement<Positioned<Row>>(name, query(inputs));
  return (db: Runner, all: readonly Input[]): Promise<Positioned<Row>[]> =>
    run(db, Object.fromEntries(names.map((key) => [key, all.map((one) => asText(one[key]))])));
};

/** The maximum number of rows that one statement of a sweep deletes. */
const SWEPT = 1000;

/**
 * Creates a sweep. It deletes the rows of `table` that meet `condition`, a thousand at a time, in ascending `order`,
 * and returns their number. It skips locked rows. Rows are deleted by their `ctid`, which does not change while they
 * are locked. Otherwise the server would read a large table whole.
 */
export const createSweep = (
  name: StatementOf<{ swept: string }>,
  table: PgTable,
  condition: SQL,
  order: Column,
): ((db: Runner) => Promise<number>) => {
  const sweep = statement<{ swept: string }>(
    name,
    sql`
    with swept as (
      delete from ${table} where ctid = any(array(
        select ctid from ${table} where ${condition} order by ${order} limit ${sql.raw(String(SWEPT))}
        for update skip locked
      ))
      returning 1
    )
    select count(*) as swept from swept`,
  );
  return async (db) => {
    for (let all = 0; ; ) {
      const [row] = await sweep(db, {});
      const swept = Number(row?.swept ?? 0);
      all += swept;
      if (swept < SWEPT) return all;
    }
  };
};

/** The columns of a table, or some of them, to be selected under the names that they have in the code. */
export const selectColumns = (columns: PgTable | Record<string, Column>): SQL =>
  sql.join(
    Object.entries<Column>(is(columns, PgTable) ? getTableColumns(columns) : columns).map(
      ([key, column]) => sql`${column} as ${sql.identifier(key)}`,
    ),
    sql`, `,
  );

/**
 * The newest rows below the id `before` in which the columns have these values. An index serves this if it begins with
 * the columns and ends with the id. The conditions are comparisons of rows, whose first column is not that of the
 * primary key. Otherwise the server may read the primary key and filter. It does so when nearly all rows have the same
 * values, or when the table was not analyzed yet. For rare values, it would then read the whole table. With `first`,
 * only rows whose id is not below it.
 */
export const newestRows = (
  values: readonly (readonly [column: Column | SQL, value: SQL | Placeholder])[],
  id: Column,
  before: SQL,
  first: SQL | null = null,
): { where: SQL; orderBy: SQL } => {
  const list = (items: readonly (Column | SQL | Placeholder)[]): SQL => sql.join([...items], sql`, `);
  const [columns, listed] = [values.map(([column]) => column), values.map(([, value]) => value)];
  const least =
    first === null
      ? sql`(${list(columns)}) >= (${list(listed)})`
      : sql`(${list([...columns, id])}) >= (${list([...listed, first])})`;
  return {
    where: sql`(${list([...columns, id])}) < (${list([...listed, before])}) and ${least}`,
    orderBy: list([...columns, id].map((column) => sql`${column} desc`)),
  };
};
