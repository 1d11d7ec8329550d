import { expect, test } from "bun:test";
import { DatabaseError } from "../errors.ts";
import { type StatementJob, StatementQueue } from "./queue.ts";

const job = (text: string, isAborted?: () => boolean) => {
  const errors: unknown[] = [];
  const made: StatementJob = {
    text,
    parameters: [],
    name: "test",
    isAborted,
    state: { kind: "waiting" },
    isRerun: false,
    resolve: () => {},
    reject: (error) => errors.push(error),
  };
  return Object.assign(made, { errors });
};
const codes = (errors: unknown[]) => errors.map((error) => (error instanceof DatabaseError ? error.code : error));

test("queued jobs: taken in order", () => {
  const queue = new StatementQueue(10);
  for (const text of ["a", "b", "c"]) queue.add(job(text));
  expect(queue.size).toBe(3);
  expect([1, 2, 3, 4].map(() => queue.next()?.text)).toEqual(["a", "b", "c", undefined]);
  expect(queue.size).toBe(0);
});

test("a full queue: refuses a job; after the removal of a job: accepts one", () => {
  const queue = new StatementQueue(1);
  const waiting = job("a");
  queue.add(waiting);
  expect(queue.hasRoom()).toBe(false);
  queue.remove(waiting);
  expect([queue.hasRoom(), queue.size]).toEqual([true, 0]);
});

test("a job whose request is aborted: rejected at its turn", () => {
  const queue = new StatementQueue(10);
  const [aborted, other] = [job("a", () => true), job("b", () => false)];
  queue.add(aborted);
  queue.add(other);
  expect(queue.next()).toBe(other);
  expect(codes(aborted.errors)).toEqual(["ABORTED"]);
  expect(other.errors).toEqual([]);
});

test("all jobs, rejected: as not executed", () => {
  const queue = new StatementQueue(10);
  const jobs = [job("a"), job("b")];
  for (const each of jobs) queue.add(each);
  queue.rejectAll("ECONNREFUSED");
  for (const { errors } of jobs) expect(errors).toMatchObject([{ failure: "not_executed", code: "ECONNREFUSED" }]);
  expect(queue.size).toBe(0);
});
