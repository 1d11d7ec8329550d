/** The kinds of columns and checks that several tables use. */

import { KEY_ID_LENGTH } from "@realtime-avatar/domain/api-keys/secret";
import { ID_CHARACTERS, ID_SUFFIX_LENGTH, type IdPrefix } from "@realtime-avatar/domain/id";
import { type SQL, sql } from "drizzle-orm";
import { type AnyPgColumn, customType, type IndexBuilder, index, timestamp } from "drizzle-orm/pg-core";

/**
 * Text that is compared bytewise. Ids then sort by time in every locale, and an upgrade of a locale cannot corrupt an
 * index.
 */
export const bytewise = customType<{ data: string }>({ dataType: () => 'text COLLATE "C"' });
export const bytes = customType<{ data: Uint8Array }>({ dataType: () => "bytea" });
export const time = (name: string) => timestamp(name, { withTimezone: true, precision: 3 });

export const literals = (values: readonly string[]): SQL => sql.raw(values.map((value) => `'${value}'`).join(", "));
export const inList = (column: AnyPgColumn, values: readonly string[]): SQL => sql`${column} in (${literals(values)})`;
/** The length is checked separately, because a regular expression that counts takes PostgreSQL four times as long. */
const isWritten = (column: AnyPgColumn, start: string, characters: string, count: number): SQL =>
  sql`octet_length(${column}) = ${sql.raw(`${count}`)} and ${column} ~ ${sql.raw(`'^${start}${characters}*$'`)}`;
export const isId = (column: AnyPgColumn, prefix: IdPrefix): SQL => {
  const [first, rest] = ID_CHARACTERS;
  return isWritten(column, `${prefix}_${first}`, rest, prefix.length + 1 + ID_SUFFIX_LENGTH);
};
export const isKeyId = (column: AnyPgColumn): SQL => isWritten(column, "", "[0-9A-Za-z]", KEY_ID_LENGTH);
/** PostgreSQL counts code points, as JSON Schema does. */
export const length = (column: AnyPgColumn, schema: { minLength: number; maxLength: number }): SQL =>
  sql`char_length(${column}) between ${sql.raw(`${schema.minLength} and ${schema.maxLength}`)}`;
export const jsonObject = (column: AnyPgColumn, schema: { "x-maxBytes": number }): SQL =>
  sql`json_typeof(${column}) = 'object' and octet_length(${column}::text) <= ${sql.raw(`${schema["x-maxBytes"]}`)}`;
export const jsonArray = (column: AnyPgColumn, schema: { maxItems: number }): SQL =>
  sql`json_typeof(${column}) = 'array' and json_array_length(${column}) <= ${sql.raw(`${schema.maxItems}`)}`;
/** The part of a public URL that cannot be guessed: 256 bits, in base64url. */
export const isToken = (column: AnyPgColumn): SQL => isWritten(column, "", "[A-Za-z0-9_-]", 43);

/**
 * The condition of an index on the tenant and this column. With the condition, the server uses the index only for
 * statements that compare the column. Without it, the server may use the index to find a row by its id, because the
 * estimated costs are equal when most tenants have one row. For a large tenant, it would then read all rows.
 */
export const whenCompared = (column: AnyPgColumn): SQL => sql`${column} is not null`;

/**
 * A name in the form of the index of names: only ASCII letters are folded to lower case, so that it depends on no
 * locale.
 */
export const foldedName = (name: AnyPgColumn): SQL => sql`lower(${name} collate "C")`;
/**
 * An expression instead of the column, so that no other index serves a condition on it. So the plan of a search is
 * certain.
 */
export const nameOwner = (tenantId: AnyPgColumn): SQL => sql`(${tenantId} || '')`;
/** One row of 1,024. */
export const inNameSample = (id: AnyPgColumn): SQL => sql`(hashtext(${id}) & 1023) = 0`;

/** The indexes of a table whose names are searched: see `search.ts`. */
export const nameIndexes = (
  table: string,
  tenantId: AnyPgColumn,
  id: AnyPgColumn,
  name: AnyPgColumn,
): IndexBuilder[] => [
  index(`${table}_name_index`).using("gin", nameOwner(tenantId), sql`${foldedName(name)} gin_trgm_ops`),
  index(`${table}_name_sample_index`).on(tenantId, id, name).where(inNameSample(id)),
];
