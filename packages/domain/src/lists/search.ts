/** Search of lists of keys and avatars: by id, by a part of the name, and by time of creation. */
import { type Static, type TObject, type TProperties, Type } from "@sinclair/typebox";
import { normalizeWindow, refuseEmptyWindow } from "../credits/window.ts";
import { firstIdAt, type Id, type IdPrefix } from "../id.ts";
import { type List, readPage } from "../page.ts";
import { DateTime, Text } from "../schema.ts";

/** The filters of a list with names of at most `maxLength` characters. */
export const searchFilters = (maxLength: number) => ({
  id: Type.Optional(Text({ minLength: 1, maxLength: 64, description: "Include only the resource with this id." })),
  name: Type.Optional(
    Text({
      minLength: 1,
      maxLength,
      description:
        "Include only resources whose name contains this text, in upper or lower case. A page can have fewer items than `limit`, or none, and still have a `nextCursor`.",
    }),
  ),
  from: Type.Optional(DateTime({ description: "Include only resources that were created at this time or later." })),
  to: Type.Optional(DateTime({ description: "Include only resources that were created before this time." })),
});

/** Reads the query parameters of a list with `searchFilters`. Throws as `readPage`. */
export const readSearch = <Prefix extends IdPrefix, Filters extends TProperties>(
  list: List<Prefix, Filters>,
  parameters: object,
): { filters: Static<TObject<Filters>>; before: Id<Prefix> | null; limit: number } => {
  const page = readPage(list, normalizeWindow({ ...parameters }));
  refuseEmptyWindow(page.filters as { from?: string; to?: string });
  return page;
};

type Created = { id?: string | undefined; from?: string | undefined; to?: string | undefined };

/**
 * The ids of a page: from `first`, inclusive, to `before`, exclusive. An id contains the time of its creation, so a
 * range of times is a range of ids. A single id is also a range.
 */
export const idRange = (
  prefix: IdPrefix,
  { id, from, to }: Created,
  before: string | null,
): { first: string; before: string } => {
  // `!` sorts below every character of an id, so only `id` itself is in the range.
  const ends = [before, to && firstIdAt(prefix, new Date(to)), id && `${id}!`, `${prefix}~`];
  const starts = [from && firstIdAt(prefix, new Date(from)), id, `${prefix}_`];
  const sorted = (texts: (string | null | undefined)[]): string[] => texts.filter((text) => text != null).sort();
  return { first: sorted(starts).at(-1) as string, before: sorted(ends)[0] as string };
};

const isAscii = (text: string): boolean => /^[\0-\x7f]*$/.test(text);

/**
 * The lower case of a character. Unchanged are characters whose lower case is several characters (`İ`), and non-ASCII
 * characters whose lower case is ASCII (the Kelvin sign).
 */
const lowerCase = (character: string): string => {
  const lower = character.toLowerCase();
  return [...lower].length === 1 && (isAscii(character) || !isAscii(lower)) ? lower : character;
};

/**
 * The maximum number of parts of three characters that estimate the frequency of a text. The index reads a list for
 * each part.
 */
const MAX_PARTS = 8;

/** The first parts of a text in lower case, and the words, as far as these parts cover them. */
const partsOf = (text: string): { words: string[]; parts: string[] } => {
  const parts = new Set<string>();
  // A shorter word has no part.
  const words = (text.match(/[a-z0-9]{3,}/g) ?? []).map((word) => {
    let end = 2;
    for (; end < word.length && parts.size < MAX_PARTS; end++) parts.add(word.slice(end - 2, end + 1));
    return end > 2 ? word.slice(0, end) : "";
  });
  return { words: words.filter((word) => word !== ""), parts: [...parts] };
};

/** A text to look for in names, in the forms in which the database needs it. */
export type NameSearch = {
  /** In lower case, composed (NFC). */
  text: string;
  /** The same decomposed (NFD); null when it is the same text. */
  decomposed: string | null;
  /** The non-ASCII characters of both texts in upper case, and in lower case; null when `text` is ASCII. */
  upper: string | null;
  lower: string | null;
  /** A pattern for LIKE, for the index: the words of `parts`, and anything between. */
  pattern: string;
  /** Parts of three letters and digits that every name with `text` contains. Without any part, no index can be used. */
  parts: string[];
};

/**
 * Characters are compared by their own upper and lower case, independent of the locale of the database: `İ` and `i`
 * differ, and so do `ß` and `ss`. The search expects names that are wholly composed or wholly decomposed. Composing a
 * name in the database would take up to 0.2 ms if its combining marks are out of order.
 */
export const nameSearch = (name: string): NameSearch => {
  const lowered = (form: "NFC" | "NFD"): string => [...name.normalize(form)].map(lowerCase).join("");
  const text = lowered("NFC");
  const decomposed = lowered("NFD") === text ? null : lowered("NFD");
  const cased = [...new Set(text + (decomposed ?? ""))]
    .map((lower) => [lower.toUpperCase(), lower] as const)
    .filter(([upper, lower]) => upper !== lower && !isAscii(lower) && [...upper].length === 1 && !isAscii(upper));
  const { words, parts } = partsOf(text);
  return {
    text,
    decomposed,
    upper: isAscii(text) ? null : cased.map(([upper]) => upper).join(""),
    lower: isAscii(text) ? null : cased.map(([, lower]) => lower).join(""),
    pattern: `%${words.join("%")}%`,
    parts,
  };
};
