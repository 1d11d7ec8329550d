/** Outcomes that wait for other transactions: no deadlock, and no parked delivery is forgotten. */
import { beforeEach, expect, test } from "bun:test";
import { mutate } from "@realtime-avatar/testing/credits/mutations";
import { session } from "@realtime-avatar/testing/database";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { begin, untilWaiting } from "@realtime-avatar/testing/postgres/waits";
import { seedCaller, seedOrigin } from "@realtime-avatar/testing/seeds";
import {
  claimSome,
  type HeldDelivery,
  seedEndpoint,
  seedEvents,
  testQueue,
} from "@realtime-avatar/testing/webhooks/seeds";
import { resendDelivery } from "./deliveries.ts";

const database = await fileDatabase();
const { db } = database;
await mutate(db);
const queue = testQueue(db);
const { finish, passTime, statuses } = queue;

beforeEach(queue.clear);

/** Writes events of these targets, one after the other, for an ordered endpoint. */
const seedInOrder = async (targets: readonly string[]) => {
  const caller = await seedCaller(db);
  await seedEndpoint(db, caller, { ordered: true });
  for (const target of targets) await seedEvents(db, caller, [target]);
  return caller;
};

const of = (deliveries: readonly HeldDelivery[], target: string): HeldDelivery => {
  const found = deliveries.find(({ targetId }) => targetId === target);
  if (!found) throw new Error(`no delivery of ${target}`);
  return found;
};

/** Lets the leases of these deliveries run out. */
const endLeases = (...deliveries: readonly HeldDelivery[]) => db.client`
  update webhook_deliveries set leased_until = now() - interval '1 second'
  where id in ${db.client(deliveries.map(({ id }) => id))}`;

/** Another transaction, which holds a delivery until `commit`. */
const holderOf = async ({ id }: HeldDelivery) => {
  const holder = session(database.url);
  await holder.client`begin`;
  await holder.client`select from webhook_deliveries where id = ${id} for no key update`;
  return {
    commit: async () => {
      await holder.client`commit`;
      await holder.close();
    },
  };
};

test("late outcomes, one of them of a parked delivery, during the end of the earlier event: no deadlock", async () => {
  const caller = await seedInOrder(["resent", "first", "resent", "other", "last"]);
  const claimed = await claimSome(db);
  expect(await finish([of(claimed, "resent")], "delivered")).toBe(1);
  const late = [of(claimed, "first"), of(await claimSome(db), "resent"), of(claimed, "other")];
  // The leases run out, and the first delivery of `resent` is sent again. Its second delivery is parked at the next
  // claim.
  await resendDelivery(db, of(claimed, "resent").id, caller, seedOrigin(caller));
  await passTime();

  const first = await holderOf(of(claimed, "first"));
  const ofLate = begin(() => finish(late, "delivered"));
  await untilWaiting(db, 1);
  const taken = await claimSome(db);
  expect(taken.map(({ targetId }) => targetId).sort()).toEqual(["last", "other", "resent"]);
  const last = await holderOf(of(taken, "last"));
  const ofTaken = begin(() => finish(taken, "delivered"));
  await untilWaiting(db, 2);
  await first.commit();
  await untilWaiting(db, 2);
  await last.commit();
  expect(await Promise.all([ofLate, ofTaken])).toEqual([1, 3]);
  expect(await statuses()).toEqual({ delivered: 4, pending: 1 });
});

test("late outcomes, with a delivery that is parked after the end of the earlier event began: no deadlock", async () => {
  const caller = await seedInOrder(["held", "resent", "first", "resent", "third", "other"]);
  const claimed = await claimSome(db);
  expect(await finish([of(claimed, "resent")], "delivered")).toBe(1);
  const parked = of(await claimSome(db), "resent");
  const late = [of(claimed, "first"), parked, of(claimed, "third"), of(claimed, "other")];
  await resendDelivery(db, of(claimed, "resent").id, caller, seedOrigin(caller));
  await endLeases(of(claimed, "held"), of(claimed, "other"));

  const first = await holderOf(of(claimed, "first"));
  const ofLate = begin(() => finish(late, "delivered"));
  await untilWaiting(db, 1);
  const taken = await claimSome(db);
  expect(taken.map(({ targetId }) => targetId).sort()).toEqual(["held", "other", "resent"]);
  const held = await holderOf(of(taken, "held"));
  const ofTaken = begin(() => finish(taken, "delivered"));
  await untilWaiting(db, 2);
  await endLeases(parked);
  expect(await claimSome(db)).toEqual([]);
  expect(await statuses()).toEqual({ pending: 5, "pending waits": 1 });
  const third = await holderOf(of(claimed, "third"));
  await first.commit();
  await untilWaiting(db, 2);
  await held.commit();
  await untilWaiting(db, 2);
  await third.commit();
  expect(await Promise.all([ofLate, ofTaken])).toEqual([2, 3]);
  expect(await statuses()).toEqual({ delivered: 5, pending: 1 });
});

test("an end, while another transaction holds the newly parked successor: repeated, and the successor is unparked", async () => {
  const caller = await seedInOrder(["first", "one"]);
  const claimed = await claimSome(db);
  await seedEvents(db, caller, ["one"]);
  const first = await holderOf(of(claimed, "first"));
  const ofClaimed = begin(() => finish(claimed, "delivered"));
  await untilWaiting(db, 1);
  // The second delivery of `one` is parked while its first one is not locked yet.
  expect(await claimSome(db)).toEqual([]);
  expect(await statuses()).toEqual({ pending: 2, "pending waits": 1 });
  const [waiting] = await db.client<HeldDelivery[]>`select id from webhook_deliveries where waits`;
  const next = await holderOf(waiting as HeldDelivery);
  await first.commit();
  await untilWaiting(db, 1);
  await next.commit();
  expect(await ofClaimed).toBe(2);
  expect((await claimSome(db)).map(({ targetId }) => targetId)).toEqual(["one"]);
});
