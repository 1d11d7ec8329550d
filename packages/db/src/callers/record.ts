/** The record of a key in reads: the stored columns, and the values from its ancestors. */
import type { ApiKeyRecord } from "@realtime-avatar/domain/api-keys/api-key";
import type { ApiKeyStatus } from "@realtime-avatar/domain/api-keys/status";
import { type SQL, sql } from "drizzle-orm";
import { alias } from "drizzle-orm/pg-core";
import { apiKeys, apiKeyUsage } from "../schema/api-keys.ts";
import { apiKeyMeters } from "../schema/credits.ts";

const ancestors = alias(apiKeys, "ancestors");

/** Revoked wins over expired. A record whose ancestor is missing counts as revoked. */
export const STATUS = sql<ApiKeyStatus>`case
  when ${apiKeys.revokedAt} is not null or ancestry.revoked or ancestry.length < cardinality(${apiKeys.lineage}) then 'revoked'
  when ${apiKeys.expiresAt} <= now() or ancestry.expired then 'expired'
  else 'active'
end`;

/** A record as `RECORD` selects it. The driver gives a bigint as text. */
export type RecordRow = Omit<
  ApiKeyRecord,
  "spendLimitCreditMicros" | "maxConcurrentSessions" | "inheritedLimits" | "spentCreditMicros" | "reservedCreditMicros"
> & {
  spendLimitCreditMicros: string | null;
  maxConcurrentSessions: string | null;
  spentCreditMicros: string;
  reservedCreditMicros: string;
  inheritedSpendLimitCreditMicros: string | null;
  inheritedMaxConcurrentSessions: string | null;
  inheritedExpiresAt: Date | null;
};

/** The columns of a record, to be selected from `api_keys`, `LINEAGE` and `METER`. */
export const RECORD: SQL = sql`
  ${STATUS} as "status",
  ${apiKeys.tenantId} as "tenantId",
  ${apiKeys.id} as "id",
  ${apiKeys.keyId} as "keyId",
  ${apiKeys.environment} as "environment",
  ${apiKeys.name} as "name",
  ${apiKeys.scopes} as "scopes",
  ${apiKeys.spendLimitCreditMicros} as "spendLimitCreditMicros",
  ancestry.spend_limit_credit_micros as "inheritedSpendLimitCreditMicros",
  ${apiKeys.maxConcurrentSessions} as "maxConcurrentSessions",
  ancestry.max_concurrent_sessions as "inheritedMaxConcurrentSessions",
  ${apiKeys.expiresAt} as "expiresAt",
  ancestry.expires_at as "inheritedExpiresAt",
  ${apiKeys.lineage} as "lineage",
  ${apiKeys.version} as "version",
  meter.settled as "spentCreditMicros",
  meter.reserved as "reservedCreditMicros",
  (
    select ${apiKeyUsage.lastUsedAt} from ${apiKeyUsage}
    where ${apiKeyUsage.tenantId} = ${apiKeys.tenantId} and ${apiKeyUsage.apiKeyId} = ${apiKeys.id}
  ) as "lastUsedAt",
  ${apiKeys.createdAt} as "createdAt"`;

/**
 * The part of a record that comes from the ancestors: their state and their tightest limits. Except for the expiry, a
 * limit counts only for keys of its own environment. For \`offset 0\` see \`find_credential\`.
 */
export const LINEAGE: SQL = sql`
  cross join lateral (
    select count(*) as length, bool_or(${ancestors.revokedAt} is not null) as revoked,
      bool_or(${ancestors.expiresAt} <= now()) as expired, min(${ancestors.expiresAt}) as expires_at,
      min(${ancestors.spendLimitCreditMicros}) filter (where ${ancestors.environment} = ${apiKeys.environment})
        as spend_limit_credit_micros,
      min(${ancestors.maxConcurrentSessions}) filter (where ${ancestors.environment} = ${apiKeys.environment})
        as max_concurrent_sessions
    from unnest(${apiKeys.lineage}) ancestor (id)
    cross join lateral (
      select * from ${apiKeys} ancestors
      where ${ancestors.tenantId} = ${apiKeys.tenantId} and ${ancestors.id} = ancestor.id collate "C"
      offset 0
    ) ancestors
  ) ancestry`;

/** The values of the meter of a row of `api_keys`; zero without a meter. */
export const METER: SQL = sql`
  cross join lateral (
    select coalesce(max(${apiKeyMeters.settled}), 0) as settled, coalesce(max(${apiKeyMeters.reserved}), 0) as reserved
    from ${apiKeyMeters}
    where ${apiKeyMeters.tenantId} = ${apiKeys.tenantId} and ${apiKeyMeters.apiKeyId} = ${apiKeys.id}
  ) meter`;

const numberOf = (bigint: string | null): number | null => (bigint === null ? null : Number(bigint));

/** Converts a row that `RECORD` has selected to a record. */
export const toRecord = (row: RecordRow): ApiKeyRecord => ({
  tenantId: row.tenantId,
  id: row.id,
  keyId: row.keyId,
  environment: row.environment,
  name: row.name,
  status: row.status,
  scopes: row.scopes,
  spendLimitCreditMicros: numberOf(row.spendLimitCreditMicros),
  maxConcurrentSessions: numberOf(row.maxConcurrentSessions),
  expiresAt: row.expiresAt,
  lineage: row.lineage,
  inheritedLimits: {
    spendLimitCreditMicros: numberOf(row.inheritedSpendLimitCreditMicros),
    maxConcurrentSessions: numberOf(row.inheritedMaxConcurrentSessions),
    expiresAt: row.inheritedExpiresAt,
  },
  version: row.version,
  spentCreditMicros: Number(row.spentCreditMicros),
  reservedCreditMicros: Number(row.reservedCreditMicros),
  lastUsedAt: row.lastUsedAt,
  createdAt: row.createdAt,
});
