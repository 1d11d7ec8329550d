/**
 * Pagination: newest first, one page at a time. The next page starts below the last id of the previous one, so that new rows
 * cause neither duplicates nor gaps.
 */
import { type Static, type TObject, type TProperties, type TSchema, Type } from "@sinclair/typebox";
import { type Id, type IdPrefix, isId } from "./id.ts";
import { type Problem, validationFailed } from "./problem.ts";
import { ClosedObject, Count, isValid, Nullable, OneOf, Text } from "./schema.ts";

export const PAGE_LIMITS = { minimum: 1, maximum: 100 };
export const DEFAULT_PAGE_LIMIT = 50;
/** Maximum size of the items of a page as JSON, in bytes. A page always has at least one item, even a larger one. */
export const MAX_PAGE_BYTES = 1024 * 1024;

/**
 * The longest cursor is that of the sessions of an end user: base64 of 500 characters, each up to six bytes as JSON,
 * and two filters of 64 such characters.
 */
const MAX_CURSOR = 6000;

/** `readPage` validates the content of a cursor; the pattern is for the OpenAPI document. */
const Cursor = Type.Unsafe<string>({
  ...Text({ minLength: 1, maxLength: MAX_CURSOR, description: "The `nextCursor` of the previous page." }),
  pattern: "^[A-Za-z0-9_-]+$",
});

/** One page of a list; `nextCursor` is null on the last page. `head`: further fields of the page, before its items. */
export const Page = <Item extends TSchema, Head extends TProperties = Record<never, never>>(
  item: Item,
  { maximum = PAGE_LIMITS.maximum, head = {} as Head }: { maximum?: number; head?: Head } = {},
) =>
  ClosedObject({
    ...head,
    data: Type.Array(item, { minItems: 0, maxItems: maximum }),
    nextCursor: Nullable(Cursor, { description: "The `cursor` for the next page; null on the last page." }),
  });

/** The maximum number of items that a count counts. */
export const MAX_COUNTED = 10_000;

/** How many items of a list match its filters, on all pages. */
export const Total = ClosedObject({
  count: Count({ maximum: MAX_COUNTED, description: `How many were counted, at most ${MAX_COUNTED}.` }),
  isExact: Type.Boolean({ description: "Whether `count` is the full number; otherwise there are more." }),
});
export type Total = Static<typeof Total>;

/** The field of a page with `total=true`. */
export const TOTAL_FIELD = { total: Type.Optional(Total) };
const TOTAL_PARAMETER = Type.Optional(
  OneOf(["true"], { description: "Adds `total` to the page: how many items match the filters." }),
);

/** The definition of a list: the prefix of its ids, its filters, its query parameters (filters included). */
export type List<Prefix extends IdPrefix, Filters extends TProperties> = {
  prefix: Prefix;
  filters: TObject<Filters>;
  query: TObject;
};

/** Defines a list. `limits` are the bounds of its `limit`; null: its pages have no `limit`. `hasTotal`: whether its items are counted. */
export const defineList = <Prefix extends IdPrefix, Filters extends TProperties>(
  prefix: Prefix,
  filters: Filters,
  limits: { minimum: number; maximum: number } | null = PAGE_LIMITS,
  { hasTotal = false }: { hasTotal?: boolean } = {},
): List<Prefix, Filters> => {
  const description = `Maximum number of items in the page; default ${DEFAULT_PAGE_LIMIT}.`;
  const parameters: TProperties = {
    ...filters,
    ...(limits && { limit: Type.Optional(Count({ ...limits, description })) }),
    cursor: Type.Optional(Cursor),
    ...(hasTotal && { total: TOTAL_PARAMETER }),
  };
  return { prefix, filters: ClosedObject(filters), query: ClosedObject(parameters) };
};

/** A request for a page: at most `limit` rows that match `filters`, with ids below `before`. */
export type PageRequest<OfList> =
  OfList extends List<infer Prefix, infer Filters>
    ? { filters: Static<TObject<Filters>>; before: Id<Prefix> | null; limit: number }
    : never;

const VERSION = 1;

/** A cursor encodes its format version, the list, the filters sorted by name, and the last id. It grants no access. */
export const writeCursor = (prefix: IdPrefix, filters: object, lastId: string): string => {
  const sorted = Object.entries(filters).sort(([a], [b]) => (a < b ? -1 : 1));
  return Buffer.from(JSON.stringify([VERSION, prefix, sorted, lastId])).toString("base64url");
};

/** The problem of a cursor that is not one of the list. */
export const invalidCursor = (detail: string): Problem =>
  validationFailed([{ parameter: "cursor", code: "invalid_cursor", detail }]);

const readCursor = <Prefix extends IdPrefix, Filters extends TProperties>(
  list: List<Prefix, Filters>,
  cursor: string,
): { filters: Static<TObject<Filters>>; before: Id<Prefix> } => {
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
    // Not JSON, or not an array of this form.
  }
  throw invalidCursor("Must be the `nextCursor` of a page of this list.");
};

type PageParameters = { limit?: number; cursor?: string; total?: "true" };

/**
 * Reads the query parameters of a list, which are valid for `list.query`. With a cursor, filters may be omitted; if present,
 * they must equal those of the cursor. Throws the problem `validation_failed`.
 */
export const readPage = <Prefix extends IdPrefix, Filters extends TProperties>(
  list: List<Prefix, Filters>,
  parameters: Readonly<Record<string, unknown>>,
): { filters: Static<TObject<Filters>>; before: Id<Prefix> | null; limit: number } => {
  const { limit = DEFAULT_PAGE_LIMIT, cursor, total: _, ...filters } = parameters as PageParameters;
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
 * A page as read from the database: its items as JSON separated by commas, and the id below which the next page starts;
 * null on the last page. `next` need not be the id of the last item, because a page can end after rows that its filters
 * exclude.
 */
export type WrittenPage = { items: string; next: string | null };

/** Parses the items of a page. The caller states their type, which is not checked. */
export const parseItems = <Item>({ items }: WrittenPage): Item[] => JSON.parse(`[${items}]`);

/**
 * The response body of a list, as consecutive parts of its JSON text. The items are a separate part, so that a large
 * page is not copied. `head`: further fields of the page, before its items.
 */
export const pageText = (
  { prefix }: { prefix: IdPrefix },
  { filters }: { filters: object },
  { items, next }: WrittenPage,
  head: object = {},
): readonly string[] => {
  // A cursor is base64url and needs no escaping.
  const nextCursor = next === null ? "null" : `"${writeCursor(prefix, filters, next)}"`;
  const start = Object.entries(head).map(([name, value]) => `"${name}":${JSON.stringify(value)},`);
  return [`{${start.join("")}"data":[`, items, `],"nextCursor":${nextCursor}}`];
};
