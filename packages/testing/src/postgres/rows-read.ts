/** Counts the rows of tables and indexes that a statement reads. */
import type { Db } from "@realtime-avatar/db/connection/pool";

/** The number of rows that the scans of an explained statement have read, without those of common table expressions. */
const rowsRead = (plan: Record<string, unknown>): number => {
  const below = ((plan["Plans"] ?? []) as Record<string, unknown>[]).reduce((sum, each) => sum + rowsRead(each), 0);
  const removed = ["Rows Removed by Filter", "Rows Removed by Index Recheck"].map((name) => Number(plan[name] ?? 0));
  if (!/^(Index|Bitmap Heap|Bitmap Index) /.test(String(plan["Node Type"]))) return below;
  const rows = Number(plan["Actual Rows"]) + removed.reduce((sum, count) => sum + count, 0);
  return below + rows * Number(plan["Actual Loops"]);
};

/** Runs each statement twice: first explained, to add the number of read rows to `reads`, then unchanged. */
export const countingRows = (pool: Db, reads: number[]): Db => {
  const counted: Db = {
    ...pool,
    run: async <Row extends object>(text: string, parameters: readonly unknown[]) => {
      const [row] = await pool.run<{ "QUERY PLAN": [{ Plan: Record<string, unknown> }] }>(
        `explain (analyze, timing off, format json) ${text}`,
        parameters,
      );
      reads.push(rowsRead(row?.["QUERY PLAN"][0].Plan ?? {}));
      return pool.run<Row>(text, parameters);
    },
    batch: async (kind, input) => (await kind.run(counted, [input]))[0] as never,
  };
  return counted;
};
