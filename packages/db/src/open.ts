/** Opens the database that the configuration names, ready for use. */
import { sql } from "drizzle-orm";
import { type EmbeddedOptions, openEmbedded } from "./connection/embedded.ts";
import { databaseFailure, describeError } from "./connection/errors.ts";
import { connect, type Db } from "./connection/pool.ts";
import { READ_ONLY } from "./connection/server/connection.ts";
import type { Watcher } from "./connection/watcher.ts";
import { type Databases, oneDatabase } from "./databases/databases.ts";
import { grantService } from "./grant.ts";
import { migrate, pruneFunctions } from "./migrate.ts";
import { statement } from "./query/statement.ts";
import { abandonShards } from "./shards/abandon.ts";
import { moveShard, rebalanceShards } from "./shards/manage.ts";
import { openShards } from "./shards/open-shards.ts";
import { findShards, migrateShards, pruneShards } from "./shards/split.ts";

export type DatabaseConfig = {
  databaseUrl: string | null;
  dataDirectory: string;
  /** How long the database may take for one request, in milliseconds. */
  deadlineMs: number;
  /** How many statements may run at once, each on its own connection. */
  connections: number;
  /** Whether statements stay prepared on their connection. */
  prepare: boolean;
  /**
   * Whether each shard is reached at its node. Otherwise all shards are reached at the coordinator. Has no effect on
   * one database.
   */
  isByNode?: boolean | undefined;
  /** Whether a server that TLS has not verified may receive the password in clear text or hashed with MD5. */
  allowWeakAuth?: boolean | undefined;
};

export type OpenDatabase = {
  databases: Databases;
  /** The server of `url`: the one database, or the coordinator of its shards. */
  server: Db;
  url: string;
  /**
   * Applies pending migrations. Returns whether any was pending. `shards`: the new number of shards; null: unchanged.
   */
  migrate(shards?: number | null): Promise<boolean>;
  /** See `pruneFunctions`. */
  prune(): Promise<string[]>;
  /** See `grantService`. */
  grant(role: string): Promise<void>;
  /** See `moveShard`. */
  move(shard: number, node: { host: string; port: number }): Promise<void>;
  /** See `abandonShards`. */
  abandon(shards: readonly number[]): Promise<void>;
  /** See `rebalanceShards`. */
  rebalance(): Promise<number>;
  isEmbedded: boolean;
  /** Whether opening the database has applied migrations. Only an embedded database is migrated so. */
  hasMigrated: boolean;
  close(): Promise<void>;
};

const NO_RESPONSE =
  "Its host does not respond. Check that it is the right host, and that no firewall blocks this machine.";
/** The advice for a failure of the database of DATABASE_URL, by its code. */
const ADVICE: Record<string, string> = {
  WEAK_AUTH_REFUSED:
    " The server asks for the password in clear or hashed with MD5. Let it use scram-sha-256, or set sslmode=verify-full in DATABASE_URL; DATABASE_ALLOW_WEAK_AUTH=true sends the password nevertheless.",
  READ_ONLY: " The server is read-only: default_transaction_read_only is on.",
  "28P01": " The user name or the password is wrong. Characters such as @, / and % are percent-encoded in a URL.",
  "28000": " The server does not accept this user from this address: see its pg_hba.conf.",
  "42501":
    " The role of DATABASE_URL lacks the right for this command: set DATABASE_URL, for this command, to the URL of the role that owns the tables.",
  "3D000": " The server has no database of this name. Create it (createdb), then run `realtime-avatar migrate`.",
  "53300": " The server has no connection left: lower DATABASE_CONNECTIONS, or raise its max_connections.",
  ECONNREFUSED: " No server listens at its host and port: start the server, or correct them.",
  ENOTFOUND: " The name of its host cannot be resolved: correct it.",
  CONNECT_TIMEOUT: NO_RESPONSE,
  DEADLINE_EXCEEDED: NO_RESPONSE,
};

/**
 * The name of a failure and the advice for it, in sentences. Never contains the message of the driver, which includes
 * the address.
 */
export const failureText = (failure: string, error: unknown): string => {
  const code = String(describeError(error)["code"]);
  return `${failure} (${code}).${ADVICE[code] ?? ""}`;
};

const tryConnect = (url: string, config: DatabaseConfig, watcher: Watcher | undefined): Db => {
  try {
    return connect(url, { ...config, watcher });
  } catch {
    // The original message may quote the URL, and with it the password.
    throw new Error("DATABASE_URL must be a postgres:// URL.");
  }
};

const selectSettings = statement<{ version: string; encoding: string; isolation: string }>(
  "find_server_settings",
  sql`
  select current_setting('server_version_num') as version,
    current_setting('server_encoding') as encoding,
    current_setting('default_transaction_isolation') as isolation`,
);

/** Whether the server takes no writes: it is a standby, or `default_transaction_read_only` is on. */
export const isReadOnly = async (db: Db): Promise<boolean> => {
  const [row] = await db.run<{ readOnly: boolean }>(`select ${READ_ONLY}`, []);
  return row?.readOnly !== false;
};

/** Throws when the server does not meet the requirements of the service. The error names the unmet requirement. */
const checkServer = async (db: Db): Promise<void> => {
  const [row] = await selectSettings(db, {});
  if (!row) throw new Error("PostgreSQL returned no settings.");
  if (Number(row.version) < 150_000) throw new Error("PostgreSQL 15 or later is needed.");
  if (row.encoding !== "UTF8") throw new Error(`The database's encoding is ${row.encoding}; it must be UTF8.`);
  if (row.isolation !== "read committed") {
    throw new Error(`The database's default_transaction_isolation is ${row.isolation}; it must be read committed.`);
  }
};

/**
 * Checks the server. Repeats the attempt for `deadlineMs`, because on a busy machine one attempt can exceed its time.
 */
const waitForServer = async (db: Db, deadlineMs: number): Promise<void> => {
  for (const end = performance.now() + deadlineMs; ; ) {
    try {
      return await checkServer(db);
    } catch (error) {
      if (describeError(error)["code"] !== "CONNECT_TIMEOUT" || performance.now() > end) throw error;
    }
  }
};

/**
 * With a `databaseUrl`, connects to that server, and does not change its schema. Without one, starts or joins the
 * embedded server of `dataDirectory` and brings its schema up to date. Throws when the server cannot be reached or does
 * not meet the requirements of the service. `refreshMs`: how often the locations of the shards are read; null, for a
 * command: once.
 */
export const openDatabase = async (
  config: DatabaseConfig,
  options: EmbeddedOptions & { watcher?: Watcher | undefined; refreshMs?: number | null } = {},
): Promise<OpenDatabase> => {
  const embedded = config.databaseUrl === null ? await openEmbedded(config.dataDirectory, options) : null;
  const url = embedded?.url ?? (config.databaseUrl as string);
  const db = tryConnect(url, config, options.watcher);
  let databases = oneDatabase(db);
  const close = async (): Promise<void> => {
    await databases.close();
    await embedded?.close();
  };
  try {
    const lock = { allowWeakAuth: config.allowWeakAuth, notify: options.notify };
    const hasMigrated = embedded !== null && (await migrate(url, lock));
    await waitForServer(db, config.deadlineMs);
    const shards = embedded === null ? await findShards(db) : null;
    if (shards !== null) {
      const { isByNode = true } = config;
      databases = await openShards(url, db, { ...config, ...options, isByNode });
    }
    return {
      databases,
      server: db,
      url,
      migrate: async (count = null) => {
        if (shards === null && count === null) return migrate(url, lock);
        const wanted = count ?? shards?.count ?? 0;
        if (wanted === 0) throw new Error("The shards are not complete: run `migrate --shards <count>` again.");
        return (await migrateShards(url, wanted, lock)).hasChanged;
      },
      prune: async () => ((await findShards(db)) === null ? pruneFunctions(url, lock) : pruneShards(url, lock)),
      grant: async (role) => {
        const now = await findShards(db);
        const numbers = now ? Array.from({ length: now.count }, (_, shard) => shard) : undefined;
        await grantService(url, role, { ...lock, shards: numbers });
      },
      move: (shard, node) => moveShard(url, shard, node, lock),
      abandon: (shards) => abandonShards(url, shards, lock),
      rebalance: () => rebalanceShards(url, lock),
      isEmbedded: embedded !== null,
      hasMigrated,
      close,
    };
  } catch (error) {
    await close();
    if (embedded === null && databaseFailure(error)) {
      throw new Error(failureText("Cannot connect to the database of DATABASE_URL", error));
    }
    throw error;
  }
};
