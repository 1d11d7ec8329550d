/// <reference path="./sql-files.d.ts" />
/**
 * Brings a database's schema up to date. The migrations are part of the program, so that a bundle needs no files
 * beside it. Drizzle's migrator runs all that are pending in one transaction, and keeps its journal in the schema
 * `drizzle`; since it takes no lock of its own, an advisory lock keeps two replicas that start together apart.
 */
import { createHash } from "node:crypto";
import type { MigrationMeta } from "drizzle-orm/migrator";
import { PgDialect, type PgSession } from "drizzle-orm/pg-core";
import { drizzle } from "drizzle-orm/postgres-js";
import initial from "../migrations/0000_initial.sql" with { type: "text" };
import auditAppendOnly from "../migrations/0001_audit_append_only.sql" with { type: "text" };
import lifeOfKeysAndAvatars from "../migrations/0002_life_of_keys_and_avatars.sql" with { type: "text" };
import idempotency from "../migrations/0003_idempotency.sql" with { type: "text" };
import cheaperChecks from "../migrations/0004_cheaper_checks.sql" with { type: "text" };
import rotation from "../migrations/0005_rotation.sql" with { type: "text" };
import listIndexes from "../migrations/0006_list_indexes.sql" with { type: "text" };
import firstTenant from "../migrations/0007_first_tenant.sql" with { type: "text" };
import endedKeys from "../migrations/0008_ended_keys.sql" with { type: "text" };
import journal from "../migrations/meta/_journal.json";
import type { ConnectionOptions } from "./connection/connection.ts";
import { driver } from "./connection/driver.ts";
import type { Db } from "./connection/pool.ts";
import { findPrimary } from "./connection/primary.ts";

/** One for each entry of the journal, in its order. */
const TEXTS = [
  initial,
  auditAppendOnly,
  lifeOfKeysAndAvatars,
  idempotency,
  cheaperChecks,
  rotation,
  listIndexes,
  firstTenant,
  endedKeys,
];

/** Any number will do, as long as every replica takes the same. */
const LOCK = 7_229_001;

const migrations = (): MigrationMeta[] =>
  journal.entries.map(({ when, breakpoints, tag }, index) => {
    const text = TEXTS[index];
    if (text === undefined) throw new Error(`Migration ${tag} is not part of the program.`);
    return {
      sql: text.split("--> statement-breakpoint"),
      folderMillis: when,
      hash: createHash("sha256").update(text).digest("hex"),
      bps: breakpoints,
    };
  });

/**
 * Applies what is pending; answers whether there was anything. Needs a connection of its own to the server, not one
 * through a transaction-mode pooler.
 */
export const migrate = async (
  url: string,
  { allowWeakAuth }: Pick<ConnectionOptions, "allowWeakAuth"> = {},
): Promise<boolean> => {
  const client = driver(url, await findPrimary(url, { allowWeakAuth }), { weak_auth: allowWeakAuth === true });
  try {
    await client`select pg_advisory_lock(${LOCK})`;
    if (await isCurrent((text) => client.unsafe(text))) return false;
    const { session } = drizzle(client)._;
    await new PgDialect().migrate(migrations(), session as unknown as PgSession, "drizzle");
    return true;
  } finally {
    // The lock is the session's: it goes with the connection.
    await client.end({ timeout: 5 });
  }
};

type Ask = (text: string) => PromiseLike<readonly object[]>;

const isCurrent = async (ask: Ask): Promise<boolean> => {
  const [table] = await ask("select 1 where to_regclass('drizzle.__drizzle_migrations') is not null");
  if (!table) return false;
  const [row] = await ask("select max(created_at) as newest from drizzle.__drizzle_migrations");
  const { newest } = row as { newest: string | null };
  return Number(newest ?? 0) >= (journal.entries.at(-1)?.when ?? 0);
};

/** Whether the database has every migration that this program knows. A newer database counts as current. */
export const isMigrated = (db: Db): Promise<boolean> => isCurrent((text) => db.run(text, []));
