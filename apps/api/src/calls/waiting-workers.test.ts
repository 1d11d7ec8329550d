import { expect, test } from "bun:test";
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

test("a question that fails: asked again, and the worker gets its work", async () => {
  const { wait, fail } = waitingWith(new Set(["a"]));
  fail(2);
  expect(await wait("a")).toBe(true);
});
