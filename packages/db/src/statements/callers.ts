/**
 * Who calls. Each request looks its credential up once, with the whole lineage of its key, in the database: there is
 * no cache, so a revocation holds on every replica from the moment it commits. Each write then reads its caller again
 * in its own statement and locks it `for share`: a revocation either waits for the write, or the write finds it and
 * writes nothing. Nothing is written by a revoked key.
 */
import type { ApiKeyRecord } from "@realtime-avatar/domain/api-key";
import type { ApiKeyId, TenantId } from "@realtime-avatar/domain/id";
import type { ApiKeyStatus } from "@realtime-avatar/domain/state";
import { type Placeholder, type SQL, sql } from "drizzle-orm";
import { alias } from "drizzle-orm/pg-core";
import type { BatchKind } from "../connection/batch.ts";
import type { Db } from "../connection/pool.ts";
import { apiKeyCredentials, apiKeys, apiKeyUsage } from "../schema.ts";
import { GIVES_WAY, givingWay } from "./pending-changes.ts";
import { statement, sweepOf } from "./statement.ts";

/** A key that has proved itself, as it was when it was looked up. */
export type Caller = ApiKeyRecord & {
  /** The credential that it has shown: during an overlap not necessarily its newest one. */
  credentialKeyId: string;
  /** The database's time at the look-up: the one clock of all replicas, by which expiry is judged. */
  judgedAt: Date;
};

/** A credential as it is stored, and the state it is in. Its key is no caller yet: the digest is still to be compared. */
export type StoredCredential = {
  /** SHA-256 of the full secret, 32 bytes. */
  digest: Uint8Array;
  /** Whether a rotation has taken this credential out of use, whatever the status of its record. */
  retired: boolean;
  /** Whether it was issued by a rotation and has not been authenticated since. See `confirmFirstUse`. */
  isUnused: boolean;
  /** Whether a report of this secret revokes its key: see `mayReport`. */
  mayReport: boolean;
  caller: Caller;
  /** The key of the same tenant that was asked for as well, if there is one. */
  target: ApiKeyRecord | null;
};

const ancestors = alias(apiKeys, "ancestors");

/** Revoked wins over expired. A record whose ancestor is missing counts as revoked. */
export const STATUS = sql<ApiKeyStatus>`case
  when ${apiKeys.revokedAt} is not null or line.revoked or line.length < cardinality(${apiKeys.lineage}) then 'revoked'
  when ${apiKeys.expiresAt} <= now() or line.expired then 'expired'
  else 'active'
end`;

/** A record as `RECORD` selects it. The driver gives a bigint as text. */
export type RecordRow = Omit<ApiKeyRecord, "spendLimitCreditMicros" | "inheritedLimits"> & {
  spendLimitCreditMicros: string | null;
  inheritedSpendLimitCreditMicros: string | null;
  inheritedExpiresAt: Date | null;
};

/** The columns of a record, to be selected from `api_keys` and `LINE`. */
export const RECORD: SQL = sql`
  ${STATUS} as "status",
  ${apiKeys.tenantId} as "tenantId",
  ${apiKeys.id} as "id",
  ${apiKeys.keyId} as "keyId",
  ${apiKeys.environment} as "environment",
  ${apiKeys.name} as "name",
  ${apiKeys.scopes} as "scopes",
  ${apiKeys.spendLimitCreditMicros} as "spendLimitCreditMicros",
  line.spend_limit_credit_micros as "inheritedSpendLimitCreditMicros",
  ${apiKeys.expiresAt} as "expiresAt",
  line.expires_at as "inheritedExpiresAt",
  ${apiKeys.lineage} as "lineage",
  ${apiKeys.version} as "version",
  (
    select ${apiKeyUsage.lastUsedAt} from ${apiKeyUsage}
    where ${apiKeyUsage.tenantId} = ${apiKeys.tenantId} and ${apiKeyUsage.apiKeyId} = ${apiKeys.id}
  ) as "lastUsedAt",
  ${apiKeys.createdAt} as "createdAt"`;

/**
 * What a row of `api_keys` needs to become a record: the state of its ancestors, and their tightest limits. A spend cap
 * counts for keys of its own environment.
 */
export const LINE: SQL = sql`
  cross join lateral (
    select count(*) as length, bool_or(${ancestors.revokedAt} is not null) as revoked,
      bool_or(${ancestors.expiresAt} <= now()) as expired, min(${ancestors.expiresAt}) as expires_at,
      min(${ancestors.spendLimitCreditMicros}) filter (where ${ancestors.environment} = ${apiKeys.environment})
        as spend_limit_credit_micros
    from ${apiKeys} ancestors
    where ${ancestors.tenantId} = ${apiKeys.tenantId} and ${ancestors.id} = any(${apiKeys.lineage} collate "C")
  ) line`;

const numberOf = (bigint: string | null): number | null => (bigint === null ? null : Number(bigint));

/** The record of a row that `RECORD` has selected. */
export const toRecord = (row: RecordRow): ApiKeyRecord => ({
  tenantId: row.tenantId,
  id: row.id,
  keyId: row.keyId,
  environment: row.environment,
  name: row.name,
  status: row.status,
  scopes: row.scopes,
  spendLimitCreditMicros: numberOf(row.spendLimitCreditMicros),
  expiresAt: row.expiresAt,
  lineage: row.lineage,
  inheritedLimits: {
    spendLimitCreditMicros: numberOf(row.inheritedSpendLimitCreditMicros),
    expiresAt: row.inheritedExpiresAt,
  },
  version: row.version,
  lastUsedAt: row.lastUsedAt,
  createdAt: row.createdAt,
});

type CredentialRow = RecordRow & {
  /** To which of the look-ups it is the answer, from 1. */
  position: number;
  digest: Uint8Array;
  retired: boolean;
  isUnused: boolean;
  mayReport: boolean;
  judgedAt: Date;
  isCaller: boolean;
  /** Whether a change of the key, or of an ancestor, waits for the writes under way. */
  givesWay: boolean;
};

/**
 * A secret reports its own key as leaked while it is valid, and for seven days after its key retired it by rotating
 * itself: that rotation may have been the thief's. One that another key or the operator retired reports nothing: that is
 * how a key is taken back from the holder of an old secret.
 */
const mayReport = (at: SQL): SQL => sql`(
  ${apiKeyCredentials.retiredAt} is null or ${apiKeyCredentials.retiredAt} > ${at}
  or ${apiKeyCredentials.retiredBy} = ${apiKeyCredentials.apiKeyId}
    and ${apiKeyCredentials.retiredAt} > ${at} - interval '7 days'
)`;

/** The credential, its key and the key that was asked for, for each row of `from`; `position` says for which. */
const credentials = (position: SQL, from: SQL, targetId: SQL | Placeholder): SQL => sql`
  select
    ${position} as "position",
    ${apiKeyCredentials.digest} as "digest",
    coalesce(${apiKeyCredentials.retiredAt} <= now(), false) as "retired",
    ${apiKeyCredentials.isUnused} as "isUnused",
    coalesce(${mayReport(sql`now()`)}, false) as "mayReport",
    ${apiKeys.id} = ${apiKeyCredentials.apiKeyId} as "isCaller",
    now() as "judgedAt",
    ${GIVES_WAY} as "givesWay",
    ${RECORD}
  from ${from}
  join ${apiKeys} on ${apiKeys.tenantId} = ${apiKeyCredentials.tenantId}
    and ${apiKeys.id} = any(array[${apiKeyCredentials.apiKeyId}, ${targetId}])
  ${LINE}`;

const selectCredential = statement<CredentialRow>(sql`
  ${credentials(sql`1`, sql`${apiKeyCredentials}`, sql.placeholder("targetId"))}
  where ${apiKeyCredentials.keyId} = ${sql.placeholder("keyId")}`);

const selectCredentials = statement<CredentialRow>(
  credentials(
    sql`asked.position::integer`,
    sql`unnest(${sql.placeholder("keyIds")}::text[], ${sql.placeholder("targetIds")}::text[])
      with ordinality asked (key_id, target_id, position)
    join ${apiKeyCredentials} on ${apiKeyCredentials.keyId} = asked.key_id collate "C"`,
    sql`asked.target_id collate "C"`,
  ),
);

type LookUp = { keyId: string; targetId: ApiKeyId | null; isKnown: boolean };
type Found = { stored: StoredCredential; givesWay: boolean } | null;

const foundIn = (rows: readonly CredentialRow[], { keyId, targetId }: LookUp): Found => {
  const own = rows.find(({ isCaller }) => isCaller);
  if (!own) return null;
  const target = rows.find(({ id }) => id === targetId);
  const { digest, retired, isUnused, mayReport, judgedAt, givesWay } = own;
  const caller = { ...toRecord(own), credentialKeyId: keyId, judgedAt };
  const stored = { digest, retired, isUnused, mayReport, caller, target: target ? toRecord(target) : null };
  return { stored, givesWay };
};

/**
 * Look-ups are gathered: one statement for all that come at the same time, and of those that are the same, one. Known
 * keys go first, so that a flood of unknown ones neither holds them up nor fills their queue.
 */
const LOOK_UPS: BatchKind<LookUp, Found> = {
  name: "find_credential",
  inFlight: 2,
  goesFirst: ({ isKnown }) => isKnown,
  run: async (db, lookUps) => {
    const nameOf = ({ keyId, targetId }: LookUp): string => `${keyId} ${targetId}`;
    const different = [...new Map(lookUps.map((lookUp) => [nameOf(lookUp), lookUp])).values()];
    const [first] = different;
    if (first && different.length === 1) {
      const found = foundIn(await selectCredential(db, first), first);
      return lookUps.map(() => found);
    }
    const keyIds = different.map(({ keyId }) => keyId);
    const targetIds = different.map(({ targetId }) => targetId);
    const rows = different.map((): CredentialRow[] => []);
    for (const row of await selectCredentials(db, { keyIds, targetIds })) rows[row.position - 1]?.push(row);
    const found = new Map(different.map((lookUp, index) => [nameOf(lookUp), foundIn(rows[index] ?? [], lookUp)]));
    return lookUps.map((lookUp) => found.get(nameOf(lookUp)) ?? null);
  },
};

/**
 * Finds a credential by its public handle, with its key, and the key `targetId` of the same tenant, if it is asked for;
 * `null` when there is no such credential. One statement; more only while it gives way to a change of the key. What is
 * found may be shared with others who look up the same at the same time. `knownTenant` is the tenant for which the same
 * secret authenticated recently, if it did: under load such look-ups go first, and tenants take turns. It decides the
 * order alone.
 */
export const findCredential = async (
  db: Db,
  keyId: string,
  targetId: ApiKeyId | null = null,
  knownTenant: TenantId | undefined = undefined,
): Promise<StoredCredential | null> => {
  const found = await givingWay(
    () => db.batch(LOOK_UPS, { keyId, targetId, isKnown: knownTenant !== undefined }, knownTenant ?? keyId),
    (found) => found?.givesWay ?? false,
  );
  return found?.stored ?? null;
};

const confirm = statement<object>(sql`
  update ${apiKeyCredentials} set is_unused = false
  where ${apiKeyCredentials.keyId} = ${sql.placeholder("keyId")} and ${apiKeyCredentials.isUnused}
    and (${apiKeyCredentials.retiredAt} is null or ${apiKeyCredentials.retiredAt} > clock_timestamp())
  returning 1`);

/**
 * Records the first use of a credential that a rotation has issued, before its holder is answered: from then on the older
 * secret of the overlap cannot replace it. `false`, with nothing written, when the credential was used or retired
 * meanwhile: it has to be looked up again. One statement, once in the life of a credential.
 */
export const confirmFirstUse = async (db: Db, keyId: string): Promise<boolean> =>
  (await confirm(db, { keyId })).length === 1;

/** The shortest time that a retired credential is kept, so that its holder is told what became of it. */
const KEPT_AFTER_RETIREMENT = sql`interval '7 days'`;

/** Deletes credentials that were retired at least seven days ago; returns their number. */
export const sweepCredentials = sweepOf(
  apiKeyCredentials,
  sql`${apiKeyCredentials.retiredAt} <= now() - ${KEPT_AFTER_RETIREMENT}`,
  apiKeyCredentials.retiredAt,
);

/** A row that was changed while its lock was waited for is read again: then this is the time after the wait. */
const AFTER_LOCKS = sql`clock_timestamp()`;

/** That a row of `api_keys` is valid by itself. */
export const IS_VALID = sql`
  ${apiKeys.revokedAt} is null and (${apiKeys.expiresAt} is null or ${apiKeys.expiresAt} > now())`;

/** Lock policy for a row that another statement is changing: wait, or treat it as missing. */
const WAIT = sql``;
const SKIP_LOCKED = sql`skip locked`;

/** The caller's record and its ancestors, while they are valid, in the order of their primary key. */
const standing = (and: SQL, policy: SQL = WAIT): SQL => sql`
  select ${apiKeys.id}, ${apiKeys.version}, ${apiKeys.expiresAt} from ${apiKeys}
  where ${apiKeys.tenantId} = ${sql.placeholder("caller.tenantId")}
    and ${apiKeys.id} = any(${sql.placeholder("caller.line")}::text[] collate "C")
    and ${IS_VALID} and ${and}
  order by ${apiKeys.id}
  for share ${policy}`;

/**
 * The credential that was shown, if `usable` holds for it and `and` holds, which is checked before it is locked. With it
 * the moment at which the first key of `line`, a table of locked records, expires.
 */
const credential = (line: SQL, and: SQL, usable: SQL, policy: SQL = WAIT): SQL => sql`
  select ${apiKeyCredentials.keyId}, ${apiKeyCredentials.retiredAt}, (select min(expires_at) from ${line}) as ends_at
  from ${apiKeyCredentials}
  where ${and}
    and ${apiKeyCredentials.keyId} = ${sql.placeholder("caller.credentialKeyId")}
    and ${usable}
  for share ${policy}`;
const IS_USABLE = sql`(${apiKeyCredentials.retiredAt} is null or ${apiKeyCredentials.retiredAt} > now())`;

/**
 * What was valid when the statement began may have ended while it waited for a lock, and a locked row is read again only
 * if it was changed. So the times in `shown` are compared once more, by the clock as it is after the last lock.
 */
const callerOf = (shown: SQL): SQL => sql`
  shown as materialized (${shown}),
  caller as materialized (
    select key_id from shown
    where coalesce(retired_at > clock_timestamp(), true) and coalesce(ends_at > clock_timestamp(), true)
  )`;

/** Whether `standing` has all of the caller's lineage, and the caller's own record unchanged. */
const IS_STANDING = sql`
  (select count(*) from standing) = cardinality(${sql.placeholder("caller.line")}::text[])
  and (select version from standing where id = ${sql.placeholder("caller.id")}) = ${sql.placeholder("caller.version")}`;

/**
 * The common table expressions that put a row into `caller` while the caller is what it was when it was looked up, and
 * none otherwise: its credential unretired, its record unchanged, it and every ancestor neither revoked nor expired.
 * Records come first and in the order of their primary key, then the credential, so that no two statements deadlock.
 */
const callerBy = (policy: SQL): SQL => sql`
  standing as materialized (${standing(sql`true`, policy)}),
  ${callerOf(credential(sql`standing`, IS_STANDING, IS_USABLE, policy))}`;
export const CALLER = callerBy(WAIT);

/** As `CALLER`, without waiting for a caller that is being changed: then there is no row, which says nothing yet. */
export const CALLER_AT_ONCE = callerBy(SKIP_LOCKED);

/** What a write needs of its caller. */
export type Maker = Pick<Caller, "tenantId" | "id" | "version" | "credentialKeyId" | "lineage">;

/** The values for `CALLER`, by name. */
export const CALLER_READERS = {
  "caller.tenantId": ({ tenantId }: Maker) => tenantId,
  "caller.id": ({ id }: Maker) => id,
  "caller.version": ({ version }: Maker) => version,
  "caller.credentialKeyId": ({ credentialKeyId }: Maker) => credentialKeyId,
  "caller.line": ({ lineage, id }: Maker) => [...lineage, id],
};

/**
 * As `CALLER`, for the callers in the table `callers` of `CALLER_READERS`: those that are what they were when they were
 * looked up are in `allowed`. A caller that is being changed at the moment is not waited for, since others would wait with
 * it: it is not in `allowed` either, and what it writes has to be written by itself.
 */
export const callersAllowed = (callers: SQL): SQL => sql`
  callers as materialized (select * from ${callers}),
  lines as materialized (
    select distinct "caller.tenantId" collate "C" as tenant_id, unnest("caller.line"::text[]) collate "C" as id
    from callers
  ),
  standing as materialized (
    select ${apiKeys.tenantId}, ${apiKeys.id}, ${apiKeys.version} from ${apiKeys}
    where (${apiKeys.tenantId}, ${apiKeys.id}) in (select tenant_id, id from lines) and ${IS_VALID}
    order by ${apiKeys.tenantId}, ${apiKeys.id}
    for share of ${apiKeys} skip locked
  ),
  shown as materialized (
    select ${apiKeyCredentials.keyId} from ${apiKeyCredentials}
    where ${apiKeyCredentials.keyId} in (select "caller.credentialKeyId" collate "C" from callers)
      and (${apiKeyCredentials.retiredAt} is null or ${apiKeyCredentials.retiredAt} > now())
      and (select count(*) from standing) >= 0
    order by ${apiKeyCredentials.keyId}
    for share of ${apiKeyCredentials} skip locked
  ),
  allowed as materialized (
    select * from callers
    where (
        select count(*) from standing
        where standing.tenant_id = "caller.tenantId" and standing.id = any("caller.line"::text[])
      ) = cardinality("caller.line"::text[])
      and exists (
        select from standing
        where standing.tenant_id = "caller.tenantId" and standing.id = "caller.id"
          and standing.version = "caller.version"::integer
      )
      and exists (select from shown where shown.key_id = "caller.credentialKeyId")
  )`;

/** The values for `CALLER`. */
export const callerValues = (caller: Caller): Record<string, unknown> =>
  Object.fromEntries(Object.entries(CALLER_READERS).map(([name, read]) => [name, read(caller)]));

/** The key that a write is about, while it is valid and in the version that is expected; locked to be changed. */
const target = (and: SQL): SQL => sql`
  select ${apiKeys.id}, ${apiKeys.version}, ${apiKeys.expiresAt} from ${apiKeys}
  where ${apiKeys.tenantId} = ${sql.placeholder("target.tenantId")} and ${apiKeys.id} = ${sql.placeholder("target.id")}
    and coalesce(${apiKeys.version} = ${sql.placeholder("target.version")}::integer, true) and ${IS_VALID} and ${and}
  for no key update`;

/**
 * As `CALLER`, and `target`: one row while the key that the write is about is valid and in the version that is expected,
 * if one is. The target is locked at its place in the order of the records, in full strength at once: two keys that
 * revoke each other, or one key that is changed twice at once, would otherwise deadlock.
 */
export const CALLER_AND_TARGET: SQL = sql`
  older as materialized (${standing(sql`${apiKeys.id} < ${sql.placeholder("target.id")}`)}),
  target as materialized (${target(sql`(select count(*) from older) >= 0`)}),
  newer as materialized (
    ${standing(sql`${apiKeys.id} > ${sql.placeholder("target.id")} and (select count(*) from target) >= 0`)}
  ),
  standing as (
    select id, version, expires_at from older union all
    select id, version, expires_at from target where id = any(${sql.placeholder("caller.line")}::text[]) union all
    select id, version, expires_at from newer
  ),
  ${callerOf(credential(sql`standing`, IS_STANDING, IS_USABLE))}`;

/** As `CALLER_AND_TARGET`, when the operator acts. */
export const OPERATOR_AND_TARGET: SQL = sql`
  target as materialized (${target(sql`true`)}),
  caller as (select from target)`;

/** As `CALLER_AND_TARGET`, when the holder of a secret of the target acts, which may have been retired: see `mayReport`. */
export const HOLDER_AND_TARGET: SQL = sql`
  target as materialized (${target(sql`true`)}),
  caller as materialized (${credential(sql`target`, sql`(select count(*) from target) = 1`, mayReport(AFTER_LOCKS))})`;

/** The values for `target`; without a `version`, it may be in any. */
export const targetValues = ({ tenantId, id }: ApiKeyRecord, version: number | null): Record<string, unknown> => ({
  "target.tenantId": tenantId,
  "target.id": id,
  "target.version": version,
});
