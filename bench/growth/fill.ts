/** Fills tables with the past data of a tenant, directly and millions of rows at a time. */
import { connect, type Db } from "@realtime-avatar/db/connection/pool";
import type { Line } from "../credits/world.ts";
import { idAt } from "../routes/rows.ts";

const ROWS_PER_INSERT = 500_000;
/** The time between two sessions of the past. */
const STEP_MS = 4000;
/** The newest session of the past: before the default window of lists and sums. */
const NEWEST_DAYS = 31;

/** Runs `work` without the secondary indexes of the table, then creates them again. */
export const withoutIndexes = async (db: Db, table: string, work: () => Promise<void>): Promise<void> => {
  const indexes = await db.run<{ name: string; definition: string }>(
    `select indexname as name, indexdef as definition from pg_indexes
      where schemaname = 'public' and tablename = $1 and indexname not like '%_pk'`,
    [table],
  );
  for (const { name } of indexes) await db.run(`drop index ${name}`, []);
  await work();
  for (const { definition } of indexes) await db.run(definition, []);
};

/**
 * Runs `insert` for the rows `i` from 1 to `count`, on a separate connection. Triggers and foreign keys are disabled.
 */
const fill = async (url: string, table: string, count: number, insert: string): Promise<void> => {
  const db = connect(url, { deadlineMs: 3_600_000, connections: 1 });
  await db.run("set session_replication_role = replica", []);
  await withoutIndexes(db, table, async () => {
    for (let from = 1; from <= count; from += ROWS_PER_INSERT) {
      const to = Math.min(count, from + ROWS_PER_INSERT - 1);
      await db.run(`${insert} from generate_series(${from}, ${to}) i`, []);
    }
  });
  await db.close();
};

/** Adds `count` sessions that have ended, before the last month, and an entry of each. Leaves the counters as they are. */
export const fillSessions = async (url: string, { caller }: Line, count: number): Promise<void> => {
  const { tenantId, id } = caller;
  const milliseconds = `(${Date.now() - NEWEST_DAYS * 86_400_000 - count * STEP_MS} + i::bigint * ${STEP_MS})`;
  const at = `to_timestamp(${milliseconds} / 1000.0)`;
  const sessionId = idAt("ses", milliseconds, 0);
  await Promise.all([
    fill(
      url,
      "usage_sessions",
      count,
      `insert into usage_sessions (tenant_id, id, environment, api_key_id, lineage, status, reserved, used, price, metadata,
          created_at, started_at, ended_at, expires_at, sweep_at, reported, reported_by, closed_by)
        select '${tenantId}', ${sessionId}, 'live', '${id}', array['${id}'], 'released', 1000000, 1000000, 1000000,
          json_build_object('user_id', 'u-' || i % 1000), ${at}, ${at}, ${at}, ${at}, ${at}, 1000000, '${id}', '${id}'`,
    ),
    fill(
      url,
      "credit_entries",
      count,
      `insert into credit_entries (tenant_id, id, environment, kind, amount, session_id, api_key_id, request_id, created_at)
        select '${tenantId}', ${idAt("ent", milliseconds, 0)}, 'live', 'settle', 1000000, ${sessionId}, '${id}', 'req', ${at}`,
    ),
  ]);
};
