/**
 * Lists, newest first, a page at a time. PostgreSQL writes the JSON of a page and ends it after a maximum of rows or
 * bytes, so that it sends only the contents of a page. Concurrent requests for the same page share one statement. The
 * texts of the statements are composed. The filters give the 14 lists 113 forms (32 of deliveries, 19 of events, 16
 * each of keys, usage sessions and credit entries). A file for each form would repeat `pageStatement` and the JSON of
 * its resource. The forms are `newestPage`, `rangesPage` and `boundedPage`, and those of `search.ts`.
 * `generated/statements.sql` has each text whole.
 */
import type { IdPrefix, TenantId } from "@realtime-avatar/domain/id";
import { MAX_COUNTED, MAX_PAGE_BYTES, type Total, type WrittenPage } from "@realtime-avatar/domain/page";
import { type Column, getTableName, type SQL, sql } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { type BatchKind, type Runner, shareEqual } from "../connection/batch.ts";
import type { Db } from "../connection/pool.ts";
import { batchStatement, inputColumn, newestRows, type Positioned, type StatementOf } from "./statement.ts";

/** How many requests for pages are sent to the database as one batch. This bounds the memory of their results. */
const MAX_BATCH = 16;
/**
 * How many different pages one statement reads. A large page delays only the pages of its statement. At 32 connections,
 * 4 pages are 1.15 times as fast as one, and 16 are not faster.
 */
const PER_STATEMENT = 4;

export const LIMIT = sql`${inputColumn("limit")}::bigint`;
/**
 * The maximum number of rows that a page reads. A value of the inputs, not a constant. With a constant, the server may
 * assume that the list has no more rows, and sort the whole list instead of reading an index in its order.
 */
export const MAX_READ = sql`${inputColumn("maxRead")}::bigint`;
const MAX_BYTES = sql.raw(String(MAX_PAGE_BYTES));

/**
 * A statement for a page of the rows of `found`, which has one row more than `limit` where there are more. `item` is
 * the JSON text of a row. `orderBy` puts the newest first. `rest` is the id below which the list continues when `found`
 * has no further row; by default the list has ended. A page has at least one row when `found` has a row.
 *
 * The rows are put in order once, by the innermost query: the windows and `string_agg` read them in that order. With a
 * sort for each of them, 50 avatars would take 640 us of the server instead of 400 us.
 */
export const pageStatement = (found: SQL, id: Column, item: SQL, orderBy: SQL, rest: SQL = sql`null`): SQL => sql`
  select
    coalesce(string_agg(item, ',') filter (where is_shown), '') as "items",
    case when count(*) filter (where is_shown) < count(*) then min(id) filter (where is_shown) else ${rest} end as "next"
  from (
    select id, item,
      row_number() over so_far = 1
        or (row_number() over so_far <= ${LIMIT} and sum(octet_length(item) + 1) over so_far <= ${MAX_BYTES}) as is_shown
    from (select ${id} as id, ${item} as item from ${found} order by ${orderBy}) items
    window so_far as (rows unbounded preceding)
  ) items`;

/** Wraps the rows of a list in a statement: `pageStatement` for a page, `selectCount` for their number. */
type Shape = typeof pageStatement;

/**
 * A statement for the number of the rows of `found`, which has one row more than `limit` where there are more. It is not exact when
 * `rest` says that rows were not read. The rows are those of a page, so that a count reads no more than the largest page would.
 */
export const selectCount: Shape = (found, id, _item, _orderBy, rest = sql`null`) => sql`
  select least(count(*), ${LIMIT})::integer as "count", count(*) <= ${LIMIT} and ${rest} is null as "isExact"
  from (select ${id} from ${found}) counted`;

/** The id below which a page begins; for the first page, a value above every id with this prefix. */
export const inputBefore = (prefix: IdPrefix): SQL =>
  sql`coalesce(${inputColumn("before")}, ${sql.raw(`'${prefix}~'`)})`;

/** A list: its table, whose rows have an id with this prefix, and the JSON text of a row. */
export type ListSource = { table: PgTable; id: Column; prefix: IdPrefix; item: SQL };
export type Columns = Parameters<typeof newestRows>[0];

/** The newest rows that meet `condition` and in which the columns of an index have the values of `columns`. */
export const newestPage = (
  { table, id, prefix, item }: ListSource,
  columns: Columns,
  condition?: SQL,
  shape: Shape = pageStatement,
): SQL => {
  const { where, orderBy } = newestRows(columns, id, inputBefore(prefix));
  const conditions = condition ? sql`${where} and ${condition}` : where;
  const found = sql`(
    select * from ${table} where ${conditions} order by ${orderBy} limit ${LIMIT} + 1
  ) ${sql.raw(getTableName(table))}`;
  return shape(found, id, item, orderBy);
};

/**
 * The newest rows of several ranges of an index: one for each of the inputs' `statuses` and `kinds`, which are the
 * columns after `owner`. Each range is read from its newest row.
 */
export const rangesPage = (
  { table, id, prefix, item }: ListSource,
  owner: Columns,
  { status, kind }: { status: Column; kind: Column },
  shape: Shape = pageStatement,
): SQL => {
  const columns = [...owner, [status, sql`listed_status`], [kind, sql`listed_kind`]] as const;
  const { where, orderBy } = newestRows(columns, id, inputBefore(prefix));
  const alias = sql.raw(getTableName(table));
  return shape(
    sql`(
      select ${alias}.*
      from unnest(${inputColumn("statuses")}::text[]) listed_status
      cross join unnest(${inputColumn("kinds")}::text[]) listed_kind
      cross join lateral (
        select * from ${table} where ${where} order by ${orderBy} limit ${LIMIT} + 1
      ) ${alias}
      order by ${id} desc limit ${LIMIT} + 1
    ) ${alias}`,
    id,
    item,
    sql`${id} desc`,
  );
};

/**
 * The newest rows that meet `conditions`, of the first `maxRead` rows that `read` finds in the order of an index.
 * `also`: additional columns of the rows. `orderBy`: the order, by their names.
 */
export const boundedPage = (
  { table, id, item }: Omit<ListSource, "prefix">,
  read: { where: SQL; orderBy: SQL },
  conditions: readonly SQL[],
  { also = sql``, orderBy = read.orderBy, shape = pageStatement }: { also?: SQL; orderBy?: SQL; shape?: Shape } = {},
): SQL => {
  const inOrder = sql`from ${table} where ${read.where} order by ${read.orderBy}`;
  const alias = sql.raw(getTableName(table));
  return shape(
    sql`(
      select * from (select *${also} ${inOrder} limit ${MAX_READ}) ${alias}
      where ${sql.join([sql`true`, ...conditions], sql` and `)}
      order by ${orderBy} limit ${LIMIT} + 1
    ) ${alias}`,
    id,
    item,
    orderBy,
    sql`(select ${id} ${inOrder} limit 1 offset ${MAX_READ} - 1)`,
  );
};

/**
 * Reads pages by `onePage`, a query of `pageStatement`, or numbers of rows by one of `selectCount`. The query takes its
 * values from `inputs`. Equal pages that are read at the same time share one result. A few different pages share one
 * statement. `names` are the names of the values.
 */
export const pageReader = <PageQuery extends object, Result extends object = WrittenPage>(
  name: StatementOf<Positioned<Result>>,
  onePage: SQL,
  names: readonly (keyof PageQuery & string)[],
): BatchKind<PageQuery, Result> => {
  const select = batchStatement<Result, PageQuery>(
    name,
    names,
    (inputs) => sql`select position::integer as "position", page.* from ${inputs} cross join lateral (${onePage}) page`,
  );
  const read = async (db: Runner, queries: readonly PageQuery[]): Promise<Result[]> => {
    const pages: Result[] = [];
    for (const { position, ...page } of await select(db, queries)) pages[position - 1] = page as unknown as Result;
    return pages;
  };
  return {
    name,
    inFlight: 2,
    maxBatch: MAX_BATCH,
    run: (db, queries) =>
      shareEqual(
        queries,
        (query) => JSON.stringify(Object.values(query)),
        async (different) => {
          const statements: Promise<Result[]>[] = [];
          for (let at = 0; at < different.length; at += PER_STATEMENT) {
            statements.push(read(db, different.slice(at, at + PER_STATEMENT)));
          }
          return (await Promise.all(statements)).flat();
        },
      ),
  };
};

/** A statement of a list: its query as a page or as a number of rows, and the names of its values. */
type ListForm<Query> = { select: (shape: Shape) => SQL; fields: readonly (keyof Query & string)[] };

/**
 * The statements of a list, each created at its first use. `page` returns the statement for a page, `count` the
 * statement for the number of rows. `Form` is the part of a request that selects the text, such as the filters.
 */
export const listStatements = <Query extends object, Form extends readonly unknown[]>(
  names: { page: StatementOf<Positioned<WrittenPage>>; count: StatementOf<Positioned<Total>> },
  formOf: (...form: Form) => ListForm<Query>,
) => {
  const by = <Result extends object>(name: StatementOf<Positioned<Result>>, shape: Shape) => {
    const statements = new Map<string, BatchKind<Query, Result>>();
    return (...form: Form): BatchKind<Query, Result> => {
      const key = JSON.stringify(form);
      const known = statements.get(key);
      if (known) return known;
      const { select, fields } = formOf(...form);
      const made = pageReader<Query, Result>(name, select(shape), fields);
      statements.set(key, made);
      return made;
    };
  };
  return { page: by<WrittenPage>(names.page, pageStatement), count: by<Total>(names.count, selectCount) };
};

/** The page that a count reads: as many rows as are counted. */
export const COUNTED = { before: null, limit: MAX_COUNTED, maxRead: MAX_COUNTED } as const;

/** The total of a list without rows. */
export const NONE: Total = { count: 0, isExact: true };

/** The owner of the rows of a list: the tenant, and a value for each further column. */
type OwnerOf<Name extends string> = { tenantId: TenantId } & Readonly<Record<Name, string>>;

/**
 * Creates a list without filters. Returns the function that reads a page of the owner's newest rows that meet
 * `condition`. `columns`: the columns of the index before the id, by the names of the owner's values. One statement,
 * shared by requests for the same page.
 */
export const createList = <Name extends string>(
  name: StatementOf<Positioned<WrittenPage>>,
  source: ListSource,
  columns: Readonly<Record<Name, Column>>,
  condition?: SQL,
) => {
  const names = Object.keys(columns) as Name[];
  const page = newestPage(
    source,
    names.map((key) => [columns[key], inputColumn(key)]),
    condition,
  );
  const reader = pageReader<Record<string, unknown>>(name, page, [...names, "before", "limit"]);
  return (
    db: Db,
    owner: OwnerOf<Name>,
    { before, limit }: { before: string | null; limit: number },
  ): Promise<WrittenPage> =>
    db.batch(reader, { ...Object.fromEntries(names.map((key) => [key, owner[key]])), before, limit }, owner.tenantId);
};
