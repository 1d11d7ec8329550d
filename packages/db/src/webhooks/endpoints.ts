/** Webhook endpoints in the database: the receivers of a tenant's events. */
import type { TenantId, WebhookEndpointId } from "@realtime-avatar/domain/id";
import type { WebhookEndpointRecord } from "@realtime-avatar/domain/webhooks/endpoint";
import {
  MAX_ENDPOINTS,
  type UpdateWebhookEndpoint,
  type WebhookEndpoint,
} from "@realtime-avatar/domain/webhooks/schemas";
import { getTableColumns, sql } from "drizzle-orm";
import {
  createWebhookEndpoint as callCreate,
  deleteWebhookEndpoint as callDelete,
  disableWebhookEndpoint as callDisable,
  rotateWebhookSecret as callRotate,
  updateWebhookEndpoint as callUpdate,
} from "../../generated/functions.ts";
import { auditEvent, type Origin } from "../audit/audit-events.ts";
import type { AnyCaller } from "../callers/callers.ts";
import type { Runner } from "../connection/batch.ts";
import type { Db } from "../connection/pool.ts";
import type { CreateOutcome } from "../idempotency/batched-write.ts";
import { type Claim, outcomeAmong, requireKind } from "../idempotency/idempotency-keys.ts";
import { batchedRead } from "../query/batched-read.ts";
import { listJson, nullable, objectJson, plainJson, rawJson, textJson, timeJson } from "../query/json-text.ts";
import { createList } from "../query/list.ts";
import { inputColumn, selectColumns } from "../query/statement.ts";
import { webhookEndpoints } from "../schema/webhooks.ts";

/** The columns of a record, without those that only the sender reads. */
const {
  slowUntil: _slowUntil,
  claimedAt: _claimedAt,
  recoveryNextAt: _recoveryNextAt,
  recoveryNextId: _recoveryNextId,
  recoveryLastId: _recoveryLastId,
  recoveredAt: _recoveredAt,
  ...RECORD
} = getTableColumns(webhookEndpoints);

/** The owner of endpoints and deliveries: one tenant, in one environment. */
export type WebhookOwner = Pick<WebhookEndpointRecord, "tenantId" | "environment">;

/**
 * Writes a new endpoint, its audit event and, with a claim, the response. A create over the quota stores no claim. One
 * statement.
 */
export const insertEndpoint = async (
  db: Runner,
  endpoint: WebhookEndpointRecord,
  caller: AnyCaller,
  origin: Origin,
  claim: Claim | null = null,
): Promise<CreateOutcome<"quota_exceeded">> => {
  const event = auditEvent("webhook_endpoint.created", endpoint, origin);
  const [row] = await callCreate(db, { caller, endpoint, auditEvent: event, claim, maxEndpoints: MAX_ENDPOINTS });
  return outcomeAmong(row, ["quota_exceeded"]);
};

const ENDPOINT_READS = batchedRead<
  WebhookEndpointRecord,
  WebhookOwner & { id: WebhookEndpointId },
  WebhookEndpointRecord
>(
  "find_webhook_endpoint",
  ["tenantId", "environment", "id"],
  (inputs) => sql`
    select position::integer as "position", ${selectColumns(RECORD)}
    from ${inputs}
    cross join lateral (
      select * from ${webhookEndpoints}
      where ${webhookEndpoints.tenantId} = ${inputColumn("tenantId")} collate "C"
        and ${webhookEndpoints.id} = ${inputColumn("id")} collate "C"
        and ${webhookEndpoints.environment} = ${inputColumn("environment")}
      -- One row at a time, by the primary key: see find_credential.
      offset 0
    ) webhook_endpoints`,
  (endpoint) => endpoint,
);
/** The endpoint; `null` when the owner has no endpoint with this id. One statement, shared by concurrent reads. */
export const findEndpoint = (
  db: Db,
  { tenantId, environment }: WebhookOwner,
  id: WebhookEndpointId,
): Promise<WebhookEndpointRecord | null> => db.batch(ENDPOINT_READS, { tenantId, environment, id }, tenantId);

const ITEM = objectJson<WebhookEndpoint>({
  id: plainJson(webhookEndpoints.id),
  tenantId: plainJson(webhookEndpoints.tenantId),
  environment: plainJson(webhookEndpoints.environment),
  url: nullable(textJson(webhookEndpoints.url)),
  description: nullable(textJson(webhookEndpoints.description)),
  events: nullable(listJson(webhookEndpoints.events)),
  ordered: rawJson(webhookEndpoints.ordered),
  status: plainJson(webhookEndpoints.status),
  disabledReason: nullable(plainJson(webhookEndpoints.disabledReason)),
  failingSince: nullable(timeJson(webhookEndpoints.failingSince)),
  previousSecretExpiresAt: nullable(timeJson(webhookEndpoints.previousSecretExpiresAt)),
  createdAt: timeJson(webhookEndpoints.createdAt),
  updatedAt: timeJson(webhookEndpoints.updatedAt),
});

/** The owner's newest endpoints. One statement, shared by requests for the same page. */
export const listEndpoints = createList(
  "list_webhook_endpoints",
  { table: webhookEndpoints, id: webhookEndpoints.id, prefix: "whe", item: ITEM },
  { environment: webhookEndpoints.environment, tenantId: webhookEndpoints.tenantId },
);

/** The outcome of a change of an endpoint. */
export type UpdateEndpointOutcome =
  | { kind: "written"; endpoint: WebhookEndpointRecord }
  /** Nothing was written: the endpoint has a version that the change does not accept. */
  | { kind: "unchanged"; endpoint: WebhookEndpointRecord }
  | { kind: "not_found" }
  /** Nothing was written: the caller has changed since its look-up. */
  | { kind: "stale" };

const changeOutcome = (row: { outcome: string | null } | undefined): UpdateEndpointOutcome => {
  const { outcome = null, ...endpoint } = row ?? {};
  const kind = requireKind(outcome, ["written", "unchanged", "not_found", "stale"]);
  const isFound = kind === "written" || kind === "unchanged";
  return isFound ? { kind, endpoint: endpoint as WebhookEndpointRecord } : { kind };
};

const NO_CHANGE = { url: null, description: null, events: null, ordered: null, status: null } satisfies Record<
  keyof UpdateWebhookEndpoint,
  null
>;

/**
 * Changes an endpoint unless `versions` excludes its version, and writes the audit event. Deliveries see the change at their next
 * attempt. One statement.
 */
export const updateEndpoint = async (
  db: Runner,
  id: WebhookEndpointId,
  changes: UpdateWebhookEndpoint,
  { versions }: { versions: readonly string[] | null },
  caller: AnyCaller,
  origin: Origin,
): Promise<UpdateEndpointOutcome> => {
  const { tenantId, environment } = caller;
  const [row] = await callUpdate(db, {
    caller,
    environment,
    id,
    change: { ...NO_CHANGE, ...changes, fields: Object.keys(changes) },
    versions,
    auditEvent: auditEvent("webhook_endpoint.updated", { tenantId, environment, id }, origin),
  });
  return changeOutcome(row);
};

/**
 * Deletes an endpoint unless `versions` excludes its version, and writes the audit event. Its pending deliveries are canceled when
 * they are due. One statement.
 */
export const deleteEndpoint = async (
  db: Runner,
  id: WebhookEndpointId,
  { versions }: { versions: readonly string[] | null },
  caller: AnyCaller,
  origin: Origin,
): Promise<UpdateEndpointOutcome> => {
  const { tenantId, environment } = caller;
  const event = auditEvent("webhook_endpoint.deleted", { tenantId, environment, id }, origin);
  const [row] = await callDelete(db, { caller, environment, id, versions, auditEvent: event });
  return changeOutcome(row);
};

/**
 * Writes the secrets of `rotated` (`rotatedEndpoint` of the domain), its audit event and, with a claim, the response.
 * Also stale when the endpoint has changed since `rotated` was derived from it. One statement.
 */
export const rotateEndpointSecret = async (
  db: Runner,
  rotated: WebhookEndpointRecord,
  caller: AnyCaller,
  origin: Origin,
  claim: Claim | null = null,
): Promise<CreateOutcome<"not_found">> => {
  const event = auditEvent("webhook_endpoint.secret_rotated", rotated, origin);
  const [row] = await callRotate(db, { caller, endpoint: rotated, auditEvent: event, claim });
  return outcomeAmong(row, ["not_found"]);
};

/** Disables an endpoint for the operator, with its audit event and an event for the tenant's other endpoints. One statement. */
export const disableEndpoint = async (
  db: Runner,
  tenantId: TenantId,
  id: WebhookEndpointId,
  origin: Origin,
): Promise<Exclude<UpdateEndpointOutcome, { kind: "stale" }>> => {
  // The environment of the event is that of the endpoint: the function sets it.
  const event = auditEvent("webhook_endpoint.disabled", { tenantId, environment: "live", id }, origin);
  const outcome = changeOutcome((await callDisable(db, { tenantId, id, auditEvent: event }))[0]);
  if (outcome.kind === "stale") throw new TypeError("the operator acts without a look-up");
  return outcome;
};
