/** Tenants in the database. */
import type { TenantRecord } from "@realtime-avatar/domain/tenant";
import { sql } from "drizzle-orm";
import type { Db } from "../connection/pool.ts";
import { tenants } from "../schema.ts";
import { insertFrom, placeholders, rowValues, statement } from "./statement.ts";

const values = { ...placeholders(tenants, "tenant"), isFirst: sql`null` };
const insert = statement(sql`${insertFrom(tenants, values, sql`(values (1)) one`)}`);

export const insertTenant = async (db: Db, tenant: TenantRecord): Promise<void> => {
  await insert(db, rowValues("tenant", tenant));
};

const select = statement<TenantRecord>(sql`
  select ${tenants.tenantId} as "tenantId", ${tenants.name} as "name", ${tenants.createdAt} as "createdAt"
  from ${tenants} order by ${tenants.tenantId}`);

/** Every tenant, oldest first. */
export const listTenants = (db: Db): Promise<TenantRecord[]> => select(db, {});
