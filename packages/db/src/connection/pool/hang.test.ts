import { describe, expect, test } from "bun:test";
import { until } from "@realtime-avatar/testing/until";
import { databaseFailure } from "../errors.ts";
import { countHanging, HANG_AFTER_MS, hasRespondedLately, maxOpen } from "./hang.ts";
import type { Slot } from "./slot.ts";
import { catchFailure, failureKind, forLong, now, poolTests, sleep } from "./testing.ts";

const database = await poolTests();
const { withPool, sleepers, startProxy } = database;

const NOW = 1_000_000;
const slot = (busySince: number | null, respondedAt = 0): Slot => ({
  connection: { host: { host: "h", port: 1 }, run: async () => [], abandon: () => {} },
  openedAt: 0,
  respondedAt,
  busySince,
});

describe("the detection of hanging connections", () => {
  test("connections with one statement for over a second: counted as hanging; idle connections: not counted", () => {
    const slots = [slot(null), slot(NOW), slot(NOW - HANG_AFTER_MS), slot(NOW - HANG_AFTER_MS - 1), slot(1)];
    expect(countHanging(slots, NOW)).toBe(2);
  });

  test.each([
    [10, 0, 10],
    [10, 3, 13],
    [10, 10, 20],
    [10, 15, 20],
  ])("a pool, %d connections, %d hanging: %d may be open", (maximum, hanging, expected) => {
    expect(maxOpen(maximum, hanging)).toBe(expected);
  });

  test("an idle connection with a response within the last second: trusted", () => {
    expect(hasRespondedLately(slot(null, NOW - HANG_AFTER_MS), NOW)).toBe(true);
    expect(hasRespondedLately(slot(null, NOW - HANG_AFTER_MS - 1), NOW)).toBe(false);
  });
});

test("hanging connections, replaced by the same number; afterwards as many as before", async () => {
  await withPool({ connections: 2, deadlineMs: 60_000 }, async (db) => {
    const hanging = [0, 1].map(() => catchFailure(forLong(db)));
    await sleepers(2);
    // The statement waits for a second, and is then served.
    expect(await now(db)).toHaveLength(1);
    hanging.push(...[0, 1].map(() => catchFailure(forLong(db))));
    const pids = await sleepers(4);
    const waiting = failureKind(now(db.within(1500)));
    expect(await waiting).toEqual(["not_executed", "DEADLINE_EXCEEDED"]);
    for (const pid of pids) await database.client`select pg_cancel_backend(${pid}::integer)`;
    await Promise.all(hanging);
    const running = [0, 1].map(() => catchFailure(forLong(db)));
    expect(await sleepers(2)).toHaveLength(2);
    const backends = () => database.client`
      select pid from pg_stat_activity
      where datname = current_database() and query like 'select pg_backend_pid() as pid from pg_sleep%'`;
    await until(async () => (await backends()).length <= 2, { pollMs: 2 });
    for (const pid of await sleepers(2)) await database.client`select pg_cancel_backend(${pid}::integer)`;
    await Promise.all(running);
  });
});

test("the network, dropping packets: running statements fail, the next ones succeed", async () => {
  let isLost = false;
  const proxy = await startProxy((socket, upstream) => {
    const born = isLost;
    socket.on("data", (chunk) => isLost === born && upstream.write(chunk));
    upstream.on("data", (chunk) => isLost === born && socket.write(chunk));
  });
  await withPool({ url: proxy.url, connections: 6, deadlineMs: 60_000 }, async (db) => {
    await Promise.all(Array.from({ length: 6 }, () => sleep(db, { seconds: 0.05 })));
    // While a connection that hangs is being opened, no other is opened in its place.
    await until(() => Promise.resolve(db.stats().connections.open === 6), { pollMs: 2 });
    isLost = true;
    const hanging = catchFailure(now(db.within(2000)));
    await Bun.sleep(1100);
    for (let count = 0; count < 5; count++) expect(await now(db.within(20_000))).toHaveLength(1);
    expect(databaseFailure(await hanging)).toBe("outcome_unknown");
  });
  proxy.close();
});
