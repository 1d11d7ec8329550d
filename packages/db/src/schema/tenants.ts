import { ENVIRONMENTS } from "@realtime-avatar/domain/environment";
import { CreateTenant } from "@realtime-avatar/domain/people/tenant";
import { boolean, check, integer, pgTable, primaryKey, text } from "drizzle-orm/pg-core";
import { bytewise, inList, isId, length, time } from "./columns.ts";

export const tenants = pgTable(
  "tenants",
  {
    tenantId: bytewise("tenant_id").primaryKey(),
    name: text("name").notNull(),
    /** True for the tenant of a first run. A separate constraint allows one such row, however many processes start. */
    isFirst: boolean("is_first"),
    createdAt: time("created_at").notNull(),
  },
  (table) => [
    check("tenants_tenant_id_check", isId(table.tenantId, "ten")),
    check("tenants_name_check", length(table.name, CreateTenant.properties.name)),
  ],
);

/** The settings of a tenant in an environment. Without a row, all settings are off. */
export const tenantSettings = pgTable(
  "tenant_settings",
  {
    tenantId: bytewise("tenant_id").notNull(),
    environment: text("environment").notNull(),
    /** Whether the transcripts of new calls are kept. */
    keepsTranscripts: boolean("keeps_transcripts").notNull(),
    /** Without a row, 1. */
    version: integer("version").notNull().default(2),
    updatedAt: time("updated_at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.environment] }),
    check("tenant_settings_tenant_id_check", isId(table.tenantId, "ten")),
    check("tenant_settings_environment_check", inList(table.environment, ENVIRONMENTS)),
  ],
);
