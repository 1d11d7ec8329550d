/** The API representations of stored records. */
import type { Static, TObject } from "@sinclair/typebox";

/**
 * A record with the fields of a representation. For a date-time, which the representation has as text, the record may
 * have a `Date`.
 */
type Presentable<Shown> = {
  readonly [Field in keyof Shown]: Shown[Field] | (string extends Shown[Field] ? Date : never);
};

/** The fields of `record` that `schema` names, with dates as RFC 3339. */
export const presentAs = <Schema extends TObject>(
  schema: Schema,
  record: Presentable<Static<Schema>>,
): Static<Schema> => {
  const shown: Record<string, unknown> = {};
  for (const name of Object.keys(schema.properties)) {
    const value: unknown = (record as Record<string, unknown>)[name];
    shown[name] = value instanceof Date ? value.toISOString() : value;
  }
  return shown as Static<Schema>;
};
