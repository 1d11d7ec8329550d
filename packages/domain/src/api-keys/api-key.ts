/** An API key as stored, and its API representation. */
import type { ApiKeyId, TenantId } from "../id.ts";
import { effectiveLimits, type Grantor } from "./grant.ts";
import type { ApiKey, ApiKeyWithSecret } from "./schemas.ts";
import { type ApiKeySecret, redactedKey } from "./secret.ts";
import type { ApiKeyStatus } from "./status.ts";

/** A key as stored: the record, with the `keyId` of its newest credential. It is valid only while all its ancestors are. */
export type ApiKeyRecord = Grantor & {
  id: ApiKeyId;
  tenantId: TenantId;
  keyId: string;
  name: string;
  status: ApiKeyStatus;
  /** Incremented by every change; the value of the ETag. */
  version: number;
  /** Credits spent and held by sessions of the key and its descendants in the same environment, in credit micros. */
  spentCreditMicros: number;
  reservedCreditMicros: number;
  /** To the minute; null before the first use. */
  lastUsedAt: Date | null;
  createdAt: Date;
};

/** The API representation of a key. */
export const presentApiKey = (record: ApiKeyRecord): ApiKey => {
  const effective = effectiveLimits(record);
  return {
    id: record.id,
    keyId: record.keyId,
    tenantId: record.tenantId,
    parentId: record.lineage.at(-1) ?? null,
    name: record.name,
    environment: record.environment,
    redactedKey: redactedKey(record.environment, record.keyId),
    scopes: [...record.scopes],
    status: record.status,
    spendLimitCreditMicros: record.spendLimitCreditMicros,
    effectiveSpendLimitCreditMicros: effective.spendLimitCreditMicros,
    spentCreditMicros: record.spentCreditMicros,
    reservedCreditMicros: record.reservedCreditMicros,
    maxConcurrentSessions: record.maxConcurrentSessions,
    effectiveMaxConcurrentSessions: effective.maxConcurrentSessions,
    expiresAt: record.expiresAt?.toISOString() ?? null,
    effectiveExpiresAt: effective.expiresAt?.toISOString() ?? null,
    lastUsedAt: record.lastUsedAt?.toISOString() ?? null,
    createdAt: record.createdAt.toISOString(),
  };
};

/** The API representation of a key with its secret, for the response of a creation or a rotation. */
export const presentApiKeyWithSecret = (record: ApiKeyRecord, secret: ApiKeySecret): ApiKeyWithSecret => ({
  ...presentApiKey(record),
  apiKey: secret.reveal(),
});
