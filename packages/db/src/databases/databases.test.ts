import { describe, expect, test } from "bun:test";
import type { Db } from "../connection/pool.ts";
import { combined, type Databases, findIn, readAll } from "./databases.ts";

describe("findIn", () => {
  /** Databases, distinguished by this value. */
  const named = (deadlineMs: number): Db => ({ deadlineMs }) as Db;
  const [one, two] = [named(1), named(2)];
  const outcome = (found: Record<number, string | Error | null>) => async (db: Db) => {
    const value = found[db.deadlineMs] ?? null;
    if (value instanceof Error) throw value;
    return value;
  };

  test("the first database has it: found, and no other is searched", async () => {
    const asked: number[] = [];
    const find = async (db: Db): Promise<string> => {
      asked.push(db.deadlineMs);
      return "found";
    };
    expect(await findIn([one, two], find)).toBe("found");
    expect(asked).toEqual([1]);
  });

  test.each<[string, Record<number, string | Error | null>, string | null]>([
    ["only the second database has it", { 1: null, 2: "two" }, "two"],
    ["no database has it", { 1: null, 2: null }, null],
    ["the first database fails, the second has it", { 1: new Error("down"), 2: "two" }, "two"],
  ])("%s: found there, or null", async (_, found, expected) => {
    expect(await findIn([one, two], outcome(found))).toBe(expected);
  });

  test("one database fails, and no other has it: the failure, because the failed one may have it", async () => {
    const find = outcome({ 1: new Error("down"), 2: null });
    await expect(findIn([one, two], find)).rejects.toThrow("down");
    await expect(findIn([two, one], find)).rejects.toThrow("down");
    expect(await findIn([], find)).toBeNull();
  });
});

test("counts with nulls, combined: sums of numbers, maxima of lengths of time, without the nulls", () => {
  const all = [
    { jobs: 2, oldestSeconds: 5, autoCreate: null },
    { jobs: 3, oldestSeconds: 40, autoCreate: true },
    { jobs: 0, oldestSeconds: 0, autoCreate: null },
  ];
  expect(combined<object>(all)).toEqual({ jobs: 5, oldestSeconds: 40, autoCreate: true });
  expect(combined([{ jobs: 1 }, { jobs: Number.NaN }]).jobs).toBeNaN();
});

describe("readAll", () => {
  const counted = (jobs: number | null): Db => ({ deadlineMs: jobs, within: () => counted(jobs) }) as unknown as Db;
  const read = async ({ deadlineMs }: Db) => {
    if (deadlineMs === null) throw new Error("no response");
    return { jobs: deadlineMs };
  };
  const readOf = (...all: Db[]) => readAll({ all: () => all } as unknown as Databases, read, 10);

  test("one database does not respond: the counts of the others", async () => {
    expect(await readOf(counted(2), counted(null), counted(3))).toEqual({ jobs: 5 });
  });

  test("no database responds: the failure", async () => {
    await expect(readOf(counted(null), counted(null))).rejects.toThrow("no response");
  });
});
