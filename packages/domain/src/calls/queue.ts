/**
 * The queue of calls that wait for a slot. The published SDK never sends its ticket and has a new Idempotency-Key for each
 * request. So a request without a ticket takes over a ticket of an equal request that is not in use.
 */
import { createHash } from "node:crypto";
import type { ApiKeyId, AvatarId, TenantId, TicketId } from "../id.ts";
import { canonicalJson } from "../json-text.ts";
import type { QueuedCall } from "./schemas.ts";

/** When a queued request is sent again. */
export const RETRY_MS = 2000;
/** A ticket ends when it was not polled for this long. */
export const TICKET_LIFE_MS = 3 * RETRY_MS;
/** A ticket that was polled within this time is in use. Less than the time between two polls, whose requests may be delayed. */
export const TICKET_IN_USE_MS = 1500;
/** Maximum number of live tickets of a tenant. */
export const MAX_TICKETS_OF_TENANT = 100;

export type Ticket = {
  tenantId: TenantId;
  /** Sorts in creation order. */
  id: string;
  fingerprint: string;
  polledAt: Date;
};

/** Equal for requests of one key with the same avatar and metadata, in hexadecimal. */
export const ticketFingerprint = (request: {
  apiKeyId: ApiKeyId;
  avatarId: AvatarId;
  metadata: Record<string, string>;
}): string => createHash("sha256").update(canonicalJson(request)).digest("hex");

export const isLive = ({ polledAt }: Ticket, now: Date): boolean => now.getTime() - polledAt.getTime() < TICKET_LIFE_MS;

/** The ticket that a request without one takes over: the oldest live one with its fingerprint that is not in use. */
export const adoptableTicket = (
  tickets: readonly Ticket[],
  { tenantId, fingerprint }: Pick<Ticket, "tenantId" | "fingerprint">,
  now: Date,
): Ticket | null => {
  const isAdoptable = (ticket: Ticket): boolean =>
    ticket.tenantId === tenantId &&
    ticket.fingerprint === fingerprint &&
    isLive(ticket, now) &&
    now.getTime() - ticket.polledAt.getTime() >= TICKET_IN_USE_MS;
  return tickets.filter(isAdoptable).sort(byId)[0] ?? null;
};

const byId = (one: Ticket, other: Ticket): number => (one.id < other.id ? -1 : 1);

/** The live tickets in the order of their turns: the first of each tenant, then the second of each, and so on. */
export const queueOrder = (tickets: readonly Ticket[], now: Date): Ticket[] => {
  const counts = new Map<TenantId, number>();
  const turns = tickets
    .filter((ticket) => isLive(ticket, now))
    .sort(byId)
    .map((ticket) => {
      const turn = counts.get(ticket.tenantId) ?? 0;
      counts.set(ticket.tenantId, turn + 1);
      return { ticket, turn };
    });
  return turns
    .sort((one, other) => one.turn - other.turn || byId(one.ticket, other.ticket))
    .map(({ ticket }) => ticket);
};

/** Whether a request with this ticket gets a slot now; `id` is null without a ticket, which is behind all. */
export const isAdmitted = (order: readonly Ticket[], id: string | null, freeSlots: number): boolean => {
  const place = order.findIndex((ticket) => ticket.id === id);
  return freeSlots > (place === -1 ? order.length : place);
};

/** The response to a queued request. It says nothing about slots or other tenants' calls. */
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
