/** Reads of one row for each input. Concurrent reads form one statement. Equal reads share their result. */
import type { SQL } from "drizzle-orm";
import { type BatchKind, shareEqual } from "../connection/batch.ts";
import { batchStatement, type Positioned, type StatementOf } from "./statement.ts";

/**
 * Reads by `query`, a query of `batchStatement`. `toFound` gets the row of an input. Without a row, the result is null.
 */
export const batchedRead = <Row extends object, Input extends object, Found>(
  name: StatementOf<Positioned<Row>>,
  names: readonly (keyof Input & string)[],
  query: (inputs: SQL) => SQL,
  toFound: (row: Row, input: Input) => Found,
): BatchKind<Input, Found | null> => {
  const select = batchStatement<Row, Input>(name, names, query);
  return {
    name,
    inFlight: 2,
    run: (db, inputs) =>
      shareEqual(
        inputs,
        (input) => names.map((key) => input[key]).join(" "),
        async (different) => {
          const found = different.map((): Found | null => null);
          for (const { position, ...row } of await select(db, different)) {
            found[position - 1] = toFound(row as unknown as Row, different[position - 1] as Input);
          }
          return found;
        },
      ),
  };
};
