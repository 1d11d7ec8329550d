/** The choice of events for an endpoint: types, and groups that include types of later versions. */
import {
  describeEvent,
  eventObject,
  eventTypes,
  WEBHOOK_OBJECTS,
  type WebhookEventGroup,
  type WebhookEventType,
  type WebhookObject,
} from "@realtime-avatar/domain/webhooks/events";

export type Choice = WebhookEventType | WebhookEventGroup;

/** The description of each kind of event. */
export const OBJECT_TEXTS: Record<WebhookObject, string> = {
  api_key: "API keys",
  avatar: "Avatars",
  asset: "Files",
  credits: "Credits",
  usage_session: "Calls",
  video: "Videos",
  recording: "Recordings",
  webhook_endpoint: "Webhook endpoints",
};

/** Describes when events of a type are sent. The text of the domain has code in backticks. */
export const eventText = (type: WebhookEventType): string => describeEvent(type).replaceAll("`", "");

/** The types of each kind that can be chosen. Test events are always sent. */
export const offeredTypes = (object: WebhookObject): WebhookEventType[] =>
  eventTypes(object).filter((type) => type !== "webhook_endpoint.test");

export const eventGroup = (object: WebhookObject): WebhookEventGroup => `${object}.*`;

const OFFERED: Choice[] = WEBHOOK_OBJECTS.flatMap((object) => [eventGroup(object), ...offeredTypes(object)]);

/** Whether the choices include `type` or its group. */
export const includesType = (choices: readonly Choice[], type: WebhookEventType): boolean =>
  choices.includes(type) || choices.includes(eventGroup(eventObject(type)));

/** The choices after `choice` was turned on or off. A group replaces its types. */
export const withChoice = (choices: readonly Choice[], choice: Choice, isOn: boolean): Choice[] => {
  const replaces = (other: Choice): boolean => isOn && choice.endsWith(".*") && other.startsWith(choice.slice(0, -1));
  const known = OFFERED.filter((each) => (each === choice ? isOn : choices.includes(each) && !replaces(each)));
  // An endpoint can have a choice that this page does not offer.
  return [...known, ...choices.filter((each) => !OFFERED.includes(each))];
};
