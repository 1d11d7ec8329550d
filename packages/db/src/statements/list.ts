/**
 * Lists, newest first, a page at a time. PostgreSQL writes the JSON of a page and ends it after so many rows or bytes, so
 * that no more is sent to the service than it passes on. Requests for the same page that arrive together share one
 * statement.
 */
import { MAX_PAGE_BYTES, type WrittenPage } from "@realtime-avatar/domain/page";
import { type Column, is, Placeholder, SQL, sql } from "drizzle-orm";
import type { BatchKind, Runner } from "../connection/batch.ts";
import { givenColumns, givenRows, statement } from "./statement.ts";

/** How many requests for pages are sent to the database as one batch: it bounds what their results take in memory. */
const MAX_BATCH = 16;
/**
 * How many different pages one statement reads. A large one holds up no more than these; 16 were not faster than 4, which
 * are 1.15 times as fast as one at 32 connections.
 */
const PER_STATEMENT = 4;

export const LIMIT = sql.placeholder("limit");
/**
 * How many rows a page looks at. A parameter: of a number, the server may think that it is all there is, and sort the
 * whole list instead of reading an index in its order.
 */
export const LOOK = sql.placeholder("lookedAt");
/** The values that are numbers; all others are used as text, or cast where they are used. */
const NUMBERS = new Set(["limit", "lookedAt"]);
const MAX_BYTES = sql.raw(String(MAX_PAGE_BYTES));

/**
 * A statement for a page of the rows of `found`, which has one row more than `limit` where there are more. `item` is the
 * JSON text of a row, `orderBy` puts the newest first. `rest` is the id below which the list goes on when `found` has no
 * further row; by default it has ended. A page has at least one row when `found` has one.
 *
 * The rows are put in order once, by the innermost query: the windows and `string_agg` take them as they come. Each in an
 * order of its own, with its own sort, took 640 us of the server instead of 400 us for 50 avatars.
 */
export const pageOf = (found: SQL, id: Column, item: SQL, orderBy: SQL, rest: SQL = sql`null`): SQL => sql`
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

/** `query` with a column of the row `asked` in the place of each placeholder. */
const perAsked = (query: SQL): SQL =>
  sql.join(
    query.queryChunks.map((chunk) => {
      if (is(chunk, SQL)) return perAsked(chunk);
      if (!is(chunk, Placeholder)) return sql`${chunk}`;
      const column = sql`${sql.identifier(`asked.${chunk.name}`)}`;
      return NUMBERS.has(chunk.name) ? sql`${column}::bigint` : column;
    }),
  );

/**
 * Reads pages by a statement of `pageOf`. Those that ask for the same page at the same time share it, and a few different
 * ones go in one statement, which costs fewer round trips. `names` are the names of the values in `Asked`.
 */
export const pageReader = <Asked extends object>(
  name: string,
  query: SQL,
  names: readonly (keyof Asked & string)[],
): BatchKind<Asked, WrittenPage> => {
  const selectOne = statement<WrittenPage, Asked>(
    query,
    Object.fromEntries(names.map((key) => [key, (asked: Asked) => asked[key]])),
  );
  const given = givenRows(
    "asked",
    givenColumns<Asked, Asked>("asked", names, (asked) => asked),
    (all: readonly Asked[]) => all,
  );
  const selectMany = statement<WrittenPage & { position: number }, readonly Asked[]>(
    sql`select position::integer as "position", page.* from ${given.sql} cross join lateral (${perAsked(query)}) page`,
    given.readers,
  );
  const read = async (db: Runner, asked: readonly Asked[]): Promise<WrittenPage[]> => {
    const [first] = asked;
    if (first && asked.length === 1) return selectOne(db, first);
    const pages: WrittenPage[] = [];
    for (const { position, ...page } of await selectMany(db, asked)) pages[position - 1] = page;
    return pages;
  };
  return {
    name,
    inFlight: 2,
    maxBatch: MAX_BATCH,
    run: async (db, asked) => {
      const keyOf = (one: Asked): string => JSON.stringify(Object.values(one));
      const different = [...new Map(asked.map((one) => [keyOf(one), one])).values()];
      const statements: Promise<WrittenPage[]>[] = [];
      for (let at = 0; at < different.length; at += PER_STATEMENT) {
        statements.push(read(db, different.slice(at, at + PER_STATEMENT)));
      }
      const pages = (await Promise.all(statements)).flat();
      const byKey = new Map(different.map((one, index) => [keyOf(one), pages[index]]));
      return asked.map((one) => byKey.get(keyOf(one)) as WrittenPage);
    },
  };
};
