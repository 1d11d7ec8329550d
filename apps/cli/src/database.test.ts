import { afterEach, expect, mock, spyOn, test } from "bun:test";
import type { Databases } from "@realtime-avatar/db/databases/databases";
import { withResponding } from "./database.ts";

const before = process.exitCode;
afterEach(() => {
  process.exitCode = before ?? 0;
  mock.restore();
});

test.each([
  ["a lost shard", "Left out: shard 2.", false, 1],
  ["a lost shard, and work that may be partial", "Left out: shard 2.", true, 0],
  ["all shards", null, false, 0],
] as const)("%s: named; exit code 1 only for a list that must be whole", async (_, lost, mayBePartial, code) => {
  const printed = spyOn(console, "error").mockImplementation(() => {});
  process.exitCode = 0;
  let seen: Databases | null = null;
  const work = async (databases: Databases): Promise<void> => {
    seen = databases;
  };
  await withResponding({} as Databases, { all: [], lost }, work, mayBePartial);
  expect([process.exitCode, printed.mock.calls]).toEqual([code, lost === null ? [] : [[lost]]]);
  expect((seen as Databases | null)?.all()).toEqual([]);
});
