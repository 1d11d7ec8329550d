/** Webhook endpoints and deliveries for tests. */
import type { AnyCaller } from "@realtime-avatar/db/api-keys/callers";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { insertEndpoint } from "@realtime-avatar/db/webhooks/endpoints";
import {
  type ClaimedDelivery,
  claimDeliveries,
  type DeliveryClaim,
  type DeliveryOutcome,
  type FinishedDelivery,
} from "@realtime-avatar/db/webhooks/sending";
import { newId } from "@realtime-avatar/domain/id";
import { newWebhookEndpoint, type WebhookEndpointRecord } from "@realtime-avatar/domain/webhooks/endpoint";
import type { CreateWebhookEndpoint, DeliveryAttempt } from "@realtime-avatar/domain/webhooks/schemas";
import { random } from "./random-bytes.ts";
import { originOf } from "./seeds.ts";

/** An endpoint of the caller's tenant and environment, not written yet. Its secret is not sealed. */
export const endpointOf = (caller: AnyCaller, fields: Partial<CreateWebhookEndpoint> = {}): WebhookEndpointRecord => {
  const now = new Date();
  const request = { url: "https://example.com/hooks", ...fields };
  const { tenantId, environment } = caller;
  return newWebhookEndpoint(request, { id: newId("whe", now, random), tenantId, environment, secret: random(32), now });
};

/** Writes an endpoint, and returns it. */
export const seedEndpoint = async (
  db: Db,
  caller: AnyCaller,
  fields: Partial<CreateWebhookEndpoint> = {},
): Promise<WebhookEndpointRecord> => {
  const endpoint = endpointOf(caller, fields);
  const { kind } = await insertEndpoint(db, endpoint, caller, originOf(caller));
  if (kind !== "written") throw new Error(`the endpoint was not written: ${kind}`);
  return endpoint;
};

export const newLease = (): string => newId("job", new Date(), random);

/** Claims deliveries with the bounds of a test, and their lease. */
export const claimSome = async (
  db: Db,
  bounds: Partial<DeliveryClaim> = {},
): Promise<(ClaimedDelivery & { lease: string })[]> => {
  const claim = { lease: newLease(), leaseSeconds: 60, limit: 100, perEndpoint: 8, perTenant: 32, ...bounds };
  return (await claimDeliveries(db, claim)).map((delivery) => ({ ...delivery, lease: claim.lease }));
};

export const attemptOf = (status: number): DeliveryAttempt => ({
  at: new Date().toISOString(),
  status,
  error: null,
  durationMs: 1,
  responseBody: "",
});

/** What became of a delivery that was claimed. */
export const finishedOf = (
  { tenantId, id, lease }: Pick<FinishedDelivery, "tenantId" | "id" | "lease">,
  outcome: DeliveryOutcome,
  fields: Partial<FinishedDelivery> = {},
): FinishedDelivery => {
  const status = { delivered: 200, retry: 500, failed: 500, gone: 410 }[outcome];
  const delayMs = outcome === "retry" ? 5000 : null;
  return { tenantId, id, lease, outcome, attempt: attemptOf(status), delayMs, slowMs: null, ...fields };
};
