/**
 * Calls database functions. `generated/functions.ts` has a TypeScript function for each database function, with the
 * types of its catalog entry.
 */
import type { Runner } from "../connection/batch.ts";
import { type Encode, encodeList, encodeValue, quoted } from "../connection/server/encode.ts";
import { FUNCTIONS_SCHEMA } from "./schema.ts";

/** An encoder of objects with these keys, in the order of the attributes of a composite type. */
export const composite =
  <Value extends object>(...keys: (keyof Value)[]): Encode<Value> =>
  (value) =>
    `(${keys.map((key) => (value[key] === null || value[key] === undefined ? "" : quoted(encodeValue(value[key])))).join(",")})`;

/** An encoder of lists of such values. */
export const list =
  <Value>(encode: Encode<Value> = encodeValue): Encode<readonly (Value | null)[]> =>
  (values) =>
    encodeList(values, encode as Encode<unknown>);

/**
 * A function that calls the database function `name`. `parameters`: an encoder for each parameter, in their order; null
 * where the driver encodes the value itself (scalars and `text[]`). `columns`: the columns to select from its result.
 */
export const databaseFunction = <Input extends object, Row extends object>(
  name: string,
  parameters: { readonly [Key in keyof Input]: Encode<NonNullable<Input[Key]>> | null },
  columns: string,
) => {
  const encoders = Object.entries(parameters) as [keyof Input, Encode<unknown> | null][];
  const places = encoders.map((_, index) => `$${index + 1}`).join(", ");
  const text = `select ${columns} from ${FUNCTIONS_SCHEMA}.${name}(${places})`;
  return (db: Runner, input: Input): Promise<Row[]> =>
    db.run<Row>(
      text,
      encoders.map(([key, encode]) => {
        const value = input[key] ?? null;
        return value === null || encode === null ? value : encode(value);
      }),
      name,
    );
};
