import { describe, expect, test } from "bun:test";
import { createLog } from "@realtime-avatar/runtime/log";
import { createWaitingWorkers } from "./waiting-workers.ts";

/** Waiting workers, with the list of statements so far. `work`: the workers that have work. */
const waitingWith = (work: Set<string>) => {
  const asked: string[][] = [];
  let failing = 0;
  const waiting = createWaitingWorkers(async (ids) => {
    asked.push(ids);
    if (failing-- > 0) throw new Error("the database is unavailable");
    return ids.filter((id) => work.has(id));
  }, createLog("silent"));
  const fail = (times: number): void => {
    failing = times;
  };
  return { ...waiting, asked, fail };
};

test("a worker without work: false after a second and about ten statements", async () => {
  const { wait, asked } = waitingWith(new Set());
  expect(await wait("a")).toBe(false);
  expect(asked.length).toBeWithin(1, 12);
  const before = asked.length;
  await Bun.sleep(300);
  expect(asked.length).toBeLessThanOrEqual(before + 1);
});

test("many waiting workers: one statement for all, and only those with work resume", async () => {
  const work = new Set<string>();
  const { wait, asked } = waitingWith(work);
  const ids = Array.from({ length: 50 }, (_, number) => `w${number}`);
  const outcomes = Promise.all(ids.map(wait));
  work.add("w7");
  expect((await outcomes).flatMap((hasWork, index) => (hasWork ? [ids[index]] : []))).toEqual(["w7"]);
  expect(asked[0]).toEqual(ids);
  expect(asked.length).toBeLessThan(15);
});

test("a worker that syncs again while it waits: the first sync ends without work, the second waits", async () => {
  const work = new Set<string>();
  const { wait } = waitingWith(work);
  const first = wait("a");
  const second = wait("a");
  expect(await first).toBe(false);
  work.add("a");
  expect(await second).toBe(true);
});

test("a worker that waits after an idle time: statements begin again", async () => {
  const work = new Set(["a"]);
  const { wait } = waitingWith(work);
  for (let count = 0; count < 3; count++) {
    expect(await wait("a")).toBe(true);
    // No worker waits, so no statement follows.
    await Bun.sleep(20);
  }
});

test("a statement that fails: repeated; the worker gets its work", async () => {
  const { wait, fail } = waitingWith(new Set(["a"]));
  fail(2);
  expect(await wait("a")).toBe(true);
});

describe("after a write of this process", () => {
  /** The poll interval is an hour, so only `look` runs statements. */
  const HOUR = 3_600_000;
  const waitingLong = (listWithWork: (ids: string[]) => Promise<string[]>) =>
    createWaitingWorkers(listWithWork, createLog("silent"), { poll: HOUR, rest: 5, wait: HOUR });

  test("a worker with work: resumes before the next poll", async () => {
    const { wait, look } = waitingLong(async (ids) => ids.filter((id) => id === "a"));
    const outcomes = [wait("a"), wait("b")] as const;
    look();
    expect(await outcomes[0]).toBe(true);
    // Workers without work keep waiting for the next write.
    expect(await Promise.race([outcomes[1], Bun.sleep(50).then(() => "waits")])).toBe("waits");
  });

  test("a write while a statement runs: another statement after it", async () => {
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

  test("a thousand writes at once: one shared statement", async () => {
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

  test("one woken worker: only it resumes", async () => {
    const { wait, wake } = waitingLong(async () => []);
    const outcome = wait("a");
    wake("unknown");
    wake("a");
    expect(await outcome).toBe(true);
  });
});
