/** Waiting for due work: one statement for all queues of a database. */
import { expect, spyOn, test } from "bun:test";
import type { Db } from "@realtime-avatar/db/connection/pool";
import type { DueWork } from "@realtime-avatar/db/due-work/due-work";
import { until } from "@realtime-avatar/testing/until";
import { createUntilDue } from "./due-work.ts";

const NOTHING: DueWork = { jobs: false, deliveries: false, transcripts: false, recordings: false };
const never = new AbortController().signal;

/** A database that returns `due()`, and counts the statements. */
const databaseWith = (due: () => DueWork) => {
  const counted = { statements: 0 };
  const run = async () => {
    counted.statements++;
    return [due()];
  };
  return { counted, db: { run } as unknown as Db };
};

test("queues that wait: one statement asks for all; those with due work end", async () => {
  let due = NOTHING;
  const { counted, db } = databaseWith(() => due);
  const untilDue = createUntilDue(db, { least: 5, most: 5 });
  const ended: string[] = [];
  const waits = (["jobs", "deliveries", "recordings"] as const).map(async (queue) => {
    await untilDue(queue)(never);
    ended.push(`${queue} after ${counted.statements}`);
  });
  await until(() => counted.statements >= 3);
  expect(ended).toEqual([]);
  due = { ...NOTHING, jobs: true, recordings: true };
  const asked = counted.statements;
  await until(() => ended.length === 2);
  // A statement may have been running.
  expect(ended[0]).toMatch(/^jobs/);
  expect(ended[1]).toBe(ended[0]?.replace("jobs", "recordings") as string);
  expect(Number(ended[0]?.split(" ").at(-1)) - asked).toBeLessThanOrEqual(1);
  due = { ...NOTHING, deliveries: true };
  await Promise.all(waits);
});

test("no queue that waits: no statement", async () => {
  const { counted, db } = databaseWith(() => ({ ...NOTHING, jobs: true }));
  const untilDue = createUntilDue(db, { least: 1, most: 1 });
  await untilDue("jobs")(never);
  await Bun.sleep(50);
  expect(counted.statements).toBe(1);
  await untilDue("jobs")(never);
  expect(counted.statements).toBe(2);
});

test("a worker that stops: the wait ends, and asks no more", async () => {
  const { counted, db } = databaseWith(() => NOTHING);
  const stopping = new AbortController();
  const wait = createUntilDue(db, { least: 1, most: 1 })("jobs");
  const waiting = wait(stopping.signal);
  await until(() => counted.statements > 1);
  stopping.abort();
  await waiting;
  await wait(stopping.signal);
  await Bun.sleep(20);
  const last = counted.statements;
  await Bun.sleep(50);
  expect(counted.statements).toBe(last);
});

test("a database that fails: the wait ends, so that a claim reports the error", async () => {
  const db = { run: () => Promise.reject(new Error("away")) } as unknown as Db;
  await createUntilDue(db, { least: 1, most: 1 })("jobs")(never);
});

test("a queue that stays idle: asked less often; after due work, often again", async () => {
  let due = NOTHING;
  const { db } = databaseWith(() => due);
  const pauses: number[] = [];
  const sleep = spyOn(Bun, "sleep").mockImplementation(async (milliseconds) => {
    pauses.push(Number(milliseconds));
    await new Promise((resolve) => setImmediate(resolve));
  });
  try {
    const untilDue = createUntilDue(db, { least: 500, most: 2000 });
    for (let round = 0; round < 2; round++) {
      pauses.length = 0;
      due = NOTHING;
      const waiting = untilDue("jobs")(never);
      while (pauses.length < 4) await new Promise((resolve) => setImmediate(resolve));
      due = { ...NOTHING, jobs: true };
      await waiting;
      for (const [index, interval] of [500, 1000, 2000, 2000].entries())
        expect(pauses[index]).toBeWithin(0.75 * interval, interval + 1);
    }
  } finally {
    sleep.mockRestore();
  }
});
