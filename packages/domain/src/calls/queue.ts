/**
 * The queue of calls that wait for a slot. The published SDK never sends its ticket and has a new Idempotency-Key for
 * each request. So a request without a ticket takes over a ticket of an equal request that is not in use. The database
 * decides which request has which ticket, and which one is next: see queue_of_calls.sql.
 */
import { createHash } from "node:crypto";
import type { ApiKeyId, AvatarId, TicketId } from "../id.ts";
import { canonicalJson } from "../json-text.ts";
import type { QueuedCall } from "./schemas.ts";

/**
 * How long a client waits before it sends a queued request again. A ticket ends when no request polls it for three
 * times this long.
 */
export const RETRY_MS = 2000;
/** A hash that is equal for requests of one key with the same avatar and metadata, in hexadecimal. */
export const ticketFingerprint = (request: {
  apiKeyId: ApiKeyId;
  avatarId: AvatarId;
  metadata: Record<string, string>;
}): string => createHash("sha256").update(canonicalJson(request)).digest("hex");

/** The response to a queued request. It reveals nothing about slots or other tenants' calls. */
export const presentQueued = ({
  ticketId,
  position,
  size,
}: {
  ticketId: TicketId;
  position: number;
  size: number;
}): QueuedCall => ({
  message: "All slots are in use. Send the same request again.",
  queue_size: size,
  queue_position: position,
  queue_ticket_id: ticketId,
  recommended_retry_ms: RETRY_MS,
});
