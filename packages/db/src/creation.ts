/**
 * Creating, as a caller. One statement writes what is made, its audit event and, when the request is claimed, the claim
 * with its answer. Creates are gathered: one statement for all that come at the same time, each with its own outcome.
 */
import type { AuditEventRecord } from "@realtime-avatar/domain/audit";
import { type SQL, sql } from "drizzle-orm";
import { CALLER, CALLER_AT_ONCE, CALLER_READERS, type Caller, callersAllowed } from "./callers.ts";
import type { Gatherable } from "./gather.ts";
import { type Claim, claims, type MaybeStored, type Outcome, outcomeOf } from "./idempotency.ts";
import type { Db } from "./pool.ts";
import { auditEvents, idempotencyKeys } from "./schema.ts";
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

type Row = MaybeStored & { position: number };

/**
 * A create, called `name` where it is watched, of what has the `columns`, by `write`, which gives the common table expressions that write the rows of `made`;
 * those that are `inTime` are made. Answers whether it was written, or else what an earlier attempt was answered; `false`,
 * with nothing written, when the caller is no longer what it was, or it is not in time. One statement; another, that waits
 * for its caller, when it was not made by that.
 */
export const creationOf = <Created extends Creation>(
  name: string,
  columns: Given<Created>,
  write: (made: Made) => SQL,
  inTime: (made: Pick<Made, "column">) => SQL = () => sql`true`,
): ((db: Db, created: Created) => Promise<Outcome>) => {
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
    const able = sql`select from caller where ${inTime({ column })}`;
    return statement<Row, Created>(
      isClaimed
        ? sql`with ${callerLocked}, able as (${able}), ${claimsOf({ from: sql`able`, column })},
          made as materialized (select from claim where "auditEventId" = ${column("audit.id")}),
          ${write(made)}, audit as (${insertAuditEvents(made)})
          select stored.* from claim held left join claim stored on stored."auditEventId" <> ${column("audit.id")}`
        : sql`with ${callerLocked}, made as materialized (${able}),
          ${write(made)}, audit as (${insertAuditEvents(made)})
          select from made`,
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
    const able = sql`
      select given.*, "caller.tenantId", "caller.id", "caller.credentialKeyId"
      from ${rows.sql} join allowed on allowed.position = "callerAt"::bigint
      where ${inTime({ column })}`;
    // In the order of the primary key of claims, as `claims` wants them.
    const sorted = sql`(
      select * from able order by "caller.tenantId" collate "C", "caller.id" collate "C",
        "claim.request" collate "C", "claim.idempotencyKey" collate "C"
    ) able`;
    return statement<Row, Batch>(
      isClaimed
        ? sql`with ${callersAllowed(callers.sql)}, able as materialized (${able}), ${claimsOf({ from: sorted, column })},
          made as materialized (select able.* from able join claim on claim."auditEventId" = able."audit.id"),
          ${write(made)}, audit as (${insertAuditEvents(made)})
          select position::integer as "position", stored.* from able
          left join claim stored on (stored."tenantId", stored."apiKeyId", stored."request", stored."idempotencyKey")
            = ("caller.tenantId", "caller.id", "claim.request", "claim.idempotencyKey")
            and stored."auditEventId" <> "audit.id"`
        : sql`with ${callersAllowed(callers.sql)}, made as materialized (${able}),
          ${write(made)}, audit as (${insertAuditEvents(made)})
          select position::integer as "position" from made`,
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
    const kind: Gatherable<Created, Outcome | null> = {
      name: isClaimed ? `${name}_once` : name,
      inFlight: 2,
      keyOf: ({ claim, caller }) => claim && `${caller.id} ${claim.request} ${claim.idempotencyKey}`,
      run: async (db, all) => {
        const [first] = all;
        if (first && all.length === 1) return [outcomeOf(await one(db, first)) || null];
        const found = new Map((await many(db, batchOf(all))).map((row) => [row.position, row]));
        return all.map((_, index) => {
          const row = found.get(index + 1);
          return row ? outcomeOf([row]) : null;
        });
      },
    };
    return { kind, alone: single(isClaimed, CALLER) };
  };
  const [plain, claimed] = [creates(false), creates(true)];

  return async (db, created) => {
    const { kind, alone } = created.claim === null ? plain : claimed;
    // What was not made among others has to be judged alone: its caller may only have been locked.
    return (await db.gather(kind, created, created.caller.tenantId)) ?? outcomeOf(await alone(db, created));
  };
};
