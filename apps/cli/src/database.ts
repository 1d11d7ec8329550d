/** The database of a command. */

import type { Origin } from "@realtime-avatar/db/audit/audit-events";
import { requireEmbedded } from "@realtime-avatar/db/connection/embedded";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { isMigrated } from "@realtime-avatar/db/migrate";
import { type OpenDatabase, openDatabase } from "@realtime-avatar/db/open";
import { areMigrated, type Databases } from "@realtime-avatar/db/shards/databases";
import { listTenants } from "@realtime-avatar/db/tenants/tenants";
import { ENVIRONMENTS, type Environment } from "@realtime-avatar/domain/environment";
import { newRequestId, type TenantId } from "@realtime-avatar/domain/id";
import { readCommonConfig } from "@realtime-avatar/runtime/config";
import { checkDataDirectory } from "@realtime-avatar/runtime/config/data-directory";
import { warnOfMisspeltSettings } from "@realtime-avatar/runtime/config/settings";
import { secureRandom as random } from "@realtime-avatar/runtime/random";

const PENDING =
  "Database migrations are pending. First run `realtime-avatar migrate` (`bun run migrate` in the repository).";

/** Runs `work` with what `DATABASE_URL` names, whatever its schema is. */
export const withOpenDatabase = async (work: (database: OpenDatabase) => Promise<void>): Promise<void> => {
  warnOfMisspeltSettings(process.env);
  const config = readCommonConfig(process.env);
  if (config.database.databaseUrl === null) {
    requireEmbedded();
    await checkDataDirectory(config);
  }
  const database = await openDatabase(config.database, {
    notify: (message) => console.error(message),
    refreshMs: null,
  });
  try {
    await work(database);
  } finally {
    await database.close();
  }
};

/** Returns the database of a tenant. Throws when the installation does not have its shard. */
export const databaseOf = (databases: Databases, tenantId: TenantId): Db => {
  const db = databases.ofTenant(tenantId);
  if (databases.shards() !== null && db.shard === null) throw new Error("No tenant has this id.");
  return db;
};

/** Runs `work` with all databases. Throws when migrations are pending; with `tenant`, only those of its database count. */
export const withDatabases = (work: (databases: Databases) => Promise<void>, tenant?: TenantId): Promise<void> =>
  withOpenDatabase(async ({ databases }) => {
    const isCurrent = tenant ? isMigrated(databaseOf(databases, tenant)) : areMigrated(databases);
    if (!(await isCurrent)) throw new Error(PENDING);
    await work(databases);
  });

/** Runs `work` with the database of a tenant. Throws when migrations are pending there. */
export const withDatabase = (tenantId: TenantId, work: (db: Db) => Promise<void>): Promise<void> =>
  withOpenDatabase(async ({ databases }) => {
    const db = databaseOf(databases, tenantId);
    if (!(await isMigrated(db))) throw new Error(PENDING);
    await work(db);
  });

export type Owner = { tenantId: TenantId; environment: Environment };

/** Every environment of every tenant, or of one, each with its database. */
export const ownersOf = async (databases: Databases, tenant: TenantId | undefined): Promise<[Db, Owner][]> => {
  const owners = (db: Db, tenantId: TenantId): [Db, Owner][] =>
    ENVIRONMENTS.map((environment) => [db, { tenantId, environment }]);
  if (tenant) return owners(databaseOf(databases, tenant), tenant);
  const each = databases
    .all()
    .map(async (db) => (await listTenants(db)).flatMap(({ tenantId }) => owners(db, tenantId)));
  return (await Promise.all(each)).flat();
};

/** The origin of a write by the operator, for the audit trail. */
export const operatorOrigin = (): Origin & { actor: null } => {
  const now = new Date();
  return { actor: null, requestId: newRequestId(now, random), now, random };
};
