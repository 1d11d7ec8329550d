/** The published SDK, unchanged, starts and ends calls: the queue, the limits, and failures of LiveKit. */
import { describe, expect, test } from "bun:test";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { isQueued, RealtimeAvatar, RealtimeAvatarHttpError, type StartCallOptions } from "realtime-avatar";
import { AMPLE_CREDITS, callAnew } from "../support/api.ts";
import { startCallApi } from "../support/calls/calls.ts";

const LONG = process.env["LONG"] === "1";

const { api, livekit, avatar, syncOf } = await startCallApi();
const { db } = api.database;

/** A tenant with the SDK and an avatar. */
const customer = async (limits: Parameters<typeof seedKey>[2] = {}) => {
  const tenantId = await seedTenant(db, { live: AMPLE_CREDITS });
  const { secret } = await seedKey(db, tenantId, { environment: "live", scopes: ["*"], ...limits });
  const apiKey = secret.reveal();
  const sdk = new RealtimeAvatar({ apiKey, baseUrl: `${api.url}/api/v1` });
  return { sdk, apiKey, avatarId: await avatar(apiKey) };
};
const setSlots = async (slots: number): Promise<void> => {
  await syncOf("wrk_1", { slots });
  await db.client`update fleet.avatar_workers set lease_until = now() + interval '1 hour'`;
};

/**
 * Repeats a start until it is a call, as the SDK's documentation describes. Returns the call, and how often it was
 * queued.
 */
const askUntilCalled = async (sdk: RealtimeAvatar, options: StartCallOptions) => {
  for (let queued = 0; ; queued++) {
    const call = await sdk.startCall(options);
    if (!isQueued(call)) return { call, queued };
    expect(call.position).toBeGreaterThan(0);
    await Bun.sleep(call.retryAfterMs);
  }
};

test("a call with the SDK: started, ended, and shown with its cost", async () => {
  await setSlots(4);
  const { sdk, avatarId } = await customer();
  const call = await sdk.startCall({ avatarId, maxSeconds: 90, metadata: { user_id: "u" }, instructions: "Be kind." });
  if (isQueued(call)) throw new Error("there are slots");
  expect(call).toMatchObject({ status: "ready", livekitUrl: livekit.url, maxSessionSeconds: 90 });
  expect(call.raw).toMatchObject({ ignored: ["instructions"], room_created: true });
  expect((await sdk.creditBalance()).reservedCreditMicros).toBe(90_000_000);
  expect(await sdk.endCall(call.sessionId, { reason: "page_hide" })).toBe(true);
  expect(await sdk.endCall(call.sessionId)).toBe(true);
  expect(await sdk.endCall("ses_unknown")).toBe(true);
  expect((await sdk.listSessions()).sessions).toMatchObject([
    { sessionId: call.sessionId, status: "failed", billedCreditMicros: 0, metadata: { user_id: "u" } },
  ]);
  expect((await sdk.creditBalance()).reservedCreditMicros).toBe(0);
});

describe("all slots in use", () => {
  test("two users with the same request, without tickets: each is queued; each gets a turn", async () => {
    await setSlots(1);
    const { sdk, avatarId } = await customer();
    const { call: first } = await askUntilCalled(sdk, { avatarId });
    const served: string[] = [];
    const user = async () => {
      const { call, queued } = await askUntilCalled(sdk, { avatarId });
      served.push(call.sessionId);
      expect(queued).toBeGreaterThan(0);
      await Bun.sleep(500);
      await sdk.endCall(call.sessionId);
    };
    const users = [user(), user()];
    await until(async () => {
      const [row] = await db.client`select count(*)::integer as number from call_tickets`;
      return row?.["number"] === 2;
    });
    await sdk.endCall(first.sessionId);
    await Promise.all(users);
    expect(new Set(served).size).toBe(2);
  });

  test("two tenants, one with three users: they take turns", async () => {
    await setSlots(1);
    const [busy, quiet] = [await customer(), await customer()];
    const { call: first } = await askUntilCalled(busy.sdk, busy);
    const order: string[] = [];
    const user = async (name: string, { sdk, avatarId }: typeof busy, metadata: Record<string, string>) => {
      const { call } = await askUntilCalled(sdk, { avatarId, metadata });
      order.push(name);
      await sdk.endCall(call.sessionId);
    };
    const users = [1, 2, 3].map((number) => user("busy", busy, { user: `${number}` }));
    await Bun.sleep(300);
    users.push(user("quiet", quiet, {}));
    await Bun.sleep(300);
    await busy.sdk.endCall(first.sessionId);
    await Promise.all(users);
    expect(order).toHaveLength(4);
    // The first user of each tenant comes before the third of one tenant.
    expect(order.indexOf("quiet")).toBeLessThan(3);
  });

  // Each poller asks every two seconds, like the SDK, so this takes minutes.
  test.skipIf(!LONG)(
    "pollers of three tenants, 1, 10 and 100: served in the order of the tickets, at most three at once",
    async () => {
      const SLOTS = 3;
      await setSlots(SLOTS);
      const busy = await customer();
      const held = await Promise.all(
        Array.from({ length: SLOTS }, async () => (await askUntilCalled(busy.sdk, busy)).call),
      );
      const waiting = new Set<string>();
      let most = 0;
      const poller = async ({ sdk, avatarId }: typeof busy, metadata: Record<string, string>) => {
        let ticket = "";
        let call = await sdk.startCall({ avatarId, metadata });
        for (; isQueued(call); call = await sdk.startCall({ avatarId, metadata })) {
          ticket = call.queueTicketId ?? "";
          waiting.add(ticket);
          await Bun.sleep(call.retryAfterMs);
        }
        waiting.delete(ticket);
        // Earlier pollers that still wait could have had the other slots.
        expect(order.indexOf(ticket)).toBeGreaterThanOrEqual(0);
        const ahead = order.slice(0, order.indexOf(ticket)).filter((one) => waiting.has(one));
        expect(ahead.length).toBeLessThan(SLOTS);
        const [open] = await db.client`select count(*)::integer as calls from usage_sessions where ended_at is null`;
        most = Math.max(most, open?.["calls"]);
        await sdk.endCall(call.sessionId);
      };
      const order: string[] = [];
      const counts = [1, 10, 100];
      const tenants = await Promise.all(counts.map(() => customer()));
      const pollers = tenants.map((tenant, at) =>
        Array.from({ length: counts[at] ?? 0 }, (_, user) => poller(tenant, { user: `${user}` })),
      );
      await until(() => waiting.size === 111);
      const tickets = await db.client`select id, turn from call_tickets order by turn, id`;
      order.push(...tickets.map((row) => row["id"]));
      expect(new Set(order)).toEqual(waiting);
      // The turn of a ticket is its position among the tickets of its tenant.
      const turns = Array.from({ length: 100 }, (_, turn) => counts.filter((count) => count > turn).map(() => turn));
      expect(tickets.map((row) => Number(row["turn"]))).toEqual(turns.flat());
      for (const call of held) await busy.sdk.endCall(call.sessionId);
      await Promise.all(pollers.flat());
      expect(waiting.size).toBe(0);
      expect(most).toBeLessThanOrEqual(SLOTS);
    },
    600_000,
  );
});

test("the limit of the key: concurrency_limit_reached with the counts, no queue", async () => {
  await setSlots(4);
  const { sdk, avatarId } = await customer({ maxConcurrentSessions: 1 });
  const call = await sdk.startCall({ avatarId });
  const error = await sdk.startCall({ avatarId }).catch((error: unknown) => error);
  expect(error).toBeInstanceOf(RealtimeAvatarHttpError);
  expect(error).toMatchObject({
    status: 429,
    code: "concurrency_limit_reached",
    concurrency: {
      maxConcurrentSessions: 1,
      liveSessions: 1,
      activeSessions: 0,
      connectingSessions: 1,
      pendingSessions: 0,
    },
  });
  if (!isQueued(call)) await sdk.endCall(call.sessionId);
});

test("too few credits: a billing error", async () => {
  const tenantId = await seedTenant(db, { live: 1_000_000 });
  const { secret } = await seedKey(db, tenantId, { environment: "live", scopes: ["*"] });
  const sdk = new RealtimeAvatar({ apiKey: secret.reveal(), baseUrl: `${api.url}/api/v1` });
  const error = await sdk.startCall({ avatarId: await avatar(secret.reveal()) }).catch((error: unknown) => error);
  expect(error).toMatchObject({ status: 402, isBilling: true });
});

test("LiveKit fails once: the SDK retries by itself; one call and one hold", async () => {
  await setSlots(4);
  const { sdk, avatarId } = await customer();
  livekit.setFault({ kind: "loses_response" });
  const pending = sdk.startCall({ avatarId, maxSeconds: 60 });
  await until(() => api.log.join().includes("LiveKit did not create a room"));
  livekit.setFault(null);
  const call = await pending;
  if (isQueued(call)) throw new Error("there are slots");
  expect((await sdk.creditBalance()).reservedCreditMicros).toBe(60_000_000);
  const { sessions } = await sdk.listSessions();
  expect(sessions.map(({ status }) => status)).toEqual(["reserved", "failed"]);
  expect(sessions[0]?.sessionId).toBe(call.sessionId);
  await sdk.endCall(call.sessionId);
});

test("a lost response: the SDK repeats the request, and gets the same call", async () => {
  await setSlots(4);
  const { apiKey, avatarId } = await customer();
  let sent = 0;
  const losing: typeof fetch = Object.assign(
    async (...request: Parameters<typeof fetch>) => {
      const response = await fetch(...request);
      sent++;
      if (sent > 1) return response;
      await response.text();
      throw new TypeError("the connection was lost");
    },
    { preconnect: fetch.preconnect },
  );
  const sdk = new RealtimeAvatar({ apiKey, baseUrl: `${api.url}/api/v1`, fetch: losing });
  const call = await sdk.startCall({ avatarId });
  if (isQueued(call)) throw new Error("there are slots");
  expect(sent).toBe(2);
  expect((await sdk.listSessions()).sessions.map(({ sessionId }) => sessionId)).toEqual([call.sessionId]);
  await sdk.endCall(call.sessionId);
});

test("a service without LiveKit: an error at once, which the SDK does not retry", async () => {
  const { apiKey, avatarId } = await customer();
  const call = callAnew(api.database.db);
  let sent = 0;
  const sdk = new RealtimeAvatar({
    apiKey,
    baseUrl: "http://localhost/api/v1",
    fetch: Object.assign(
      async (input: string | URL | Request, init?: RequestInit) => {
        sent++;
        const { status, text, headers } = await call("POST", new URL(String(input)).pathname, {
          key: apiKey,
          body: String(init?.body),
        });
        return new Response(text, { status, headers });
      },
      { preconnect: fetch.preconnect },
    ),
  });
  const error = await sdk.startCall({ avatarId }).catch((error: unknown) => error);
  expect([error, sent]).toMatchObject([{ status: 501, code: "realtime_not_configured" }, 1]);
});
