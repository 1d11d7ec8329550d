/** Webhook endpoints for tests, and the events and deliveries of a tenant. */
import type { Environment } from "@realtime-avatar/domain/environment";
import { newId, type TenantId, type WebhookEndpointId } from "@realtime-avatar/domain/id";
import type { WebhookEventGroup, WebhookEventType } from "@realtime-avatar/domain/webhooks/events";
import type { TestDb } from "../database.ts";
import { random } from "../random-bytes.ts";

type Endpoint = { environment: Environment; events: (WebhookEventType | WebhookEventGroup)[] | null; status: string };

/** Writes an endpoint to which nothing is sent: by default enabled, in live, for all events. */
export const seedEndpoint = async (
  { client }: TestDb,
  tenantId: TenantId,
  changes: Partial<Endpoint> = {},
): Promise<WebhookEndpointId> => {
  const { environment, events, status }: Endpoint = {
    environment: "live",
    events: null,
    status: "enabled",
    ...changes,
  };
  const id = newId("whe", new Date(), random);
  await client`
    insert into webhook_endpoints (
      tenant_id, id, environment, events, status, disabled_reason, secret, version, created_at, updated_at
    )
    values (
      ${tenantId}, ${id}, ${environment}, ${events}, ${status}, ${status === "disabled" ? "requested" : null}, '\\x00', 1,
      now(), now()
    )`;
  return id;
};

/** The events of a tenant, each as `<type> <target> <sequence>`, sorted by target and sequence. */
export const readEventTypes = async ({ client }: TestDb, tenantId: TenantId): Promise<string[]> => {
  const rows = await client<{ type: string; targetId: string; sequence: string }[]>`
    select type, target_id as "targetId", sequence from webhook_events where tenant_id = ${tenantId}
    order by target_id, sequence`;
  return rows.map(({ type, targetId, sequence }) => `${type} ${targetId} ${sequence}`);
};

/** The types of the events of a tenant about a target, in their order. */
export const deliveredTypes = async (db: TestDb, tenantId: TenantId, targetId: string): Promise<string[]> =>
  (await readEventTypes(db, tenantId))
    .map((event) => event.split(" "))
    .flatMap(([type = "", id]) => (id === targetId ? [type] : []));

/** The deliveries of a tenant, each as `<endpoint> <type> <target>`, sorted. */
export const readDeliveries = async ({ client }: TestDb, tenantId: TenantId): Promise<string[]> => {
  const rows = await client<{ text: string }[]>`
    select endpoint_id || ' ' || event_type || ' ' || target_id as text from webhook_deliveries where tenant_id = ${tenantId}`;
  return rows.map(({ text }) => text).sort();
};
