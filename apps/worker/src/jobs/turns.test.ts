import { expect, test } from "bun:test";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { createTurns } from "./turns.ts";

/** Databases, distinguished by this value. */
const named = (deadlineMs: number): Db => ({ deadlineMs }) as Db;

test("the turns of several databases, new ones included: each in its turn, none during its pause", () => {
  const all = [named(0), named(1), named(2)];
  const turns = createTurns({ all: () => all });
  const next = (count: number) => Array.from({ length: count }, () => turns.next().db?.deadlineMs ?? null);
  expect(next(4)).toEqual([0, 1, 2, 0]);
  turns.pause(all[1] as Db, 60_000);
  expect(next(3)).toEqual([2, 0, 2]);
  turns.pause(all[0] as Db, 60_000);
  turns.pause(all[2] as Db, 120_000);
  const turn = turns.next();
  expect(turn.db).toBeNull();
  expect((turn as { pauseMs: number }).pauseMs).toBeWithin(900, 1001);
  all.push(named(3));
  expect(next(1)).toEqual([3]);
  // A job of the database has ended, so its turn comes at once.
  turns.pause(all[1] as Db, 0);
  expect(turns.next().db?.deadlineMs).toBe(1);
});

test("the turns without a database: a pause", () => {
  const turn = createTurns({ all: () => [] }).next();
  expect(turn.db).toBeNull();
});
