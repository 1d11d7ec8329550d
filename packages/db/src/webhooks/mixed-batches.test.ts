/** Deliveries that are recorded in one batch: each has its own outcome, at any position in the batch. */
import { beforeEach, expect, test } from "bun:test";
import { newId } from "@realtime-avatar/domain/id";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { random } from "@realtime-avatar/testing/random-bytes";
import { seedCaller, seedOrigin } from "@realtime-avatar/testing/seeds";
import {
  claimSome,
  finishedDelivery,
  type HeldDelivery,
  newLease,
  newTarget,
  seedEndpoint,
  seedEvents,
  testQueue,
} from "@realtime-avatar/testing/webhooks/seeds";
import { type FinishedDelivery, finishDeliveries, freezeBodies } from "./sending.ts";

const { db } = await fileDatabase();
const { client } = db;
beforeEach(testQueue(db).clear);

const SECOND = 1000;
/**
 * The delay of the delivery that is handed back unsent. It shows the time of the batch, from which the other times
 * count.
 */
const UNSENT_MS = 30 * SECOND;
type Expected = {
  /** The state of the delivery. `inMs`: the time until its next attempt; null without one. */
  delivery: { status: string; attempts: number; attemptCount: number; inMs: number | null; isHeld: boolean };
  /** The state of its endpoint, which has no other delivery. */
  endpoint: { status: string; reason: string | null; isFailing: boolean; slowForMs: number | null };
};
const works = { status: "enabled", reason: null, isFailing: false, slowForMs: null };
const fails = { ...works, isFailing: true };

/** For each of these endpoints, the outcome of its delivery, and the stored state. */
const MEMBERS: Record<string, [finish: (held: HeldDelivery) => FinishedDelivery, expected: Expected]> = {
  delivered: [
    (held) => finishedDelivery(held, "delivered"),
    { delivery: { status: "delivered", attempts: 1, attemptCount: 1, inMs: null, isHeld: false }, endpoint: works },
  ],
  "tried again in a minute": [
    (held) => finishedDelivery(held, "retry", { delayMs: 60 * SECOND }),
    {
      delivery: { status: "pending", attempts: 1, attemptCount: 1, inMs: 60 * SECOND, isHeld: false },
      endpoint: fails,
    },
  ],
  "tried again in an hour": [
    (held) => finishedDelivery(held, "retry", { delayMs: 3600 * SECOND }),
    {
      delivery: { status: "pending", attempts: 1, attemptCount: 1, inMs: 3600 * SECOND, isHeld: false },
      endpoint: fails,
    },
  ],
  "tried again in two minutes, with a pause of ten for its endpoint": [
    (held) => finishedDelivery(held, "retry", { delayMs: 120 * SECOND, slowMs: 600 * SECOND }),
    {
      delivery: { status: "pending", attempts: 1, attemptCount: 1, inMs: 120 * SECOND, isHeld: false },
      endpoint: { ...fails, slowForMs: 600 * SECOND },
    },
  ],
  failed: [
    (held) => finishedDelivery(held, "failed"),
    { delivery: { status: "failed", attempts: 1, attemptCount: 1, inMs: null, isHeld: false }, endpoint: fails },
  ],
  gone: [
    (held) => finishedDelivery(held, "gone"),
    {
      delivery: { status: "failed", attempts: 1, attemptCount: 1, inMs: null, isHeld: false },
      endpoint: { ...works, status: "disabled", reason: "gone", isFailing: true },
    },
  ],
  "handed back unsent": [
    (held) => finishedDelivery(held, "retry", { attempt: null, delayMs: UNSENT_MS }),
    { delivery: { status: "pending", attempts: 0, attemptCount: 0, inMs: UNSENT_MS, isHeld: false }, endpoint: works },
  ],
  "with a lost lease": [
    (held) => finishedDelivery({ ...held, lease: newLease() }, "failed"),
    { delivery: { status: "pending", attempts: 0, attemptCount: 0, inMs: null, isHeld: true }, endpoint: works },
  ],
};
const names = Object.keys(MEMBERS);

const stored = async (ids: ReadonlyMap<string, string>): Promise<Record<string, Expected>> => {
  const rows = await client`
    select endpoint.id, delivery.status as "deliveryStatus", jsonb_array_length(attempts::jsonb) as attempts, attempt_count as "attemptCount",
      lease is not null as "isHeld", case when lease is null then next_attempt_at end as "nextAt", endpoint.status,
      disabled_reason as reason, failing_since is not null as "isFailing", slow_until as "slowUntil"
    from webhook_endpoints endpoint join webhook_deliveries delivery on endpoint_id = endpoint.id`;
  const unsent = rows.find(({ id }) => ids.get(id) === "handed back unsent");
  const since = (time: Date | null): number | null =>
    time === null ? null : time.getTime() - unsent?.["nextAt"].getTime() + UNSENT_MS;
  return Object.fromEntries(
    rows.map(({ id, deliveryStatus, attempts, attemptCount, isHeld, nextAt, slowUntil, ...endpoint }) => [
      ids.get(id) ?? "",
      {
        delivery: { status: deliveryStatus, attempts, attemptCount, inMs: since(nextAt), isHeld },
        endpoint: { ...endpoint, slowForMs: since(slowUntil) },
      } as Expected,
    ]),
  );
};

test.each<[string, (places: string[]) => string[]]>([
  ["in one order", (places) => places],
  ["in the reverse order", (places) => places.toReversed()],
  ["in a third order", (places) => [...places.slice(3), ...places.slice(0, 3)]],
])(
  "deliveries of every outcome, recorded in one batch %s: each delivery and its endpoint have their own outcome",
  async (_, order) => {
    const callers = [await seedCaller(db), await seedCaller(db)];
    const ids = new Map<string, string>();
    for (const [at, name] of names.entries()) {
      const caller = callers[at % 2] as (typeof callers)[0];
      const { id } = await seedEndpoint(db, caller, { url: `https://${at}.example.com`, events: ["avatar.*"] });
      ids.set(id, name);
    }
    for (const caller of callers) await seedEvents(db, caller, [newTarget()]);
    const held = new Map((await claimSome(db)).map((one) => [ids.get(one.endpointId), one]));
    expect(held.size).toBe(names.length);
    const finished = order(names).map((name) => MEMBERS[name]?.[0](held.get(name) as HeldDelivery) as FinishedDelivery);
    expect(await finishDeliveries(db, finished, seedOrigin())).toBe(names.length - 1);
    expect(await stored(ids)).toEqual(Object.fromEntries(names.map((name) => [name, MEMBERS[name]?.[1] as Expected])));
    const disabled = await client`
    select target_id from audit_events
    where action = 'webhook_endpoint.disabled' and target_id in ${client([...ids.keys()])}`;
    expect(disabled.map((event) => ids.get(event["target_id"]))).toEqual(["gone"]);
  },
);

test("bodies that are frozen in one batch, some of them already frozen: each is returned at its position", async () => {
  const callers = [await seedCaller(db), await seedCaller(db)];
  for (const caller of callers) {
    await seedEndpoint(db, caller, { events: ["avatar.*"] });
    await seedEvents(db, caller, [newTarget(), newTarget(), newTarget()]);
  }
  const claimed = await claimSome(db);
  const bodies = claimed.map(({ tenantId, eventId }, at) => ({ tenantId, eventId, body: `body ${at}` }));
  const early = bodies.filter((_, at) => at % 2 === 1).map((one) => ({ ...one, body: `${one.body}, early` }));
  await freezeBodies(db, early);
  const expected = bodies.map(({ body }, at) => (at % 2 === 1 ? `${body}, early` : body));
  const eventId = newId("evt", new Date(), random);
  const unknown = { ...(bodies[0] as (typeof bodies)[0]), eventId, body: "x" };
  expect(await freezeBodies(db, [...bodies, unknown].reverse())).toEqual([null as never, ...expected.toReversed()]);
  expect(await freezeBodies(db, bodies)).toEqual(expected);
});
