import { expect, test } from "bun:test";
import { DatabaseError } from "./errors.ts";
import { type Priority, type StatementJob, StatementQueue } from "./queue.ts";

const job = (text: string, priority: Priority, isAborted?: () => boolean) => {
  const errors: unknown[] = [];
  const made: StatementJob = {
    text,
    parameters: [],
    isAborted,
    priority,
    state: { kind: "waiting" },
    isRerun: false,
    resolve: () => {},
    reject: (error) => errors.push(error),
  };
  return Object.assign(made, { errors });
};
const codes = (errors: unknown[]) => errors.map((error) => (error instanceof DatabaseError ? error.code : error));

test("started requests go before new ones, each in order", () => {
  const queue = new StatementQueue(10);
  for (const [text, priority] of [
    ["a", "new"],
    ["b", "started"],
    ["c", "new"],
    ["d", "started"],
  ] as const) {
    queue.add(job(text, priority));
  }
  expect(queue.size).toBe(4);
  expect([1, 2, 3, 4, 5].map(() => queue.next()?.text)).toEqual(["b", "d", "a", "c", undefined]);
  expect(queue.size).toBe(0);
});

test("each priority has room of its own, and a removed job leaves its place", () => {
  const queue = new StatementQueue(1);
  const waiting = job("a", "new");
  queue.add(waiting);
  expect([queue.hasRoom("new"), queue.hasRoom("started")]).toEqual([false, true]);
  queue.remove(waiting);
  expect([queue.hasRoom("new"), queue.size]).toEqual([true, 0]);
});

test("jobs of aborted requests are rejected when their turn comes", () => {
  const queue = new StatementQueue(10);
  const [aborted, other] = [job("a", "new", () => true), job("b", "new", () => false)];
  queue.add(aborted);
  queue.add(other);
  expect(queue.next()).toBe(other);
  expect(codes(aborted.errors)).toEqual(["ABORTED"]);
  expect(other.errors).toEqual([]);
});

test("rejectAll rejects every job, as not executed", () => {
  const queue = new StatementQueue(10);
  const jobs = [job("a", "new"), job("b", "started")];
  for (const each of jobs) queue.add(each);
  queue.rejectAll("ECONNREFUSED");
  for (const { errors } of jobs) expect(errors).toMatchObject([{ failure: "not_executed", code: "ECONNREFUSED" }]);
  expect(queue.size).toBe(0);
});
