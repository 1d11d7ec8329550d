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

test("a database without a due job: its turns are skipped until it has one, however often it is skipped", async () => {
  const db = named(0);
  const turns = createTurns({ all: () => [db] });
  const due = Promise.withResolvers<void>();
  let waits = 0;
  const skip = () =>
    turns.skipUntil(db, () => {
      waits++;
      return due.promise;
    });
  const skipped = skip();
  expect(turns.next().db).toBeNull();
  // A job has ended meanwhile, but no other is due.
  turns.pause(db, 0);
  expect(turns.next().db).toBe(db);
  await skip();
  expect(turns.next().db).toBeNull();
  expect(waits).toBe(1);
  due.resolve();
  await skipped;
  expect(turns.next().db).toBe(db);
});
