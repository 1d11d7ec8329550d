/** API keys. A record says what a key may do. A credential holds the digest of its secret. */
import type { ApiKeyRecord } from "@realtime-avatar/domain/api-keys/api-key";
import { type ApiKeySecret, digestApiKey } from "@realtime-avatar/domain/api-keys/secret";
import type { AuditAction } from "@realtime-avatar/domain/audit";
import type { ApiKeyId, TenantId } from "@realtime-avatar/domain/id";
import type { TenantRecord } from "@realtime-avatar/domain/people/tenant";
import { sql } from "drizzle-orm";
import {
  revokeApiKey as callRevoke,
  rotateApiKey as callRotate,
  updateApiKey as callUpdate,
  createApiKeys,
  createFirstApiKey,
  createRootApiKey,
  type RotateApiKeyRow,
} from "../../generated/functions.ts";
import { auditEvent, type Origin } from "../audit/audit-events.ts";
import type { AnyCaller } from "../callers/callers.ts";
import { announceWhileWaiting } from "../callers/pending-changes.ts";
import { LINEAGE, METER, RECORD, type RecordRow, toRecord } from "../callers/record.ts";
import type { Db } from "../connection/pool.ts";
import type { CreditMovement } from "../credits/credits.ts";
import { batchedCreate, type Create, type CreateOutcome } from "../idempotency/batched-write.ts";
import { type Claim, type WriteOutcome, writeOutcome } from "../idempotency/idempotency-keys.ts";
import { statement } from "../query/statement.ts";
import { apiKeys } from "../schema/api-keys.ts";
import { markEndedKeys } from "./ended-keys.ts";

type KeyCreate = Create & { apiKey: ApiKeyRecord; digest: Uint8Array; maxActiveKeys: number };

const createBatched = batchedCreate<KeyCreate, "over_quota">(
  "create_api_key",
  ["over_quota"],
  (db, creates, parameters) =>
    createApiKeys(db, {
      ...parameters,
      apiKeys: creates.map(({ apiKey }) => apiKey),
      digests: creates.map(({ digest }) => digest),
      // All creates of a process have the same quota.
      maxActiveKeys: Math.min(...creates.map(({ maxActiveKeys }) => maxActiveKeys)),
    }),
);

/**
 * Writes a new key of `caller` with its first credential, its audit event and, with a claim, the response. Stale when
 * the caller has changed since its look-up or the new key's expiry has passed; over quota when the tenant has
 * `maxActiveKeys` active keys. One statement. Runs a second one when the first is stale (see `batchedCreate`), and more
 * when the quota is reached.
 */
export const insertApiKey = async (
  db: Db,
  { record, secret, maxActiveKeys }: { record: ApiKeyRecord; secret: ApiKeySecret; maxActiveKeys: number },
  caller: AnyCaller,
  origin: Origin,
  claim: Claim | null = null,
): Promise<CreateOutcome<"over_quota">> => {
  const audit = auditEvent("api_key.created", record, origin);
  const create = { apiKey: record, digest: digestApiKey(secret), maxActiveKeys, caller, audit, claim };
  for (;;) {
    const outcome = await createBatched(db, create);
    if (outcome.kind !== "over_quota") return outcome;
    // Ended keys count until they are marked. Each round marks some of them, until the create succeeds or all are
    // marked.
    if (!(await markEndedKeys(db, caller.tenantId))) return outcome;
  }
};

/** Writes a root key for the operator. Returns false and writes nothing when no such tenant exists. One statement. */
export const insertRootApiKey = async (
  db: Db,
  record: ApiKeyRecord,
  secret: ApiKeySecret,
  origin: Origin,
): Promise<boolean> => {
  const [row] = await createRootApiKey(db, {
    apiKey: record,
    digest: digestApiKey(secret),
    auditEvent: auditEvent("api_key.created", record, origin),
  });
  return row?.result === true;
};

/**
 * Writes a tenant with its grants and a key if no tenant exists. Otherwise returns false and writes nothing. When
 * several processes call this at once, one of them writes. One statement.
 */
export const insertFirstApiKey = async (
  db: Db,
  tenant: TenantRecord,
  grants: readonly CreditMovement[],
  record: ApiKeyRecord,
  secret: ApiKeySecret,
  origin: Origin,
): Promise<boolean> => {
  const [row] = await createFirstApiKey(db, {
    ...tenant,
    grants,
    apiKey: record,
    digest: digestApiKey(secret),
    auditEvent: auditEvent("api_key.created", record, origin),
  });
  return row?.result === true;
};

const select = statement<RecordRow>(
  "find_api_key",
  sql`
  select ${RECORD} from ${apiKeys} ${LINEAGE} ${METER}
  where ${apiKeys.tenantId} = ${sql.placeholder("tenantId")} and ${apiKeys.id} = ${sql.placeholder("id")}`,
);

/** The key in any state; `null` when the tenant has no key with this id. One statement. */
export const findApiKey = async (db: Db, tenantId: TenantId, id: ApiKeyId): Promise<ApiKeyRecord | null> => {
  const [row] = await select(db, { tenantId, id });
  return row ? toRecord(row) : null;
};

/**
 * Changes `target` to `record`, and writes the audit event. Stale when the caller or the target has changed since its
 * look-up, or the new expiry has passed. One statement.
 */
export const updateApiKey = async (
  db: Db,
  { target, record, changedFields }: { target: ApiKeyRecord; record: ApiKeyRecord; changedFields: readonly string[] },
  caller: AnyCaller,
  origin: Origin,
): Promise<{ kind: "written" } | { kind: "stale" }> =>
  announceWhileWaiting(db, target, async () => {
    const [row] = await callUpdate(db, {
      caller,
      target,
      apiKey: record,
      auditEvent: auditEvent("api_key.updated", target, origin, changedFields),
    });
    return { kind: row?.result === true ? "written" : "stale" };
  });

/** The outcome of a rotation. */
export type RotateOutcome =
  | WriteOutcome
  /** Nothing was written: the promised overlap lasts this many more seconds. */
  | { kind: "in_progress"; waitSeconds: number };

/**
 * Adds the credential of `record` to `target`, retires its others now or after an overlap, and writes the audit event and, with a
 * claim, the response. `caller` is null for the operator. Stale when the caller or the target has changed since its
 * look-up. One statement.
 */
export const rotateApiKey = async (
  db: Db,
  {
    target,
    record,
    secret,
    overlapSeconds,
  }: { target: ApiKeyRecord; record: ApiKeyRecord; secret: ApiKeySecret; overlapSeconds: number },
  caller: AnyCaller | null,
  origin: Origin,
  claim: Claim | null = null,
): Promise<RotateOutcome> =>
  announceWhileWaiting(db, target, async () => {
    const [row] = await callRotate(db, {
      caller,
      target,
      keyId: record.keyId,
      digest: digestApiKey(secret),
      overlapSeconds,
      auditEvent: auditEvent("api_key.rotated", target, origin, ["keyId", "redactedKey"]),
      claim,
    });
    const { waitSeconds, ...outcome } = row as RotateApiKeyRow;
    return waitSeconds === null ? writeOutcome(outcome) : { kind: "in_progress", waitSeconds };
  });

/**
 * Writes a revoked key again, unchanged. Like each write, this waits until the commit is durable, also on a synchronous
 * replica. It confirms a revocation that was cancelled while it waited for that replica: such a revocation is visible,
 * but a failover could undo it.
 */
const confirmRevocation = statement(
  "confirm_revocation",
  sql`
  update ${apiKeys} set revoked_at = ${apiKeys.revokedAt}
  where ${apiKeys.tenantId} = ${sql.placeholder("tenantId")} and ${apiKeys.id} = (
    select ${apiKeys.id} from ${apiKeys}
    where ${apiKeys.tenantId} = ${sql.placeholder("tenantId")}
      and ${apiKeys.id} = any(${sql.placeholder("line")}::text[] collate "C") and ${apiKeys.revokedAt} is not null
    order by ${apiKeys.id} limit 1
  )`,
);

/** The actor of a revocation: a caller, the holder of one of the key's secrets, or null for the operator. */
type Revoker = AnyCaller | { credentialKeyId: string } | null;

/**
 * The columns of `api_keys`, as a revocation returns them. The inherited values are not among them, because a change of
 * a key does not change them.
 */
type ChangedRow = Omit<RecordRow, "status" | "lastUsedAt" | keyof typeof UNCHANGED>;
/** Placeholders for the values that `revokeApiKey` takes from the target. */
const UNCHANGED = {
  inheritedSpendLimitCreditMicros: null,
  inheritedMaxConcurrentSessions: null,
  inheritedExpiresAt: null,
  spentCreditMicros: "0",
  reservedCreditMicros: "0",
};

/** The outcome of a revocation, with the resulting key. */
export type RevokeOutcome =
  | { kind: "written"; key: ApiKeyRecord }
  /** The key was already revoked or expired, and is unchanged. */
  | { kind: "ended"; key: ApiKeyRecord }
  /** Nothing was written. */
  | { kind: "stale" };

/**
 * Revokes `target`, and with it, by their lineage, all its descendants, and writes the audit event. Stale when the
 * caller or the target has changed since its look-up, or the presented secret may not report the key.
 * `expected.version` null accepts every version, so that a key that is changed without a pause can be revoked. One
 * statement.
 *
 * A target that has already ended is unchanged. If it was revoked, a write confirms the revocation: see
 * `confirmRevocation`.
 */
export const revokeApiKey = async (
  db: Db,
  target: ApiKeyRecord,
  expected: { version: number | null },
  changer: Revoker,
  origin: Origin,
  action: AuditAction = "api_key.revoked",
): Promise<RevokeOutcome> => {
  if (target.status === "revoked") {
    await confirmRevocation(db, { tenantId: target.tenantId, line: [...target.lineage, target.id] });
  }
  if (target.status !== "active") return { kind: "ended", key: target };
  const [row] = await announceWhileWaiting(db, target, () =>
    callRevoke(db, {
      caller: changer !== null && "id" in changer ? changer : null,
      reporterKeyId: changer !== null && !("id" in changer) ? changer.credentialKeyId : null,
      target: { ...target, version: expected.version },
      auditEvent: auditEvent(action, target, origin, ["status"]),
    }),
  );
  if (!row) return { kind: "stale" };
  const { status, lastUsedAt, inheritedLimits, spentCreditMicros, reservedCreditMicros } = target;
  const changed = toRecord({ ...(row as ChangedRow), ...UNCHANGED, status, lastUsedAt });
  return {
    kind: "written",
    key: { ...changed, inheritedLimits, spentCreditMicros, reservedCreditMicros, status: "revoked" },
  };
};
