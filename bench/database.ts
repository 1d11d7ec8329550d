/** The database of the benchmark, and the rows that it starts with. */
import { chmod, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type Db } from "@realtime-avatar/db/connection/pool";
import { FUNCTIONS_SCHEMA } from "@realtime-avatar/db/functions/schema";
import { migrate } from "@realtime-avatar/db/migrate";
import { secureRandom } from "@realtime-avatar/runtime/random";
import { openByTcp } from "@realtime-avatar/testing/postgres/embedded";
import { createFirstKey } from "../apps/api/src/first-run.ts";

export type Database = {
  url: string;
  /** A folder for the data, logs and scripts of the benchmark. */
  folder: string;
  /** One connection, so that `pg_prepared_statements` shows every statement that it has run. */
  db: Db;
  tenantId: string;
  /** The secret of the tenant's first key. */
  apiKey: string;
  /** The process id of the server. */
  pid: number;
  close(): Promise<void>;
};

/** Starts a PostgreSQL with default durability in a new folder, with one tenant and its first key. */
export const openDatabase = async (settings: Readonly<Record<string, string>> = {}): Promise<Database> => {
  const folder = await mkdtemp(join(tmpdir(), "realtime-avatar-bench-"));
  // PostgreSQL may run as another user.
  await chmod(folder, 0o755);
  const { url, close } = await openByTcp(join(folder, "data"), {
    settings: { max_connections: "300", shared_preload_libraries: "pg_stat_statements", ...settings },
  });
  const pid = Number((await readFile(join(folder, "data/postgres/postmaster.pid"), "utf8")).split("\n")[0]);
  await migrate(url);
  const db = connect(url, { deadlineMs: 3_600_000, connections: 1 });
  await db.run("create extension pg_stat_statements", []);
  await trackStatements(db, "none");
  const secret = await createFirstKey(db, new Date(), secureRandom);
  const [{ tenantId = "" } = {}] = await db.run<{ tenantId: string }>(
    'select tenant_id as "tenantId" from tenants',
    [],
  );
  return {
    url,
    folder,
    db,
    tenantId,
    apiKey: secret?.reveal() ?? "",
    pid,
    close: async () => {
      await db.close();
      await close();
      await rm(folder, { recursive: true });
    },
  };
};

/** Enables or disables the counting of statements. */
export const trackStatements = async (db: Db, which: "none" | "top"): Promise<void> => {
  await db.run(`alter system set pg_stat_statements.track = '${which}'`, []);
  await db.run("select pg_reload_conf()", []);
};

/** The rows of `pg_stat_statements` that are statements of requests, not of background work. */
export const REQUEST_STATEMENTS = `(query like '%tenant_id%' or query like '% from ${FUNCTIONS_SCHEMA}.%') and query not like '%api_key_usage (%'`;

/** Returns the number of statements since the last call, except those of background work. */
export const countStatements = async (db: Db): Promise<number> => {
  const [{ calls = 0 } = {}] = await db.run<{ calls: number }>(
    `select coalesce(sum(calls), 0)::integer as calls from pg_stat_statements where ${REQUEST_STATEMENTS}`,
    [],
  );
  await db.run("select pg_stat_statements_reset()", []);
  return calls;
};

const AVATARS_PER_INSERT = 500_000;

/** Adds avatars to the tenant, from number `first` to number `last`. */
export const seedAvatars = async ({ db, tenantId }: Database, first: number, last: number): Promise<void> => {
  for (let from = first; from <= last; from += AVATARS_PER_INSERT) {
    await db.run(
      `insert into avatars select '${tenantId}', 'ava_01h455vb4p' || lpad(i::text, 16, '0'), 'live', 'Ada', 'image', 'm',
        'draft', null, null, null, 0, '{}', '{"team": "support"}', 1, now(), now()
        from generate_series(${from}, ${Math.min(last, from + AVATARS_PER_INSERT - 1)}) i`,
      [],
    );
  }
  await db.run("vacuum analyze", []);
  await db.run("checkpoint", []);
};
