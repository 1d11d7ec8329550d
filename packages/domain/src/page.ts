/**
 * Lists: newest first, a page at a time. A page goes on below the last id of the one before, so that nothing is shown
 * twice or left out while rows are added.
 */
import { type Static, type TObject, type TProperties, type TSchema, Type } from "@sinclair/typebox";
import { type Id, type IdPrefix, isId } from "./id.ts";
import { type Problem, validationFailed } from "./problem.ts";
import { Count, isValid, Nullable, Text } from "./schema.ts";

export const PAGE_LIMITS = { minimum: 1, maximum: 100 };
export const DEFAULT_PAGE_LIMIT = 50;
/** A page also ends before its items have more bytes of JSON than this; one item is always in it. */
export const MAX_PAGE_BYTES = 1024 * 1024;

/** What is no cursor of ours is refused by `readPage`; the pattern is for the document. */
const Cursor = Type.Unsafe<string>({
  ...Text({ minLength: 1, maxLength: 512, description: "The `nextCursor` of the page before." }),
  pattern: "^[A-Za-z0-9_-]+$",
});

/** One page of a list; `nextCursor` is null on the last one. */
export const Page = <Item extends TSchema>(item: Item) =>
  Type.Object(
    {
      data: Type.Array(item, { minItems: 0, maxItems: PAGE_LIMITS.maximum }),
      nextCursor: Nullable(Cursor, { description: "Asks for the next page; null on the last one." }),
    },
    { additionalProperties: false },
  );

/** A list, known by the prefix of its ids: what it can be filtered by, and the query parameters that it takes. */
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
      Count({ ...PAGE_LIMITS, description: `How many in a page; ${DEFAULT_PAGE_LIMIT} when left out.` }),
    ),
    cursor: Type.Optional(Cursor),
  };
  return {
    prefix,
    filters: Type.Object(filters, { additionalProperties: false }),
    query: Type.Object(parameters, { additionalProperties: false }),
  };
};

/** What to look for: rows that meet `filters`, with ids below `before`, `limit` of them. */
export type PageRequest<Of> =
  Of extends List<infer Prefix, infer Filters>
    ? { filters: Static<TObject<Filters>>; before: Id<Prefix> | null; limit: number }
    : never;

const VERSION = 1;

/** A cursor: its format, the list, the filters in the order of their names, and the last id. It carries no authority. */
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
  const refused = invalidCursor("Must be the `nextCursor` of a page of this list.");
  try {
    const [, , entries, before] = JSON.parse(Buffer.from(cursor, "base64url").toString());
    const filters: unknown = Object.fromEntries(entries);
    // Whatever is not exactly what would have been written is none of ours.
    const isOurs =
      isValid(list.filters, filters) &&
      isId(list.prefix, before) &&
      writeCursor(list.prefix, filters, before) === cursor;
    if (isOurs) return { filters, before };
  } catch {
    throw refused;
  }
  throw refused;
};

/**
 * Reads the parameters of a list, which have met `list.query`. Filters beside a cursor may be left out; given, they must
 * be those of the cursor. Throws the problem `validation_failed`.
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
      throw invalidCursor("Was made for other filters than these.");
    }
  }
  return { ...continued, limit };
};

/**
 * A page as it is read from the database: its items as JSON, separated by commas, and the id below which the next page
 * begins; null when there is none. `next` is not always the id of the last item: a page can end after rows that its
 * filters leave out.
 */
export type WrittenPage = { items: string; next: string | null };

/** The items of a page, which are of the type that its list says. */
export const itemsOf = <Item>({ items }: WrittenPage): Item[] => JSON.parse(`[${items}]`);

/**
 * The page that the request with these `filters` asked for: the parts of its JSON text. Its items are one of them, so that
 * those of a large page need not be copied.
 */
export const pageText = (
  { prefix }: { prefix: IdPrefix },
  { filters }: { filters: object },
  { items, next }: WrittenPage,
): readonly string[] => {
  // A cursor is base64url: there is nothing in it to escape.
  const nextCursor = next === null ? "null" : `"${writeCursor(prefix, filters, next)}"`;
  return ['{"data":[', items, `],"nextCursor":${nextCursor}}`];
};
