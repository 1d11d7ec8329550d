import { expect, test } from "bun:test";
import { seededBytes } from "@realtime-avatar/testing/random-bytes";
import type { Db } from "./pool.ts";
import { forEachDatabase, isOneOfSeveral, logFields, randomFor } from "./which-database.ts";

const [only, first, tenth] = [null, 0, 9].map((shard) => ({ shard }) as Db) as [Db, Db, Db];

test("the only database, and one of several: distinguished, and named in a log line", () => {
  expect([only, first, tenth].map(isOneOfSeveral)).toEqual([false, true, true]);
  expect([only, first, tenth].map(logFields)).toEqual([{}, { shard: 0 }, { shard: 9 }]);
});

test("the source of ids of the only database: unchanged; of one of several: always the same object, with the same bytes", () => {
  const [random, same] = [seededBytes("which"), seededBytes("which")];
  expect(randomFor(only, random)).toBe(random);
  const source = randomFor(tenth, random);
  expect(randomFor({ ...tenth }, random)).toBe(source);
  expect([source, randomFor(first, random)]).not.toContain(random);
  expect(source(8)).toEqual(same(8));
});

test("a value of a database: created once, also for another view of the same database", () => {
  const made: (number | null)[] = [];
  const numberOf = forEachDatabase((db) => made.push(db.shard));
  expect([first, tenth, { ...first }, only].map(numberOf)).toEqual([1, 2, 1, 3]);
  expect(made).toEqual([0, 9, null]);
});
