import { CreateTenant } from "@realtime-avatar/domain/people/tenant";
import { boolean, check, pgTable, text } from "drizzle-orm/pg-core";
import { bytewise, isId, length, time } from "./columns.ts";

export const tenants = pgTable(
  "tenants",
  {
    tenantId: bytewise("tenant_id").primaryKey(),
    name: text("name").notNull(),
    /** True for the tenant of a first run. A constraint of its own allows it once, however many processes start. */
    isFirst: boolean("is_first"),
    createdAt: time("created_at").notNull(),
  },
  (table) => [
    check("tenants_tenant_id_check", isId(table.tenantId, "ten")),
    check("tenants_name_check", length(table.name, CreateTenant.properties.name)),
  ],
);
