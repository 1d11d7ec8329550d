/** Webhook endpoints and deliveries for tests. */
import type { AnyCaller } from "@realtime-avatar/db/callers/callers";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { FUNCTIONS_SCHEMA } from "@realtime-avatar/db/functions/schema";
import { insertEndpoint } from "@realtime-avatar/db/webhooks/endpoints";
import {
  type ClaimedDelivery,
  claimDeliveries,
  type DeliveryClaim,
  type DeliveryOutcome,
  type FinishedDelivery,
  finishDeliveries,
} from "@realtime-avatar/db/webhooks/sending";
import { newId } from "@realtime-avatar/domain/id";
import { newWebhookEndpoint, type WebhookEndpointRecord } from "@realtime-avatar/domain/webhooks/endpoint";
import type { WebhookEventType } from "@realtime-avatar/domain/webhooks/events";
import type { CreateWebhookEndpoint, DeliveryAttempt } from "@realtime-avatar/domain/webhooks/schemas";
import type { TestDb } from "../database.ts";
import { random } from "../random-bytes.ts";
import { asOwner, seedOrigin } from "../seeds.ts";

/** An endpoint of the caller's tenant and environment, not written yet. Its secret is not sealed. */
export const plannedEndpoint = (
  caller: AnyCaller,
  fields: Partial<CreateWebhookEndpoint> = {},
): WebhookEndpointRecord => {
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
  const endpoint = plannedEndpoint(caller, fields);
  const { kind } = await insertEndpoint(db, endpoint, caller, seedOrigin(caller));
  if (kind !== "written") throw new Error(`the endpoint was not written: ${kind}`);
  return endpoint;
};

/**
 * Writes `count` events for each of `targets`, in rounds of one event for each target. Each round is one call of
 * `emit_events`: a call with several events of one target repeats its work for each of them.
 */
export const seedEvents = async (
  db: Db,
  { tenantId, environment }: AnyCaller,
  targets: readonly string[],
  count = 1,
  type: WebhookEventType = "avatar.updated",
): Promise<void> => {
  await asOwner(db).run(
    `select ${FUNCTIONS_SCHEMA}.emit_events(array(
       select row($1, $2, $3, target, now())::${FUNCTIONS_SCHEMA}.event from unnest($4::text[]) target
     )) from generate_series(1, $5::integer)`,
    [tenantId, environment, type, targets, count],
  );
};

export const newTarget = (): string => newId("ava", new Date(), random);

/** A delivery that a test has claimed. */
export type HeldDelivery = ClaimedDelivery & { lease: string };

export const newLease = (): string => newId("job", new Date(), random);

/** Claims deliveries with the bounds of a test, and their lease. */
export const claimSome = async (db: Db, bounds: Partial<DeliveryClaim> = {}): Promise<HeldDelivery[]> => {
  const claim = { lease: newLease(), leaseSeconds: 60, limit: 100, perEndpoint: 8, perTenant: 32, ...bounds };
  return (await claimDeliveries(db, claim)).map((delivery) => ({ ...delivery, lease: claim.lease }));
};

export const deliveryAttempt = (status: number): DeliveryAttempt => ({
  at: new Date().toISOString(),
  status,
  error: null,
  durationMs: 1,
  responseBody: "",
});

/** The outcome of a claimed delivery. */
export const finishedDelivery = (
  { tenantId, id, lease, attemptCount }: Pick<FinishedDelivery, "tenantId" | "id" | "lease" | "attemptCount">,
  outcome: DeliveryOutcome,
  fields: Partial<FinishedDelivery> = {},
): FinishedDelivery => {
  const status = { delivered: 200, retry: 500, failed: 500, gone: 410 }[outcome];
  const delayMs = outcome === "retry" ? 5000 : null;
  const held = { tenantId, id, lease, attemptCount };
  return { ...held, outcome, attempt: deliveryAttempt(status), delayMs, slowMs: null, ...fields };
};

/** The operations of a test on the queue of its database. */
export const testQueue = (db: TestDb) => ({
  clear: async (): Promise<void> => {
    await db.client`truncate webhook_deliveries, webhook_events, webhook_endpoints, webhook_turns, webhook_hosts`;
  },
  /** Claims the one delivery that is due. */
  claimOne: async (): Promise<HeldDelivery> => {
    const [delivery, ...others] = await claimSome(db);
    if (!delivery || others.length > 0) throw new Error(`${delivery ? others.length + 1 : "no"} deliveries are due`);
    return delivery;
  },
  finish: (
    deliveries: readonly HeldDelivery[],
    outcome: DeliveryOutcome,
    fields: Partial<FinishedDelivery> = {},
  ): Promise<number> =>
    finishDeliveries(
      db,
      deliveries.map((delivery) => finishedDelivery(delivery, outcome, fields)),
      seedOrigin(),
    ),
  /** Lets all leases run out, and ends all pauses. */
  passTime: async (): Promise<void> => {
    await db.client`
      update webhook_deliveries set next_attempt_at = now() - interval '1 second',
        leased_until = case when lease is not null then now() - interval '1 second' end
      where status = 'pending'`;
  },
  /** How many deliveries have each status. */
  statuses: async (): Promise<Record<string, number>> => {
    const rows = await db.client<{ status: string; count: number }[]>`
      select status || case when waits then ' waits' else '' end as status, count(*)::integer as count
      from webhook_deliveries group by 1`;
    return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
  },
});
