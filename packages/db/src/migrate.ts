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
import postgres from "postgres";
import initial from "../migrations/0000_initial.sql" with { type: "text" };
import auditAppendOnly from "../migrations/0001_audit_append_only.sql" with { type: "text" };
import journal from "../migrations/meta/_journal.json";
import type { Db } from "./client.ts";

/** One for each entry of the journal, in its order. */
const TEXTS = [initial, auditAppendOnly];

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

/** Applies what is pending. Needs a connection of its own to the server, not one through a transaction-mode pooler. */
export const migrate = async (url: string): Promise<void> => {
  const client = postgres(url, { max: 1, connect_timeout: 5, onnotice: () => {} });
  try {
    await client`select pg_advisory_lock(${LOCK})`;
    const { session } = drizzle(client)._;
    await new PgDialect().migrate(migrations(), session as unknown as PgSession, "drizzle");
  } finally {
    // The lock is the session's: it goes with the connection.
    await client.end({ timeout: 5 });
  }
};

/** Whether the database has every migration that this program knows. A newer database counts as current. */
export const isMigrated = async (db: Db): Promise<boolean> => {
  const [{ journaled } = { journaled: false }] = await db.client<{ journaled: boolean }[]>`
    select to_regclass('drizzle.__drizzle_migrations') is not null as journaled`;
  if (!journaled) return false;
  const [row] = await db.client<{ newest: string | null }[]>`
    select max(created_at) as newest from drizzle.__drizzle_migrations`;
  return Number(row?.newest ?? 0) >= (journal.entries.at(-1)?.when ?? 0);
};
