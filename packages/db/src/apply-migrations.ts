/**
 * Applies migrations while the service runs. Each migration runs in its own transaction. The same transaction records
 * it in the journal of Drizzle's migrator (`drizzle.__drizzle_migrations`).
 *
 * While a statement waits for a strong lock, every later request of that table waits behind it. If its transaction
 * already has another lock, it can deadlock with a write. So a transaction waits for its locks for at most
 * `MAX_WAIT_MS` in total. Then it rolls back, so that the writes can continue, and starts again. `MAX_WAIT_MS` is less
 * than the server's `deadlock_timeout`, so in a deadlock the migration gives up, never a write.
 */
import { createHash } from "node:crypto";
import type postgres from "postgres";

export type Migration = { tag: string; when: number; text: string };

/** The total time for which a transaction waits for locks. A write behind it waits at most twice as long. */
const MAX_WAIT_MS = 400;

/**
 * The number of attempts of a migration, and the pause between two attempts. With the default, a migration waits ten
 * minutes for a long transaction.
 */
export type RetryPolicy = { attempts: number; pauseMs: number };
const DEFAULT_POLICY: RetryPolicy = { attempts: 500, pauseMs: 800 };

/** The first line of a migration whose statements run one by one, outside of a transaction. */
export const NO_TRANSACTION = "-- no transaction\n";

export const BREAKPOINT = "--> statement-breakpoint";
export const splitStatements = ({ text }: Migration): string[] => text.split(BREAKPOINT);

/** The errors of a lock wait that ended without the lock: `lock_not_available` and `deadlock_detected`. */
const GIVEN_UP: ReadonlySet<unknown> = new Set(["55P03", "40P01"]);

/** The schemas of the journal and of the tables. */
export type MigrationSchemas = { journal: string; tables: string };
export const ONE_DATABASE: MigrationSchemas = { journal: "drizzle", tables: "public" };

const record = (sql: postgres.ISql, { text, when }: Migration, { journal }: MigrationSchemas) => sql`
  insert into ${sql(journal)}.__drizzle_migrations (hash, created_at)
  values (${createHash("sha256").update(text).digest("hex")}, ${when})`;

/** Applies one migration in a transaction. Each statement may wait for the rest of `maxWaitMs`. */
const applyInTransaction = (
  client: postgres.Sql,
  migration: Migration,
  maxWaitMs: number,
  schemas: MigrationSchemas,
): Promise<unknown> =>
  client.begin(async (transaction) => {
    const start = performance.now();
    for (const statement of splitStatements(migration)) {
      // Zero would mean no limit.
      const left = Math.max(10, Math.ceil(maxWaitMs - (performance.now() - start)));
      await transaction.unsafe(`set local lock_timeout = ${left}`);
      // Each statement is sent alone, because Citus sends its text to a node as a prepared statement.
      await transaction.unsafe(statement);
    }
    await record(transaction, migration, schemas);
  });

const INDEX_NAME = /^\s*create\s+(?:unique\s+)?index\s+concurrently\s+if\s+not\s+exists\s+"?(\w+)"?/im;

/**
 * Applies one migration statement by statement. An interrupted `create index concurrently` leaves an invalid index. It
 * is dropped, because `if not exists` would accept it as the index. No other statement waits behind these statements.
 */
const applyOneByOne = async (client: postgres.Sql, migration: Migration, schemas: MigrationSchemas): Promise<void> => {
  for (const statement of splitStatements(migration)) {
    const name = statement.match(INDEX_NAME)?.[1];
    if (name !== undefined) {
      const broken = await client`
        select 1 from pg_index where indexrelid = to_regclass(${`${schemas.tables}."${name}"`}) and not indisvalid`;
      if (broken.length > 0) await client`drop index concurrently ${client(schemas.tables)}.${client(name)}`;
    }
    await client.unsafe(statement);
  }
  await record(client, migration, schemas);
};

/** The session with the oldest transaction. As a rule, it holds the lock. */
const oldestTransaction = async (client: postgres.Sql): Promise<string> => {
  const [row] = await client<{ pid: number; name: string; seconds: number }[]>`
    select pid, application_name as name, extract(epoch from clock_timestamp() - xact_start)::integer as seconds
    from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null
    order by xact_start limit 1`;
  if (!row) return "No other transaction is open now.";
  return `The oldest open transaction: ${row.name || "no name"}, process ${row.pid}, for ${row.seconds} s.`;
};

const apply = async (
  client: postgres.Sql,
  migration: Migration,
  { attempts, pauseMs }: RetryPolicy,
  maxWaitMs: number,
  schemas: MigrationSchemas,
) => {
  const isOneByOne = migration.text.startsWith(NO_TRANSACTION);
  for (let attempt = 1; ; attempt++) {
    try {
      await (isOneByOne
        ? applyOneByOne(client, migration, schemas)
        : applyInTransaction(client, migration, maxWaitMs, schemas));
      return;
    } catch (error) {
      if (!GIVEN_UP.has((error as postgres.PostgresError).code)) throw error;
      if (attempt >= attempts) {
        const reason = await oldestTransaction(client);
        throw new Error(`Migration ${migration.tag} got no lock in ${attempts} attempts. ${reason}`, { cause: error });
      }
    }
    await Bun.sleep(pauseMs);
  }
};

/**
 * Removes the time limits of the role, because the migration waits without a limit where no request waits behind it. A
 * superuser may also lower `deadlock_timeout`. PostgreSQL then finds a deadlock sooner, and ends an autovacuum that
 * blocks the migration.
 */
const prepareSession = async (client: postgres.Sql): Promise<number> => {
  await client`set statement_timeout = 0`;
  await client`set lock_timeout = 0`;
  const [row] = await client<{ timeoutMs: number; maySet: boolean }[]>`
    select extract(epoch from current_setting('deadlock_timeout')::interval) * 1000 as "timeoutMs",
      has_parameter_privilege('deadlock_timeout', 'set') as "maySet"`;
  const maxWaitMs = Math.min(MAX_WAIT_MS, Number(row?.timeoutMs) / 2);
  if (row?.maySet) await client.unsafe(`set deadlock_timeout = ${Math.ceil(maxWaitMs / 4)}`);
  return maxWaitMs;
};

/**
 * Applies the migrations that are newer than the newest in the journal. Returns whether any was applied. The caller
 * prevents other processes from migrating at the same time.
 */
export const applyMigrations = async (
  client: postgres.Sql,
  migrations: readonly Migration[],
  policy: RetryPolicy = DEFAULT_POLICY,
  schemas: MigrationSchemas = ONE_DATABASE,
): Promise<boolean> => {
  const maxWaitMs = await prepareSession(client);
  const { journal } = schemas;
  // `id` is Drizzle's. Citus has no sequence here.
  const id = schemas === ONE_DATABASE ? "id serial primary key, " : "";
  await client.unsafe(`create schema if not exists ${journal};
    create table if not exists ${journal}.__drizzle_migrations (${id}hash text not null, created_at bigint)`);
  const [row] = await client<{ newest: string | null }[]>`
    select max(created_at) as newest from ${client(journal)}.__drizzle_migrations`;
  const newest = Number(row?.newest ?? 0);
  const pending = migrations.filter(({ when }) => when > newest);
  for (const migration of pending) await apply(client, migration, policy, maxWaitMs, schemas);
  return pending.length > 0;
};
