/**
 * Pagination: newest first, one page at a time. The next page starts below the last id of the previous one, so that new rows
 * cause neither duplicates nor gaps.
 */
import { type Static, type TObject, type TProperties, type TSchema, Type } from "@sinclair/typebox";
import { type Id, type IdPrefix, isId } from "./id.ts";
import { type Problem, validationFailed } from "./problem.ts";
import { Count, isValid, Nullable, Text } from "./schema.ts";

export const PAGE_LIMITS = { minimum: 1, maximum: 100 };
export const DEFAULT_PAGE_LIMIT = 50;
/** Maximum size of the items of a page as JSON, in bytes. A page always has at least one item, even a larger one. */
export const MAX_PAGE_BYTES = 1024 * 1024;

/** `readPage` validates the content of a cursor; the pattern is for the OpenAPI document. */
const Cursor = Type.Unsafe<string>({
  ...Text({ minLength: 1, maxLength: 512, description: "The `nextCursor` of the previous page." }),
  pattern: "^[A-Za-z0-9_-]+$",
});

/** One page of a list; `nextCursor` is null on the last page. */
export const Page = <Item extends TSchema>(item: Item) =>
  Type.Object(
    {
      data: Type.Array(item, { minItems: 0, maxItems: PAGE_LIMITS.maximum }),
      nextCursor: Nullable(Cursor, { description: "The `cursor` for the next page; null on the last page." }),
    },
    { additionalProperties: false },
  );

/** The definition of a list: the prefix of its ids, its filters, and its query parameters, which include the filters. */
export type List<Prefix extends IdPrefix, Filters extends TProperties> = {
  prefix: Prefix;
  filters: TObject<Filters>;
  query: TObject;
};

export const listOf = <Prefix extends IdPrefix, Filters extends TProperties>(
  prefix: Prefix,
  filters: Filters,
): List<Prefix, Filters> => {
  const parameters: TProperties = {
    ...filters,
    limit: Type.Optional(
      Count({ ...PAGE_LIMITS, description: `Maximum number of items in the page; default ${DEFAULT_PAGE_LIMIT}.` }),
    ),
    cursor: Type.Optional(Cursor),
  };
  return {
    prefix,
    filters: Type.Object(filters, { additionalProperties: false }),
    query: Type.Object(parameters, { additionalProperties: false }),
  };
};

/** A request for a page: at most `limit` rows that match `filters`, with ids below `before`. */
export type PageRequest<OfList> =
  OfList extends List<infer Prefix, infer Filters>
    ? { filters: Static<TObject<Filters>>; before: Id<Prefix> | null; limit: number }
    : never;

const VERSION = 1;

/** A cursor encodes its format version, the list, the filters sorted by name, and the last id. It grants no access. */
const writeCursor = (prefix: IdPrefix, filters: object, lastId: string): string => {
  const sorted = Object.entries(filters).sort(([a], [b]) => (a < b ? -1 : 1));
  return Buffer.from(JSON.stringify([VERSION, prefix, sorted, lastId])).toString("base64url");
};

const invalidCursor = (detail: string): Problem =>
  validationFailed([{ parameter: "cursor", code: "invalid_cursor", detail }]);

const readCursor = <Prefix extends IdPrefix, Filters extends TProperties>(
  list: List<Prefix, Filters>,
  cursor: string,
): { filters: Static<TObject<Filters>>; before: Id<Prefix> } => {
  const refusal = invalidCursor("Must be the `nextCursor` of a page of this list.");
  try {
    const [, , entries, before] = JSON.parse(Buffer.from(cursor, "base64url").toString());
    const filters: unknown = Object.fromEntries(entries);
    // Accept only exactly what `writeCursor` produces.
    const isGenuine =
      isValid(list.filters, filters) &&
      isId(list.prefix, before) &&
      writeCursor(list.prefix, filters, before) === cursor;
    if (isGenuine) return { filters, before };
  } catch {
    throw refusal;
  }
  throw refusal;
};

/**
 * Reads the query parameters of a list, which are valid for `list.query`. With a cursor, filters may be omitted; if present,
 * they must equal those of the cursor. Throws the problem `validation_failed`.
 */
export const readPage = <Prefix extends IdPrefix, Filters extends TProperties>(
  list: List<Prefix, Filters>,
  parameters: Readonly<Record<string, unknown>>,
): { filters: Static<TObject<Filters>>; before: Id<Prefix> | null; limit: number } => {
  const { limit = DEFAULT_PAGE_LIMIT, cursor, ...filters } = parameters as { limit?: number; cursor?: string };
  if (cursor === undefined) return { filters: filters as Static<TObject<Filters>>, before: null, limit };
  const continued = readCursor(list, cursor);
  for (const [name, value] of Object.entries(filters)) {
    if ((continued.filters as Record<string, unknown>)[name] !== value) {
      throw invalidCursor("Must be used with the filters of the page that returned it.");
    }
  }
  return { ...continued, limit };
};

/**
 * A page as read from the database: its items as JSON separated by commas, and the id below which the next page starts; null
 * on the last page. `next` is not always the id of the last item: a page can end after rows that its filters exclude.
 */
export type WrittenPage = { items: string; next: string | null };

/** Parses the items of a page. The caller states their type, which is not checked. */
export const itemsOf = <Item>({ items }: WrittenPage): Item[] => JSON.parse(`[${items}]`);

/**
 * The response body of a list, as consecutive parts of its JSON text. The items are a part of their own, so that a large
 * page is not copied.
 */
export const pageText = (
  { prefix }: { prefix: IdPrefix },
  { filters }: { filters: object },
  { items, next }: WrittenPage,
): readonly string[] => {
  // A cursor is base64url and needs no escaping.
  const nextCursor = next === null ? "null" : `"${writeCursor(prefix, filters, next)}"`;
  return ['{"data":[', items, `],"nextCursor":${nextCursor}}`];
};
