/**
 * Who calls. Each request looks its credential up once, with the whole lineage of its key, in the database: there is
 * no cache, so a revocation holds on every replica from the moment it commits. Each write then reads its caller again
 * in its own statement and locks it `for share`: a revocation either waits for the write, or the write finds it and
 * writes nothing. Nothing is written by a revoked key.
 */
import type { ApiKeyRecord } from "@realtime-avatar/domain/api-key";
import type { ApiKeyId } from "@realtime-avatar/domain/id";
import type { ApiKeyStatus } from "@realtime-avatar/domain/state";
import { type Placeholder, type SQL, sql } from "drizzle-orm";
import { alias } from "drizzle-orm/pg-core";
import type { Gatherable } from "./gather.ts";
import type { Db } from "./pool.ts";
import { GIVES_WAY, givingWay } from "./right-of-way.ts";
import { apiKeyCredentials, apiKeys, apiKeyUsage } from "./schema.ts";
import { statement } from "./statement.ts";

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
export type RecordRow = Omit<ApiKeyRecord, "spendLimitCreditMicros"> & { spendLimitCreditMicros: string | null };

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
  ${apiKeys.expiresAt} as "expiresAt",
  ${apiKeys.lineage} as "lineage",
  ${apiKeys.version} as "version",
  (
    select ${apiKeyUsage.lastUsedAt} from ${apiKeyUsage}
    where ${apiKeyUsage.tenantId} = ${apiKeys.tenantId} and ${apiKeyUsage.apiKeyId} = ${apiKeys.id}
  ) as "lastUsedAt",
  ${apiKeys.createdAt} as "createdAt"`;

/** What a row of `api_keys` needs to become a record: the state of its whole lineage. */
export const LINE: SQL = sql`
  cross join lateral (
    select count(*) as length, bool_or(${ancestors.revokedAt} is not null) as revoked,
      bool_or(${ancestors.expiresAt} <= now()) as expired
    from ${apiKeys} ancestors
    where ${ancestors.tenantId} = ${apiKeys.tenantId} and ${ancestors.id} = any(${apiKeys.lineage} collate "C")
  ) line`;

/** The record of a row that `RECORD` has selected. */
export const toRecord = (row: RecordRow): ApiKeyRecord => ({
  tenantId: row.tenantId,
  id: row.id,
  keyId: row.keyId,
  environment: row.environment,
  name: row.name,
  status: row.status,
  scopes: row.scopes,
  spendLimitCreditMicros: row.spendLimitCreditMicros === null ? null : Number(row.spendLimitCreditMicros),
  expiresAt: row.expiresAt,
  lineage: row.lineage,
  version: row.version,
  lastUsedAt: row.lastUsedAt,
  createdAt: row.createdAt,
});

type CredentialRow = RecordRow & {
  /** To which of the look-ups it is the answer, from 1. */
  position: number;
  digest: Uint8Array;
  retired: boolean;
  judgedAt: Date;
  isCaller: boolean;
  /** Whether a change of the key, or of an ancestor, waits for the writes under way. */
  givesWay: boolean;
};

/** The credential, its key and the key that was asked for, for each row of `from`; `position` says for which. */
const credentials = (position: SQL, from: SQL, targetId: SQL | Placeholder): SQL => sql`
  select
    ${position} as "position",
    ${apiKeyCredentials.digest} as "digest",
    coalesce(${apiKeyCredentials.retiredAt} <= now(), false) as "retired",
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
  const { digest, retired, judgedAt, givesWay } = own;
  const caller = { ...toRecord(own), credentialKeyId: keyId, judgedAt };
  return { stored: { digest, retired, caller, target: target ? toRecord(target) : null }, givesWay };
};

/**
 * Look-ups are gathered: one statement for all that come at the same time, and of those that are the same, one. Known
 * keys go first, so that a flood of unknown ones neither holds them up nor fills their queue.
 */
const LOOK_UPS: Gatherable<LookUp, Found> = {
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
 * found may be shared with others who look up the same at the same time. `isKnown` says that the caller of this function
 * has recently authenticated a key by this handle: under load such look-ups go first. It decides the order alone.
 */
export const findCredential = async (
  db: Db,
  keyId: string,
  targetId: ApiKeyId | null = null,
  isKnown = false,
): Promise<StoredCredential | null> => {
  const found = await givingWay(
    () => db.gather(LOOK_UPS, { keyId, targetId, isKnown }, keyId),
    (found) => found?.givesWay ?? false,
  );
  return found?.stored ?? null;
};

/** That a row of `api_keys` is valid by itself. */
const IS_VALID = sql`
  ${apiKeys.revokedAt} is null and (${apiKeys.expiresAt} is null or ${apiKeys.expiresAt} > now())`;

/** Whether a row that somebody changes at the moment is waited for, or taken for one that is not there. */
const WAITING = sql``;
const SKIPPING = sql`skip locked`;

/** The caller's record and its ancestors, while they are valid, in the order of their primary key. */
const standing = (and: SQL, patience: SQL = WAITING): SQL => sql`
  select ${apiKeys.id}, ${apiKeys.version} from ${apiKeys}
  where ${apiKeys.tenantId} = ${sql.placeholder("caller.tenantId")}
    and ${apiKeys.id} = any(${sql.placeholder("caller.line")}::text[] collate "C")
    and ${IS_VALID} and ${and}
  order by ${apiKeys.id}
  for share ${patience}`;

/** One row while the credential that was shown is not retired, and `and` holds, which is judged before it is locked. */
const credential = (and: SQL, patience: SQL = WAITING): SQL => sql`
  select ${apiKeyCredentials.keyId} from ${apiKeyCredentials}
  where ${and}
    and ${apiKeyCredentials.keyId} = ${sql.placeholder("caller.credentialKeyId")}
    and (${apiKeyCredentials.retiredAt} is null or ${apiKeyCredentials.retiredAt} > now())
  for share ${patience}`;

/** One row while all of `standing` stand, the caller's own record is unchanged, and its credential is not retired. */
const IS_STANDING = sql`
  (select count(*) from standing) = cardinality(${sql.placeholder("caller.line")}::text[])
  and (select version from standing where id = ${sql.placeholder("caller.id")}) = ${sql.placeholder("caller.version")}`;
const CREDENTIAL = credential(IS_STANDING);

/**
 * The common table expressions that put a row into `caller` while the caller is what it was when it was looked up, and
 * none otherwise: its credential unretired, its record unchanged, it and every ancestor neither revoked nor expired.
 * Records come first and in the order of their primary key, then the credential, so that no two statements deadlock.
 */
const callerBy = (patience: SQL): SQL => sql`
  standing as materialized (${standing(sql`true`, patience)}),
  caller as materialized (${credential(IS_STANDING, patience)})`;
export const CALLER = callerBy(WAITING);

/** As `CALLER`, and a caller that is being changed at the moment is not waited for: none, which says nothing yet. */
export const CALLER_AT_ONCE = callerBy(SKIPPING);

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
    select id, version from older union all
    select id, version from target where id = any(${sql.placeholder("caller.line")}::text[]) union all
    select id, version from newer
  ),
  caller as materialized (${CREDENTIAL})`;

/** As `CALLER_AND_TARGET`, when whoever runs the service acts. */
export const OPERATOR_AND_TARGET: SQL = sql`
  target as materialized (${target(sql`true`)}),
  caller as (select from target)`;

/** As `CALLER_AND_TARGET`, when whoever holds a secret of the target acts, and as long as that is not retired. */
export const HOLDER_AND_TARGET: SQL = sql`
  target as materialized (${target(sql`true`)}),
  caller as materialized (${credential(sql`(select count(*) from target) = 1`)})`;

/** The values for `target`; without a `version`, it may be in any. */
export const targetValues = ({ tenantId, id }: ApiKeyRecord, version: number | null): Record<string, unknown> => ({
  "target.tenantId": tenantId,
  "target.id": id,
  "target.version": version,
});
