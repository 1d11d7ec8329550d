import { describe, expect, test } from "bun:test";
import type { ApiKeyId, AvatarId, TenantId } from "../id.ts";
import { validate } from "../schema.ts";
import {
  adoptableTicket,
  isAdmitted,
  presentQueued,
  queueOrder,
  TICKET_IN_USE_MS,
  TICKET_LIFE_MS,
  type Ticket,
  ticketFingerprint,
} from "./queue.ts";
import { QueuedCall } from "./schemas.ts";

const now = new Date("2026-11-20T12:00:00.000Z");
const ago = (ms: number): Date => new Date(now.getTime() - ms);
const ticket = (id: string, tenant = "ten_a", polledMsAgo = TICKET_IN_USE_MS, fingerprint = "f"): Ticket => ({
  id,
  tenantId: tenant as TenantId,
  fingerprint,
  polledAt: ago(polledMsAgo),
});
const ids = (tickets: readonly Ticket[]) => tickets.map(({ id }) => id);

describe("a request without a ticket", () => {
  const request = { tenantId: "ten_a" as TenantId, fingerprint: "f" };
  test("takes over the oldest ticket of an equal request that is not in use", () => {
    expect(adoptableTicket([ticket("2"), ticket("1"), ticket("3")], request, now)?.id).toBe("1");
    const others = [
      ticket("in use", "ten_a", TICKET_IN_USE_MS - 1),
      ticket("ended", "ten_a", TICKET_LIFE_MS),
      ticket("of another request", "ten_a", TICKET_IN_USE_MS, "g"),
      ticket("of another tenant", "ten_b"),
    ];
    expect(adoptableTicket(others, request, now)).toBeNull();
  });

  test("of two pages with the same request: each keeps its place, because one polls while the other's is in use", () => {
    const first = ticket("1", "ten_a", 2000);
    const second = ticket("2", "ten_a", 1500);
    expect(adoptableTicket([first, second], request, now)?.id).toBe("1");
    expect(adoptableTicket([{ ...first, polledAt: now }, second], request, now)?.id).toBe("2");
  });

  test("is equal by key, avatar and metadata, in any order of members", () => {
    const base = { apiKeyId: "key_1" as ApiKeyId, avatarId: "ava_1" as AvatarId, metadata: { a: "1", b: "2" } };
    const fingerprint = ticketFingerprint(base);
    expect(ticketFingerprint({ ...base, metadata: { b: "2", a: "1" } })).toBe(fingerprint);
    for (const other of [
      { metadata: { a: "1" } },
      { apiKeyId: "key_2" as ApiKeyId },
      { avatarId: "ava_2" as AvatarId },
    ]) {
      expect(ticketFingerprint({ ...base, ...other })).not.toBe(fingerprint);
    }
  });
});

describe("the queue", () => {
  const tickets = [
    ticket("1", "ten_a"),
    ticket("2", "ten_a"),
    ticket("3", "ten_b"),
    ticket("4", "ten_a"),
    ticket("5", "ten_c"),
  ];

  test("tenants take turns, first come first served within one, without what has ended", () => {
    const ended = ticket("0", "ten_a", TICKET_LIFE_MS);
    expect(ids(queueOrder([ended, ...tickets.toReversed()], now))).toEqual(["1", "3", "5", "2", "4"]);
  });

  test("a request gets a slot only if more are free than tickets are ahead", () => {
    const order = queueOrder(tickets, now);
    expect(isAdmitted(order, "1", 1)).toBe(true);
    expect(isAdmitted(order, "1", 0)).toBe(false);
    expect(isAdmitted(order, "5", 2)).toBe(false);
    expect(isAdmitted(order, "5", 3)).toBe(true);
    expect(isAdmitted(order, null, 5)).toBe(false);
    expect(isAdmitted(order, null, 6)).toBe(true);
    expect(isAdmitted([], null, 1)).toBe(true);
  });

  test("its response: valid, and without a code, which would make it an error for the SDK", () => {
    const queued = presentQueued({ ticketId: "tkt_5", position: 3, size: 5 });
    expect(validate(QueuedCall, queued)).toEqual([]);
    expect(queued).toMatchObject({ queue_size: 5, queue_position: 3, recommended_retry_ms: 2000 });
    expect(Object.keys(queued)).not.toContain("code");
  });
});
