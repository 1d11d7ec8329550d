/** Examples of the bodies of webhook endpoints and deliveries. */
import type {
  CreateWebhookEndpoint,
  DeliveryAttempt,
  RecoverDeliveries,
  RecoveredDeliveries,
  UpdateWebhookEndpoint,
  WebhookDelivery,
  WebhookEndpoint,
  WebhookEndpointWithSecret,
} from "@realtime-avatar/domain/webhooks/schemas";

const suffix = "01h455vb4pex5vsknk084sn02q";
const time = "2026-11-20T12:00:00.000Z";
/** Well-formed, but not the secret of an endpoint: 32 bytes of zero. */
const secret = `whsec_${"A".repeat(43)}=`;

const endpoint: WebhookEndpoint = {
  id: `whe_${suffix}`,
  tenantId: `ten_${suffix}`,
  environment: "live",
  url: "https://www.example.com/hooks",
  description: "Tells users that their avatar is ready.",
  events: ["avatar.*", "usage_session.ended"],
  ordered: false,
  status: "enabled",
  disabledReason: null,
  failingSince: null,
  previousSecretExpiresAt: null,
  createdAt: time,
  updatedAt: time,
};

const attempt: DeliveryAttempt = { at: time, status: 204, error: null, durationMs: 84, responseBody: "" };

const delivery: WebhookDelivery = {
  id: `whd_${suffix}`,
  tenantId: `ten_${suffix}`,
  environment: "live",
  endpointId: endpoint.id,
  eventId: `evt_${suffix}`,
  eventType: "webhook_endpoint.test",
  targetId: endpoint.id,
  targetName: endpoint.description,
  sequence: 1,
  status: "delivered",
  attempts: [attempt],
  nextAttemptAt: null,
  body: `{"id":"evt_${suffix}","type":"webhook_endpoint.test","timestamp":"${time}","data":{…}}`,
  createdAt: time,
};

const page = <Item>(item: Item) => ({ data: [item], nextCursor: null });

/** The examples, by the name of the schema in the document. */
export const WEBHOOK_EXAMPLES = {
  CreateWebhookEndpoint: {
    url: "https://www.example.com/hooks",
    description: "Tells users that their avatar is ready.",
    events: ["avatar.*", "usage_session.ended"],
  } satisfies CreateWebhookEndpoint,
  NoFields: {},
  RecoverDeliveries: { since: "2026-11-19T12:00:00.000Z" } satisfies RecoverDeliveries,
  RecoveredDeliveries: {
    recovered: 17,
    pausedUntil: null,
    nextRecoveryAt: "2026-11-20T12:01:00.000Z",
  } satisfies RecoveredDeliveries,
  UpdateWebhookEndpoint: { events: ["avatar.*"], ordered: true } satisfies UpdateWebhookEndpoint,
  WebhookDelivery: delivery,
  WebhookDeliveryPage: page(delivery),
  WebhookEndpoint: endpoint,
  WebhookEndpointPage: page(endpoint),
  WebhookEndpointWithSecret: { ...endpoint, secret } satisfies WebhookEndpointWithSecret,
};
