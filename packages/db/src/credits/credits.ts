/** Credits of a tenant: its balance, its entries, and the movements that the operator makes. */
import type { AuditEventRecord } from "@realtime-avatar/domain/audit";
import { toBalance } from "@realtime-avatar/domain/credits/balance";
import type { OperatorKind } from "@realtime-avatar/domain/credits/entry";
import type { CREDIT_ENTRY_LIST, CreditBalance, CreditEntry } from "@realtime-avatar/domain/credits/schemas";
import type { Environment } from "@realtime-avatar/domain/environment";
import type { ApiKeyId, CreditEntryId, SessionId, TenantId } from "@realtime-avatar/domain/id";
import type { PageRequest, Total, WrittenPage } from "@realtime-avatar/domain/page";
import { type Column, type SQL, sql } from "drizzle-orm";
import {
  changeCallLimit as callChangeCallLimit,
  changeSessionLimit as callChangeLimit,
  changeLowThreshold as callChangeThreshold,
  moveCredits as callMove,
} from "../../generated/functions.ts";
import type { AnyCaller } from "../callers/callers.ts";
import type { Db } from "../connection/pool.ts";
import { requireKind } from "../idempotency/idempotency-keys.ts";
import { batchedRead } from "../query/batched-read.ts";
import { nullable, objectJson, plainJson, rawJson, textJson, timeJson } from "../query/json-text.ts";
import { boundedPage, COUNTED, inputBefore, listStatements, NONE, type pageStatement } from "../query/list.ts";
import { inputColumn, newestRows, selectColumns } from "../query/statement.ts";
import { apiKeys } from "../schema/api-keys.ts";
import { creditAccounts, creditEntries } from "../schema/credits.ts";
import { apiKeyName } from "../schema/names.ts";

/** A movement of credits that the operator makes. */
export type CreditMovement = {
  tenantId: TenantId;
  id: CreditEntryId;
  environment: Environment;
  kind: OperatorKind;
  /** In credit micros. */
  amount: number;
  /** The session whose charge is adjusted; null for other movements. */
  sessionId: SessionId | null;
  /** The operator's reference. A movement with the same reference is written once. */
  reference: string | null;
  requestId: string;
  createdAt: Date;
};

const MOVE_OUTCOMES = ["written", "repeated", "reference_used", "insufficient", "too_large", "not_found"] as const;
/** The outcome of a movement: see `move_credits.sql`. */
export type MoveOutcome = { kind: (typeof MOVE_OUTCOMES)[number] };

/** Writes a movement of credits, with its audit event. One statement. */
export const moveCredits = async (
  db: Db,
  entry: CreditMovement,
  auditEvent: AuditEventRecord,
): Promise<MoveOutcome> => {
  const [row] = await callMove(db, { entry, auditEvent });
  return { kind: requireKind(row?.result ?? null, MOVE_OUTCOMES) };
};

/**
 * Changes how many sessions of a tenant may be open at once in an environment, and writes the audit event. Open
 * sessions stay open. Returns false and writes nothing when the tenant has no account. One statement.
 */
export const changeSessionLimit = async (
  db: Db,
  change: { tenantId: TenantId; environment: Environment; sessionLimit: number },
  auditEvent: AuditEventRecord,
): Promise<boolean> => (await callChangeLimit(db, { ...change, auditEvent }))[0]?.result === true;

/**
 * Changes the maximum length, in seconds, of a tenant's calls with a live key; null for the default of the service.
 * Writes the audit event. Returns false and writes nothing when the tenant has no account. One statement.
 */
export const changeCallLimit = async (
  db: Db,
  change: { tenantId: TenantId; maxSeconds: number | null },
  auditEvent: AuditEventRecord,
): Promise<boolean> =>
  (await callChangeCallLimit(db, { ...change, environment: "live", auditEvent }))[0]?.result === true;

/**
 * Changes the threshold of available credits below which `credits.low` is sent; null for never. Writes the audit event.
 * The operator acts when `caller` is null. `not_found`: the tenant has no account. One statement.
 */
export const changeLowThreshold = async (
  db: Db,
  change: { tenantId: TenantId; environment: Environment; lowThreshold: number | null },
  caller: AnyCaller | null,
  auditEvent: AuditEventRecord,
): Promise<{ kind: "written" | "stale" | "not_found" }> => {
  const [row] = await callChangeThreshold(db, { ...change, caller, auditEvent });
  const kind = (["written", "stale", "not_found"] as const).find((known) => known === row?.result);
  if (!kind) throw new TypeError(`unknown outcome of a change: ${row?.result}`);
  return { kind };
};

/** An account as the driver gives it: a bigint as text. */
type AccountRow = {
  granted: string;
  forfeited: string;
  settled: string;
  reserved: string;
  lowThreshold: string | null;
  updatedAt: Date;
};
type Owner = { tenantId: TenantId; environment: Environment };
const { granted, forfeited, settled, reserved, lowThreshold, updatedAt } = creditAccounts;

const presentBalance = (row: AccountRow, owner: Owner): CreditBalance =>
  toBalance(
    {
      granted: Number(row.granted),
      forfeited: Number(row.forfeited),
      settled: Number(row.settled),
      reserved: Number(row.reserved),
      lowThreshold: row.lowThreshold === null ? null : Number(row.lowThreshold),
      updatedAt: row.updatedAt,
    },
    owner,
  );

const BALANCES = batchedRead<AccountRow, Owner, CreditBalance>(
  "find_credit_balance",
  ["tenantId", "environment"],
  (inputs) => sql`
    select position::integer as "position", ${selectColumns({ granted, forfeited, settled, reserved, lowThreshold, updatedAt })}
    from ${inputs}
    cross join lateral (
      select * from ${creditAccounts}
      where ${creditAccounts.tenantId} = ${inputColumn("tenantId")} collate "C"
        and ${creditAccounts.environment} = ${inputColumn("environment")}
      -- One row at a time, by the primary key: see find_credential.
      offset 0
    ) credit_accounts`,
  presentBalance,
);

/** The balance of a tenant in one environment; null when it has no account. One statement. */
export const findCreditBalance = (
  db: Db,
  tenantId: TenantId,
  environment: Environment,
): Promise<CreditBalance | null> => db.batch(BALANCES, { tenantId, environment }, tenantId);

const nameOfKey = (id: Column) => nullable(textJson(apiKeyName(creditEntries.tenantId, id)));

/** An entry as the API shows it. */
const ITEM = objectJson<CreditEntry>({
  id: plainJson(creditEntries.id),
  environment: plainJson(creditEntries.environment),
  kind: plainJson(creditEntries.kind),
  amountCreditMicros: rawJson(creditEntries.amount),
  sessionId: nullable(plainJson(creditEntries.sessionId)),
  apiKeyId: nullable(plainJson(creditEntries.apiKeyId)),
  apiKeyName: nameOfKey(creditEntries.apiKeyId),
  reportedBy: nullable(plainJson(creditEntries.reportedBy)),
  reportedByName: nameOfKey(creditEntries.reportedBy),
  closedBy: nullable(plainJson(creditEntries.closedBy)),
  closedByName: nameOfKey(creditEntries.closedBy),
  reference: nullable(textJson(creditEntries.reference)),
  requestId: textJson(creditEntries.requestId),
  createdAt: timeJson(creditEntries.createdAt),
});

type Filter = keyof PageRequest<typeof CREDIT_ENTRY_LIST>["filters"];
type EntryPage = {
  tenantId: TenantId;
  environment: Environment;
  before: CreditEntryId | null;
  limit: number;
  maxRead: number;
  /** Only entries of sessions of this key and its descendants; null: all entries. */
  ofLineage: ApiKeyId | null;
} & {
  [Name in Filter]?: string;
};
/** The maximum number of entries that a page reads, in the order of the index that serves it best. */
const MAX_ROWS_READ = 5000;

/**
 * Whether an entry belongs to a session of a key or of one of its descendants. Each entry costs one look-up by the
 * primary key of `api_keys`; a page reads at most `MAX_ROWS_READ` entries. A scalar subquery, because for EXISTS the
 * server read the whole table.
 */
const IS_OF_LINEAGE = sql`(
  select own.id = ${inputColumn("ofLineage")} or ${inputColumn("ofLineage")} = any(own.lineage) from ${apiKeys} own
  where own.tenant_id = credit_entries.tenant_id and own.id = credit_entries.api_key_id
)`;

/** The filter whose index is read. The other filters are applied to the found rows. */
const BEST_FIRST: readonly Filter[] = ["sessionId", "apiKeyId", "kind"];

const select = (shape: typeof pageStatement, isOfLineage: boolean, filters: readonly Filter[]): SQL => {
  const indexed = BEST_FIRST.find((filter) => filters.includes(filter));
  const { where, orderBy } = newestRows(
    [
      ...(indexed ? [[creditEntries[indexed], inputColumn(indexed)] as const] : []),
      [creditEntries.environment, inputColumn("environment")],
      [creditEntries.tenantId, inputColumn("tenantId")],
    ],
    creditEntries.id,
    inputBefore("ent"),
  );
  const others = filters
    .filter((filter) => filter !== indexed)
    .map((filter) => sql`${creditEntries[filter]} = ${inputColumn(filter)}`);
  if (isOfLineage) others.push(IS_OF_LINEAGE);
  const list = { table: creditEntries, id: creditEntries.id, item: ITEM };
  return boundedPage(list, { where, orderBy }, others, { shape });
};

const STATEMENTS = listStatements<EntryPage, [isOfLineage: boolean, ...filters: Filter[]]>(
  { page: "list_credit_entries", count: "count_credit_entries" },
  (isOfLineage, ...filters) => ({
    select: (shape) => select(shape, isOfLineage, filters),
    fields: [
      ...(["tenantId", "environment", "before", "limit", "maxRead"] as const),
      ...(isOfLineage ? (["ofLineage"] as const) : []),
      ...filters,
    ],
  }),
);

/** The owner of the entries. With `ofLineage`, only entries of sessions of this key and its descendants. */
type EntriesOf = { tenantId: TenantId; environment: Environment; ofLineage?: ApiKeyId | null };
type EntryPageRequest = PageRequest<typeof CREDIT_ENTRY_LIST>;
const formOf = ({ ofLineage = null }: EntriesOf, filters: EntryPageRequest["filters"]) =>
  [ofLineage !== null, ...BEST_FIRST.filter((filter) => filters[filter] !== undefined)] as const;

/** The newest entries of a tenant in one environment that `page` asks for. One statement. */
export const listCreditEntries = (
  db: Db,
  of: EntriesOf,
  { filters, before, limit }: EntryPageRequest,
): Promise<WrittenPage> => {
  const page = { ofLineage: null, ...of, before, limit, maxRead: MAX_ROWS_READ, ...filters };
  return db.batch(STATEMENTS.page(...formOf(of, filters)), page, of.tenantId);
};

/** How many of the newest `MAX_COUNTED` entries match. One statement. */
export const countCreditEntries = async (
  db: Db,
  of: EntriesOf,
  filters: EntryPageRequest["filters"],
): Promise<Total> => {
  const query = { ofLineage: null, ...of, ...COUNTED, ...filters };
  return (await db.batch(STATEMENTS.count(...formOf(of, filters)), query, of.tenantId)) ?? NONE;
};
