/**
 * Requests that are made once. A request with an `Idempotency-Key` claims it in the statement that does its work, by an
 * insert that finds what an earlier attempt has stored: whoever comes first writes the claim, with the answer that it is
 * going to give, and the resource; whoever comes later, or at the same time, waits for it, writes nothing and gets that
 * answer. Claims hold for a day, by the database's clock.
 */
import type { ApiKeyId, TenantId } from "@realtime-avatar/domain/id";
import { getTableColumns, type SQL, sql } from "drizzle-orm";
import type { Db } from "../connection/pool.ts";
import { idempotencyKeys } from "../schema.ts";
import { type ColumnValues, columnsOf, insertFrom, placeholders, rowValues, statement, sweepOf } from "./statement.ts";

/** An answer as it is stored. */
export type StoredAnswer = {
  /** SHA-256 of the request's body as a JSON value. */
  bodyHash: Uint8Array;
  status: number;
  location: string | null;
  etag: string;
  /** The body, as text in UTF-8 or sealed. */
  answer: Uint8Array;
  /** The credential with whose secret the body is sealed; null when it is not. */
  sealedFor: string | null;
};

/** What a request claims, and the answer that it gives if it is the first. */
export type Claim = StoredAnswer & { request: string; idempotencyKey: string };

const IS_OVER = sql`${idempotencyKeys.createdAt} <= now() - interval '24 hours'`;
const { tenantId, apiKeyId, request, idempotencyKey, ...kept } = getTableColumns(idempotencyKeys);
const key = { tenantId, apiKeyId, request, idempotencyKey };

const KEY_NAMES = Object.values(key).map(({ name }) => sql.identifier(name));

/** A claim that is over is taken over; one that holds stays as it is, and is read. */
const TAKEN_OVER = sql.join(
  Object.values(kept).map((column) => {
    const name = sql.identifier(column.name);
    return sql`${name} = case when ${IS_OVER} then excluded.${name} else ${column} end`;
  }),
  sql`, `,
);

/**
 * The common table expression that puts the claims that hold into `claim`, for each row of `from`, each made of `values`.
 * One whose `auditEventId` is that of the attempt is the attempt's own, which has its work to do then. `DO UPDATE`, since
 * an attempt that waited for another could not see its row with `DO NOTHING`: its snapshot is older. Rows come in the
 * order of the primary key, and no two with the same: otherwise two statements would deadlock, or one would fail.
 */
export const claims = (values: ColumnValues<typeof idempotencyKeys>, from: SQL): SQL => sql`
  claim as (
    ${insertFrom(idempotencyKeys, values, from)}
    on conflict (${sql.join(KEY_NAMES, sql`, `)}) do update set ${TAKEN_OVER}
    returning ${columnsOf(idempotencyKeys)}
  )`;

/** As `claims`, for the one claim of `claimValues`; `claimed` has a row if the claim is that of this attempt. */
export const claimFrom = (from: SQL): SQL => sql`
  ${claims({ ...placeholders(idempotencyKeys, "claim"), createdAt: sql`now()` }, from)},
  claimed as (select from claim where "auditEventId" = ${sql.placeholder("audit.id")})`;

/** The values for `claimFrom`, beside those of the audit event. */
export const claimValues = (
  claim: Claim,
  caller: { tenantId: TenantId; id: ApiKeyId },
  audit: Record<string, unknown>,
): Record<string, unknown> =>
  rowValues("claim", { ...claim, tenantId: caller.tenantId, apiKeyId: caller.id, auditEventId: audit["audit.id"] });

/** What became of a write that may be replayed. */
export type WriteOutcome =
  | { kind: "written" }
  /** Nothing was written: the caller, or what the write is about, is no longer what it was when it was looked up. */
  | { kind: "stale" }
  /** Nothing was written: an earlier attempt with the same claim was, and this was its response. */
  | { kind: "replayed"; response: StoredAnswer };

export const WRITTEN: WriteOutcome = { kind: "written" };
export const STALE: WriteOutcome = { kind: "stale" };

/** The response in a row that is of a claim, if there is one. */
export type MaybeStored = { [Key in keyof StoredAnswer]?: StoredAnswer[Key] | null };

/** The outcome that the row of a statement means; `undefined` when there is none. */
export const outcomeOf = (row: MaybeStored | undefined): WriteOutcome => {
  if (!row) return STALE;
  if (row.answer === undefined || row.answer === null) return WRITTEN;
  return { kind: "replayed", response: row as StoredAnswer };
};

const select = statement<StoredAnswer>(sql`
  select ${columnsOf(idempotencyKeys)} from ${idempotencyKeys}
  where not (${IS_OVER})
    and ${sql.join(
      Object.entries(key).map(([name, column]) => sql`${column} = ${sql.placeholder(name)}`),
      sql` and `,
    )}`);

/** What was answered to the request before; `null` when it was not made, or a day ago. One statement. */
export const findAnswer = async (
  db: Db,
  caller: { tenantId: TenantId; id: ApiKeyId },
  claim: Pick<Claim, "request" | "idempotencyKey">,
): Promise<StoredAnswer | null> => {
  const { request, idempotencyKey } = claim;
  const [row] = await select(db, { tenantId: caller.tenantId, apiKeyId: caller.id, request, idempotencyKey });
  return row ?? null;
};

/** Deletes claims that are over, past those that are locked; returns their number. */
export const sweepIdempotencyKeys = sweepOf(idempotencyKeys, IS_OVER, idempotencyKeys.createdAt);
