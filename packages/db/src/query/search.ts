/**
 * Pages of rows whose name contains a text. The cost of a page is bounded for every text and every number of rows:
 *
 * 1. The newest rows are read in the order of the list. A text that is frequent fills the page from them. They are `maxRead` rows, or
 *    1,000 when a part of the text is rare.
 * 2. Otherwise, when there are older rows, and a part of the text is rare, the index of names finds all older rows that have it.
 * 3. Otherwise the page is short. It ends after the rows that were read, and the next page goes on below them.
 *
 * An index of trigrams reads a list for each part of the text, and each row that has all parts. A search takes 0.2 ms
 * for a rare word. It takes 300 ms for a text of three frequent words, or when a third of a million names contain the
 * text. So the index is used only if one part is rare: at most `MAX_IN_SAMPLE` names have it in a sample of one row of
 * 1,024. A separate index holds the sample.
 *
 * The index costs a create some 10 us of the server, because it is written in bulk (`fastupdate`). A search also reads
 * the entries that wait for the bulk write, in 5 ms at most. Without `fastupdate`, a create would cost 100 us more.
 *
 * The index folds only the letters of ASCII, so that it depends on no locale. It is searched only for these letters and
 * digits. The condition of the list (`nameMatches`) is then applied to each row. A tenant can make the sample useless
 * by renaming its rows. So when the index finds more rows than a page reads, the index is read no further, and the page
 * is short.
 */
import type { IdPrefix } from "@realtime-avatar/domain/id";
import { idRange, type NameSearch, nameSearch } from "@realtime-avatar/domain/lists/search";
import { getTableName, type SQL, sql } from "drizzle-orm";
import type { AnyPgColumn, PgTable } from "drizzle-orm/pg-core";
import { foldedName, inNameSample, nameOwner } from "../schema/columns.ts";
import { MAX_READ } from "./list.ts";
import { inputColumn } from "./statement.ts";

/** A part is rare if at most this many names of the sample have it: about 8,000 of a million names. */
const MAX_IN_SAMPLE = sql.raw("8");
/**
 * How many names of the sample are compared, the newest first: those of two million rows. Each costs 0.3 us for each
 * part.
 */
const MAX_SAMPLE = sql.raw("2048");

/**
 * The number of rows that are read before the index. They fill a page when the text is rare in all rows but frequent in
 * the newest.
 */
const READ_BEFORE_INDEX = sql.raw("1000");

/**
 * The maximum number of rows that a page of a search reads in the order of the list. Each row costs 1 us, and more for
 * a costly text.
 */
const MAX_ROWS_READ = 15_000;

/**
 * How many rows a page reads, so that it costs at most some 50 ms. A row with a long name costs 0.1 us more for each
 * byte of the text, and 1.2 us for each character that is translated.
 */
const rowsRead = ({ text, decomposed, upper }: NameSearch): number => {
  const texts = decomposed === null ? 1 : 2;
  const cost = 1 + (texts * Buffer.byteLength(text)) / 32 + (texts * (upper?.length ?? 0)) / 4;
  return Math.ceil(MAX_ROWS_READ / cost);
};

type Filters = { id?: string; name?: string; from?: string; to?: string };
/** Whether a list is searched. */
export const isSearch = ({ id, name, from, to }: Filters): boolean =>
  [id, name, from, to].some((filter) => filter !== undefined);

/** The inputs of a search, in addition to those of its list. */
export const SEARCH_INPUTS = ["first", "text", "decomposed", "upper", "lower", "pattern", "parts"] as const;
const NO_TEXT = { text: null, decomposed: null, upper: null, lower: null, pattern: "", parts: [] };
export const searchInputs = (prefix: IdPrefix, filters: Filters, before: string | null) => {
  const range = idRange(prefix, filters, before);
  if (filters.name === undefined) return { ...range, ...NO_TEXT, maxRead: MAX_ROWS_READ };
  const search = nameSearch(filters.name);
  return { ...range, ...search, maxRead: rowsRead(search) };
};
export type SearchInputs = Omit<ReturnType<typeof searchInputs>, "before">;

/** Whether `name` contains a text of the inputs. Without one, every name does. */
export const nameMatches = (name: SQL | AnyPgColumn): SQL => {
  const lowered = sql`case when ${inputColumn("upper")} is null then lower(${name} collate "C")
    else translate(lower(${name} collate "C"), ${inputColumn("upper")}, ${inputColumn("lower")}) end`;
  return sql`(
    ${inputColumn("text")} is null or strpos(${lowered}, ${inputColumn("text")}) > 0
      or ${inputColumn("decomposed")} is not null and strpos(${lowered}, ${inputColumn("decomposed")}) > 0
  )`;
};

/** The tables and conditions that a search reads. */
export type Search = {
  list: { table: PgTable; id: AnyPgColumn; tenantId: AnyPgColumn; name: AnyPgColumn };
  /** The rows of a range of an index, and their order in it. */
  range: { where: SQL; orderBy: SQL };
  /** The ranges, as the beginning of a FROM clause, and an expression that names each; by default there is one range. */
  ranges?: { from: SQL; name: SQL };
  /** The conditions of a row, in addition to its range. */
  conditions: SQL;
  /** The conditions of the ranges, without those of ids, for rows that the index of names has found. */
  isListed: SQL;
  /** The columns that the conditions read, in addition to the name. */
  conditionColumns: readonly AnyPgColumn[];
  /** The number of rows to find. */
  wanted: SQL;
};

const ONE_RANGE = { from: sql``, name: sql`''` };

/**
 * The common table expressions of a search. `found` has the ids of the newest `wanted` rows that match. If `edge` has
 * an id, it contains only ids from this one on, because rows below it were not read.
 */
export const searchTables = (search: Search): SQL => {
  const { list, range, ranges = ONE_RANGE, conditions, conditionColumns, isListed, wanted } = search;
  const { table, id, tenantId, name } = list;
  const alias = sql.raw(getTableName(table));
  const inOrder = sql`from ${table} where ${range.where} order by ${range.orderBy}`;
  return sql`
    sample as materialized (
      select ${foldedName(name)} as name from ${table}
      where ${tenantId} = ${inputColumn("tenantId")} and ${inNameSample(id)} and ${inputColumn("pattern")} <> ''
      order by ${tenantId} desc, ${id} desc limit ${MAX_SAMPLE}
    ),
    reading as materialized (
      select is_rare, case when is_rare then least(${MAX_READ}, ${READ_BEFORE_INDEX}) else ${MAX_READ} end as limit from (
        select exists (
          select from unnest(${inputColumn("parts")}::text[]) part
          where (select count(*) from sample where strpos(sample.name, part) > 0) <= ${MAX_IN_SAMPLE}
        ) as is_rare
      ) parts
    ),
    hits as materialized (
      select ${ranges.name} as range, hit.id from ${ranges.from} lateral (
        select ${id} as id from (select * ${inOrder} limit (select reading.limit from reading)) ${alias}
        where ${conditions} order by ${range.orderBy} limit ${wanted}
      ) hit
    ),
    unread as materialized (
      select max(last_read.id) as id from ${ranges.from} lateral (
        select ${id} as id ${inOrder} limit 1 offset (select reading.limit - 1 from reading)
      ) last_read
      where (select count(*) from hits where hits.range = ${ranges.name}) < ${wanted}
    ),
    by_index as materialized (
      select from unread
      where unread.id is not null and (select is_rare from reading)
        and (select count(*) from hits where hits.id >= unread.id) < ${wanted}
    ),
    candidates as materialized (
      select ${sql.join([id, name, ...conditionColumns], sql`, `)} from ${table}
      where ${nameOwner(tenantId)} = ${inputColumn("tenantId")} || '' and ${foldedName(name)} like ${inputColumn("pattern")}
        and exists (select from by_index)
      limit ${MAX_READ} + 1
    ),
    all_found as materialized (
      select from by_index where (select count(*) from candidates) <= ${MAX_READ}
    ),
    older as materialized (
      select ${id} as id from candidates ${alias}
      where exists (select from all_found) and ${id} < (select unread.id from unread) and ${id} >= ${inputColumn("first")}
        and ${isListed} and ${conditions}
      order by ${id} desc limit ${wanted}
    ),
    edge as materialized (select unread.id from unread where not exists (select from all_found)),
    found as materialized (
      select both_parts.id from (
        select hits.id from hits where hits.id >= coalesce((select edge.id from edge), '')
        union select older.id from older
      ) both_parts
      order by both_parts.id desc limit ${wanted}
    )`;
};

/** The id below which the list goes on after a page with all found rows: see `rest` of `pageStatement`. */
export const restOfSearch = (wanted: SQL): SQL => sql`(
  select case when count(*) >= ${wanted} then min(found.id) else (select edge.id from edge) end from found
)`;
