/** Credits of a tenant: its balance, its entries, and the movements that the operator makes. */
import type { AuditEventRecord } from "@realtime-avatar/domain/audit";
import type { EntryKind } from "@realtime-avatar/domain/credits/entry";
import type { CREDIT_ENTRY_LIST, CreditBalance, CreditEntry } from "@realtime-avatar/domain/credits/schemas";
import type { Environment } from "@realtime-avatar/domain/environment";
import type { CreditEntryId, SessionId, TenantId } from "@realtime-avatar/domain/id";
import type { PageRequest, WrittenPage } from "@realtime-avatar/domain/page";
import { sql } from "drizzle-orm";
import { type BatchKind, shareEqual } from "../connection/batch.ts";
import type { Db } from "../connection/pool.ts";
import { creditAccounts, creditEntries } from "../credits-schema.ts";
import { moveCredits as callMove } from "../functions/generated.ts";
import { nullable, objectJson, plainJson, rawJson, textJson, timeJson } from "./query/json-text.ts";
import { LIMIT, MAX_READ, pageOf, pageReader } from "./query/list.ts";
import { batchStatement, columnsOf, inputColumn, newestOf } from "./query/statement.ts";

/** A movement of credits that the operator makes. */
export type CreditMovement = {
  tenantId: TenantId;
  id: CreditEntryId;
  environment: Environment;
  kind: Extract<EntryKind, "grant" | "void" | "adjust">;
  /** In credit micros. */
  amount: number;
  /** The session whose charge is adjusted; null for other movements. */
  sessionId: SessionId | null;
  /** The operator's own reference: a movement with the same one is made once. */
  reference: string | null;
  requestId: string;
  createdAt: Date;
};

const MOVE_OUTCOMES = ["written", "repeated", "reference_used", "insufficient", "too_large", "not_found"] as const;
/** What became of a movement: see `move_credits.sql`. */
export type MoveOutcome = { kind: (typeof MOVE_OUTCOMES)[number] };

/** Makes a movement of credits, with its audit event. One statement. */
export const moveCredits = async (
  db: Db,
  entry: CreditMovement,
  auditEvent: AuditEventRecord,
): Promise<MoveOutcome> => {
  const [row] = await callMove(db, { entry, auditEvent });
  const kind = MOVE_OUTCOMES.find((known) => known === row?.result);
  if (!kind) throw new TypeError(`unknown outcome of a movement: ${row?.result}`);
  return { kind };
};

type Account = { granted: string; forfeited: string; settled: string; reserved: string; updatedAt: Date };
type Owner = { tenantId: TenantId; environment: Environment };
const { granted, forfeited, settled, reserved, updatedAt } = creditAccounts;
const selectAccounts = batchStatement<Account, Owner>(
  "find_credit_balance",
  ["tenantId", "environment"],
  (inputs) => sql`
    select position::integer as "position", ${columnsOf({ granted, forfeited, settled, reserved, updatedAt })}
    from ${inputs}
    cross join lateral (
      select * from ${creditAccounts}
      where ${creditAccounts.tenantId} = ${inputColumn("tenantId")} collate "C"
        and ${creditAccounts.environment} = ${inputColumn("environment")}
      -- One row at a time, by the primary key: see find_credential.
      offset 0
    ) credit_accounts`,
);

const presentBalance = (account: Account, { tenantId, environment }: Owner): CreditBalance => {
  const lifetimeGrantedCreditMicros = Number(account.granted) - Number(account.forfeited);
  const lifetimeUsedCreditMicros = Number(account.settled);
  const reservedCreditMicros = Number(account.reserved);
  const balanceCreditMicros = lifetimeGrantedCreditMicros - lifetimeUsedCreditMicros;
  return {
    tenantId,
    environment,
    balanceCreditMicros,
    reservedCreditMicros,
    availableCreditMicros: balanceCreditMicros - reservedCreditMicros,
    lifetimeGrantedCreditMicros,
    lifetimeUsedCreditMicros,
    updatedAt: account.updatedAt.toISOString(),
  };
};

/** Concurrent reads are batched; those of the same account share one result. */
const BALANCES: BatchKind<Owner, CreditBalance | null> = {
  name: "find_credit_balance",
  inFlight: 2,
  run: (db, owners) =>
    shareEqual(
      owners,
      ({ tenantId, environment }) => `${tenantId} ${environment}`,
      async (different) => {
        const found = different.map((): CreditBalance | null => null);
        for (const { position, ...account } of await selectAccounts(db, different)) {
          found[position - 1] = presentBalance(account, different[position - 1] as Owner);
        }
        return found;
      },
    ),
};

/** The balance of a tenant in one environment; null when it has no account. One statement. */
export const findCreditBalance = (
  db: Db,
  tenantId: TenantId,
  environment: Environment,
): Promise<CreditBalance | null> => db.batch(BALANCES, { tenantId, environment }, tenantId);

/** An entry as the API shows it. */
const ITEM = objectJson<CreditEntry>({
  id: plainJson(creditEntries.id),
  environment: plainJson(creditEntries.environment),
  kind: plainJson(creditEntries.kind),
  amountCreditMicros: rawJson(creditEntries.amount),
  sessionId: nullable(plainJson(creditEntries.sessionId)),
  apiKeyId: nullable(plainJson(creditEntries.apiKeyId)),
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
} & {
  [Name in Filter]?: string;
};
/** How many entries a page reads at most, in the order of the index that serves it best. */
const MAX_ROWS_READ = 5000;

/** The filter whose index is read; the others are applied to what it finds. */
const BEST_FIRST: readonly Filter[] = ["sessionId", "apiKeyId", "kind"];

/** A statement for each choice of filters. */
const readers = new Map<string, BatchKind<EntryPage, WrittenPage>>();
const readerFor = (filters: readonly Filter[]): BatchKind<EntryPage, WrittenPage> => {
  const name = filters.join();
  const known = readers.get(name);
  if (known) return known;
  const indexed = BEST_FIRST.find((filter) => filters.includes(filter));
  const { where, orderBy } = newestOf(
    [
      ...(indexed ? [[creditEntries[indexed], inputColumn(indexed)] as const] : []),
      [creditEntries.environment, inputColumn("environment")],
      [creditEntries.tenantId, inputColumn("tenantId")],
    ],
    creditEntries.id,
    sql`coalesce(${inputColumn("before")}, 'ent~')`,
  );
  const others = filters
    .filter((filter) => filter !== indexed)
    .map((filter) => sql`and ${creditEntries[filter]} = ${inputColumn(filter)}`);
  const inOrder = sql`from ${creditEntries} where ${where} order by ${orderBy}`;
  const query = pageOf(
    sql`(
      select * from (select * ${inOrder} limit ${MAX_READ}) credit_entries
      where true ${sql.join(others, sql` `)}
      order by ${orderBy} limit ${LIMIT} + 1
    ) credit_entries`,
    creditEntries.id,
    ITEM,
    orderBy,
    sql`(select ${creditEntries.id} ${inOrder} limit 1 offset ${MAX_READ} - 1)`,
  );
  const names = ["tenantId", "environment", "before", "limit", "maxRead", ...filters] as const;
  const reader = pageReader<EntryPage>("list_credit_entries", query, names);
  readers.set(name, reader);
  return reader;
};

/** The newest entries of a tenant in one environment that `page` asks for. One statement. */
export const listCreditEntries = (
  db: Db,
  owner: { tenantId: TenantId; environment: Environment },
  { filters, before, limit }: PageRequest<typeof CREDIT_ENTRY_LIST>,
): Promise<WrittenPage> => {
  const { tenantId, environment } = owner;
  const present = BEST_FIRST.filter((filter) => filters[filter] !== undefined);
  const page = { tenantId, environment, before, limit, maxRead: MAX_ROWS_READ, ...filters };
  return db.batch(readerFor(present), page, tenantId);
};
