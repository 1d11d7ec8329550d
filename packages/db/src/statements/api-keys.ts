/** API keys in the database: a record says what a key may do, a credential holds the digest of its secret. */
import { type API_KEY_LIST, type ApiKey, type ApiKeyRecord, UpdateApiKey } from "@realtime-avatar/domain/api-key";
import {
  type ApiKeySecret,
  digestApiKey,
  ENVIRONMENTS,
  type Environment,
} from "@realtime-avatar/domain/api-key-secret";
import type { AuditAction } from "@realtime-avatar/domain/audit";
import type { ApiKeyId, TenantId } from "@realtime-avatar/domain/id";
import type { PageRequest, WrittenPage } from "@realtime-avatar/domain/page";
import type { ApiKeyStatus } from "@realtime-avatar/domain/state";
import type { TenantRecord } from "@realtime-avatar/domain/tenant";
import { type SQL, sql } from "drizzle-orm";
import type { BatchKind } from "../connection/batch.ts";
import type { Db } from "../connection/pool.ts";
import { apiKeyCredentials, apiKeys, apiKeyUsage, tenants } from "../schema.ts";
import { auditEvent, auditValues, insertAuditEvent, type Origin } from "./audit-events.ts";
import {
  CALLER_AND_TARGET,
  type Caller,
  callerValues,
  HOLDER_AND_TARGET,
  LINE,
  OPERATOR_AND_TARGET,
  RECORD,
  type RecordRow,
  STATUS,
  targetValues,
  toRecord,
} from "./callers.ts";
import { type CreateOutcome, type Creation, creationOf, type Made, QUOTA } from "./create.ts";
import {
  type Claim,
  claimFrom,
  claimValues,
  type MaybeStored,
  outcomeOf,
  STALE,
  type WriteOutcome,
} from "./idempotency-keys.ts";
import { listJson, nullable, objectJson, plainJson, rawJson, textJson, timeJson } from "./json-text.ts";
import { LIMIT, LOOK, pageOf, pageReader } from "./list.ts";
import { withRightOfWay } from "./pending-changes.ts";
import {
  type ColumnValues,
  columnsOf,
  columnValues,
  givenColumns,
  insertFrom,
  newestOf,
  placeholders,
  rowValues,
  statement,
} from "./statement.ts";

type KeyColumns = Omit<ColumnValues<typeof apiKeys>, "revokedAt" | "endedAt">;
type CredentialColumns = Omit<ColumnValues<typeof apiKeyCredentials>, "retiredAt" | "retiredBy" | "isUnused">;

const insertCredential = (
  from: SQL,
  isUnused: SQL,
  values: CredentialColumns = placeholders(apiKeyCredentials, "credential"),
): SQL => insertFrom(apiKeyCredentials, { ...values, retiredAt: sql`null`, retiredBy: sql`null`, isUnused }, from);

/** Writes a key and its credential, for each row of `from`. */
const insertKeys = (from: SQL, key?: KeyColumns, credential?: CredentialColumns): SQL => sql`
  api_key as (
    ${insertFrom(apiKeys, { ...(key ?? placeholders(apiKeys, "key")), revokedAt: sql`null`, endedAt: sql`null` }, from)} returning tenant_id
  ),
  credential as (${insertCredential(from, sql`false`, credential)})`;

const KEY_COLUMNS = [
  "tenantId",
  "id",
  "keyId",
  "environment",
  "name",
  "scopes",
  "spendLimitCreditMicros",
  "expiresAt",
  "lineage",
  "version",
  "createdAt",
] as const satisfies (keyof KeyColumns)[];

/**
 * Whether a tenant has `maxActiveKeys` keys that are not marked as ended. At most so many are read, in the order of the
 * index. Keys that other statements are writing do not count.
 */
const isOverQuota = ({ column }: Pick<Made, "column">): SQL => {
  const maximum = sql`${column(QUOTA)}::bigint`;
  return sql`(
    select count(*) from (
      select from ${apiKeys} where ${apiKeys.tenantId} = ${column("caller.tenantId")} collate "C" and ${apiKeys.endedAt} is null
      order by ${apiKeys.tenantId}, ${apiKeys.id} limit ${maximum}
    ) counted
  ) >= ${maximum}`;
};

/** Keys that one statement marks as ended at most. */
const MARKED = sql.raw("20000");
const hasEnded = (alias: SQL): SQL => sql`(${alias}.revoked_at is not null or ${alias}.expires_at <= now())`;

const markEnded = statement<{ tenantId: TenantId }>(sql`
  with ended as (
    select keys.tenant_id, keys.id from ${apiKeys} keys
    where keys.tenant_id = any(${sql.placeholder("tenantIds")}::text[] collate "C") and keys.ended_at is null and (
      ${hasEnded(sql`keys`)} or exists (
        select from ${apiKeys} ancestors
        where ancestors.tenant_id = keys.tenant_id and ancestors.id = any(keys.lineage collate "C")
          and ${hasEnded(sql`ancestors`)}
      )
    )
    order by keys.tenant_id, keys.id limit ${MARKED}
    for no key update of keys skip locked
  ),
  marked as (
    update ${apiKeys} set ended_at = now() from ended
    where ${apiKeys.tenantId} = ended.tenant_id and ${apiKeys.id} = ended.id
    returning ${apiKeys.tenantId}
  )
  select distinct tenant_id as "tenantId" from marked`);

/**
 * Marks the keys of tenants that are revoked or expired, by themselves or by an ancestor: what ends a key writes one row,
 * and a quota should not count what descends from it. Only a tenant that has reached its quota needs it. One statement at
 * a time in each process, for all that wait: it reads as many keys as a tenant may have.
 */
const MARKS: BatchKind<TenantId, boolean> = {
  name: "mark_ended_keys",
  inFlight: 1,
  run: async (db, tenantIds) => {
    const marked = new Set(
      (await markEnded(db, { tenantIds: [...new Set(tenantIds)] })).map(({ tenantId }) => tenantId),
    );
    return tenantIds.map((tenantId) => marked.has(tenantId));
  },
};

const create = creationOf<Creation & { record: ApiKeyRecord; digest: Uint8Array; maxActiveKeys: number }>({
  name: "create_api_key",
  columns: {
    ...givenColumns("key", KEY_COLUMNS, ({ record }) => record),
    digest: ({ digest }) => digest,
    [QUOTA]: ({ maxActiveKeys }) => maxActiveKeys,
  },
  write: ({ from, column }) => {
    const key = columnValues(apiKeys, "key", column);
    const { keyId, tenantId, id: apiKeyId, createdAt } = key;
    return insertKeys(from, key, { keyId, tenantId, apiKeyId, digest: column("digest"), createdAt });
  },
  // The caller was looked up before the body was read: the new key may have expired while it was on its way.
  inTime: ({ column }) => sql`coalesce(${column("key.expiresAt")}::timestamp with time zone > clock_timestamp(), true)`,
  isOverQuota,
});

const insertKeyFrom = (from: SQL): SQL => sql`${insertKeys(from)}, audit as (${insertAuditEvent(from)})`;

const insertByOperator = statement(sql`
  with tenant as materialized (
    select ${tenants.tenantId} from ${tenants} where ${tenants.tenantId} = ${sql.placeholder("key.tenantId")} for key share
  ),
  ${insertKeyFrom(sql`tenant`)}
  select from api_key`);

const insertByNobody = statement(sql`
  with tenant as (
    ${insertFrom(
      tenants,
      { ...placeholders(tenants, "tenant"), isFirst: sql`true` },
      sql`(select where not exists (select from ${tenants})) nobody`,
    )}
    on conflict do nothing returning tenant_id
  ),
  ${insertKeyFrom(sql`tenant`)}
  select from api_key`);

const credentialValues = (record: ApiKeyRecord, secret: ApiKeySecret, createdAt: Date): Record<string, unknown> =>
  rowValues("credential", {
    keyId: secret.keyId,
    tenantId: record.tenantId,
    apiKeyId: record.id,
    // The secret itself stays here.
    digest: digestApiKey(secret),
    createdAt,
  });

const keyValues = (record: ApiKeyRecord, secret: ApiKeySecret, origin: Origin): Record<string, unknown> => ({
  ...rowValues("key", record),
  ...credentialValues(record, secret, record.createdAt),
  ...auditValues("api_key.created", record, origin),
});

/**
 * Writes a new key of `caller` with its first credential and its audit event, and the response if it is claimed. Stale
 * when the caller is no longer what it was, or the new key's expiry has passed; over quota when the tenant has
 * `maxActiveKeys` active keys. One statement; another when it was not made by that, to be sure; and more where the quota
 * is reached.
 */
export const insertApiKey = async (
  db: Db,
  { record, secret, maxActiveKeys }: { record: ApiKeyRecord; secret: ApiKeySecret; maxActiveKeys: number },
  caller: Caller,
  origin: Origin,
  claim: Claim | null = null,
): Promise<CreateOutcome> => {
  const audit = auditEvent("api_key.created", record, origin);
  // The secret itself stays here.
  const created = { record, digest: digestApiKey(secret), maxActiveKeys, caller, audit, claim };
  const outcome = await create(db, created);
  if (outcome.kind !== "over_quota") return outcome;
  const hasRoom = await db.batch(MARKS, caller.tenantId, caller.tenantId);
  return hasRoom ? create(db, created) : outcome;
};

/** Writes a root key for the operator; `false`, with nothing written, when there is no such tenant. One statement. */
export const insertRootApiKey = async (
  db: Db,
  record: ApiKeyRecord,
  secret: ApiKeySecret,
  origin: Origin,
): Promise<boolean> => (await insertByOperator(db, keyValues(record, secret, origin))).length === 1;

/**
 * Writes a tenant with a key, if there is no tenant yet; `false`, with nothing written, otherwise. Of several processes
 * that do so at once, one writes: the row is marked as the first, and a constraint allows that mark once. One statement.
 */
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

const select = statement<RecordRow>(sql`
  select ${RECORD} from ${apiKeys} ${LINE}
  where ${apiKeys.tenantId} = ${sql.placeholder("tenantId")} and ${apiKeys.id} = ${sql.placeholder("id")}`);

/** The key, in whatever state it is; `null` when the tenant has none of this id. One statement. */
export const findApiKey = async (db: Db, tenantId: TenantId, id: ApiKeyId): Promise<ApiKeyRecord | null> => {
  const [row] = await select(db, { tenantId, id });
  return row ? toRecord(row) : null;
};

/** A key as the API shows it, to be selected from `api_keys` and `LINE`. */
const ITEM = objectJson<ApiKey>({
  id: plainJson(apiKeys.id),
  keyId: plainJson(apiKeys.keyId),
  tenantId: plainJson(apiKeys.tenantId),
  name: textJson(apiKeys.name),
  environment: plainJson(apiKeys.environment),
  redactedKey: plainJson(sql`'rta_' || ${apiKeys.environment} || '_' || ${apiKeys.keyId} || '_****'`),
  scopes: listJson(apiKeys.scopes),
  status: plainJson(STATUS),
  spendLimitCreditMicros: nullable(rawJson(apiKeys.spendLimitCreditMicros)),
  // `least` skips NULLs.
  effectiveSpendLimitCreditMicros: nullable(
    rawJson(sql`least(${apiKeys.spendLimitCreditMicros}, line.spend_limit_credit_micros)`),
  ),
  expiresAt: nullable(timeJson(apiKeys.expiresAt)),
  effectiveExpiresAt: nullable(timeJson(sql`least(${apiKeys.expiresAt}, line.expires_at)`)),
  lastUsedAt: nullable(
    timeJson(sql`(
      select ${apiKeyUsage.lastUsedAt} from ${apiKeyUsage}
      where ${apiKeyUsage.tenantId} = ${apiKeys.tenantId} and ${apiKeyUsage.apiKeyId} = ${apiKeys.id}
    )`),
  ),
  createdAt: timeJson(apiKeys.createdAt),
});

/** How many keys a page looks at for those of a status. Each costs some 6 us, as its whole lineage is read. */
const LOOKED_AT = 1000;

/** A tenant that has no revoked key has none below it, and likewise with expired ones: then there is nothing to look at. */
const MAY_HAVE: Record<ApiKeyStatus, SQL> = {
  active: sql`true`,
  revoked: sql`exists (
    select from ${apiKeys} revoked where revoked.tenant_id = ${sql.placeholder("tenantId")} and revoked.revoked_at is not null
  )`,
  expired: sql`exists (
    select from ${apiKeys} expired where expired.tenant_id = ${sql.placeholder("tenantId")} and expired.expires_at <= now()
  )`,
};

type KeysOf = {
  tenantId: TenantId;
  /** Null for all. */
  environment: Environment | null;
  status: ApiKeyStatus | null;
  before: ApiKeyId | null;
  limit: number;
  lookedAt: number;
};

/**
 * All keys are read in the order of the primary key, those of one environment in that of `api_keys_environment_index`. A
 * status follows from the whole lineage, and no index has it: the newest keys are looked at one by one, but not too many
 * for one page.
 */
const selectPage = ({ environment, status }: KeysOf): SQL => {
  const tenant = [apiKeys.tenantId, sql.placeholder("tenantId")] as const;
  const { where, orderBy } = newestOf(
    environment === null ? [tenant] : [[apiKeys.environment, sql.placeholder("environment")], tenant],
    apiKeys.id,
    sql`coalesce(${sql.placeholder("before")}, 'key~')`,
  );
  if (status === null) {
    const found = sql`(select * from ${apiKeys} where ${where} order by ${orderBy} limit ${LIMIT} + 1) api_keys`;
    return pageOf(sql`${found} ${LINE}`, apiKeys.id, ITEM, orderBy);
  }
  const inOrder = sql`from ${apiKeys} where ${where} and ${MAY_HAVE[status]} order by ${orderBy}`;
  return pageOf(
    sql`(
      select api_keys.* from (select * ${inOrder} limit ${LOOK}) api_keys ${LINE}
      where ${STATUS} = ${sql.placeholder("status")}
      order by ${orderBy} limit ${LIMIT} + 1
    ) api_keys ${LINE}`,
    apiKeys.id,
    ITEM,
    orderBy,
    sql`(select ${apiKeys.id} ${inOrder} limit 1 offset ${LOOK} - 1)`,
  );
};

const KEYS_OF = ["tenantId", "environment", "status", "before", "limit", "lookedAt"] as const;
/** A statement for each status, in one environment and in all. */
const pages = new Map<string, BatchKind<KeysOf, WrittenPage>>();

/**
 * The tenant's newest keys in `environments` that `page` asks for. One statement, which requests for the same page share.
 * With a status, a page can have fewer keys than there are, even none, and go on all the same.
 */
export const listApiKeys = async (
  db: Db,
  tenantId: TenantId,
  environments: readonly Environment[],
  { filters, before, limit }: PageRequest<typeof API_KEY_LIST>,
): Promise<WrittenPage> => {
  const listed = environments.filter((known) => (filters.environment ?? known) === known);
  const [environment] = listed;
  if (environment === undefined) return { items: "", next: null };
  const isAll = listed.length === ENVIRONMENTS.length;
  const { status = null } = filters;
  const asked: KeysOf = {
    tenantId,
    environment: isAll ? null : environment,
    status,
    before,
    limit,
    lookedAt: LOOKED_AT,
  };
  const name = `${isAll} ${status}`;
  const reader = pages.get(name) ?? pageReader("list_api_keys", selectPage(asked), KEYS_OF);
  pages.set(name, reader);
  return db.batch(reader, asked, tenantId);
};

/** Who changes a key: a caller, whoever holds one of its secrets, or, as null, whoever runs the service. */
type Changer = Caller | { credentialKeyId: string } | null;

/** The columns of `api_keys`, as a change returns them. */
type ChangedRow = Omit<RecordRow, "status" | "lastUsedAt" | "inheritedSpendLimitCreditMicros" | "inheritedExpiresAt">;

/** `target` as a change has left it. A change of a key changes no ancestor. */
const changedRecord = (target: ApiKeyRecord, row: ChangedRow): ApiKeyRecord => ({
  ...toRecord({
    ...row,
    status: target.status,
    lastUsedAt: target.lastUsedAt,
    inheritedSpendLimitCreditMicros: null,
    inheritedExpiresAt: null,
  }),
  inheritedLimits: target.inheritedLimits,
});

/**
 * A write that changes the key `target`. `write` reads `target` and `caller`, and has the expression `changed`, with the
 * row that it has written. Answers with the key as it is then, or `null` when nothing was written.
 */
const changeOfTarget = (write: SQL) => {
  const statementBy = (who: SQL) =>
    statement<ChangedRow>(
      sql`with ${who}, ${write}, audit as (${insertAuditEvent(sql`changed`)}) select * from changed`,
    );
  const byCaller = statementBy(CALLER_AND_TARGET);
  const byHolder = statementBy(HOLDER_AND_TARGET);
  const byOperator = statementBy(OPERATOR_AND_TARGET);
  return (
    db: Db,
    target: ApiKeyRecord,
    version: number | null,
    changer: Changer,
    values: Record<string, unknown>,
  ): Promise<ApiKeyRecord | null> =>
    withRightOfWay(db, target, async () => {
      const all = { ...targetValues(target, version), ...values };
      const write = (): ReturnType<typeof byCaller> => {
        if (changer === null) return byOperator(db, all);
        if ("id" in changer) return byCaller(db, { ...callerValues(changer), ...all });
        return byHolder(db, { "caller.credentialKeyId": changer.credentialKeyId, ...all });
      };
      const [row] = await write();
      return row ? changedRecord(target, row) : null;
    });
};

/** `update` of the target, while there is one that has not expired meanwhile, and a row of `gate`. */
const updateTarget = (assignments: SQL, and: SQL, gate: SQL = sql`caller`): SQL => sql`
  update ${apiKeys} set ${assignments}, version = target.version + 1 from target, ${gate}
  where ${apiKeys.tenantId} = ${sql.placeholder("target.tenantId")} and ${apiKeys.id} = target.id
    and coalesce(target.expires_at > clock_timestamp(), true) and ${and}
  returning ${columnsOf(apiKeys)}`;

/** The time after the locks, never rounded up: what ends now has ended when the statement has. */
const NOW = sql`date_trunc('milliseconds', clock_timestamp())`;

/** The fields of `UpdateApiKey`: one that is added there is written here. */
const UPDATED = (Object.keys(UpdateApiKey.properties) as (keyof UpdateApiKey)[]).map(
  (field) => sql`${sql.identifier(apiKeys[field].name)} = ${sql.placeholder(`to.${field}`)}`,
);
/** The caller was looked up before the body was read: the new expiry may have passed meanwhile. */
const IS_AHEAD = sql`coalesce(${sql.placeholder("to.expiresAt")}::timestamp with time zone > clock_timestamp(), true)`;
const update = changeOfTarget(sql`changed as (${updateTarget(sql.join(UPDATED, sql`, `), IS_AHEAD)})`);

/**
 * Changes `target` to `record`, and writes the audit event. Stale when the caller or the target is no longer what it was,
 * or the new expiry has passed. One statement.
 */
export const updateApiKey = async (
  db: Db,
  { target, record, changedFields }: { target: ApiKeyRecord; record: ApiKeyRecord; changedFields: readonly string[] },
  caller: Caller,
  origin: Origin,
): Promise<{ kind: "written" } | { kind: "stale" }> => {
  const values = { ...rowValues("to", record), ...auditValues("api_key.updated", target, origin, changedFields) };
  const changed = await update(db, target, target.version, caller, values);
  return changed ? { kind: "written" } : { kind: "stale" };
};

/**
 * A rotation. A key has at most two live credentials: the newest, and during an overlap an older one. `plan` says what
 * becomes of them, once the caller, the target and its live credentials are locked, in this order:
 *
 * - `rotate`: the newest becomes the older one for `overlapSeconds`, and an older one ends now. So it is without an
 *   overlap, and for an ancestor of the key or the operator at any time.
 * - `replace`: the newest ends now and the older one keeps its end. So it is when the key itself calls with the older
 *   one while the newest has never been used: the response that showed it was lost.
 * - `wait`: nothing is written. A rotation by the key itself never shortens an overlap that was promised.
 */
const rotateTarget = (gate: SQL, claim: SQL): SQL => sql`
  live as materialized (
    select ${apiKeyCredentials.keyId}, ${apiKeyCredentials.retiredAt}, ${apiKeyCredentials.isUnused}
    from ${apiKeyCredentials}
    where exists (select from target) and exists (select from caller)
      and ${apiKeyCredentials.tenantId} = ${sql.placeholder("target.tenantId")}
      and ${apiKeyCredentials.apiKeyId} = ${sql.placeholder("target.id")}
      and (${apiKeyCredentials.retiredAt} is null or ${apiKeyCredentials.retiredAt} > now())
    order by ${apiKeyCredentials.keyId}
    for no key update
  ),
  plan as materialized (
    select newest.key_id as newest, older.key_id as older, older.retired_at as overlap_ends_at, ${NOW} as at,
      case
        when older.key_id is null or not ${sql.placeholder("isOwn")}::boolean then 'rotate'
        when older.key_id = ${sql.placeholder("shownKeyId")}::text and newest.is_unused then 'replace'
        else 'wait'
      end as action
    from live newest left join live older on older.key_id <> newest.key_id and older.retired_at > clock_timestamp()
    where newest.key_id = ${sql.placeholder("target.keyId")}
      -- The older secret may have ended since the caller was checked.
      and (not ${sql.placeholder("isOwn")}::boolean or ${sql.placeholder("shownKeyId")}::text in (newest.key_id, older.key_id))
  ),
  ready as (select from plan where action <> 'wait')${claim},
  changed as (${updateTarget(sql`key_id = ${sql.placeholder("credential.keyId")}`, sql`true`, gate)}),
  retired as (
    update ${apiKeyCredentials}
    set retired_by = ${sql.placeholder("retiredBy")},
      retired_at = least(
        retired_at,
        target.expires_at,
        case when plan.action = 'rotate' and key_id = plan.newest
          then plan.at + make_interval(secs => ${sql.placeholder("overlapSeconds")}) else plan.at end
      )
    from target, plan
    where exists (select from changed) and ${apiKeyCredentials.tenantId} = ${sql.placeholder("target.tenantId")}
      and ${apiKeyCredentials.apiKeyId} = target.id
      and (key_id = plan.newest or plan.action = 'rotate' and key_id = plan.older)
  ),
  -- An ancestor or the operator takes the key back: no secret of it that was retired before may report it any more.
  disowned as (
    update ${apiKeyCredentials} set retired_by = ${sql.placeholder("retiredBy")}
    from target, plan
    where exists (select from changed) and not ${sql.placeholder("isOwn")}::boolean
      and ${apiKeyCredentials.tenantId} = ${sql.placeholder("target.tenantId")} and ${apiKeyCredentials.apiKeyId} = target.id
      and key_id <> plan.newest and key_id is distinct from plan.older and retired_by = ${apiKeyCredentials.apiKeyId}
  ),
  credential as (${insertCredential(sql`changed`, sql`true`)}),
  audit as (${insertAuditEvent(sql`changed`)})`;

/** The seconds until the overlap ends that a rotation has to wait for, at least one; null when there is none. */
const WAIT_SECONDS = sql`case when plan.action = 'wait'
  then greatest(1, ceil(extract(epoch from plan.overlap_ends_at - clock_timestamp())))::integer end as "waitSeconds"`;

type RotationRow = MaybeStored & { waitSeconds: number | null; isChanged: boolean };

const rotateBy = (changer: SQL) =>
  statement<RotationRow>(sql`
    with ${changer}, ${rotateTarget(sql`ready`, sql``)}
    select ${WAIT_SECONDS}, exists (select from changed) as "isChanged" from plan`);
const rotateByCaller = rotateBy(CALLER_AND_TARGET);
const rotateByOperator = rotateBy(OPERATOR_AND_TARGET);
const rotateOnce = statement<RotationRow>(sql`
  with ${CALLER_AND_TARGET}, ${rotateTarget(sql`claimed`, sql`, ${claimFrom(sql`ready`)}`)}
  select ${WAIT_SECONDS}, exists (select from changed) as "isChanged", stored.* from plan
  left join claim stored on stored."auditEventId" <> ${sql.placeholder("audit.id")}`);

/** What became of a rotation. */
export type RotateOutcome =
  | WriteOutcome
  /** Nothing was written: an overlap is under way, for so many seconds. */
  | { kind: "in_progress"; waitSeconds: number };

const rotateOutcomeOf = ([row]: readonly RotationRow[]): RotateOutcome => {
  if (!row) return STALE;
  if (row.waitSeconds !== null) return { kind: "in_progress", waitSeconds: row.waitSeconds };
  const outcome = outcomeOf(row);
  return outcome.kind === "written" && !row.isChanged ? STALE : outcome;
};

/**
 * Gives `target` the credential of `record` beside or instead of those it has, and writes the audit event, and the
 * response if it is claimed. `caller` is null for the operator. Stale when the caller or the target is no longer what it
 * was. One statement.
 */
export const rotateApiKey = async (
  db: Db,
  {
    target,
    record,
    secret,
    overlapSeconds,
  }: { target: ApiKeyRecord; record: ApiKeyRecord; secret: ApiKeySecret; overlapSeconds: number },
  caller: Caller | null,
  origin: Origin,
  claim: Claim | null = null,
): Promise<RotateOutcome> => {
  const audit = auditValues("api_key.rotated", target, origin, ["keyId", "redactedKey"]);
  const values = {
    ...targetValues(target, target.version),
    ...credentialValues(record, secret, origin.now),
    "target.keyId": target.keyId,
    isOwn: caller?.id === target.id,
    shownKeyId: caller?.credentialKeyId ?? null,
    retiredBy: caller?.id ?? null,
    overlapSeconds,
    ...audit,
  };
  const rotate = () => {
    if (caller === null) return rotateByOperator(db, values);
    const all = { ...callerValues(caller), ...values };
    return claim === null ? rotateByCaller(db, all) : rotateOnce(db, { ...all, ...claimValues(claim, caller, audit) });
  };
  return rotateOutcomeOf(await withRightOfWay(db, target, rotate));
};

const revoke = changeOfTarget(
  sql`changed as (${updateTarget(sql`revoked_at = ${NOW}, ended_at = ${NOW}`, sql`true`)})`,
);

/** Changes nothing, and waits, as each write does, until it is where the server is told to keep it. */
const confirmRevocation = statement(sql`
  update ${apiKeys} set revoked_at = ${apiKeys.revokedAt}
  where ${apiKeys.tenantId} = ${sql.placeholder("tenantId")} and ${apiKeys.id} = (
    select ${apiKeys.id} from ${apiKeys}
    where ${apiKeys.tenantId} = ${sql.placeholder("tenantId")}
      and ${apiKeys.id} = any(${sql.placeholder("line")}::text[] collate "C") and ${apiKeys.revokedAt} is not null
    order by ${apiKeys.id} limit 1
  )`);

/** What became of a revocation: the key as it is then. */
export type RevokeOutcome =
  | { kind: "written"; key: ApiKeyRecord }
  /** The key has been revoked or has expired before, and stays as it is. */
  | { kind: "ended"; key: ApiKeyRecord }
  /** Nothing was written. */
  | { kind: "stale" };

/**
 * Revokes `target`, and with it, by their lineage, all its descendants, and writes the audit event. Stale when the caller
 * is no longer what it was, the secret that its holder has shown is retired, the target has been revoked or has expired
 * meanwhile, or it is not in the version that is expected, if one is: otherwise a key that is changed without a pause
 * could not be revoked. One statement.
 *
 * A target that has ended is not taken for revoked because it looks so: a revocation that was given up while it waited
 * for a synchronous replica can be read, and be undone by a failover. It is confirmed by a write, which the replica gets
 * after it.
 */
export const revokeApiKey = async (
  db: Db,
  target: ApiKeyRecord,
  expected: { version: number | null },
  changer: Changer,
  origin: Origin,
  action: AuditAction = "api_key.revoked",
): Promise<RevokeOutcome> => {
  if (target.status === "revoked") {
    await confirmRevocation(db, { tenantId: target.tenantId, line: [...target.lineage, target.id] });
  }
  if (target.status !== "active") return { kind: "ended", key: target };
  const values = auditValues(action, target, origin, ["status"]);
  const key = await revoke(db, target, expected.version, changer, values);
  return key ? { kind: "written", key: { ...key, status: "revoked" } } : { kind: "stale" };
};
