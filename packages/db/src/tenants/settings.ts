/** The settings of a tenant in an environment. */
import type { AuditEventRecord } from "@realtime-avatar/domain/audit";
import type { Environment } from "@realtime-avatar/domain/environment";
import type { TenantId } from "@realtime-avatar/domain/id";
import { type SettingsRecord, UNSET_SETTINGS } from "@realtime-avatar/domain/people/tenant-settings";
import { sql } from "drizzle-orm";
import { changeTenantSettings as callChange } from "../../generated/functions.ts";
import type { AnyCaller } from "../callers/callers.ts";
import type { Runner } from "../connection/batch.ts";
import { requireKind } from "../idempotency/idempotency-keys.ts";
import { statement } from "../query/statement.ts";
import { tenantSettings } from "../schema/tenants.ts";

type Owner = { tenantId: TenantId; environment: Environment };

const select = statement<SettingsRecord>(
  "find_tenant_settings",
  sql`
    select ${tenantSettings.keepsTranscripts} as "keepsTranscripts", ${tenantSettings.version} as "version",
      ${tenantSettings.updatedAt} as "updatedAt"
    from ${tenantSettings}
    where ${tenantSettings.tenantId} = ${sql.placeholder("tenantId")}
      and ${tenantSettings.environment} = ${sql.placeholder("environment")}`,
);

/** The settings. One statement. */
export const findTenantSettings = async (db: Runner, { tenantId, environment }: Owner): Promise<SettingsRecord> =>
  (await select(db, { tenantId, environment }))[0] ?? UNSET_SETTINGS;

/** `unchanged`: the settings have another version than the change accepts. */
export type SettingsOutcome =
  | { kind: "written" | "unchanged"; settings: SettingsRecord }
  | { kind: "stale" | "not_found" };

/**
 * Changes the settings unless `versions` excludes their version. Writes the audit event if a value differs. The
 * operator acts when `caller` is null. One statement.
 */
export const changeTenantSettings = async (
  db: Runner,
  change: Owner & { keepsTranscripts: boolean; versions: readonly string[] | null },
  caller: AnyCaller | null,
  auditEvent: AuditEventRecord,
): Promise<SettingsOutcome> => {
  const [row] = await callChange(db, { ...change, caller, auditEvent });
  const { outcome = null, ...settings } = row ?? {};
  const kind = requireKind(outcome, ["written", "unchanged", "not_found", "stale"]);
  return kind === "written" || kind === "unchanged" ? { kind, settings: settings as SettingsRecord } : { kind };
};
