/** Deliveries as the worker sends them: claims, bodies and outcomes. */
import type { Environment } from "@realtime-avatar/domain/environment";
import {
  firstIdAt,
  newId,
  type TenantId,
  type WebhookDeliveryId,
  type WebhookEndpointId,
  type WebhookEventId,
} from "@realtime-avatar/domain/id";
import type { WebhookEventType } from "@realtime-avatar/domain/webhooks/events";
import { keptSince } from "@realtime-avatar/domain/webhooks/schedule";
import type { DeliveryAttempt } from "@realtime-avatar/domain/webhooks/schemas";
import {
  claimDeliveries as callClaim,
  finishDeliveries as callFinish,
  freezeBodies as callFreeze,
  sweepDeliveries as callSweep,
  countWebhookDeliveries,
} from "../../generated/functions.ts";
import type { Origin } from "../audit/audit-events.ts";
import type { Runner } from "../connection/batch.ts";
import { DatabaseError } from "../connection/errors.ts";
import { pauseBeforeRetry } from "../query/retry-while-stale.ts";

/** A delivery that a worker holds until its lease ends, with its content and its target. */
export type ClaimedDelivery = {
  tenantId: TenantId;
  environment: Environment;
  id: WebhookDeliveryId;
  endpointId: WebhookEndpointId;
  eventId: WebhookEventId;
  eventType: WebhookEventType;
  targetId: string;
  sequence: number;
  eventCreatedAt: Date;
  /** Null before the first attempt of the event: `freezeBodies` stores it. */
  body: string | null;
  /** Attempts since it was queued. */
  attemptCount: number;
  /** Null: nothing is sent. */
  url: string | null;
  /** Sealed. */
  secret: Uint8Array;
  /** Sealed; null when only `secret` signs. */
  previousSecret: Uint8Array | null;
};

export type DeliveryClaim = {
  /** Different for each claim. */
  lease: string;
  leaseSeconds: number;
  /** The maximum number of deliveries to claim. */
  limit: number;
  /** The maximum numbers of deliveries of an endpoint, and of a tenant, that all workers together hold at once. */
  perEndpoint: number;
  perTenant: number;
};

/**
 * Claims due deliveries; tenants and their endpoints take turns. Cancels deliveries whose endpoint is deleted, disabled
 * or no longer selects them. One statement.
 */
export const claimDeliveries = async (db: Runner, claim: DeliveryClaim): Promise<ClaimedDelivery[]> => {
  const rows = await callClaim(db, claim);
  return rows.map((row) => ({ ...row, sequence: Number(row.sequence) }) as ClaimedDelivery);
};

/**
 * Stores the body of each event without a body. Returns the stored bodies, in the same order. The first stored body of
 * an event remains. One statement.
 */
export const freezeBodies = async (
  db: Runner,
  bodies: readonly { tenantId: TenantId; eventId: WebhookEventId; body: string }[],
): Promise<string[]> => {
  const rows = await callFreeze(db, {
    tenantIds: bodies.map(({ tenantId }) => tenantId),
    eventIds: bodies.map(({ eventId }) => eventId),
    bodies: bodies.map(({ body }) => body),
  });
  // An event is stored as long as one of its deliveries exists.
  return rows.map(({ result }) => result as string);
};

/**
 * The outcome of a delivery. `gone`: the receiver responded with 410; the delivery has failed, and its endpoint is
 * disabled.
 */
export type DeliveryOutcome = "delivered" | "retry" | "failed" | "gone";

export type FinishedDelivery = {
  tenantId: TenantId;
  id: WebhookDeliveryId;
  /** The lease of its claim. With another lease, the delivery belongs to another worker, and nothing is written. */
  lease: string;
  /** The count at the claim. */
  attemptCount: number;
  /** Null: nothing was sent. */
  attempt: DeliveryAttempt | null;
  outcome: DeliveryOutcome;
  /** For `retry`: the time until the next attempt. */
  delayMs: number | null;
  /** The pause for its endpoint; null: no pause. */
  slowMs: number | null;
};

/** Whether another transaction held a delivery to unpark. Then nothing was written. See `unpark_deliveries.sql`. */
const isHeldElsewhere = (error: unknown): boolean => error instanceof DatabaseError && error.code === "40001";

/**
 * Records the outcomes of deliveries, and returns how many of them were still held. Disables an endpoint that responded
 * with 410, or has failed for five days without a success. One statement, repeated while another transaction holds a
 * delivery that must be unparked. Throws the problem `unavailable` after 20 attempts.
 */
export const finishDeliveries = async (
  db: Runner,
  deliveries: readonly FinishedDelivery[],
  { requestId, now, random }: Origin,
): Promise<number> => {
  const finished = deliveries.map((delivery) => ({
    ...delivery,
    attempt: delivery.attempt && JSON.stringify(delivery.attempt),
  }));
  const auditEventIds = deliveries.map(() => newId("aud", now, random));
  for (let attempts = 1; ; attempts++) {
    try {
      const [row] = await callFinish(db, { finished, auditEventIds, requestId, createdAt: now });
      return row?.result ?? 0;
    } catch (error) {
      if (!isHeldElsewhere(error)) throw error;
    }
    await pauseBeforeRetry(attempts);
  }
};

/**
 * Deletes up to `limit` deliveries that are older than 30 days and not pending, with the events that no delivery needs.
 * Skips locked deliveries. Returns the number of deleted deliveries. One statement.
 */
export const sweepDeliveries = async (db: Runner, limit: number, now: Date): Promise<number> => {
  const firstKeptId = firstIdAt("whd", keptSince(now));
  const [row] = await callSweep(db, { limit, firstKeptId });
  return row?.result ?? 0;
};

export type WebhookStats = {
  /** Deliveries that are due, counted up to 10,000. */
  due: number;
  /** Deliveries that are not sent yet, counted up to 10,000. */
  pending: number;
  /**
   * How long the oldest delivery has been due, among the endpoints that have no delivery under way and no pause; 0
   * without one. An endpoint that is slower than its events delays only itself, so it needs no alert.
   */
  oldestDueSeconds: number;
  /** Endpoints that are disabled, counted up to 10,000. */
  disabledEndpoints: number;
};

/** The state of the queue. One statement that reads a bounded number of rows. */
export const webhookStats = async (db: Runner): Promise<WebhookStats> => {
  const [row] = await countWebhookDeliveries(db, {});
  return {
    due: Number(row?.due),
    pending: Number(row?.pending),
    oldestDueSeconds: row?.oldestDueSeconds ?? 0,
    disabledEndpoints: Number(row?.disabledEndpoints),
  };
};
