/**
 * How a statement reaches PostgreSQL. It is written with Drizzle's `sql`, which knows the tables, turned into text once,
 * and run as a prepared statement by the pool: one round trip.
 */
import { type Column, fillPlaceholders, getTableColumns, type Placeholder, type SQL, sql } from "drizzle-orm";
import { PgDialect, type PgTable } from "drizzle-orm/pg-core";
import { TEXT_ARRAY } from "./connection.ts";
import type { Db } from "./pool.ts";

const dialect = new PgDialect();

/** Turns a query into a function that runs it, prepared, with a value for each of its named placeholders. */
export const statement = <Row extends object>(query: SQL) => {
  const { sql: text, params } = dialect.sqlToQuery(query);
  return (db: Pick<Db, "run">, values: Record<string, unknown>): Promise<Row[]> =>
    db.run<Row>(text, fillPlaceholders(params, values));
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

/**
 * `asked`, a table of rows that are given: each column a list, as text, under one of these names; `given` with the same
 * names gives the lists. What a column holds is cast where it is used.
 */
export const askedRows = (names: readonly string[]): SQL => {
  const lists = names.map((name) => sql`${sql.placeholder(name)}::text[]`);
  const columns = names.map((name) => sql.identifier(name));
  return sql`unnest(${sql.join(lists, sql`, `)}) with ordinality asked (${sql.join(columns, sql`, `)}, position)`;
};

/** For each column of `table`, what `askedRows` has of it under `prefix`. */
export const askedColumns = <Table extends PgTable>(
  table: Table,
  prefix: string,
): Record<keyof Table["_"]["columns"], SQL> =>
  Object.fromEntries(
    Object.keys(getTableColumns(table)).map((key) => [key, sql`asked.${sql.identifier(`${prefix}.${key}`)}`]),
  ) as Record<keyof Table["_"]["columns"], SQL>;

/** A value as PostgreSQL reads it from text. */
const asText = (value: unknown): string | null => {
  if (value === null || value === undefined) return null;
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return TEXT_ARRAY.serialize(value);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
};

/** The values for `askedRows(names)`. */
export const asked = (
  names: readonly string[],
  rows: readonly Record<string, unknown>[],
): Record<string, (string | null)[]> =>
  Object.fromEntries(names.map((name) => [name, rows.map((row) => asText(row[name]))]));

/** The values for `placeholders(table, prefix)`. */
export const rowValues = (prefix: string, row: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(row).map(([key, value]) => [`${prefix}.${key}`, value]));
