/** The request and response schemas of webhook endpoints and deliveries. */
import { type Static, type TObject, type TSchema, Type } from "@sinclair/typebox";
import { ApiKey } from "../api-keys/schemas.ts";
import { Asset, REMOTE_URL_PATTERN } from "../assets/schemas.ts";
import { Avatar } from "../avatars/schemas.ts";
import { CreditBalance, UsageSession } from "../credits/schemas.ts";
import { ENVIRONMENTS } from "../environment.ts";
import { ShownName } from "../lists/names.ts";
import { defineList, PAGE_LIMITS, Page, TOTAL_FIELD } from "../page.ts";
import { Recording } from "../recordings/schemas.ts";
import { ClosedObject, Count, DateTime, Nullable, OneOf, Text } from "../schema.ts";
import { MAX_DESCRIPTION_LENGTH, MAX_URL_LENGTH } from "../text.ts";
import { Video } from "../videos/schemas.ts";
import { eventTypes, WEBHOOK_EVENT_GROUPS, WEBHOOK_EVENT_TYPES, type WebhookObject } from "./events.ts";

/** The maximum number of endpoints of a tenant in one environment. */
export const MAX_ENDPOINTS = 16;
/** How long the previous secret also signs after a rotation. */
export const ROTATION_OVERLAP_SECONDS = 24 * 3600;
/** How long deliveries are kept. */
export const DELIVERY_DAYS = 30;
/** The maximum number of deliveries that a recovery counts. */
export const MAX_RECOVERED = 50_000;

const id = Text({ minLength: 1, maxLength: 64 });

export const ENDPOINT_STATUSES = ["enabled", "disabled"] as const;
export type EndpointStatus = (typeof ENDPOINT_STATUSES)[number];

/**
 * The reasons for which an endpoint is disabled. `requested`: by a change. `gone`: it responded with 410. `failing`: it
 * failed for five days without a success. `operator`: by the operator.
 */
export const DISABLED_REASONS = ["requested", "gone", "failing", "operator"] as const;

const URL_TEXT =
  "The https URL that receives events, on port 443 or 8443, without credentials, in ASCII. Its host is a public name, not an address.";

const fields = {
  /**
   * `webhookUrlErrors` tests the pattern, and rules that a pattern cannot express. In development, http on localhost is
   * also allowed.
   */
  url: Type.Unsafe<string>({
    ...Text({ minLength: 1, maxLength: MAX_URL_LENGTH, description: URL_TEXT }),
    pattern: REMOTE_URL_PATTERN,
  }) as ReturnType<typeof Text>,
  description: Text({
    minLength: 1,
    maxLength: MAX_DESCRIPTION_LENGTH,
    description: "Your description of the endpoint.",
  }),
  events: Type.Array(OneOf([...WEBHOOK_EVENT_TYPES, ...WEBHOOK_EVENT_GROUPS]), {
    minItems: 1,
    maxItems: 64,
    description: "Event types, or groups of them such as `avatar.*`.",
  }),
  ordered: Type.Boolean({
    description:
      "Whether an event waits until the earlier events of the same resource were delivered or have failed. Otherwise order is not promised: compare `sequence`.",
  }),
  status: OneOf(ENDPOINT_STATUSES),
};

/** The events that an endpoint selects. */
export type WebhookEventSelection = Static<typeof fields.events>;

/** The body of a request that has no fields. */
export const NoFields = ClosedObject({});

export const CreateWebhookEndpoint = ClosedObject({
  /** Null: nothing is sent; a program reads the deliveries and forwards them (`webhooks listen`). */
  url: Nullable(fields.url),
  description: Type.Optional(Nullable(fields.description)),
  events: Type.Optional(Nullable(fields.events)),
  ordered: Type.Optional(fields.ordered),
});
export type CreateWebhookEndpoint = Static<typeof CreateWebhookEndpoint>;

export const UpdateWebhookEndpoint = ClosedObject(
  {
    url: Type.Optional(fields.url),
    description: Type.Optional(Nullable(fields.description)),
    events: Type.Optional(Nullable(fields.events)),
    ordered: Type.Optional(fields.ordered),
    status: Type.Optional(fields.status),
  },
  { minProperties: 1 },
);
export type UpdateWebhookEndpoint = Static<typeof UpdateWebhookEndpoint>;

export const WebhookEndpoint = ClosedObject({
  id,
  tenantId: id,
  environment: OneOf(ENVIRONMENTS),
  url: Nullable(Text({ minLength: 1, maxLength: MAX_URL_LENGTH }), {
    description: "Null: deliveries are read, not sent.",
  }),
  description: Nullable(fields.description),
  events: Nullable(fields.events, { description: "Null: all." }),
  ordered: fields.ordered,
  status: fields.status,
  disabledReason: Nullable(OneOf(DISABLED_REASONS), { description: "Null while the endpoint is enabled." }),
  failingSince: Nullable(DateTime(), {
    description: "Time of the first failed attempt after the last success. After five days the endpoint is disabled.",
  }),
  previousSecretExpiresAt: Nullable(DateTime(), {
    description: "Until this time, the secret before the last rotation signs as well; null without such a secret.",
  }),
  createdAt: DateTime(),
  updatedAt: DateTime(),
});
export type WebhookEndpoint = Static<typeof WebhookEndpoint>;

/** An endpoint with its secret, which only its creation and its rotation show. */
export const WebhookEndpointWithSecret = ClosedObject({
  ...WebhookEndpoint.properties,
  secret: Text({ minLength: 1, maxLength: 64, description: "Verifies deliveries. Shown once." }),
});
export type WebhookEndpointWithSecret = Static<typeof WebhookEndpointWithSecret>;

export const WEBHOOK_ENDPOINT_LIST = defineList("whe", {});
export const WebhookEndpointPage = Page(WebhookEndpoint);

/** `canceled`: its endpoint was disabled, deleted or changed before it was sent. `failed`: no attempt is left. */
export const DELIVERY_STATUSES = ["pending", "delivered", "failed", "canceled"] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** The reasons why an attempt has no status: classes of errors, never texts from the network. */
export const ATTEMPT_ERRORS = [
  "host_not_found",
  "host_not_public",
  "invalid_url",
  "connection_failed",
  "certificate_not_valid",
  "invalid_response",
  "timed_out",
] as const;
export type AttemptError = (typeof ATTEMPT_ERRORS)[number];

/** How many bytes of a response an attempt stores. */
export const MAX_RESPONSE_BYTES = 512;
/** How many attempts a delivery shows, the newest ones. */
export const MAX_ATTEMPTS_SHOWN = 20;

export const DeliveryAttempt = ClosedObject({
  at: DateTime(),
  status: Nullable(Count({ minimum: 100, maximum: 999 }), { description: "The status of the response." }),
  error: Nullable(Text({ minLength: 1, maxLength: 64 }), {
    description: `Why there is no response: one of ${ATTEMPT_ERRORS.join(", ")}. Later versions may add others.`,
  }),
  durationMs: Count({ description: "Milliseconds until the response, or until the attempt was given up." }),
  responseBody: Nullable(Text({ minLength: 0, maxLength: MAX_RESPONSE_BYTES }), {
    description: `The first ${MAX_RESPONSE_BYTES} bytes of the response as text.`,
  }),
});
export type DeliveryAttempt = Static<typeof DeliveryAttempt>;

export const WebhookDelivery = ClosedObject({
  id,
  tenantId: id,
  environment: OneOf(ENVIRONMENTS),
  endpointId: id,
  eventId: id,
  eventType: OneOf(WEBHOOK_EVENT_TYPES),
  targetId: { ...id, description: "Id of the resource that the event is about." } as typeof id,
  targetName: ShownName("the resource"),
  sequence: Count({ minimum: 1, description: "Grows with each event of that resource." }),
  status: OneOf(DELIVERY_STATUSES),
  attempts: Type.Array(DeliveryAttempt, {
    minItems: 0,
    maxItems: MAX_ATTEMPTS_SHOWN,
    description: "The newest attempts, the oldest of them first.",
  }),
  nextAttemptAt: Nullable(DateTime(), { description: "Null unless `pending`." }),
  body: Nullable(Text({ minLength: 0, maxLength: 1024 * 1024 }), {
    description: "The body as it is sent. Null before the first attempt.",
  }),
  createdAt: DateTime(),
});
export type WebhookDelivery = Static<typeof WebhookDelivery>;

export const WEBHOOK_DELIVERY_LIST = defineList(
  "whd",
  {
    endpointId: Type.Optional(id),
    status: Type.Optional(OneOf(DELIVERY_STATUSES)),
    eventType: Type.Optional(OneOf(WEBHOOK_EVENT_TYPES)),
    targetId: Type.Optional(id),
  },
  PAGE_LIMITS,
  { hasTotal: true },
);
export const WebhookDeliveryPage = Page(WebhookDelivery, { head: TOTAL_FIELD });

export const RecoverDeliveries = ClosedObject({
  since: DateTime({
    description: `Deliveries from then on that have failed, were canceled or wait for another attempt are sent again. At most ${DELIVERY_DAYS} days ago: older ones are not kept.`,
  }),
});
export type RecoverDeliveries = Static<typeof RecoverDeliveries>;
export const RecoveredDeliveries = ClosedObject({
  recovered: Count({
    maximum: MAX_RECOVERED,
    description: `Deliveries that are sent again, one after another. Counted up to ${MAX_RECOVERED}.`,
  }),
  pausedUntil: Nullable(DateTime(), {
    description: "Time of the next attempt after failed ones; null if the next attempt is made at once.",
  }),
  nextRecoveryAt: DateTime({ description: "When the endpoint can be recovered again." }),
});
export type RecoveredDeliveries = Static<typeof RecoveredDeliveries>;

/** The body of an event about a resource of one kind. */
const eventOf = <Resource extends TSchema>(object: WebhookObject, resource: Resource) =>
  ClosedObject({
    id: {
      ...id,
      description: "Id of the event: the same for each endpoint and attempt, and the `webhook-id`.",
    } as typeof id,
    type: OneOf(eventTypes(object)),
    timestamp: DateTime({ description: "When it happened." }),
    data: ClosedObject({
      id: { ...id, description: "Id of the resource." } as typeof id,
      object: OneOf([object]),
      sequence: Count({ minimum: 1, description: "Grows with each event of this resource." }),
      resource,
    }),
  });

export const ApiKeyEvent = eventOf("api_key", ApiKey);
export const AvatarEvent = eventOf("avatar", Avatar);
export const AssetEvent = eventOf("asset", Asset);
export const CreditsEvent = eventOf("credits", CreditBalance);
export const UsageSessionEvent = eventOf("usage_session", UsageSession);
export const VideoEvent = eventOf("video", Video);
export const RecordingEvent = eventOf("recording", Recording);
export const WebhookEndpointEvent = eventOf(
  "webhook_endpoint",
  Nullable(WebhookEndpoint, { description: "Null when the endpoint was deleted before the event was sent." }),
);

/**
 * The body of an event, by the kind of its resource. The resource is as the API returns it at the time of the first
 * attempt, without secrets.
 */
export const WEBHOOK_EVENTS = {
  api_key: ApiKeyEvent,
  avatar: AvatarEvent,
  asset: AssetEvent,
  credits: CreditsEvent,
  usage_session: UsageSessionEvent,
  video: VideoEvent,
  recording: RecordingEvent,
  webhook_endpoint: WebhookEndpointEvent,
} as const satisfies Record<WebhookObject, TObject>;
export type WebhookEvent = { [Kind in WebhookObject]: Static<(typeof WEBHOOK_EVENTS)[Kind]> }[WebhookObject];
