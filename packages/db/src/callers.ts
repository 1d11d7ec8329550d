/**
 * Who calls. Each request looks its credential up once, with the whole lineage of its key, in the database: there is
 * no cache, so a revocation holds on every replica from the moment it commits. Each write then reads its caller again
 * in its own statement and locks it `for share`: a revocation either waits for the write, or the write finds it and
 * writes nothing. Nothing is written by a revoked key.
 */
import type { Grantor } from "@realtime-avatar/domain/api-key";
import type { ApiKeyId, TenantId } from "@realtime-avatar/domain/id";
import type { ApiKeyStatus } from "@realtime-avatar/domain/state";
import { type SQL, sql } from "drizzle-orm";
import { alias } from "drizzle-orm/pg-core";
import { type Db, statement } from "./client.ts";
import { apiKeyCredentials, apiKeys } from "./schema.ts";

/** A key that has proved itself, as it was when it was looked up. */
export type Caller = Grantor & {
  tenantId: TenantId;
  id: ApiKeyId;
  keyId: string;
  version: number;
  /** The database's time at the look-up: the one clock of all replicas, by which expiry is judged. */
  judgedAt: Date;
};

/** A credential as it is stored, and the state it is in. Not yet a caller: the digest is still to be compared. */
export type StoredCredential = {
  /** SHA-256 of the full secret, 32 bytes. */
  digest: Uint8Array;
  status: ApiKeyStatus;
  /** Whether a rotation has taken this credential out of use, whatever the status of its record. */
  retired: boolean;
  caller: Caller;
};

const ancestors = alias(apiKeys, "ancestors");

/** Revoked wins over expired. A record whose ancestor is missing counts as revoked. */
const STATUS = sql<ApiKeyStatus>`case
  when ${apiKeys.revokedAt} is not null or line.revoked or line.length < cardinality(${apiKeys.lineage}) then 'revoked'
  when ${apiKeys.expiresAt} <= now() or line.expired then 'expired'
  else 'active'
end`;

const selectCredential = statement<{
  digest: Uint8Array;
  retired: boolean;
  status: ApiKeyStatus;
  judgedAt: Date;
  tenantId: TenantId;
  id: ApiKeyId;
  environment: Caller["environment"];
  scopes: Caller["scopes"];
  spendLimitCreditMicros: string | null;
  expiresAt: Date | null;
  lineage: ApiKeyId[];
  version: number;
}>(sql`
  select ${apiKeyCredentials.digest} as "digest",
    coalesce(${apiKeyCredentials.retiredAt} <= now(), false) as "retired",
    ${STATUS} as "status",
    now() as "judgedAt",
    ${apiKeys.tenantId} as "tenantId",
    ${apiKeys.id} as "id",
    ${apiKeys.environment} as "environment",
    ${apiKeys.scopes} as "scopes",
    ${apiKeys.spendLimitCreditMicros} as "spendLimitCreditMicros",
    ${apiKeys.expiresAt} as "expiresAt",
    ${apiKeys.lineage} as "lineage",
    ${apiKeys.version} as "version"
  from ${apiKeyCredentials}
  join ${apiKeys} on ${apiKeys.tenantId} = ${apiKeyCredentials.tenantId} and ${apiKeys.id} = ${apiKeyCredentials.apiKeyId}
  cross join lateral (
    select count(*) as length, bool_or(${ancestors.revokedAt} is not null) as revoked,
      bool_or(${ancestors.expiresAt} <= now()) as expired
    from ${apiKeys} ancestors
    where ${ancestors.tenantId} = ${apiKeys.tenantId} and ${ancestors.id} = any(${apiKeys.lineage} collate "C")
  ) line
  where ${apiKeyCredentials.keyId} = ${sql.placeholder("keyId")}`);

/** Finds a credential by its public handle; `null` when there is none. One statement. */
export const findCredential = async (db: Db, keyId: string): Promise<StoredCredential | null> => {
  const [row] = await selectCredential(db, { keyId });
  if (!row) return null;
  const { digest, status, retired, spendLimitCreditMicros, ...key } = row;
  const cap = spendLimitCreditMicros === null ? null : Number(spendLimitCreditMicros);
  return { digest, status, retired, caller: { ...key, keyId, spendLimitCreditMicros: cap } };
};

/**
 * The common table expressions that put a row into `caller` while the caller is what it was when it was looked up, and
 * none otherwise: its credential unretired, its record unchanged, it and every ancestor neither revoked nor expired.
 * Records come first and in the order of their primary key, then the credential, so that no two statements deadlock.
 */
export const CALLER: SQL = sql`
  standing as materialized (
    select ${apiKeys.id}, ${apiKeys.version} from ${apiKeys}
    where ${apiKeys.tenantId} = ${sql.placeholder("caller.tenantId")}
      and ${apiKeys.id} = any(${sql.placeholder("caller.line")}::text[] collate "C")
      and ${apiKeys.revokedAt} is null
      and (${apiKeys.expiresAt} is null or ${apiKeys.expiresAt} > now())
    order by ${apiKeys.id}
    for share
  ),
  caller as materialized (
    select ${apiKeyCredentials.keyId} from ${apiKeyCredentials}
    where (select count(*) from standing) = cardinality(${sql.placeholder("caller.line")}::text[])
      and (select version from standing where id = ${sql.placeholder("caller.id")}) = ${sql.placeholder("caller.version")}
      and ${apiKeyCredentials.keyId} = ${sql.placeholder("caller.keyId")}
      and (${apiKeyCredentials.retiredAt} is null or ${apiKeyCredentials.retiredAt} > now())
    for share
  )`;

/** The values for `CALLER`. */
export const callerValues = (caller: Caller): Record<string, unknown> => ({
  "caller.tenantId": caller.tenantId,
  "caller.id": caller.id,
  "caller.version": caller.version,
  "caller.keyId": caller.keyId,
  "caller.line": [...caller.lineage, caller.id],
});
