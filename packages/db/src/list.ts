/**
 * Lists, newest first, a page at a time. PostgreSQL writes the JSON of a page and ends it after so many rows or bytes, so
 * that no more is sent to the service than it passes on. Requests for the same page that arrive together share one
 * statement.
 */
import { MAX_PAGE_BYTES, type WrittenPage } from "@realtime-avatar/domain/page";
import { type Column, type SQL, sql } from "drizzle-orm";
import type { Gatherable } from "./gather.ts";
import { statement } from "./statement.ts";

/** How many requests for pages are sent to the database as one batch: it bounds what their results take in memory. */
const MAX_BATCH = 16;

export const LIMIT = sql.placeholder("limit");

/**
 * A statement for a page of the rows of `found`, which has one row more than `limit` where there are more. `item` is the
 * JSON text of a row. `rest` is the id below which the list goes on when `found` has no further row; by default it has
 * ended. A page has at least one row when `found` has one.
 */
export const pageOf = (found: SQL, id: Column, item: SQL, rest: SQL = sql`null`): SQL => sql`
  with items as materialized (
    select ${id} as id, ${item} as item from ${found}
  ),
  sized as (
    select id, item, row_number() over newest as place,
      sum(octet_length(item) + 1) over (newest rows unbounded preceding) as bytes
    from items window newest as (order by id desc)
  ),
  shown as materialized (
    select id, item from sized
    where place = 1 or (place <= ${LIMIT} and bytes <= ${sql.raw(String(MAX_PAGE_BYTES))})
  )
  select coalesce(string_agg(item, ',' order by id desc), '') as "items",
    case when count(*) < (select count(*) from items) then min(id) else ${rest} end as "next"
  from shown`;

/** Runs a statement of `pageOf`, one for all that ask for the same page at the same time. `Asked` holds its values. */
export const pageReader = <Asked extends Record<string, unknown>>(name: string, query: SQL) => {
  const select = statement<WrittenPage, Asked>(query);
  return {
    name,
    inFlight: 2,
    maxBatch: MAX_BATCH,
    run: async (db, asked) => {
      const pages = new Map<string, Promise<WrittenPage>>();
      return Promise.all(
        asked.map((values) => {
          const key = JSON.stringify(Object.values(values));
          const page = pages.get(key) ?? select(db, values).then(([row]) => row as WrittenPage);
          pages.set(key, page);
          return page;
        }),
      );
    },
  } satisfies Gatherable<Asked, WrittenPage>;
};
