/** The bodies of events. A body contains the resource as the API presents it at that time. */
import { findApiKey } from "@realtime-avatar/db/api-keys/api-keys";
import { findAsset } from "@realtime-avatar/db/assets/assets";
import { findAvatar } from "@realtime-avatar/db/avatars/avatars";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { findCreditBalance } from "@realtime-avatar/db/credits/credits";
import { findUsageSession } from "@realtime-avatar/db/credits/find-usage-session";
import { findRecording } from "@realtime-avatar/db/recordings/recordings";
import { findVideo } from "@realtime-avatar/db/videos/videos";
import { findEndpoint } from "@realtime-avatar/db/webhooks/endpoints";
import { type ClaimedDelivery, freezeBodies } from "@realtime-avatar/db/webhooks/sending";
import { presentApiKey } from "@realtime-avatar/domain/api-keys/api-key";
import { assetText, presentAsset } from "@realtime-avatar/domain/assets/asset";
import { avatarText, presentAvatar } from "@realtime-avatar/domain/avatars/avatar";
import { emptyBalance } from "@realtime-avatar/domain/credits/balance";
import { UsageSession } from "@realtime-avatar/domain/credits/schemas";
import type {
  ApiKeyId,
  AssetId,
  AvatarId,
  RecordingId,
  SessionId,
  VideoId,
  WebhookEndpointId,
} from "@realtime-avatar/domain/id";
import { presentAs } from "@realtime-avatar/domain/present";
import { videoText } from "@realtime-avatar/domain/videos/video";
import { presentWebhookEndpoint } from "@realtime-avatar/domain/webhooks/endpoint";
import { eventObject, type WebhookObject } from "@realtime-avatar/domain/webhooks/events";

/** A delivery with the body of its event. */
export type ReadyDelivery = ClaimedDelivery & { body: string };

/** An event without a body. */
export type EventToShow = Pick<
  ClaimedDelivery,
  "tenantId" | "environment" | "eventId" | "eventType" | "targetId" | "sequence" | "eventCreatedAt"
>;

/**
 * Reads the resource of an event: its compact JSON, without secrets. Null when it no longer exists. Concurrent reads of
 * a kind share statements.
 */
type Read = (db: Db, event: EventToShow, assetOrigin: string) => Promise<string | null>;

const shown = <Resource>(resource: Resource | null, text: (resource: Resource) => string): string | null =>
  resource === null ? null : text(resource);

const READS: Record<WebhookObject, Read> = {
  api_key: async (db, { tenantId, targetId }) =>
    shown(await findApiKey(db, tenantId, targetId as ApiKeyId), (key) => JSON.stringify(presentApiKey(key))),
  avatar: async (db, event, assetOrigin) =>
    shown(await findAvatar(db, event, event.targetId as AvatarId), (avatar) =>
      avatarText(presentAvatar(avatar, assetOrigin)),
    ),
  asset: async (db, event, assetOrigin) =>
    shown(await findAsset(db, event, event.targetId as AssetId), (asset) =>
      assetText(presentAsset(asset, assetOrigin)),
    ),
  credits: async (db, event) => {
    const { tenantId, environment, eventCreatedAt } = event;
    return JSON.stringify((await findCreditBalance(db, tenantId, environment)) ?? emptyBalance(event, eventCreatedAt));
  },
  usage_session: async (db, event) =>
    shown(await findUsageSession(db, event, event.targetId as SessionId), (session) =>
      JSON.stringify(presentAs(UsageSession, session)),
    ),
  video: async (db, event, assetOrigin) =>
    shown(await findVideo(db, event, event.targetId as VideoId, assetOrigin), ({ video }) => videoText(video)),
  recording: async (db, event) =>
    shown(await findRecording(db, event, event.targetId as RecordingId), ({ recording }) => JSON.stringify(recording)),
  webhook_endpoint: async (db, event) =>
    shown(await findEndpoint(db, event, event.targetId as WebhookEndpointId), (endpoint) =>
      JSON.stringify(presentWebhookEndpoint(endpoint)),
    ),
};

/** The body of an event, as it is signed and sent: `WebhookEvent` of the domain. */
const bodyOf = (event: EventToShow, resource: string | null): string => {
  const { eventId, eventType, targetId, sequence, eventCreatedAt } = event;
  const head = JSON.stringify({ id: eventId, type: eventType, timestamp: eventCreatedAt.toISOString() });
  const data = JSON.stringify({ id: targetId, object: eventObject(eventType), sequence });
  return `${head.slice(0, -1)},"data":${data.slice(0, -1)},"resource":${resource}}}`;
};

/** The bodies of `events`, in their order. A resource of several events is read once. */
export const renderBodies = (db: Db, events: readonly EventToShow[], assetOrigin: string): Promise<string[]> => {
  const reads = new Map<string, Promise<string | null>>();
  const read = (event: EventToShow): Promise<string | null> => {
    const { tenantId, environment, eventType, targetId } = event;
    const object = eventObject(eventType);
    // Each movement of credits is a separate target, but a tenant has one balance.
    const name = [tenantId, environment, object, object === "credits" ? "" : targetId].join();
    const known = reads.get(name) ?? READS[object](db, event, assetOrigin);
    reads.set(name, known);
    return known;
  };
  return Promise.all(events.map(async (event) => bodyOf(event, await read(event))));
};

/**
 * The deliveries with the bodies of their events. Events without a body get one, which is stored. All attempts to all
 * endpoints send the same bytes, those of the worker that stored its body first.
 */
export const withBodies = async (
  db: Db,
  deliveries: readonly ClaimedDelivery[],
  assetOrigin: string,
): Promise<ReadyDelivery[]> => {
  const events = [
    ...new Map(deliveries.filter(({ body }) => body === null).map((delivery) => [delivery.eventId, delivery])).values(),
  ];
  const bodies = new Map<string, string>();
  if (events.length > 0) {
    const rendered = await renderBodies(db, events, assetOrigin);
    const stored = await freezeBodies(
      db,
      events.map(({ tenantId, eventId }, index) => ({ tenantId, eventId, body: rendered[index] as string })),
    );
    for (const [index, { eventId }] of events.entries()) bodies.set(eventId, stored[index] as string);
  }
  return deliveries.map((delivery) => ({
    ...delivery,
    body: delivery.body ?? (bodies.get(delivery.eventId) as string),
  }));
};
