/**
 * Callers. Each request looks up its credential once, with the whole lineage of its key. There is no cache, so a revocation
 * takes effect on every replica when it commits. Each write locks its caller and checks it again (`lock_caller.sql`),
 * so a revoked key writes nothing.
 */
import type { ApiKeyRecord } from "@realtime-avatar/domain/api-keys/api-key";
import { type Account, toBalance } from "@realtime-avatar/domain/credits/balance";
import type { Headroom } from "@realtime-avatar/domain/credits/open";
import type { CreditBalance } from "@realtime-avatar/domain/credits/schemas";
import type { Environment } from "@realtime-avatar/domain/environment";
import type { ApiKeyId, TenantId, UserId, UserSessionId } from "@realtime-avatar/domain/id";
import type { UserRecord, UserSessionRecord } from "@realtime-avatar/domain/people/people";
import type { Role } from "@realtime-avatar/domain/people/roles";
import { type SQL, sql } from "drizzle-orm";
import { confirmFirstUse as callConfirm, findOneCredential } from "../../generated/functions.ts";
import { type BatchKind, type Runner, shareEqual } from "../connection/batch.ts";
import type { Db } from "../connection/pool.ts";
import { isOneOfSeveral } from "../connection/which-database.ts";
import { FUNCTIONS_SCHEMA } from "../functions/schema.ts";
import { batchStatement, createSweep, inputColumn } from "../query/statement.ts";
import { apiKeyCredentials, apiKeys } from "../schema/api-keys.ts";
import { apiKeyMeters, creditAccounts, usageSessions } from "../schema/credits.ts";
import { webhookEndpoints } from "../schema/webhooks.ts";
import { delayWhilePending, HAS_PENDING_CHANGE } from "./pending-changes.ts";
import { LINEAGE, METER, RECORD, type RecordRow, toRecord } from "./record.ts";

/** An authenticated key, as returned by its look-up. */
export type Caller = ApiKeyRecord & {
  /** Without a session, which distinguishes a key from a person. */
  sessionId: null;
  needsPasskey: null;
  /** The presented credential. During an overlap, it can be an older one. */
  credentialKeyId: string;
  /** The database's time at the look-up. All replicas use this clock to decide about expiry. */
  checkedAt: Date;
  /**
   * The credits that it can still hold, whether its tenant has overdue sessions, and whether a refusal for lack of
   * credits must send `credits.exhausted`. Null when the look-up did not ask for it.
   */
  headroom: (Headroom & { hasOverdue: boolean; announcesExhaustion: boolean }) | null;
  /** The credits of its tenant in its environment; null when the look-up did not ask, or the tenant has no account. */
  balance: CreditBalance | null;
};

/** An authenticated person, as returned by the look-up of the session. */
export type PersonCaller = {
  tenantId: TenantId;
  id: UserId;
  /** The version of the user. A change of the role raises it. */
  version: number;
  sessionId: UserSessionId;
  /**
   * Whether a write of this caller needs a recent use of the passkey. The write is refused after
   * `session.verifiedUntil`.
   */
  needsPasskey: boolean;
  credentialKeyId: null;
  lineage: readonly never[];
  headroom: null;
  balance: null;
  /** The environment of the request. */
  environment: Environment;
  role: Role;
  user: UserRecord;
  session: UserSessionRecord;
  tenantName: string;
  /** The database's time at the look-up. */
  checkedAt: Date;
};

/** A key or a person. */
export type AnyCaller = Caller | PersonCaller;

/** A credential as it is stored, with its key. The key is not authenticated before its digest has been compared. */
export type StoredCredential = {
  /** SHA-256 of the full secret, 32 bytes. */
  digest: Uint8Array;
  /** Whether a rotation has retired this credential. Independent of the status of its key. */
  retired: boolean;
  /** Whether it was issued by a rotation and has not been authenticated since. See `confirmFirstUse`. */
  isUnused: boolean;
  /** Whether a report of this secret revokes its key: see `may_report.sql`. */
  mayReport: boolean;
  caller: Caller;
  /** The key of the same tenant that the request names, if it exists. */
  target: ApiKeyRecord | null;
};

type CredentialRow = RecordRow & {
  digest: Uint8Array;
  retired: boolean;
  isUnused: boolean;
  mayReport: boolean;
  checkedAt: Date;
  isCaller: boolean;
  /** Whether a change of the key, or of an ancestor, is pending. */
  hasPendingChange: boolean;
  headroom: Caller["headroom"];
  /** As JSON. */
  balance: (Omit<Account, "updatedAt"> & { updatedAt: string }) | null;
};

/** The parts of the caller's credits that its look-up can also read. */
export type CreditsOfCaller = "headroom" | "balance";

export type LookUp = { keyId: string; targetId: ApiKeyId | null; isKnown: boolean; including: CreditsOfCaller | null };

/**
 * The credits that the key of a row of `api_keys` can still hold: under its own cap, under the tightest cap of its
 * ancestors of the same environment, and of the balance. Also the reached limits of open sessions. The values are read
 * without locks; `admit_sessions.sql` decides about admission.
 *
 * `offset 0`: otherwise the server reads each meter once for each aggregate. The first session whose sweep is due is
 * found by comparisons of rows, in the order of the tenant's own index: otherwise the server may read the sessions of
 * all tenants. The session counts as overdue even if a report has extended its lease. The next sweep corrects that.
 */
const HEADROOM = sql`(
  select json_build_object(
    'own', min(headroom) filter (where line.id = ${apiKeys.id}),
    'ancestors', min(headroom) filter (where line.id <> ${apiKeys.id}),
    'account', coalesce(min(account.available), 0),
    'reachedLimits', json_build_object(
      'self', min(line.reached_limit) filter (where line.id = ${apiKeys.id}),
      'ancestor', min(line.reached_limit) filter (where line.id <> ${apiKeys.id}),
      'tenant', min(account.reached_limit)
    ),
    'hasOverdue', coalesce((
      select true from ${usageSessions}
      where ${usageSessions.endedAt} is null
        and (${usageSessions.tenantId}, ${usageSessions.sweepAt}) >= (${apiKeys.tenantId}, timestamptz '-infinity')
        and (${usageSessions.tenantId}, ${usageSessions.sweepAt}) <= (${apiKeys.tenantId}, now())
      order by ${usageSessions.tenantId}, ${usageSessions.sweepAt} limit 1
    ), false),
    'announcesExhaustion', coalesce(bool_or(account.announces_exhaustion), false)
  )
  from (
    select line.id, line.spend_limit_credit_micros - coalesce(meter.settled + meter.reserved, 0) as headroom,
      case when meter.open_sessions >= line.max_concurrent_sessions then line.max_concurrent_sessions end as reached_limit
    from ${apiKeys} line
    left join lateral (
      select * from ${apiKeyMeters} meter
      where meter.tenant_id = line.tenant_id and meter.api_key_id = line.id
      offset 0
    ) meter on true
    where line.tenant_id = ${apiKeys.tenantId} and line.environment = ${apiKeys.environment}
      and line.id = any((${apiKeys.lineage} || ${apiKeys.id}) collate "C")
    offset 0
  ) line
  left join lateral (
    select granted - forfeited - settled - reserved as available,
      case when open_sessions >= max_concurrent_sessions then max_concurrent_sessions end as reached_limit,
      (exhausted_at > now() - interval '1 hour') is not true and exists (
        select from ${webhookEndpoints}
        where ${webhookEndpoints.tenantId} = ${apiKeys.tenantId} and ${webhookEndpoints.environment} = ${apiKeys.environment}
          and ${webhookEndpoints.status} = 'enabled'
          and ${sql.raw(FUNCTIONS_SCHEMA)}.selects(${webhookEndpoints.events}, 'credits.exhausted')
        offset 0
      ) as announces_exhaustion
    from ${creditAccounts}
    where ${creditAccounts.tenantId} = ${apiKeys.tenantId} and ${creditAccounts.environment} = ${apiKeys.environment}
    offset 0
  ) account on true
)`;

/** The account of the key of a row of `api_keys`, as `toBalance` reads it. */
const BALANCE = sql`(
  select json_build_object(
    'granted', ${creditAccounts.granted}, 'forfeited', ${creditAccounts.forfeited}, 'settled', ${creditAccounts.settled},
    'reserved', ${creditAccounts.reserved}, 'lowThreshold', ${creditAccounts.lowThreshold},
    'updatedAt', ${creditAccounts.updatedAt}
  )
  from ${creditAccounts}
  where ${creditAccounts.tenantId} = ${apiKeys.tenantId} and ${creditAccounts.environment} = ${apiKeys.environment}
  offset 0
)`;

/** `credits` of the caller, if the look-up asks for them. */
const ofCaller = (including: CreditsOfCaller, credits: SQL): SQL => sql`
  case when ${inputColumn("including")} = ${sql.raw(`'${including}'`)} and ${apiKeys.id} = ${apiKeyCredentials.apiKeyId}
    then ${credits} end as ${sql.identifier(including)}`;

/** The requested credits of a look-up. */
const CREDITS = sql`${ofCaller("headroom", HEADROOM)}, ${ofCaller("balance", BALANCE)}`;
const NO_CREDITS = sql`null::json as "headroom", null::json as "balance"`;

/**
 * For each look-up, a row for the key of the credential, and one for the target. Each `offset 0` prevents joins of
 * whole tables. Without it, the server makes such a plan while the tables are small, and keeps the plan while they grow
 * (3.6 ms instead of 0.1 ms with 6,000 keys).
 */
const credentialsWith = (credits: SQL) => (inputs: SQL) =>
  sql`
    select
      position::integer as "position",
      ${apiKeyCredentials.digest} as "digest",
      coalesce(${apiKeyCredentials.retiredAt} <= now(), false) as "retired",
      ${apiKeyCredentials.isUnused} as "isUnused",
      ${sql.raw(FUNCTIONS_SCHEMA)}.may_report(
        ${apiKeyCredentials.retiredAt}, ${apiKeyCredentials.retiredBy} = ${apiKeyCredentials.apiKeyId}, now()
      ) as "mayReport",
      ${apiKeys.id} = ${apiKeyCredentials.apiKeyId} as "isCaller",
      now() as "checkedAt",
      ${HAS_PENDING_CHANGE} as "hasPendingChange",
      ${credits},
      ${RECORD}
    from ${inputs}
    cross join lateral (
      select * from ${apiKeyCredentials} where ${apiKeyCredentials.keyId} = ${inputColumn("keyId")} collate "C" offset 0
    ) api_key_credentials
    cross join lateral (
      select * from ${apiKeys}
      where ${apiKeys.tenantId} = ${apiKeyCredentials.tenantId}
        and ${apiKeys.id} = any(array[${apiKeyCredentials.apiKeyId}, ${inputColumn("targetId")} collate "C"])
      offset 0
    ) api_keys
    ${LINEAGE} ${METER}`;

const selectCredentials = batchStatement<CredentialRow, LookUp>(
  "find_credential",
  ["keyId", "targetId"],
  credentialsWith(NO_CREDITS),
);
/**
 * A separate statement for look-ups with credits. In one statement, every look-up would take a quarter longer at the
 * server, even without a request for credits.
 */
const selectWithCredits = batchStatement<CredentialRow, LookUp>(
  "find_credential_with_credits",
  ["keyId", "targetId", "including"],
  credentialsWith(CREDITS),
);

type FoundCredential = { stored: StoredCredential; hasPendingChange: boolean } | null;

type FoundRow = Omit<CredentialRow, "position">;
const foundIn = (rows: readonly FoundRow[], { keyId, targetId }: LookUp): FoundCredential => {
  const own = rows.find(({ isCaller }) => isCaller);
  if (!own) return null;
  const target = rows.find(({ id }) => id === targetId);
  const { digest, retired, isUnused, mayReport, checkedAt, hasPendingChange, headroom, balance } = own;
  const record = toRecord(own);
  const caller = {
    ...record,
    credentialKeyId: keyId,
    sessionId: null,
    needsPasskey: null,
    checkedAt,
    headroom,
    balance: balance && toBalance({ ...balance, updatedAt: new Date(balance.updatedAt) }, record),
  } as const;
  const stored = { digest, retired, isUnused, mayReport, caller, target: target ? toRecord(target) : null };
  return { stored, hasPendingChange };
};

/** Finds each of several credentials, in one statement. */
export const findTogether = async (db: Runner, lookUps: readonly LookUp[]): Promise<FoundCredential[]> => {
  const rows = lookUps.map((): FoundRow[] => []);
  const select = lookUps.some(({ including }) => including !== null) ? selectWithCredits : selectCredentials;
  for (const row of await select(db, lookUps)) rows[row.position - 1]?.push(row);
  return lookUps.map((lookUp, index) => foundIn(rows[index] ?? [], lookUp));
};

/**
 * Finds one credential, with the same result as `findTogether`. This is cheaper on Citus: see
 * `find_one_credential.sql`.
 */
export const findAlone = async (db: Runner, lookUp: LookUp): Promise<FoundCredential> => {
  const rows = await findOneCredential(db, lookUp);
  return foundIn(rows as unknown as FoundRow[], lookUp);
};

const lookUpsBy = (
  find: (db: Runner, lookUps: readonly LookUp[]) => Promise<FoundCredential[]>,
): BatchKind<LookUp, FoundCredential> => ({
  name: "find_credential",
  inFlight: 2,
  isPreferred: ({ isKnown }) => isKnown,
  run: (db, lookUps) =>
    shareEqual(
      lookUps,
      ({ keyId, targetId, including }) => `${keyId} ${targetId} ${including}`,
      (different) => find(db, different),
    ),
});

/**
 * Concurrent look-ups are batched. Equal look-ups share one result. Look-ups of known keys are preferred, so that a
 * flood of unknown keys neither delays them nor fills their queue.
 */
const LOOK_UPS = lookUpsBy(findTogether);
const LOOK_UPS_OF_SEVERAL = lookUpsBy(async (db, lookUps) => {
  const [one, ...others] = lookUps;
  return one && others.length === 0 ? [await findAlone(db, one)] : findTogether(db, lookUps);
});

/**
 * Finds a credential by its public handle, with its key and, if one is named, the key `targetId` of the same tenant.
 * Null when no such credential exists. Runs one statement, and repeats it only while a change of the key is pending.
 * Concurrent look-ups of the same key share one result. `knownTenant`: the tenant for which the same secret
 * authenticated recently, or null. Under load such look-ups go first, and tenants take turns. It affects only the
 * order. `including`: whether the caller's `headroom` or `balance` is also read.
 */
export const findCredential = async (
  db: Db,
  keyId: string,
  targetId: ApiKeyId | null = null,
  knownTenant: TenantId | undefined = undefined,
  including: CreditsOfCaller | null = null,
): Promise<StoredCredential | null> => {
  const kind = isOneOfSeveral(db) ? LOOK_UPS_OF_SEVERAL : LOOK_UPS;
  const found = await delayWhilePending(
    () => db.batch(kind, { keyId, targetId, isKnown: knownTenant !== undefined, including }, knownTenant ?? keyId),
    (found) => found?.hasPendingChange ?? false,
  );
  return found?.stored ?? null;
};

/**
 * Records the first use of a credential that a rotation has issued, before its holder gets a response. From then on,
 * the older secret of the overlap cannot replace it. Returns false and writes nothing when the credential was used or
 * retired since its look-up. The caller then looks it up again. One statement, once in the life of a credential.
 */
export const confirmFirstUse = async (db: Db, keyId: string): Promise<boolean> =>
  (await callConfirm(db, { keyId }))[0]?.result === true;

/** The minimum time for which a retired credential is stored, so that its holder gets `revoked_api_key`. */
const KEPT_AFTER_RETIREMENT = sql`interval '7 days'`;

/** Deletes credentials that were retired at least seven days ago; returns their number. */
export const sweepCredentials = createSweep(
  "sweep_credentials",
  apiKeyCredentials,
  sql`${apiKeyCredentials.retiredAt} <= now() - ${KEPT_AFTER_RETIREMENT}`,
  apiKeyCredentials.retiredAt,
);
