/**
 * Requests that are made once. A request with an `Idempotency-Key` claims it in the statement that does its work, by an
 * insert that finds what an earlier attempt has stored: whoever comes first writes the claim, with the answer that it is
 * going to give, and the resource; whoever comes later, or at the same time, waits for it, writes nothing and gets that
 * answer. Claims hold for a day, by the database's clock.
 */
import type { ApiKeyId, TenantId } from "@realtime-avatar/domain/id";
import { getTableColumns, type SQL, sql } from "drizzle-orm";
import type { Db } from "./pool.ts";
import { idempotencyKeys } from "./schema.ts";
import { type ColumnValues, columnsOf, insertFrom, placeholders, rowValues, statement } from "./statement.ts";

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

/** As `claims`, for the one claim of `claimValues`; `claimed` has a row if it is that of this attempt. */
export const claimFrom = (from: SQL): SQL => sql`
  ${claims({ ...placeholders(idempotencyKeys, "claim"), createdAt: sql`now()` }, from)},
  claimed as (select from claim where "auditEventId" = ${sql.placeholder("audit.id")})`;

/** What a statement with `claimFrom` answers with: the answer of the attempt that holds the claim, if it is another. */
export const CLAIM_ROW = sql`stored.* from claim held
  left join claim stored on stored."auditEventId" <> ${sql.placeholder("audit.id")}`;

/** The values for `claimFrom`, beside those of the audit event. */
export const claimValues = (
  claim: Claim,
  caller: { tenantId: TenantId; id: ApiKeyId },
  audit: Record<string, unknown>,
): Record<string, unknown> =>
  rowValues("claim", { ...claim, tenantId: caller.tenantId, apiKeyId: caller.id, auditEventId: audit["audit.id"] });

/** Whether a write was made, or else the answer of an earlier attempt that has made it. */
export type Outcome = boolean | StoredAnswer;

/** The answer in a row that is of a claim, if there is one. */
export type MaybeStored = { [Key in keyof StoredAnswer]?: StoredAnswer[Key] | null };

/** The outcome that the rows of a statement mean: none, that nothing was written; one, that it was, or the answer in it. */
export const outcomeOf = ([row]: readonly MaybeStored[]): Outcome => {
  if (!row) return false;
  return row.answer === undefined || row.answer === null ? true : (row as StoredAnswer);
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

/** So many claims go in one sweep. */
const SWEPT = 1000;
/** By where the rows stand, which they cannot leave while they are locked: otherwise the server would read a large table whole. */
const sweep = statement<{ swept: string }>(sql`
  with swept as (
    delete from ${idempotencyKeys} where ctid = any(array(
      select ctid from ${idempotencyKeys}
      where ${IS_OVER} order by ${idempotencyKeys.createdAt} limit ${sql.raw(String(SWEPT))}
      for update skip locked
    ))
    returning 1
  )
  select count(*) as swept from swept`);

/** Deletes claims that are over, a thousand at a time, past those that somebody holds; answers how many it was. */
export const sweepIdempotencyKeys = async (db: Db): Promise<number> => {
  let all = 0;
  for (;;) {
    const [row] = await sweep(db, {});
    const swept = Number(row?.swept ?? 0);
    all += swept;
    if (swept < SWEPT) return all;
  }
};
