/** Tenants in the database. */
import type { TenantRecord } from "@realtime-avatar/domain/people/tenant";
import { sql } from "drizzle-orm";
import { createTenant } from "../../generated/functions.ts";
import type { Db } from "../connection/pool.ts";
import type { CreditMovement } from "../credits/credits.ts";
import { statement } from "../query/statement.ts";
import { creditAccounts } from "../schema/credits.ts";
import { tenants } from "../schema/tenants.ts";

/** Writes a tenant with its credit accounts and its grants, one for each environment. One statement. */
export const insertTenant = async (db: Db, tenant: TenantRecord, grants: readonly CreditMovement[]): Promise<void> => {
  await createTenant(db, { ...tenant, isFirst: false, grants });
};

/** `maxCallSeconds`: the longest call with a live key that the operator allows the tenant; null: the default of the service. */
export type ListedTenant = TenantRecord & { maxCallSeconds: number | null };

const select = statement<ListedTenant>(
  "list_tenants",
  sql`
  select ${tenants.tenantId} as "tenantId", ${tenants.name} as "name", ${tenants.createdAt} as "createdAt",
    ${creditAccounts.maxCallSeconds} as "maxCallSeconds"
  from ${tenants}
  left join ${creditAccounts} on ${creditAccounts.tenantId} = ${tenants.tenantId} and ${creditAccounts.environment} = 'live'
  order by ${tenants.tenantId}`,
);

const selectCount = statement<{ tenants: number }>(
  "count_tenants",
  sql`select count(*)::integer as "tenants" from ${tenants}`,
);

/** The number of tenants of the database. It reads all of them, because they are few. */
export const countTenants = async (db: Db): Promise<number> => (await selectCount(db, {}))[0]?.tenants ?? 0;

/**
 * Chooses two databases at random, and returns the one with fewer tenants. So many databases stay about equally full.
 */
export const emptierOfTwo = async (databases: readonly Db[]): Promise<Db> => {
  const two = databases.toSorted(() => Math.random() - 0.5).slice(0, 2);
  if (two.length < 2) return two[0] as Db;
  const counts = await Promise.all(two.map(countTenants));
  return two[counts.indexOf(Math.min(...counts))] as Db;
};

/** All tenants, the oldest first. */
export const listTenants = (db: Db): Promise<ListedTenant[]> => select(db, {});
