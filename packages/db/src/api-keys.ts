/** API keys in the database: a record says what a key may do, a credential holds the digest of its secret. */
import type { ApiKeyRecord } from "@realtime-avatar/domain/api-key";
import { type ApiKeySecret, digestApiKey } from "@realtime-avatar/domain/api-key-secret";
import type { TenantRecord } from "@realtime-avatar/domain/tenant";
import { type SQL, sql } from "drizzle-orm";
import { auditValues, insertAuditEvent, type Origin } from "./audit.ts";
import { CALLER, type Caller, callerValues } from "./callers.ts";
import { type Db, insertFrom, placeholders, rowValues, statement } from "./client.ts";
import { apiKeyCredentials, apiKeys, tenants } from "./schema.ts";

/** Writes a key, its credential and its audit event, for each row of `from`. */
const insertKeyFrom = (from: SQL): SQL => sql`
  api_key as (
    ${insertFrom(apiKeys, { ...placeholders(apiKeys, "key"), revokedAt: sql`null` }, from)} returning tenant_id
  ),
  credential as (
    ${insertFrom(apiKeyCredentials, { ...placeholders(apiKeyCredentials, "credential"), retiredAt: sql`null` }, sql`api_key`)}
  ),
  audit as (${insertAuditEvent(sql`api_key`)})
  select from api_key`;

/** The caller was looked up before the body was read: the new key may have expired while it was on its way. */
const IN_TIME = sql`(
  select from caller where coalesce(${sql.placeholder("key.expiresAt")}::timestamp with time zone > now(), true)
) in_time`;

const insertByCaller = statement(sql`with ${CALLER}, ${insertKeyFrom(IN_TIME)}`);

const insertByOperator = statement(sql`
  with tenant as materialized (
    select ${tenants.tenantId} from ${tenants} where ${tenants.tenantId} = ${sql.placeholder("key.tenantId")} for key share
  ),
  ${insertKeyFrom(sql`tenant`)}`);

const insertByNobody = statement(sql`
  with tenant as (
    ${insertFrom(tenants, placeholders(tenants, "tenant"), sql`(select where not exists (select from ${tenants})) nobody`)}
    returning tenant_id
  ),
  ${insertKeyFrom(sql`tenant`)}`);

const keyValues = (record: ApiKeyRecord, secret: ApiKeySecret, origin: Origin): Record<string, unknown> => ({
  ...rowValues("key", record),
  ...rowValues("credential", {
    keyId: secret.keyId,
    tenantId: record.tenantId,
    apiKeyId: record.id,
    // The secret itself stays here.
    digest: digestApiKey(secret),
    createdAt: record.createdAt,
  }),
  ...auditValues("api_key.created", record, origin),
});

/**
 * Writes a new key with its first credential and its audit event. `false`, with nothing written, when the caller is no
 * longer what it was, or the new key's expiry has passed; or, without a caller, when the tenant does not exist. One
 * statement.
 */
export const insertApiKey = async (
  db: Db,
  record: ApiKeyRecord,
  secret: ApiKeySecret,
  caller: Caller | null,
  origin: Origin,
): Promise<boolean> => {
  const values = keyValues(record, secret, origin);
  const rows = caller
    ? await insertByCaller(db, { ...callerValues(caller), ...values })
    : await insertByOperator(db, values);
  return rows.length === 1;
};

/** Writes a tenant with a key, if there is no tenant yet; `false`, with nothing written, otherwise. One statement. */
export const insertFirstApiKey = async (
  db: Db,
  tenant: TenantRecord,
  record: ApiKeyRecord,
  secret: ApiKeySecret,
  origin: Origin,
): Promise<boolean> => {
  const rows = await insertByNobody(db, { ...rowValues("tenant", tenant), ...keyValues(record, secret, origin) });
  return rows.length === 1;
};
