/** Shared slots, tested against simulated shards that behave like `sync_worker` and `share_slots` of the database. */
import { expect, test } from "bun:test";
import { SHARED_SLOTS, type SyncResponse } from "@realtime-avatar/domain/calls/worker-sync";
import type { SessionId } from "@realtime-avatar/domain/id";
import { createLog } from "@realtime-avatar/runtime/log";
import { FLITE_SETTINGS } from "@realtime-avatar/speech/settings";
import fc from "fast-check";
import { divideSlots, type ShardSlots, shareSlots } from "./slots.ts";
import { combinedSyncs, startSync } from "./sync.ts";

test.each([
  [4, [0, 0], [2, 2]],
  [1, [0, 0, 0], [1, 0, 0]],
  [4, [0, 3, 0], [1, 3, 0]],
  [4, [9, 9, 1], [2, 1, 1]],
  [3, [5, 1, 1, 1], [1, 1, 1, 0]],
  [0, [1, 1], [0, 0]],
  [2, [], []],
])("%d slots for shards that need %j: %j", (total, demands, shares) => {
  expect(divideSlots(total, demands)).toEqual(shares);
});

/** A shard from the service's side. `slots`: the call of each slot, or null, by the number of the slot. */
const createShard = (own: ShardSlots) => {
  let next = 0;
  let limit = 0;
  let waiting = 0;
  const slots = new Map<number, string | null>();
  const calls = (): string[] => [...slots.values()].filter((call) => call !== null);
  /** The calls that the worker lists. */
  let known: string[] = [];
  let isAsked = true;
  own.onChange(() => {
    isAsked = true;
  });
  const place = (): void => {
    for (const [n, call] of slots) {
      if (waiting === 0 || call !== null || n > limit) continue;
      waiting--;
      slots.set(n, `ses_${next++}`);
    }
  };
  /** Simulates `share_slots`. */
  const share = (): void => {
    const taken = [...slots].filter(([, call]) => call !== null).map(([n]) => n);
    const free = Array.from({ length: limit }, (_, at) => at + 1).filter((n) => !taken.includes(n));
    const kept = free.slice(0, Math.max(0, limit - taken.length));
    for (const [n, call] of slots) if (call === null && !kept.includes(n)) slots.delete(n);
    for (const n of kept) slots.set(n, null);
  };
  return {
    waiting: () => waiting,
    calls: () => calls().length,
    slots: () => slots.size,
    wantsSync: () => isAsked,
    queue: () => {
      waiting++;
      place();
    },
    /** Ends the oldest call. */
    end: () => {
      const age = (call: string | null): number => Number(call?.slice(4));
      const [oldest] = [...slots].filter(([, call]) => call !== null).sort(([, a], [, b]) => age(a) - age(b));
      if (oldest) slots.set(oldest[0], null);
      place();
    },
    loseLease: () => {
      slots.clear();
      limit = 0;
      known = [];
      own.lost();
      isAsked = true;
    },
    /** `isLost`: the response does not arrive. */
    sync: (isLost: boolean) => {
      const listed = known.map((session) => ({
        ...{ session_id: session as SessionId, generation: 1, state: "started" as const, used_seconds: 1 },
      }));
      isAsked = isLost;
      limit = own.offer(listed);
      share();
      const start = calls().filter((session) => !known.includes(session));
      const shared = { slots: slots.size, waiting };
      if (isLost) return;
      known = calls();
      const response = { lease_seconds: 15, start: start.map((session_id) => ({ session_id })), end: [], shared };
      own.answered({ slots: limit, features: [], calls: listed }, response as unknown as SyncResponse);
      place();
    },
  };
};

const settle = (shards: readonly ReturnType<typeof createShard>[]): void => {
  for (let round = 0; round < 50; round++) for (const shard of shards) shard.sync(false);
};

test("random calls, ends, lost responses and leases: never more slots than the worker has, and no idle slot while a call waits", () => {
  const shardOf = fc.nat(4);
  const step = fc.oneof(
    fc.record({ kind: fc.constantFrom("queue", "end", "sync", "sync", "lostSync", "loseLease"), shard: shardOf }),
  );
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 7 }), fc.array(step, { maxLength: 80 }), (total, steps) => {
      const shards = shareSlots(() => total, 5, 2).map(createShard);
      const check = (): void => {
        const used = shards.reduce((sum, { slots }) => sum + slots(), 0);
        expect(used).toBeLessThanOrEqual(total);
      };
      for (const { kind, shard } of steps) {
        const one = shards[shard] as (typeof shards)[number];
        if (kind === "sync" || kind === "lostSync") one.sync(kind === "lostSync");
        else one[kind as "queue" | "end" | "loseLease"]();
        check();
      }
      settle(shards);
      check();
      const [waiting, calls] = [
        shards.reduce((sum, shard) => sum + shard.waiting(), 0),
        shards.reduce((sum, shard) => sum + shard.calls(), 0),
      ];
      expect(waiting > 0 ? calls : total).toBe(total);
      // No shard asks for another sync when nothing changes.
      expect(shards.map(({ wantsSync }) => wantsSync())).toEqual(shards.map(() => false));
    }),
    { numRuns: 300 },
  );
});

test("a shard with an endless queue and another one: each gets half of the freed slots", () => {
  const shards = shareSlots(() => 4, 2).map(createShard);
  const [busy, other] = shards as [(typeof shards)[0], (typeof shards)[0]];
  for (let count = 0; count < 100; count++) busy.queue();
  settle(shards);
  expect(busy.calls()).toBe(4);
  for (let count = 0; count < 100; count++) other.queue();
  for (let count = 0; count < 20; count++) {
    settle(shards);
    busy.end();
    settle(shards);
    other.end();
  }
  settle(shards);
  expect([busy.calls(), other.calls()]).toEqual([2, 2]);
});

test("processes that cannot start: free slots are taken back, those of calls stay", () => {
  let total = 2;
  const shards = shareSlots(() => total, 2).map(createShard);
  const [first, second] = shards as [(typeof shards)[0], (typeof shards)[0]];
  first.queue();
  settle(shards);
  total = 0;
  settle(shards);
  second.queue();
  settle(shards);
  expect([first.calls(), first.slots(), second.calls(), second.slots()]).toEqual([1, 1, 0, 0]);
});

test("a service of the previous release, without shared slots: the slots are divided, and never exceed the total", () => {
  const shards = shareSlots(() => 3, 2);
  const last = [0, 0];
  for (let round = 0; round < 10; round++) {
    for (const [at, slots] of shards.entries()) {
      last[at] = slots.offer([]);
      slots.answered({ slots: last[at], features: [], calls: [] }, { lease_seconds: 15, start: [], end: [] });
      expect((last[0] as number) + (last[1] as number)).toBeLessThanOrEqual(3);
    }
  }
  expect(last).toEqual([2, 1]);
});

test("two shards, one unreachable: the other stays connected and gets all slots; the last syncs stop both", async () => {
  const requests: { shard: number; slots: number; features: readonly string[] }[] = [];
  const reached = Promise.withResolvers<void>();
  const file = () => Promise.reject(new Error("no file"));
  const syncs = shareSlots(() => 2, 2).map((slots, shard) =>
    startSync({
      service: {
        sync: async ({ slots: offered, features }, signal) => {
          requests.push({ shard, slots: offered, features });
          if (shard === 1) throw new Error("away");
          if (offered < 2) return { lease_seconds: 15, start: [], end: [], shared: { slots: offered, waiting: 0 } };
          reached.resolve();
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
          throw new Error("aborted");
        },
        file,
        preloadFile: file,
        transcript: file,
        fragment: file,
      },
      ...{ slots, isShared: true, features: [], log: createLog("silent"), metrics: null, preloads: null, traces: null },
      processes: {
        take: () => Promise.reject() as never,
        ready: async () => {},
        canStart: () => true,
        stop: async () => {},
      },
      ...{ pictures: { renderer: "portrait", label: "AI" }, conversation: null, speech: FLITE_SETTINGS },
    }),
  );
  const sync = combinedSyncs(syncs);
  await reached.promise;
  expect([sync.isConnected(), sync.calls()]).toEqual([true, []]);
  expect(sync.failure()).toEqual(new Error("away"));
  expect(requests.every(({ features }) => features[0] === SHARED_SLOTS)).toBe(true);
  expect(requests.filter(({ shard, slots }) => shard === 1 && slots > 0)).toEqual([]);
  requests.length = 0;
  await sync.stop();
  const goodbyes = [0, 1].map((shard) => requests.findLast((request) => request.shard === shard));
  for (const goodbye of goodbyes) {
    expect(goodbye?.slots).toBe(0);
    expect(goodbye?.features).not.toContain(SHARED_SLOTS);
  }
});
