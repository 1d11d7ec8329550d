/** The `webhooks` of the OpenAPI document: each event in the form that a receiver gets. */
import {
  describeEvent,
  eventObject,
  WEBHOOK_EVENT_TYPES,
  type WebhookEventType,
} from "@realtime-avatar/domain/webhooks/events";
import { WEBHOOK_EVENTS, type WebhookEvent } from "@realtime-avatar/domain/webhooks/schemas";
import { type Json, ref, schemaJson } from "./components.ts";
import { EXAMPLES } from "./examples.ts";

const header = (name: string, description: string, example: string, pattern: string): Json => ({
  name,
  in: "header",
  required: true,
  description,
  schema: { type: "string", pattern },
  example,
});

/**
 * The headers of Standard Webhooks 1.0 (github.com/standard-webhooks/standard-webhooks). Inline, not under `components`: see
 * `operationOf`.
 */
const PARAMETERS: Json[] = [
  header(
    "webhook-id",
    "Id of the event, the same for each attempt. A receiver must ignore events that it has already handled.",
    "evt_01h455vb4pex5vsknk084sn02q",
    "^evt_[0-9a-z]{26}$",
  ),
  header(
    "webhook-timestamp",
    "When the attempt was signed, in seconds since 1970. A receiver refuses one that is more than five minutes off.",
    "1795176000",
    "^[0-9]+$",
  ),
  header(
    "webhook-signature",
    "HMAC-SHA-256 over id, timestamp and body, in base64 after `v1,`. For 24 hours after a rotation there are two, separated by a space.",
    "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
    "^v1,[A-Za-z0-9+/]{43}=( v1,[A-Za-z0-9+/]{43}=)?$",
  ),
];

/**
 * A tag for webhooks only: generators write a class for each tag, and would otherwise mix these requests with those of
 * a client.
 */
export const EVENTS_TAG = {
  name: "Webhook events",
  description: "The requests that your endpoints receive, one for each type of event.",
};

/** The responses of a receiver. */
export const WEBHOOK_RESPONSES: Record<string, Json> = {
  WebhookReceived: { description: "The event was received. Only the first 512 bytes of the body are stored." },
  WebhookGone: { description: "The receiver wants no more events: the endpoint is disabled." },
  WebhookTooMany: { description: "The receiver wants fewer requests for a while. `Retry-After` is respected." },
  WebhookNotReceived: { description: "The event was not received. It is sent again, up to ten times within 75 hours." },
};

const suffix = "01h455vb4pex5vsknk084sn02q";
const RESOURCES = {
  api_key: { id: EXAMPLES.ApiKey.id, resource: EXAMPLES.ApiKey },
  avatar: { id: EXAMPLES.Avatar.id, resource: EXAMPLES.Avatar },
  asset: { id: EXAMPLES.Asset.id, resource: EXAMPLES.Asset },
  credits: { id: EXAMPLES.CreditBalance.tenantId, resource: EXAMPLES.CreditBalance },
  video: { id: EXAMPLES.Video.id, resource: EXAMPLES.Video },
  recording: { id: EXAMPLES.Recording.recordingId, resource: EXAMPLES.Recording },
  usage_session: { id: EXAMPLES.UsageSession.sessionId, resource: EXAMPLES.UsageSession },
  webhook_endpoint: { id: EXAMPLES.WebhookEndpoint.id, resource: EXAMPLES.WebhookEndpoint },
};

const exampleOf = (type: WebhookEventType) => {
  const object = eventObject(type);
  const { id, resource } = RESOURCES[object];
  const data = { id, object, sequence: 1, resource };
  return { id: `evt_${suffix}`, type, timestamp: "2026-11-20T12:00:00.000Z", data } as WebhookEvent;
};

/** Converts `avatar.preparation_failed` to `AvatarPreparationFailed`. */
const pascal = (type: WebhookEventType): string =>
  type.replace(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase());

const operationOf = (type: WebhookEventType): Json => {
  // These schemas are inline as well: oapi-codegen omits components that only webhooks refer to. Its output then does
  // not compile.
  const schema = schemaJson(WEBHOOK_EVENTS[eventObject(type)]);
  return {
    post: {
      operationId: `on${pascal(type)}`,
      summary: type,
      description: describeEvent(type),
      tags: [EVENTS_TAG.name],
      // The signature authenticates the sender.
      security: [],
      parameters: PARAMETERS,
      requestBody: { required: true, content: { "application/json": { schema, example: exampleOf(type) } } },
      responses: {
        "2XX": ref("responses", "WebhookReceived"),
        410: ref("responses", "WebhookGone"),
        429: ref("responses", "WebhookTooMany"),
        default: ref("responses", "WebhookNotReceived"),
      },
    },
  };
};

export const describeWebhooks = (): Json =>
  Object.fromEntries(WEBHOOK_EVENT_TYPES.map((type) => [type, operationOf(type)]));
