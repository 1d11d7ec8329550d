/**
 * The reconciler, with lists of rooms that the test supplies. reconciler.system.test.ts tests it with a LiveKit.
 */
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { readInstance } from "@realtime-avatar/db/calls/reconcile";
import { roomName } from "@realtime-avatar/domain/calls/room";
import { newId, type SessionId } from "@realtime-avatar/domain/id";
import { readyAvatar, report, seedCall, sync } from "@realtime-avatar/testing/calls/calls";
import { seedCaller } from "@realtime-avatar/testing/credits";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { random } from "@realtime-avatar/testing/random-bytes";
import { seedTenant } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { startReconciler } from "./reconciler.ts";
import { LivekitError, type Rooms } from "./rooms.ts";

setDefaultTimeout(60_000);
const { db } = await fileDatabase();
const { client } = db;
const instance = await readInstance(db);
const HOUR_MS = 3_600_000;

beforeEach(async () => {
  await client`delete from fleet.avatar_slots`;
  await client`delete from fleet.avatar_workers`;
  await sync(db, "worker", { slots: 50 });
});
afterEach(async () => {
  await client`update calls set room = 'gone'`;
});

/** Starts calls of a new key, and returns their sessions. */
const startCalls = async (count: number, { isStarted = true } = {}) => {
  const { caller } = await seedCaller(db, await seedTenant(db, { live: 1_000_000, test: 1_000_000 }));
  const avatarId = await readyAvatar(db, caller);
  const ids: SessionId[] = [];
  for (let at = 0; at < count; at++) {
    const id = newId("ses", new Date(), random);
    ids.push(await seedCall(db, caller, avatarId, { id, roomName: roomName(instance, id) }));
  }
  if (isStarted) await sync(db, "worker", { slots: 50, calls: ids.map((id) => report(id, "started", 7)) });
  const revoke = () => client`update api_keys set revoked_at = now() where id = ${caller.id}`;
  return { ids, names: ids.map((id) => roomName(instance, id)), revoke };
};
const stateOf = async (id: SessionId | undefined) => {
  const [row] = await client`
    select status, room from usage_sessions session
    join calls on session_id = id and calls.tenant_id = session.tenant_id where id = ${id ?? ""}`;
  return `${row?.["status"]}, room ${row?.["room"]}`;
};

type List = string[] | Error | (() => Promise<string[]>);

/**
 * Runs a reconciler whose LiveKit returns `lists`, one after another, until the last list is processed. `did`: the
 * other requests of the reconciler, and its log.
 */
const reconcile = async (lists: List[], change: Partial<Rooms> = {}) => {
  const did: string[] = [];
  const [asked, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<string[]>()];
  const left = [...lists];
  const rooms: Rooms = {
    create: async (name) => void did.push(`create ${name}`),
    delete: async (name) => void did.push(`delete ${name}`),
    dispatchAgain: async () => false,
    autoCreates: async () => false,
    list: async () => {
      const names = left.shift();
      if (names instanceof Error) throw names;
      const list = typeof names === "function" ? names() : names;
      // All work for the last list is done when the reconciler asks for the next one.
      if (list === undefined) asked.resolve();
      return list ?? ended.promise;
    },
    ...change,
  };
  const log = { info: () => {}, warn: (_: object, message: string) => void did.push(message) };
  const options = { db, rooms, log, random, tracing: null };
  const { stop } = startReconciler({ ...options, intervalsMs: { end: HOUR_MS, list: 1 } });
  await asked.promise;
  const result = [...did];
  ended.reject(new LivekitError("unreachable"));
  await stop();
  return result;
};

test("a started call: ends when two lists in a row do not have its room, and not before", async () => {
  const { ids, names } = await startCalls(1);
  await reconcile([[], names, [], names, []]);
  expect(await stateOf(ids[0])).toBe("started, room exists");
  await reconcile([[], []]);
  expect(await stateOf(ids[0])).toBe("released, room delete");
});

test("a reserved call whose room two lists do not have: the room is created again", async () => {
  const { ids, names } = await startCalls(1, { isStarted: false });
  expect(await reconcile([[], []])).toEqual([`create ${names[0]}`]);
  expect(await stateOf(ids[0])).toBe("reserved, room exists");
});

test("the room of an ended call: recorded as gone when a list requested after the end does not have it", async () => {
  const { ids, names } = await startCalls(2);
  await client`update calls set room = 'delete' where session_id = any (${ids as string[]})`;
  await reconcile([[names[0] ?? ""]]);
  expect(await Promise.all(ids.map(stateOf))).toEqual(["started, room delete", "started, room gone"]);
});

test("a call that ends while the rooms are listed: its room is not recorded as gone by this list", async () => {
  const { ids } = await startCalls(1);
  const endCall = async (): Promise<string[]> => {
    await client`update calls set room = 'delete' where session_id = ${ids[0] ?? ""}`;
    return [];
  };
  await reconcile([endCall]);
  expect(await stateOf(ids[0])).toBe("started, room delete");
});

test("rooms without a call: deleted, until eight requests have failed", async () => {
  const strays = Array.from({ length: 20 }, () => roomName(instance, newId("ses", new Date(), random)));
  expect((await reconcile([strays])).sort()).toEqual(strays.map((name) => `delete ${name}`).sort());
  let requests = 0;
  const refuse = async (): Promise<void> => {
    requests++;
    throw new LivekitError("refused", 503);
  };
  expect(await reconcile([strays], { delete: refuse })).toEqual(["failed to compare calls and rooms; retrying"]);
  expect(requests).toBe(8);
});

test.each([
  ["unreachable, once", [new LivekitError("unreachable"), []], 0],
  ["unreachable, three times", Array(3).fill(new LivekitError("unreachable")), 1],
  ["refused, three times", Array(3).fill(new LivekitError("refused", 401)), 1],
])("lists that fail, %s: one line in the log, unless LiveKit is starting", async (_, lists, lines) => {
  expect(await reconcile(lists)).toHaveLength(lines);
});

test("a stop while rooms are deleted: waits for their deletion", async () => {
  const { names, revoke } = await startCalls(2);
  await revoke();
  const [asked, deleted] = [Promise.withResolvers<void>(), [] as string[]];
  const remove = async (name: string): Promise<void> => {
    asked.resolve();
    await Bun.sleep(10);
    deleted.push(name);
  };
  const lists = { list: async () => names };
  const log = { info: () => {}, warn: () => {} };
  const rooms = { delete: remove, autoCreates: async () => false, ...lists } as unknown as Rooms;
  const { stop } = startReconciler({ db, rooms, log, random, tracing: null });
  await asked.promise;
  await stop();
  expect(deleted.sort()).toEqual(names.sort());
});

const STEPS = ["grow_holds", "end_due_calls", "expire_workers"];

test.each(STEPS)("the step %s fails: the other steps run", async (failingStep) => {
  const names = new Set<string | undefined>();
  let failures = 0;
  const failing: typeof db = {
    ...db,
    run: (text, parameters, name) => {
      names.add(name);
      if (name !== failingStep) return db.run(text, parameters, name);
      failures++;
      return Promise.reject(new Error("no connection"));
    },
  };
  const rooms = { list: async () => [], autoCreates: async () => false } as unknown as Rooms;
  const log = { info: () => {}, warn: () => {} };
  const { stop } = startReconciler({ db: failing, rooms, log, random, tracing: null });
  const haveAllRun = () => STEPS.every((step) => names.has(step));
  // The second pass begins after the first.
  await until(() => haveAllRun() || failures > 1);
  await stop();
  expect(STEPS.filter((step) => !names.has(step))).toEqual([]);
});
