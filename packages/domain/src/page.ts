/**
 * Lists: newest first, a page at a time. A page goes on below the last id of the one before, so that nothing is shown
 * twice or left out while rows are added.
 */
import { type Static, type TObject, type TSchema, Type } from "@sinclair/typebox";
import { type Id, type IdPrefix, isId } from "./id.ts";
import { Problem } from "./problem.ts";
import { Count, isValid, Nullable, Text } from "./schema.ts";

export const PAGE_LIMITS = { minimum: 1, maximum: 100 };
export const DEFAULT_PAGE_LIMIT = 50;

const Cursor = Text({ minLength: 1, maxLength: 512 });

/** The query parameters that every list takes, beside its filters. */
export const pageParameters = { limit: Type.Optional(Count(PAGE_LIMITS)), cursor: Type.Optional(Cursor) };

/** One page of a list; `nextCursor` is null on the last one. */
export const Page = <Item extends TSchema>(item: Item) =>
  Type.Object(
    { data: Type.Array(item, { minItems: 0, maxItems: PAGE_LIMITS.maximum }), nextCursor: Nullable(Cursor) },
    { additionalProperties: false },
  );

/** A list is known by the prefix of its ids. */
type ListOf<Prefix extends IdPrefix, Query extends TObject> = { prefix: Prefix; query: Query };
type Filters<Query extends TObject> = Omit<Static<Query>, "limit" | "cursor">;

/** What to look for: rows that meet `filters`, with ids below `before`, `limit` of them. */
export type PageRequest<Prefix extends IdPrefix, Query extends TObject> = {
  filters: Filters<Query>;
  before: Id<Prefix> | null;
  limit: number;
};

const VERSION = 1;

/** A cursor: its format, the list, the filters in the order of their names, and the last id. It carries no authority. */
const writeCursor = (prefix: IdPrefix, filters: object, lastId: string): string => {
  const sorted = Object.entries(filters).sort(([a], [b]) => (a < b ? -1 : 1));
  return Buffer.from(JSON.stringify([VERSION, prefix, sorted, lastId])).toString("base64url");
};

const invalidCursor = (detail: string): Problem =>
  new Problem("validation_failed", "The request does not meet its constraints.", {
    errors: [{ parameter: "cursor", code: "invalid_cursor", detail }],
  });

const readCursor = <Prefix extends IdPrefix, Query extends TObject>(
  { prefix, query }: ListOf<Prefix, Query>,
  cursor: string,
): { filters: Filters<Query>; before: Id<Prefix> } => {
  const refused = invalidCursor("Must be the `nextCursor` of a page of this list.");
  try {
    const [, , entries, before] = JSON.parse(Buffer.from(cursor, "base64url").toString());
    const filters = Object.fromEntries(entries);
    // Whatever is not exactly what would have been written is none of ours.
    if (isValid(query, filters) && isId(prefix, before) && writeCursor(prefix, filters, before) === cursor) {
      return { filters, before };
    }
  } catch {
    throw refused;
  }
  throw refused;
};

/**
 * Reads the parameters of a list, which have met `list.query`. Filters beside a cursor may be left out; given, they must
 * be those of the cursor. Throws the problem `validation_failed`.
 */
export const readPage = <Prefix extends IdPrefix, Query extends TObject>(
  list: ListOf<Prefix, Query>,
  parameters: Static<Query>,
): PageRequest<Prefix, Query> => {
  const {
    limit = DEFAULT_PAGE_LIMIT,
    cursor,
    ...filters
  } = parameters as Filters<Query> & {
    limit?: number;
    cursor?: string;
  };
  if (cursor === undefined) return { filters: filters as Filters<Query>, before: null, limit };
  const continued = readCursor(list, cursor);
  for (const [name, value] of Object.entries(filters)) {
    if ((continued.filters as Record<string, unknown>)[name] !== value) {
      throw invalidCursor("Was made for other filters than these.");
    }
  }
  return { ...continued, limit };
};

/** The page that `request` asked for. `found` has one row more than its limit where there are more pages. */
export const toPage = <Row extends { id: string }, Item>(
  { prefix }: { prefix: IdPrefix },
  { filters, limit }: { filters: object; limit: number },
  found: readonly Row[],
  present: (row: Row) => Item,
): { data: Item[]; nextCursor: string | null } => {
  const rows = found.slice(0, limit);
  const last = rows.at(-1);
  const nextCursor = last && found.length > limit ? writeCursor(prefix, filters, last.id) : null;
  return { data: rows.map(present), nextCursor };
};
