/**
 * The events that webhooks send. The schemas, the OpenAPI document, the documents and the choices in the dashboard are
 * generated from this list.
 */

/** The events of each kind of resource, and when they are sent: `<object>.<event>` is the type of the event. */
const EVENTS_OF = {
  api_key: {
    created: "A key was created.",
    updated: "The name, the scopes or the limits of a key were changed.",
    rotated: "A key got a new secret.",
    revoked: "A key was revoked, with its descendants.",
    reported_leaked: "A key was revoked, because its secret was reported as leaked.",
    spend_limit_reached: "A key has spent 80 % of its spend cap, or all of it. Sent once for each.",
    expiring: "A key expires in seven days, or in one day. Sent once for each.",
  },
  avatar: {
    created: "An avatar was created.",
    updated: "An avatar was changed, or its preparation was started again.",
    deleted: "An avatar was deleted.",
    prepared: "A preparation has succeeded: the avatar is `ready`, or has new data.",
    preparation_failed: "A preparation has failed; `error` and `checks` say why.",
  },
  asset: {
    created: "An asset was created.",
    uploaded: "The file of an asset has arrived, and is examined next.",
    ready: "The file of an asset was examined, and can be used.",
    failed: "The file of an asset was refused, or did not arrive; `error` says why.",
    deleted: "An asset was deleted.",
  },
  credits: {
    granted: "The operator has granted credits.",
    voided: "The operator has voided credits.",
    adjusted: "The operator has adjusted what a session was charged.",
    limit_changed: "The limit of open sessions, or the threshold of `credits.low`, was changed.",
    low: "The available credits fell below the threshold of the tenant. Sent once until they rise above it.",
    exhausted: "A session was refused for lack of credits. Sent once an hour at most.",
  },
  usage_session: {
    opened: "A session was opened; it holds credits.",
    started: "The first usage of a session was reported.",
    ended: "A session has ended, and was charged.",
  },
  video: {
    ready: "A video was rendered: `assetId` names its file.",
    failed: "A video has failed, and was not charged; `error` says why.",
  },
  recording: {
    ready: "The file of a recording of a call can be read.",
    failed: "A recording of a call has failed; `errorCode` says why.",
  },
  webhook_endpoint: {
    disabled:
      "Another endpoint was disabled: it responded with 410, failed for five days, or was stopped by the operator.",
    test: "You have asked for a test of the endpoint.",
  },
} as const;

type EventsOf = typeof EVENTS_OF;
export type WebhookObject = keyof EventsOf;
export type WebhookEventType = {
  [Kind in WebhookObject]: `${Kind}.${keyof EventsOf[Kind] & string}`;
}[WebhookObject];
export type WebhookEventGroup = `${WebhookObject}.*`;

export const WEBHOOK_OBJECTS = Object.keys(EVENTS_OF) as WebhookObject[];
/** The types of the events of one kind of resource. */
export const eventTypes = (kind: WebhookObject): WebhookEventType[] =>
  Object.keys(EVENTS_OF[kind]).map((event) => `${kind}.${event}` as WebhookEventType);
export const WEBHOOK_EVENT_TYPES = WEBHOOK_OBJECTS.flatMap(eventTypes);
export const WEBHOOK_EVENT_GROUPS = WEBHOOK_OBJECTS.map((kind): WebhookEventGroup => `${kind}.*`);

/** The kind of the resource of an event of `type`. */
export const eventObject = (type: WebhookEventType): WebhookObject => type.split(".")[0] as WebhookObject;

/** When an event of `type` is sent. */
export const describeEvent = (type: WebhookEventType): string => {
  const kind = eventObject(type);
  return (EVENTS_OF[kind] as Record<string, string>)[type.slice(kind.length + 1)] as string;
};

/** Whether an endpoint that selects `events` gets events of `type`; null selects all. A test event goes to every endpoint that asks for it. */
export const selectsEvent = (
  events: readonly (WebhookEventType | WebhookEventGroup)[] | null,
  type: WebhookEventType,
): boolean => events === null || events.includes(type) || events.includes(`${eventObject(type)}.*`);
