/**
 * Rows that the benchmark writes directly to the tables, thousands at a time. Their ids sort by time, as those of the
 * service.
 */
import type { Db } from "@realtime-avatar/db/connection/pool";
import { ALPHABET, type IdPrefix } from "@realtime-avatar/domain/id";

/** The characters of an id that hold its time in milliseconds, five bits each. */
const TIME_CHARACTERS = 10;

/** An SQL expression for the id of the row `i` of a run, at the time of the expression `milliseconds`. */
export const idAt = (prefix: IdPrefix, milliseconds: string, run: number): string => {
  const characters = Array.from(
    { length: TIME_CHARACTERS },
    (_, at) => `substr('${ALPHABET}', ((${milliseconds}) >> ${5 * (TIME_CHARACTERS - 1 - at)} & 31)::integer + 1, 1)`,
  );
  return `'${prefix}_' || ${characters.join(" || ")} || '${String(run).padStart(6, "0")}' || lpad(i::text, 10, '0')`;
};

let run = 0;

/**
 * A table, the prefix of its ids, its columns other than `id`, and an SQL expression for each column, which may use
 * `id` and `i`.
 */
export type Seeded = readonly [table: string, prefix: IdPrefix, columns: string, values: string];

/** Inserts rows, and returns their ids. */
export const insertRows = async (
  db: Db,
  [table, prefix, columns, values]: Seeded,
  count: number,
): Promise<string[]> => {
  run++;
  const ids = `select ${idAt(prefix, `${Date.now()}::bigint`, run)} as id, i from generate_series(1, ${count}) i`;
  const text = `insert into ${table} (id, ${columns}) select id, ${values} from (${ids}) row returning id`;
  return (await db.run<{ id: string }>(text, [])).map(({ id }) => id);
};
