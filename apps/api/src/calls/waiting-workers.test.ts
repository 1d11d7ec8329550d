import { describe, expect, test } from "bun:test";
import { createLog } from "@realtime-avatar/runtime/log";
import { createWaitingWorkers } from "./waiting-workers.ts";

/** Waiting workers, and what they have asked for so far. `work`: the workers that have work. */
const waitingWith = (work: Set<string>) => {
  const asked: string[][] = [];
  let failing = 0;
  const waiting = createWaitingWorkers(async (ids) => {
    asked.push(ids);
    if (failing-- > 0) throw new Error("the database is away");
    return ids.filter((id) => work.has(id));
  }, createLog("silent"));
  const fail = (times: number): void => {
    failing = times;
  };
  return { ...waiting, asked, fail };
};

test("a worker without work, waiting: false after a second, asked for some ten times", async () => {
  const { wait, asked } = waitingWith(new Set());
  expect(await wait("a")).toBe(false);
  expect(asked.length).toBeWithin(1, 12);
  const before = asked.length;
  await Bun.sleep(300);
  expect(asked.length).toBeLessThanOrEqual(before + 1);
});

test("many workers, waiting: one question for all, and only those with work go on", async () => {
  const work = new Set<string>();
  const { wait, asked } = waitingWith(work);
  const ids = Array.from({ length: 50 }, (_, number) => `w${number}`);
  const outcomes = Promise.all(ids.map(wait));
  work.add("w7");
  expect((await outcomes).flatMap((hasWork, index) => (hasWork ? [ids[index]] : []))).toEqual(["w7"]);
  expect(asked[0]).toEqual(ids);
  expect(asked.length).toBeLessThan(15);
});

test("a worker, syncing again while it waits: the first sync goes on without work, the second waits", async () => {
  const work = new Set<string>();
  const { wait } = waitingWith(work);
  const first = wait("a");
  const second = wait("a");
  expect(await first).toBe(false);
  work.add("a");
  expect(await second).toBe(true);
});

test("a worker that comes back when none has waited: is asked for again", async () => {
  const work = new Set(["a"]);
  const { wait } = waitingWith(work);
  for (let count = 0; count < 3; count++) {
    expect(await wait("a")).toBe(true);
    // The last question was the last for now.
    await Bun.sleep(20);
  }
});

test("a question that fails: asked again, and the worker gets its work", async () => {
  const { wait, fail } = waitingWith(new Set(["a"]));
  fail(2);
  expect(await wait("a")).toBe(true);
});

describe("after a write of this process", () => {
  /** Without a look, nothing is asked for an hour. */
  const HOUR = 3_600_000;
  const waitingLong = (listWithWork: (ids: string[]) => Promise<string[]>) =>
    createWaitingWorkers(listWithWork, createLog("silent"), { poll: HOUR, rest: 5, wait: HOUR });

  test("a worker with work: goes on without the next poll", async () => {
    const { wait, look } = waitingLong(async (ids) => ids.filter((id) => id === "a"));
    const outcomes = [wait("a"), wait("b")] as const;
    look();
    expect(await outcomes[0]).toBe(true);
    // Those without work wait on, for the next write.
    expect(await Promise.race([outcomes[1], Bun.sleep(50).then(() => "waits")])).toBe("waits");
  });

  test("a write while a statement runs: asked again after it", async () => {
    const running = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    let work: string[] = [];
    const { wait, look } = waitingLong(async () => {
      const found = work;
      begun.resolve();
      await running.promise;
      return found;
    });
    const outcome = wait("a");
    look();
    await begun.promise;
    work = ["a"];
    look();
    running.resolve();
    expect(await outcome).toBe(true);
  });

  test("a thousand writes at once: share a statement", async () => {
    const asked: string[][] = [];
    const { wait, look } = waitingLong(async (ids) => {
      asked.push(ids);
      return ids;
    });
    const outcome = wait("a");
    for (let write = 0; write < 1000; write++) look();
    expect(await outcome).toBe(true);
    expect(asked).toEqual([["a"]]);
  });

  test("one worker, woken: goes on alone", async () => {
    const { wait, wake } = waitingLong(async () => []);
    const outcome = wait("a");
    wake("unknown");
    wake("a");
    expect(await outcome).toBe(true);
  });
});
