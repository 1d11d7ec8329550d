/**
 * How a statement reaches PostgreSQL. It is written with Drizzle's `sql`, which knows the tables, turned into text once,
 * and run as a prepared statement by the pool: one round trip.
 */
import { type Column, getTableColumns, is, Placeholder, type SQL, sql } from "drizzle-orm";
import { PgDialect, type PgTable } from "drizzle-orm/pg-core";
import { TEXT_ARRAY } from "../connection/driver.ts";
import type { Db } from "../connection/pool.ts";

const dialect = new PgDialect();

/** How each named placeholder finds its value in what a statement is run with. */
export type Readers<Input> = Readonly<Record<string, (input: Input) => unknown>>;

/** The value of this name; throws when there is none. */
const byName =
  (name: string) =>
  (values: Record<string, unknown>): unknown => {
    const value = values[name];
    if (value === undefined && !(name in values)) throw new TypeError(`no value for the placeholder ${name}`);
    return value;
  };

/**
 * Turns a query into a function that runs it, prepared, with the value of each named placeholder: by `readers`, or, where
 * there are none, by its name.
 */
export const statement = <Row extends object, Input = Record<string, unknown>>(
  query: SQL,
  readers: Readers<Input> | null = null,
) => {
  const { sql: text, params } = dialect.sqlToQuery(query);
  const slots = params.map((param): ((input: Input) => unknown) => {
    if (!is(param, Placeholder)) return () => param;
    const read = readers === null ? (byName(param.name) as (input: Input) => unknown) : readers[param.name];
    if (!read) throw new TypeError(`no reader for the placeholder ${param.name}`);
    return read;
  });
  return (db: Pick<Db, "run">, input: Input): Promise<Row[]> =>
    db.run<Row>(
      text,
      slots.map((read) => read(input)),
    );
};

/** Rows that one statement of a sweep deletes at most. */
const SWEPT = 1000;

/**
 * Makes a sweep: it deletes the rows of `table` that meet `condition`, those with the least `order` first and a thousand
 * at a time, past rows that are locked, and returns their number. Rows are found by their place in the table, which they
 * cannot leave while they are locked: otherwise the server would read a large table whole.
 */
export const sweepOf = (table: PgTable, condition: SQL, order: Column): ((db: Pick<Db, "run">) => Promise<number>) => {
  const sweep = statement<{ swept: string }>(sql`
    with swept as (
      delete from ${table} where ctid = any(array(
        select ctid from ${table} where ${condition} order by ${order} limit ${sql.raw(String(SWEPT))}
        for update skip locked
      ))
      returning 1
    )
    select count(*) as swept from swept`);
  return async (db) => {
    for (let all = 0; ; ) {
      const [row] = await sweep(db, {});
      const swept = Number(row?.swept ?? 0);
      all += swept;
      if (swept < SWEPT) return all;
    }
  };
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

/** What each column of an inserted row gets: a named placeholder, or an expression. */
export type ColumnValues<Table extends PgTable> = Record<keyof Table["_"]["columns"], Placeholder | SQL>;

/** `insert into table (…) select …`, for each row of `from`. Every column must be given. */
export const insertFrom = <Table extends PgTable>(table: Table, values: ColumnValues<Table>, from: SQL): SQL => {
  const columns = Object.entries<Column>(getTableColumns(table));
  const names = columns.map(([, column]) => sql.identifier(column.name));
  const expressions = columns.map(([key, column]) => {
    const value = values[key as keyof typeof values];
    return sql`${value}::${sql.raw(column.getSQLType())}`;
  });
  return sql`insert into ${table} (${sql.join(names, sql`, `)}) select ${sql.join(expressions, sql`, `)} from ${from}`;
};

/** For each column of `table`, what `named` makes of the name that it has under `prefix`. */
export const columnValues = <Table extends PgTable>(
  table: Table,
  prefix: string,
  named: (name: string) => Placeholder | SQL,
): ColumnValues<Table> =>
  Object.fromEntries(
    Object.keys(getTableColumns(table)).map((key) => [key, named(`${prefix}.${key}`)]),
  ) as ColumnValues<Table>;

/** A named placeholder for each column of `table`; `rowValues` with the same prefix gives their values. */
export const placeholders = <Table extends PgTable>(table: Table, prefix: string): ColumnValues<Table> =>
  columnValues(table, prefix, (name) => sql.placeholder(name));

/** The values for `placeholders(table, prefix)`. */
export const rowValues = (prefix: string, row: object): Record<string, unknown> => {
  const values: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(row)) values[`${prefix}.${key}`] = value;
  return values;
};

/** The columns of rows that are given: under its name, how a row has each. A value is text there, to be cast where it is used. */
export type Given<Row> = Readonly<Record<string, (row: Row) => unknown>>;

/** Given columns `<prefix>.<key>` for these keys of what a row has. */
export const givenColumns = <Row, Source extends object>(
  prefix: string,
  keys: readonly (keyof Source & string)[],
  source: (row: Row) => Source | null,
): Given<Row> => Object.fromEntries(keys.map((key) => [`${prefix}.${key}`, (row: Row) => source(row)?.[key]]));

/** A value as PostgreSQL reads it from text. */
const asText = (value: unknown): string | null => {
  if (typeof value === "string") return value;
  if (value === null || value === undefined) return null;
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return TEXT_ARRAY.serialize(value);
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString("hex")}`;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
};

const mapReaders = <Row, Input>(
  columns: Given<Row>,
  reader: (read: (row: Row) => unknown) => (input: Input) => unknown,
): Readers<Input> => Object.fromEntries(Object.entries(columns).map(([name, read]) => [name, reader(read)]));

/** How the given columns of one row are read, each a placeholder of its name. */
export const givenRow = <Row>(columns: Given<Row>): Readers<Row> =>
  mapReaders(columns, (read) => (row) => asText(read(row)));

/** The table `alias` of given rows, each with its `position` from 1, and how it is read from `rowsOf` the input. */
export const givenRows = <Row, Input>(
  alias: string,
  columns: Given<Row>,
  rowsOf: (input: Input) => readonly Row[],
): { sql: SQL; readers: Readers<Input> } => {
  const names = Object.keys(columns);
  const lists = names.map((name) => sql`${sql.placeholder(name)}::text[]`);
  const identifiers = names.map((name) => sql.identifier(name));
  return {
    sql: sql`unnest(${sql.join(lists, sql`, `)}) with ordinality ${sql.identifier(alias)} (${sql.join(identifiers, sql`, `)}, position)`,
    readers: mapReaders(columns, (read) => (input) => rowsOf(input).map((row) => asText(read(row)))),
  };
};
