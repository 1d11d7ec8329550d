/** The database of a command. */
import { resolve } from "node:path";
import type { Origin } from "@realtime-avatar/db/audit/audit-events";
import { hasEmbedded, requireEmbedded } from "@realtime-avatar/db/connection/embedded";
import { databaseFailure } from "@realtime-avatar/db/connection/errors";
import type { Db } from "@realtime-avatar/db/connection/pool";
import type { Databases } from "@realtime-avatar/db/databases/databases";
import { isMigrated } from "@realtime-avatar/db/migrate";
import { type OpenDatabase, openDatabase } from "@realtime-avatar/db/open";
import { nodesOfShards } from "@realtime-avatar/db/shards/placement";
import { listTenants } from "@realtime-avatar/db/tenants/tenants";
import { ENVIRONMENTS, type Environment } from "@realtime-avatar/domain/environment";
import { newRequestId, type TenantId } from "@realtime-avatar/domain/id";
import { type CommonConfig, readCommonConfig, readVariables } from "@realtime-avatar/runtime/config";
import { checkDataDirectory } from "@realtime-avatar/runtime/config/data-directory";
import { warnOfMisspeltSettings } from "@realtime-avatar/runtime/config/settings";
import { secureRandom as random } from "@realtime-avatar/runtime/random";

const PENDING =
  "Database migrations are pending. First run `realtime-avatar migrate` (`bun run migrate` in the repository).";

/** Whether a command may create the embedded database. Other commands need data that an earlier one has written. */
type Creation = { mayCreate?: boolean };

/** Throws when the embedded database is missing, unless the command may create it. */
const checkEmbedded = async (config: CommonConfig, { mayCreate = false }: Creation): Promise<void> => {
  requireEmbedded();
  const { dataDirectory } = config.database;
  if (!mayCreate && !(await hasEmbedded(dataDirectory))) {
    throw new Error(
      `There is no database in ${resolve(dataDirectory)}. Set DATABASE_URL to that of the service, or DATA_DIR to its folder. The first start of the service creates one.`,
    );
  }
  await checkDataDirectory(config);
};

/**
 * Runs `work` with the database of `DATABASE_URL`, at any version of its schema. Without the variable, uses the
 * embedded database.
 */
export const withOpenDatabase = async (
  work: (database: OpenDatabase) => Promise<void>,
  creation: Creation = {},
): Promise<void> => {
  warnOfMisspeltSettings(process.env);
  const config = readVariables(process.env, readCommonConfig);
  if (config.database.databaseUrl === null) await checkEmbedded(config, creation);
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
export const tenantDatabase = (databases: Databases, tenantId: TenantId): Db => {
  const db = databases.ofTenant(tenantId);
  if (databases.shards() !== null && db.shard === null) throw new Error("No tenant has this id.");
  return db;
};

/** The databases that respond, and a sentence about the others; null without others. */
type Responding = { all: readonly Db[]; lost: string | null };

/**
 * The shards that respond, and a sentence about the others. Throws when migrations are pending in one, or when no shard
 * responds.
 */
const findResponding = async ({ databases, server }: OpenDatabase): Promise<Responding> => {
  const all = databases.all();
  const states = await Promise.allSettled(all.map(isMigrated));
  const failures = states.flatMap((state) => (state.status === "rejected" ? [state.reason] : []));
  const isDown = failures.length > 0 && failures.every((error) => databaseFailure(error) !== null);
  if (failures.length > 0 && (!isDown || failures.length === all.length)) throw failures[0];
  if (all.length === 0 || states.some((state) => state.status === "fulfilled" && !state.value))
    throw new Error(PENDING);
  if (failures.length === 0) return { all, lost: null };
  const nodes = await nodesOfShards((text) => server.run(text, []));
  const names = all.flatMap(({ shard }, at) =>
    states[at]?.status === "rejected" ? [`shard ${shard} at ${nodes.get(shard ?? 0)}`] : [],
  );
  return {
    all: all.filter((_, at) => states[at]?.status === "fulfilled"),
    lost: `Left out, because the node does not respond: ${names.join(", ")}.`,
  };
};

/** Runs `work` with the databases that respond. Names the others, with exit code 1 unless the work `mayBePartial`. */
export const withResponding = async (
  databases: Databases,
  { all, lost }: Responding,
  work: (databases: Databases) => Promise<void>,
  mayBePartial: boolean,
): Promise<void> => {
  if (lost !== null) console.error(lost);
  await work({ ...databases, all: () => all });
  if (lost !== null && !mayBePartial) process.exitCode = 1;
};

/**
 * Runs `work` with all databases. Throws when migrations are pending; with `tenant`, only its database is checked.
 * Shards whose node does not respond are left out, with a message and exit code 1, unless the work `mayBePartial`.
 */
export const withDatabases = (
  work: (databases: Databases) => Promise<void>,
  tenant?: TenantId,
  { mayBePartial = false, ...creation }: Creation & { mayBePartial?: boolean } = {},
): Promise<void> =>
  withOpenDatabase(async (database) => {
    const { databases } = database;
    if (tenant) {
      if (!(await isMigrated(tenantDatabase(databases, tenant)))) throw new Error(PENDING);
      return work(databases);
    }
    await withResponding(databases, await findResponding(database), work, mayBePartial);
  }, creation);

/** Runs `work` with the database of a tenant. Throws when migrations are pending there. */
export const withDatabase = (tenantId: TenantId, work: (db: Db) => Promise<void>): Promise<void> =>
  withOpenDatabase(async ({ databases }) => {
    const db = tenantDatabase(databases, tenantId);
    if (!(await isMigrated(db))) throw new Error(PENDING);
    await work(db);
  });

export type Owner = { tenantId: TenantId; environment: Environment };

/** Every environment of every tenant, or of one, each with its database. */
export const listOwners = async (databases: Databases, tenant: TenantId | undefined): Promise<[Db, Owner][]> => {
  const owners = (db: Db, tenantId: TenantId): [Db, Owner][] =>
    ENVIRONMENTS.map((environment) => [db, { tenantId, environment }]);
  if (tenant) return owners(tenantDatabase(databases, tenant), tenant);
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
