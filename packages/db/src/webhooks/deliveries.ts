/** Webhook deliveries in the database: the reads and resends of tenants. The worker's part is in `sending.ts`. */
import { firstIdAt, newId, type WebhookDeliveryId, type WebhookEndpointId } from "@realtime-avatar/domain/id";
import type { PageRequest, Total, WrittenPage } from "@realtime-avatar/domain/page";
import {
  MAX_RECOVERED,
  type RecoveredDeliveries,
  type WEBHOOK_DELIVERY_LIST,
  type WebhookDelivery,
} from "@realtime-avatar/domain/webhooks/schemas";
import { type SQL, sql } from "drizzle-orm";
import {
  recoverDeliveries as callRecover,
  resendDelivery as callResend,
  createTestDelivery as callTest,
} from "../../generated/functions.ts";
import type { Origin } from "../audit/audit-events.ts";
import type { AnyCaller } from "../callers/callers.ts";
import type { Runner } from "../connection/batch.ts";
import type { Db } from "../connection/pool.ts";
import { type Claim, type ResponseFields, requireKind, type StoredResponse } from "../idempotency/idempotency-keys.ts";
import { batchedRead } from "../query/batched-read.ts";
import { nullable, objectJson, plainJson, rawJson, textJson, timeJson } from "../query/json-text.ts";
import { boundedPage, COUNTED, inputBefore, listStatements, NONE, type pageStatement } from "../query/list.ts";
import { inputColumn, newestRows } from "../query/statement.ts";
import { objectName } from "../schema/names.ts";
import { webhookDeliveries, webhookEvents } from "../schema/webhooks.ts";
import type { WebhookOwner } from "./endpoints.ts";

/** A delivery as the API shows it. */
const ITEM = objectJson<WebhookDelivery>({
  id: plainJson(webhookDeliveries.id),
  tenantId: plainJson(webhookDeliveries.tenantId),
  environment: plainJson(webhookDeliveries.environment),
  endpointId: plainJson(webhookDeliveries.endpointId),
  eventId: plainJson(webhookDeliveries.eventId),
  eventType: plainJson(webhookDeliveries.eventType),
  targetId: textJson(webhookDeliveries.targetId),
  targetName: nullable(
    textJson(objectName(webhookDeliveries.tenantId, webhookDeliveries.targetId, inputColumn("environment"))),
  ),
  sequence: rawJson(webhookDeliveries.sequence),
  status: plainJson(webhookDeliveries.status),
  attempts: rawJson(webhookDeliveries.attempts),
  nextAttemptAt: nullable(timeJson(webhookDeliveries.nextAttemptAt)),
  body: nullable(
    textJson(sql`(
      select ${webhookEvents.body} from ${webhookEvents}
      where ${webhookEvents.tenantId} = ${webhookDeliveries.tenantId} and ${webhookEvents.id} = ${webhookDeliveries.eventId}
    )`),
  ),
  createdAt: timeJson(webhookDeliveries.createdAt),
});

const READS = batchedRead<{ item: string }, WebhookOwner & { id: WebhookDeliveryId }, WebhookDelivery>(
  "find_webhook_delivery",
  ["tenantId", "environment", "id"],
  (inputs) => sql`
    select position::integer as "position", ${ITEM} as "item"
    from ${inputs}
    cross join lateral (
      select * from ${webhookDeliveries}
      where ${webhookDeliveries.tenantId} = ${inputColumn("tenantId")} collate "C"
        and ${webhookDeliveries.id} = ${inputColumn("id")} collate "C"
        and ${webhookDeliveries.environment} = ${inputColumn("environment")}
      -- One row at a time, by the primary key: see find_credential.
      offset 0
    ) webhook_deliveries`,
  ({ item }) => JSON.parse(item),
);
/** The delivery; `null` when the owner has no delivery with this id. One statement, shared by concurrent reads. */
export const findDelivery = (
  db: Db,
  { tenantId, environment }: WebhookOwner,
  id: WebhookDeliveryId,
): Promise<WebhookDelivery | null> => db.batch(READS, { tenantId, environment, id }, tenantId);

type DeliveryPage = PageRequest<typeof WEBHOOK_DELIVERY_LIST>;
type Filters = DeliveryPage["filters"];
type PageQuery = WebhookOwner & Filters & { before: WebhookDeliveryId | null; limit: number; maxRead: number };
const FILTERS = ["endpointId", "status", "eventType", "targetId"] as const satisfies readonly (keyof Filters)[];

/**
 * The maximum number of deliveries that a page reads. The page contains those that meet the filters. Each costs about
 * 0.4 us.
 */
const MAX_ROWS_READ = 5000;

const select = (shape: typeof pageStatement, isTest: boolean, filters: readonly (keyof Filters)[]): SQL => {
  const { tenantId, environment, id } = webhookDeliveries;
  const ofTenant = [tenantId, inputColumn("tenantId")] as const;
  const { where, orderBy } = isTest
    ? newestRows([[environment, sql`'test'`], ofTenant], id, inputBefore("whd"))
    : newestRows([ofTenant], id, inputBefore("whd"));
  const read = { where: isTest ? sql`${where} and ${environment} <> 'live'` : where, orderBy };
  const conditions = filters.map((filter) => sql`${webhookDeliveries[filter]} = ${inputColumn(filter)}`);
  const ofEnvironment = sql`${environment} = ${inputColumn("environment")}`;
  return boundedPage({ table: webhookDeliveries, id, item: ITEM }, read, [ofEnvironment, ...conditions], { shape });
};

const STATEMENTS = listStatements<PageQuery, [isTest: boolean, ...filters: (keyof Filters)[]]>(
  { page: "list_webhook_deliveries", count: "count_listed_deliveries" },
  (isTest, ...filters) => ({
    select: (shape) => select(shape, isTest, filters),
    fields: ["tenantId", "environment", "before", "limit", "maxRead", ...filters],
  }),
);
const formOf = ({ environment }: WebhookOwner, filters: Filters) =>
  [environment === "test", ...FILTERS.filter((filter) => filters[filter] !== undefined)] as const;

/**
 * The owner's newest deliveries that `page` asks for, among at most 5,000 that it reads. One statement, shared by
 * requests for the same page.
 */
export const listDeliveries = (
  db: Db,
  { tenantId, environment }: WebhookOwner,
  { filters, before, limit }: DeliveryPage,
): Promise<WrittenPage> => {
  const query: PageQuery = { tenantId, environment, ...filters, before, limit, maxRead: MAX_ROWS_READ };
  return db.batch(STATEMENTS.page(...formOf(query, filters)), query, tenantId);
};

/** How many of the owner's newest `MAX_COUNTED` deliveries match. One statement. */
export const countDeliveries = async (
  db: Db,
  { tenantId, environment }: WebhookOwner,
  filters: Filters,
): Promise<Total> => {
  const query: PageQuery = { tenantId, environment, ...filters, ...COUNTED };
  return (await db.batch(STATEMENTS.count(...formOf(query, filters)), query, tenantId)) ?? NONE;
};

/** The outcome of a write whose response has fields that only the write knows. */
type CompletedOutcome<Written extends object> =
  | ({ kind: "written" } & Written)
  /** Nothing was written: an earlier attempt with the same claim had this response. */
  | { kind: "replayed"; response: StoredResponse; responseFields: ResponseFields | null }
  | { kind: "not_found" }
  /** Nothing was written: the budget of the host is used up. */
  | { kind: "rate_limited"; waitSeconds: number }
  /** Nothing was written: the caller has changed since its look-up. */
  | { kind: "stale" };

type CompletedRow = {
  outcome: string | null;
  waitSeconds: number | null;
  responseStatus: number | null;
  responseFields: object | null;
} & { [Key in Exclude<keyof StoredResponse, "status">]: StoredResponse[Key] | null };

const completedOutcome = <Written extends object>(
  row: CompletedRow | undefined,
  written: (row: CompletedRow) => Written,
): CompletedOutcome<Written> => {
  if (row === undefined) throw new TypeError("a write has no outcome");
  const { outcome, bodyHash, responseStatus, location, etag, responseBody, sealedFor, responseFields } = row;
  const kind = requireKind(outcome, ["written", "replayed", "not_found", "rate_limited", "stale"]);
  if (kind === "written") return { kind, ...written(row) };
  if (kind === "rate_limited") return { kind, waitSeconds: row.waitSeconds ?? 1 };
  if (kind !== "replayed") return { kind };
  const response = { bodyHash, status: responseStatus, location, etag, responseBody, sealedFor };
  return { kind, response: response as StoredResponse, responseFields };
};

/**
 * Sends a delivery of any status again, with the same id, event and body. Its schedule begins anew. A running attempt
 * of the delivery continues. A host gets 60 resends and tests at once, and then one every two seconds. One statement.
 */
export const resendDelivery = async (
  db: Runner,
  id: WebhookDeliveryId,
  caller: AnyCaller,
  { now, random }: Origin,
  claim: Claim | null = null,
): Promise<CompletedOutcome<object>> => {
  const { environment } = caller;
  const [row] = await callResend(db, { caller, environment, id, attemptId: newId("aud", now, random), claim });
  return completedOutcome(row, () => ({}));
};

/**
 * Writes a test event for one endpoint, with a delivery that is due now. It has the same limit as `resendDelivery`. One
 * statement.
 */
export const insertTestDelivery = async (
  db: Runner,
  endpointId: WebhookEndpointId,
  caller: AnyCaller,
  { now, random }: Origin,
  claim: Claim | null = null,
): Promise<CompletedOutcome<{ deliveryId: WebhookDeliveryId }>> => {
  const deliveryId = newId("whd", now, random);
  const [row] = await callTest(db, {
    caller,
    environment: caller.environment,
    endpointId,
    eventId: newId("evt", now, random),
    deliveryId,
    createdAt: now,
    attemptId: newId("aud", now, random),
    claim,
  });
  return completedOutcome(row, () => ({ deliveryId }));
};

/**
 * Starts the recovery of an endpoint. The worker sends again the deliveries that have failed, were canceled, or wait
 * for another attempt, and whose events happened since `since`. It sends them in the order of their events, within the
 * budget of the host. An endpoint can be recovered once a minute. The operator acts for an owner, without a key and
 * without that limit. One statement.
 */
export const recoverDeliveries = async (
  db: Runner,
  endpointId: WebhookEndpointId,
  since: Date,
  caller: AnyCaller | WebhookOwner,
  { now, random }: Origin,
  claim: Claim | null = null,
): Promise<CompletedOutcome<RecoveredDeliveries>> => {
  const { tenantId, environment } = caller;
  const [row] = await callRecover(db, {
    caller: "credentialKeyId" in caller ? caller : null,
    tenantId,
    environment,
    endpointId,
    firstId: firstIdAt("whd", since),
    limit: MAX_RECOVERED,
    attemptId: newId("aud", now, random),
    claim,
  });
  return completedOutcome(row, () => ({
    recovered: row?.recovered ?? 0,
    pausedUntil: row?.pausedUntil ?? null,
    nextRecoveryAt: row?.nextRecoveryAt as string,
  }));
};
