/**
 * Creating, as a caller. One statement writes what is made, its audit event and, when the request is claimed, the claim
 * with its answer. Creates are gathered: one statement for all that come at the same time, each with its own outcome.
 */
import type { AuditEventRecord } from "@realtime-avatar/domain/audit";
import { type SQL, sql } from "drizzle-orm";
import type { BatchKind } from "../connection/batch.ts";
import type { Db } from "../connection/pool.ts";
import { auditEvents, idempotencyKeys } from "../schema.ts";
import { CALLER, CALLER_AT_ONCE, CALLER_READERS, type Caller, callersAllowed } from "./callers.ts";
import { type Claim, claims, type MaybeStored, outcomeOf, type WriteOutcome } from "./idempotency-keys.ts";
import {
  columnValues,
  type Given,
  givenColumns,
  givenRow,
  givenRows,
  insertFrom,
  type Readers,
  statement,
} from "./statement.ts";

/** What each create has, beside what it makes. */
export type Creation = { caller: Caller; audit: AuditEventRecord; claim: Claim | null };

const AUDIT_KEYS = ["id", "environment", "action", "targetId", "requestId", "createdAt"] as const;
const CLAIM_KEYS = [
  "request",
  "idempotencyKey",
  "bodyHash",
  "status",
  "location",
  "etag",
  "answer",
  "sealedFor",
] as const;

/** The rows of `made`, to be written: what there is to select from it, and its columns by their names. */
export type Made = { from: SQL; column: (name: string) => SQL };

const callerOf = ({ column }: Made) => ({
  tenantId: column("caller.tenantId"),
  id: column("caller.id"),
  keyId: column("caller.credentialKeyId"),
});

const insertAuditEvents = (made: Made): SQL => {
  const { tenantId, id, keyId } = callerOf(made);
  const given = columnValues(auditEvents, "audit", made.column);
  const values = { ...given, tenantId, actorId: id, actorKeyId: keyId, changedFields: sql`'{}'` };
  return insertFrom(auditEvents, values, made.from);
};

const claimsOf = (able: Made): SQL => {
  const { tenantId, id } = callerOf(able);
  const given = columnValues(idempotencyKeys, "claim", able.column);
  const values = { ...given, tenantId, apiKeyId: id, auditEventId: able.column("audit.id"), createdAt: sql`now()` };
  return claims(values, able.from);
};

/** The given column that has the quota of a create, if there is one. */
export const QUOTA = "quota";

/** What became of a create. */
export type CreateOutcome =
  | WriteOutcome
  /** Nothing was written: the tenant has as many as it may have. */
  | { kind: "over_quota" };

type Row = MaybeStored & { isOverQuota: boolean };
type PlacedRow = Row & { position: number };

const createOutcomeOf = (row: Row | undefined): CreateOutcome =>
  row?.isOverQuota ? { kind: "over_quota" } : outcomeOf(row);

/** What a kind of create is called where it is watched, what it is given, and how it writes. */
type Kind<Created extends Creation> = {
  name: string;
  columns: Given<Created>;
  /** The common table expressions that write the rows of `made`. */
  write: (made: Made) => SQL;
  /** Whether a row is still in time, after the locks. A row that is not is stale. */
  inTime?: (row: Pick<Made, "column">) => SQL;
  /** Whether the tenant has as many as it may have, by the snapshot of the statement; by `caller.tenantId` and `QUOTA`. */
  isOverQuota?: ((row: Pick<Made, "column">) => SQL) | null;
};

/**
 * A create that writes what it is given, unless the caller is no longer what it was, it is not in time, or the tenant has
 * reached a quota. One statement; another, that waits for its caller, when it was not made by that.
 */
export const creationOf = <Created extends Creation>({
  name,
  columns,
  write,
  inTime = () => sql`true`,
  isOverQuota = null,
}: Kind<Created>): ((db: Db, created: Created) => Promise<CreateOutcome>) => {
  const given = (isClaimed: boolean): Given<Created> => ({
    ...givenColumns("audit", AUDIT_KEYS, ({ audit }: Created) => audit),
    ...columns,
    ...(isClaimed ? givenColumns("claim", CLAIM_KEYS, ({ claim }: Created) => claim) : {}),
  });

  /** The create of one, whose caller is locked by `callerLocked`. */
  const single = (isClaimed: boolean, callerLocked: SQL) => {
    const callerReaders = Object.entries(CALLER_READERS).map(([name, read]) => [
      name,
      (of: Created) => read(of.caller),
    ]);
    const readers = { ...givenRow(given(isClaimed)), ...Object.fromEntries(callerReaders) } as Readers<Created>;
    const column = (name: string): SQL => sql`${sql.placeholder(name)}::text`;
    const made = { from: sql`made`, column };
    const quota = sql`
      quota as materialized (
        select ${isOverQuota?.({ column }) ?? sql`false`} as is_over from caller where ${inTime({ column })}
      ),
      able as (select from quota where not is_over)`;
    return statement<Row, Created>(
      isClaimed
        ? sql`with ${callerLocked}, ${quota}, ${claimsOf({ from: sql`able`, column })},
          made as materialized (select from claim where "auditEventId" = ${column("audit.id")}),
          ${write(made)}, audit as (${insertAuditEvents(made)})
          select quota.is_over as "isOverQuota", stored.* from quota
          left join claim stored on stored."auditEventId" <> ${column("audit.id")}`
        : sql`with ${callerLocked}, ${quota}, made as materialized (select from able),
          ${write(made)}, audit as (${insertAuditEvents(made)})
          select quota.is_over as "isOverQuota" from quota`,
      readers,
    );
  };

  /** Several creates, each with the position of its caller among the different ones. */
  type Batch = { callers: readonly Caller[]; rows: readonly { created: Created; callerAt: number }[] };
  const together = (isClaimed: boolean) => {
    const callers = givenRows("callers", CALLER_READERS, ({ callers }: Batch) => callers);
    const columns = Object.entries(given(isClaimed)).map(([name, read]) => [
      name,
      ({ created }: Batch["rows"][number]) => read(created),
    ]);
    const rows = givenRows(
      "given",
      { ...Object.fromEntries(columns), callerAt: ({ callerAt }: Batch["rows"][number]) => callerAt },
      ({ rows }: Batch) => rows,
    );
    const column = (name: string): SQL => sql`${sql.identifier(name)}`;
    const made = { from: sql`made`, column };
    const asked = sql`
      select given.*, "caller.tenantId", "caller.id", "caller.credentialKeyId"
      from ${rows.sql} join allowed on allowed.position = "callerAt"::bigint
      where ${inTime({ column })}`;
    // A quota is looked at once for each tenant of the batch.
    const quota = isOverQuota
      ? sql`
        asked as materialized (${asked}),
        quotas as materialized (
          select tenants.*, ${isOverQuota({ column })} as is_over
          from (select distinct "caller.tenantId", ${sql.identifier(QUOTA)} from asked) tenants
        ),
        quota as materialized (
          select asked.*, quotas.is_over from asked join quotas using ("caller.tenantId", ${sql.identifier(QUOTA)})
        )`
      : sql`quota as materialized (select asked.*, false as is_over from (${asked}) asked)`;
    // In the order of the primary key of claims, as `claims` wants them.
    const sorted = sql`(
      select * from quota where not is_over order by "caller.tenantId" collate "C", "caller.id" collate "C",
        "claim.request" collate "C", "claim.idempotencyKey" collate "C"
    ) able`;
    return statement<PlacedRow, Batch>(
      isClaimed
        ? sql`with ${callersAllowed(callers.sql)}, ${quota}, ${claimsOf({ from: sorted, column })},
          made as materialized (select quota.* from quota join claim on claim."auditEventId" = quota."audit.id"),
          ${write(made)}, audit as (${insertAuditEvents(made)})
          select position::integer as "position", is_over as "isOverQuota", stored.* from quota
          left join claim stored on (stored."tenantId", stored."apiKeyId", stored."request", stored."idempotencyKey")
            = ("caller.tenantId", "caller.id", "claim.request", "claim.idempotencyKey")
            and stored."auditEventId" <> "audit.id"`
        : sql`with ${callersAllowed(callers.sql)}, ${quota},
          made as materialized (select * from quota where not is_over),
          ${write(made)}, audit as (${insertAuditEvents(made)})
          select position::integer as "position", is_over as "isOverQuota" from quota`,
      { ...callers.readers, ...rows.readers },
    );
  };

  const batchOf = (all: readonly Created[]): Batch => {
    const callers = new Map<string, { caller: Caller; at: number }>();
    const rows = all.map((created) => {
      const { caller } = created;
      const name = `${caller.credentialKeyId} ${caller.version}`;
      const known = callers.get(name) ?? { caller, at: callers.size + 1 };
      callers.set(name, known);
      return { created, callerAt: known.at };
    });
    return { callers: [...callers.values()].map(({ caller }) => caller), rows };
  };

  const creates = (isClaimed: boolean) => {
    const [one, many] = [single(isClaimed, CALLER_AT_ONCE), together(isClaimed)];
    const kind: BatchKind<Created, CreateOutcome> = {
      name: isClaimed ? `${name}_once` : name,
      inFlight: 2,
      keyOf: ({ claim, caller }) => claim && `${caller.id} ${claim.request} ${claim.idempotencyKey}`,
      run: async (db, all) => {
        const [first] = all;
        if (first && all.length === 1) {
          const [row] = await one(db, first);
          return [createOutcomeOf(row)];
        }
        const found = new Map((await many(db, batchOf(all))).map((row) => [row.position, row]));
        return all.map((_, index) => createOutcomeOf(found.get(index + 1)));
      },
    };
    return { kind, alone: single(isClaimed, CALLER) };
  };
  const [plain, claimed] = [creates(false), creates(true)];

  return async (db, created) => {
    const { kind, alone } = created.claim === null ? plain : claimed;
    const outcome = await db.batch(kind, created, created.caller.tenantId);
    if (outcome.kind !== "stale") return outcome;
    // The caller may only have been locked: this statement waits for it.
    const [row] = await alone(db, created);
    return createOutcomeOf(row);
  };
};
