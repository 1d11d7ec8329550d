/**
 * Pages of rows whose name contains a text. Each costs a bounded time, whatever the text is, and however many rows the tenant has:
 *
 * 1. The newest `maxRead` rows are read in the order of the list. A text that is frequent fills the page from them.
 * 2. Otherwise, when there are older rows, and a part of the text is rare, the index of names finds all older rows that have it.
 * 3. Otherwise the page is short. It ends after the rows that were read, and the next page goes on below them.
 *
 * An index of trigrams reads a list for each part of the text, and each of the rows that have all of them. That takes 0.2 ms for a
 * rare word, and 300 ms for a text of three frequent ones, or when a third of a million names contain it. So the index is used
 * only if one part is rare: in a sample of one row of 1,024, which an index of its own holds, at most `MAX_IN_SAMPLE` names have it.
 *
 * The index folds the letters of ASCII alone, so that it depends on no locale, and is asked only for those and digits. The condition
 * of the list (`nameMatches`) is then applied to each row.
 */
import type { IdPrefix } from "@realtime-avatar/domain/id";
import { idRange, nameSearch } from "@realtime-avatar/domain/lists/search";
import { getTableName, type SQL, sql } from "drizzle-orm";
import type { AnyPgColumn, PgTable } from "drizzle-orm/pg-core";
import { foldedName, inNameSample, nameOwner } from "./columns.ts";
import { MAX_READ } from "./list.ts";
import { inputColumn } from "./statement.ts";

/** At most this many names of the sample have a part that is rare: about 8,000 of a million. */
const MAX_IN_SAMPLE = sql.raw("8");
/** The newest names of the sample are compared, those of two million rows: each costs 0.3 us for each part. */
const MAX_SAMPLE = sql.raw("2048");

/** How many rows a page of a search reads at most, in the order of the list: each costs 1 us, or 2.5 us for a text beyond ASCII. */
const MAX_ROWS_READ = { ascii: 15_000, other: 6_000 };

type Filters = { id?: string; name?: string; from?: string; to?: string };
/** Whether a list is searched. */
export const isSearch = ({ id, name, from, to }: Filters): boolean =>
  [id, name, from, to].some((filter) => filter !== undefined);

/** The inputs of a search, beside those of its list. */
export const SEARCH_INPUTS = ["first", "text", "upper", "lower", "pattern", "parts"] as const;
const NO_TEXT = { text: null, upper: null, lower: null, pattern: "", parts: [] };
export const searchInputs = (prefix: IdPrefix, filters: Filters, before: string | null) => {
  const search = filters.name === undefined ? NO_TEXT : nameSearch(filters.name);
  const maxRead = search.upper === null ? MAX_ROWS_READ.ascii : MAX_ROWS_READ.other;
  return { ...idRange(prefix, filters, before), ...search, maxRead };
};
export type SearchInputs = Omit<ReturnType<typeof searchInputs>, "before">;

/** Whether `name` contains the text of the inputs. Without one, every name does. */
export const nameMatches = (name: SQL | AnyPgColumn): SQL => sql`(
  ${inputColumn("text")} is null or strpos(
    case when ${inputColumn("upper")} is null then lower(${name} collate "C")
      else translate(lower(normalize(${name}) collate "C"), ${inputColumn("upper")}, ${inputColumn("lower")}) end,
    ${inputColumn("text")}
  ) > 0
)`;

/** What a search reads. */
export type Search = {
  list: { table: PgTable; id: AnyPgColumn; tenantId: AnyPgColumn; name: AnyPgColumn };
  /** The rows of a range of an index, and their order in it. */
  range: { where: SQL; orderBy: SQL };
  /** The ranges, as the beginning of a FROM clause, and an expression that names each; by default there is one range. */
  ranges?: { from: SQL; name: SQL };
  /** The conditions of a row, beside its range. */
  conditions: SQL;
  /** The conditions of the ranges beside those of ids, for rows that the index of names has found. */
  isListed: SQL;
  /** How many rows are looked for. */
  wanted: SQL;
};

const ONE_RANGE = { from: sql``, name: sql`''` };

/**
 * The common table expressions of a search. `found` has the ids of the newest `wanted` rows that match. Where `edge` has an id, only
 * those from this id on: below it, rows were not read.
 */
export const searchTables = ({ list, range, ranges = ONE_RANGE, conditions, isListed, wanted }: Search): SQL => {
  const { table, id, tenantId, name } = list;
  const alias = sql.raw(getTableName(table));
  const inOrder = sql`from ${table} where ${range.where} order by ${range.orderBy}`;
  return sql`
    hits as materialized (
      select ${ranges.name} as range, hit.id from ${ranges.from} lateral (
        select ${id} as id from (select * ${inOrder} limit ${MAX_READ}) ${alias}
        where ${conditions} order by ${range.orderBy} limit ${wanted}
      ) hit
    ),
    unread as materialized (
      select max(last_read.id) as id from ${ranges.from} lateral (
        select ${id} as id ${inOrder} limit 1 offset ${MAX_READ} - 1
      ) last_read
      where (select count(*) from hits where hits.range = ${ranges.name}) < ${wanted}
    ),
    sample as materialized (
      select ${foldedName(name)} as name from ${table}
      where ${tenantId} = ${inputColumn("tenantId")} and ${inNameSample(id)}
      order by ${tenantId} desc, ${id} desc limit ${MAX_SAMPLE}
    ),
    by_index as materialized (
      select from unread
      where unread.id is not null and (select count(*) from hits where hits.id >= unread.id) < ${wanted}
        and exists (
          select from unnest(${inputColumn("parts")}::text[]) part
          where (select count(*) from sample where strpos(sample.name, part) > 0) <= ${MAX_IN_SAMPLE}
        )
    ),
    older as materialized (
      select ${id} as id from (
        select * from ${table}
        where ${nameOwner(tenantId)} = ${inputColumn("tenantId")} || '' and ${foldedName(name)} like ${inputColumn("pattern")}
          and exists (select from by_index)
        offset 0
      ) ${alias}
      where ${id} < (select unread.id from unread) and ${id} >= ${inputColumn("first")} and ${isListed} and ${conditions}
      order by ${id} desc limit ${wanted}
    ),
    edge as materialized (select unread.id from unread where not exists (select from by_index)),
    found as materialized (
      select both_parts.id from (
        select hits.id from hits where hits.id >= coalesce((select edge.id from edge), '')
        union select older.id from older
      ) both_parts
      order by both_parts.id desc limit ${wanted}
    )`;
};

/** The id below which the list goes on when a page has shown all that was found: see `rest` of `pageOf`. */
export const restOfSearch = (wanted: SQL): SQL => sql`(
  select case when count(*) >= ${wanted} then min(found.id) else (select edge.id from edge) end from found
)`;
