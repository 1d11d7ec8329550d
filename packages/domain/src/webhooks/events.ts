/** The events that webhooks send. This list makes the schemas, the OpenAPI document, the documents and the dashboard's choices. */

/** What happens to a resource, by the kind of the resource. `<object>.<event>` is the type of the event. */
const EVENTS_OF = {
  api_key: ["created", "updated", "rotated", "revoked", "reported_leaked", "spend_limit_reached", "expiring"],
  avatar: ["created", "updated", "deleted", "prepared", "preparation_failed"],
  asset: ["created", "uploaded", "ready", "failed", "deleted"],
  credits: ["granted", "voided", "adjusted", "limit_changed", "low", "exhausted"],
  usage_session: ["opened", "started", "ended"],
  webhook_endpoint: ["disabled", "test"],
} as const;

export type WebhookObject = keyof typeof EVENTS_OF;
export type WebhookEventType = {
  [Kind in WebhookObject]: `${Kind}.${(typeof EVENTS_OF)[Kind][number]}`;
}[WebhookObject];
export type WebhookEventGroup = `${WebhookObject}.*`;

export const WEBHOOK_OBJECTS = Object.keys(EVENTS_OF) as WebhookObject[];
/** The types of the events of one kind of resource. */
export const typesOf = (kind: WebhookObject): WebhookEventType[] =>
  EVENTS_OF[kind].map((event) => `${kind}.${event}` as WebhookEventType);
export const WEBHOOK_EVENT_TYPES = WEBHOOK_OBJECTS.flatMap(typesOf);
export const WEBHOOK_EVENT_GROUPS = WEBHOOK_OBJECTS.map((kind): WebhookEventGroup => `${kind}.*`);

/** The kind of the resource that an event of `type` is about. */
export const objectOf = (type: WebhookEventType): WebhookObject => type.split(".")[0] as WebhookObject;

/** Whether an endpoint that selects `events` gets events of `type`; null selects all. A test event goes to every endpoint that asks for it. */
export const selectsEvent = (
  events: readonly (WebhookEventType | WebhookEventGroup)[] | null,
  type: WebhookEventType,
): boolean => events === null || events.includes(type) || events.includes(`${objectOf(type)}.*`);
