/** The job loop on a real queue: how jobs are run, retried, kept and handed back. */
import { expect, spyOn, test } from "bun:test";
import { getEventListeners } from "node:events";
import { finishAsset, startAsset } from "@realtime-avatar/db/assets/processing";
import type { ClaimedJob } from "@realtime-avatar/db/jobs/jobs";
import { createMetrics } from "@realtime-avatar/runtime/metrics";
import { seedVideo } from "@realtime-avatar/testing/avatars/videos";
import { readyAvatar } from "@realtime-avatar/testing/calls/calls";
import { PRICE } from "@realtime-avatar/testing/credits";
import { random } from "@realtime-avatar/testing/random-bytes";
import { countIntervals } from "@realtime-avatar/testing/run/intervals";
import { seedCaller, seedOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { eachWorld, type World } from "../../test/support/world.ts";
import type { JobHandler, JobOutcome } from "./handler.ts";
import type { JobLoop } from "./loop.ts";
import { JOB_TIMING, type JobRunner, runJob } from "./run-job.ts";

const world = eachWorld();

const RESULT = {
  kind: "ready",
  contentType: "image/png",
  sizeBytes: 5,
  sha256: "0".repeat(64),
  publicType: null,
} as const;

/** Starts and ends the job in the database, as every handler does. `work` runs in between. */
const handlerOf =
  (work: JobHandler = async () => ({ kind: "ready" })): JobHandler =>
  async (job, context) => {
    const { db } = world.database;
    if ((await startAsset(db, job)) === null) return { kind: "gone" };
    const outcome = await work(job, context);
    if (outcome.kind !== "ready") return outcome;
    return { kind: (await finishAsset(db, job, RESULT, seedOrigin())) === "finished" ? "ready" : "gone" };
  };

const start = (handler: JobHandler, options?: Parameters<World["loop"]>[1]): JobLoop =>
  world.loop({ process_asset: handler }, options);

const seed = (count: number) =>
  Promise.all(Array.from({ length: count }, () => world.seedUpload(Buffer.from("bytes"))));

test("jobs, of several tenants: each run once, within both limits", async () => {
  const other = await seedCaller(world.database.db);
  const assets = await seed(6);
  assets.push(...(await Promise.all([1, 2, 3].map(() => world.seedUpload(Buffer.from("x"), "image", other)))));
  const running = { all: 0, most: 0, tenants: new Map<string, number>(), mostOfTenant: 0 };
  const runs: string[] = [];
  start(
    handlerOf(async ({ targetId, tenantId }) => {
      runs.push(targetId);
      const ofTenant = (running.tenants.get(tenantId) ?? 0) + 1;
      running.tenants.set(tenantId, ofTenant);
      running.all++;
      running.most = Math.max(running.most, running.all);
      running.mostOfTenant = Math.max(running.mostOfTenant, ofTenant);
      // The first jobs wait for each other, even if they are claimed slowly. The others give a surplus job the time to
      // start.
      await until(() => running.most >= 3, { pollMs: 5 });
      await Bun.sleep(30);
      running.all--;
      running.tenants.set(tenantId, (running.tenants.get(tenantId) ?? 0) - 1);
      return { kind: "ready" };
    }),
    { concurrency: 3, slotsPerTenant: 2 },
  );
  await world.untilDone();
  expect(runs.sort()).toEqual(assets.map(({ id }): string => id).sort());
  expect([running.most, running.mostOfTenant]).toEqual([3, 2]);
  for (const asset of assets) expect((await world.stateOf(asset)).status).toBe("ready");
});

test("long videos of two tenants: another tenant's file does not wait for them", async () => {
  const { db } = world.database;
  for (const _ of [1, 2]) {
    const caller = await seedCaller(db, await seedTenant(db, { live: 100 * PRICE }));
    await seedVideo(db, caller, await readyAvatar(db, caller));
  }
  const rendering = Promise.withResolvers<void>();
  let videos = 0;
  world.loop(
    {
      process_asset: handlerOf(),
      render_video: async () => {
        videos += 1;
        await rendering.promise;
        return { kind: "retry", error: "The test has ended." };
      },
    },
    { concurrency: 2 },
  );
  await until(() => videos > 0);
  const [asset] = await seed(1);
  await until(async () => (await world.stateOf(asset as never)).status === "ready");
  expect(videos).toBe(1);
  rendering.resolve();
  await until(() => videos === 2);
});

test("a handler, throwing: its job is tried again with the reason; other jobs continue", async () => {
  const [bad, good] = await seed(2);
  let failures = 0;
  start(
    handlerOf(async ({ targetId }) => {
      if (targetId === bad?.id && failures++ === 0)
        throw Object.assign(new Error("https://user:hunter2@host/"), { code: "EIO" });
      return { kind: "ready" };
    }),
    { timing: { retrySeconds: 0 } },
  );
  await world.untilDone();
  for (const asset of [bad, good]) expect((await world.stateOf(asset as never)).status).toBe("ready");
  expect(failures).toBe(2);
  expect(world.lines.filter(({ level }) => Number(level) > 30)).toMatchObject([
    { target: bad?.id, attempts: 1, error: "Error: Error (EIO).", msg: "a job has failed; it is tried again" },
  ]);
  expect(JSON.stringify(world.lines)).not.toContain("hunter2");
});

test("a job, retried five times: waits with its error, then its asset has failed", async () => {
  const [asset] = await seed(1);
  const attempts: number[] = [];
  start(
    handlerOf(async (job): Promise<JobOutcome> => {
      attempts.push(job.attempts);
      return { kind: "retry", error: "The disk has no room for the file." };
    }),
    { timing: { retrySeconds: 3600 } },
  );
  const state = () => world.stateOf(asset as never);
  for (let attempt = 1; attempt < 5; attempt++) {
    await until(async () => (await state()).lastError !== null && attempts.length >= attempt);
    await until(async () => (await state()).status === "uploaded");
    expect(await state()).toMatchObject({ attempts: attempt, lastError: "The disk has no room for the file." });
    await world.expire();
  }
  // The row shows the end a moment before the log does.
  await world.ended(5);
  expect(await state()).toMatchObject({ status: "failed", errorCode: "internal", attempts: null });
  expect(attempts).toEqual([1, 2, 3, 4, 5]);
  expect(world.lines.at(-2)).toMatchObject({ level: 50, msg: "a job has failed for the last time" });
});

test("a job, five attempts used up: not started; its asset has failed", async () => {
  const [asset] = await seed(1);
  await world.database.db.client`update jobs set attempts = 5`;
  let runs = 0;
  start(
    handlerOf(async () => {
      runs++;
      return { kind: "ready" };
    }),
  );
  await world.untilDone();
  expect(runs).toBe(0);
  expect(await world.stateOf(asset as never)).toMatchObject({ status: "failed", errorCode: "internal" });
});

test("jobs whose worker died: each runs alone, and costs no attempt", async () => {
  const assets = await seed(4);
  const died = assets.slice(0, 2).map(({ id }): string => id);
  await world.database.db.client`
    update jobs set lease = 'x', leased_until = now(), attempts = 1 where target_id in ${world.database.db.client(died)}`;
  const running = new Set<string>();
  const besides: number[] = [];
  const attempts: number[] = [];
  start(
    handlerOf(async (job) => {
      attempts.push(job.attempts);
      running.add(job.targetId);
      // Long enough for the loop to claim another job.
      for (let look = 0; look < 30; look++) {
        if ([...running].some((id) => died.includes(id))) besides.push(running.size);
        await Bun.sleep(10);
      }
      running.delete(job.targetId);
      return { kind: "ready" };
    }),
    { concurrency: 4, slotsPerTenant: 4 },
  );
  await world.untilDone();
  expect([Math.max(...besides), attempts]).toEqual([1, [1, 1, 1, 1]]);
});

test("a loop that stops after a crash: unfinished jobs can be claimed at once, run alone, and lose no attempt", async () => {
  await seed(2);
  const untilBoth = Promise.withResolvers<void>();
  let started = 0;
  const loop = start(
    handlerOf(async (_, { signal }) => {
      if (++started === 2) untilBoth.resolve();
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      return { kind: "retry", error: "canceled" };
    }),
    { timing: { stopMs: 10 } },
  );
  await untilBoth.promise;
  await loop.stop(true);
  const { client } = world.database.db;
  expect(await client`select 1 from jobs where leased_until > now()`).toHaveLength(0);
  const claims: unknown[] = [];
  start(
    handlerOf(async ({ attempts, runsAlone }) => {
      claims.push([attempts, runsAlone]);
      return { kind: "ready" };
    }),
  );
  await world.untilDone();
  expect(claims).toEqual([
    [1, true],
    [1, true],
  ]);
});

test("a lease, during long work: renewed, and no other loop takes the job", async () => {
  const [asset] = await seed(1);
  let runs = 0;
  const { client } = world.database.db;
  const leasedUntil = async (): Promise<Date> => (await client`select leased_until from jobs`)[0]?.["leased_until"];
  const aborted: boolean[] = [];
  const long = handlerOf(async (_, { signal }) => {
    runs++;
    const first = await leasedUntil();
    // Long enough for the other loop to claim it, which polls every 250 ms.
    const isOver = async () =>
      (await client`select 1 where now() > ${first}::timestamptz + interval '1 second'`).length > 0;
    await until(isOver, { pollMs: 200 });
    aborted.push(signal.aborted);
    return { kind: "ready" };
  });
  // Renewed every second, so a slow machine has two more seconds.
  const timing = { leaseSeconds: 3 };
  const timers = countIntervals();
  const loops = [start(long, { timing }), start(long, { timing })];
  await world.untilDone();
  await Promise.all(loops.map((loop) => loop.stop()));
  // The lease is no longer renewed.
  expect(timers.open()).toBe(0);
  timers.restore();
  expect([runs, aborted, (await world.stateOf(asset as never)).status]).toEqual([1, [false], "ready"]);
});

test("work whose lease is lost: aborted, nothing written", async () => {
  const [asset] = await seed(1);
  const seen = Promise.withResolvers<unknown>();
  let lost: ClaimedJob | null = null;
  let other: JobLoop | null = null;
  const handler = handlerOf(async (job, { signal, holdLease }) => {
    lost ??= job;
    if (job.lease !== lost.lease) return { kind: "ready" };
    await world.expire();
    other ??= start(handler);
    const isHeld = () => world.database.db.client`select 1 from jobs where lease = ${job.lease}`;
    await until(async () => (await isHeld()).length === 0);
    expect(await holdLease()).toBe(false);
    seen.resolve(signal.reason);
    return { kind: "ready" };
  });
  const loop = start(handler);
  expect(await seen.promise).toBe("lost");
  await world.untilDone();
  await Promise.all([loop.stop(), (other as JobLoop | null)?.stop()]);
  expect((await world.stateOf(asset as never)).status).toBe("ready");
  const ends = world.lines
    .filter(({ msg }) => msg === "a job has ended")
    .map(({ outcome, attempts }) => [attempts, outcome]);
  expect(ends.sort()).toEqual([
    [1, "gone"],
    [1, "ready"],
  ]);
});

test("a loop, stopped: claims no job, short work ends, long work is handed back without an attempt", async () => {
  const [short, long] = await seed(2);
  const untilBoth = Promise.withResolvers<void>();
  const aborted = Promise.withResolvers<void>();
  let started = 0;
  const loop = start(
    handlerOf(async ({ targetId }, { signal }): Promise<JobOutcome> => {
      if (++started === 2) untilBoth.resolve();
      if (targetId === short?.id) {
        await Bun.sleep(50);
        return { kind: "ready" };
      }
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      aborted.resolve();
      return { kind: "retry", error: "canceled" };
    }),
    { timing: { stopMs: 300 } },
  );
  await untilBoth.promise;
  const [later] = await seed(1);
  await loop.stop();
  await aborted.promise;
  expect((await world.stateOf(short as never)).status).toBe("ready");
  expect(await world.stateOf(long as never)).toMatchObject({ status: "uploaded", attempts: 0 });
  expect(await world.stateOf(later as never)).toMatchObject({ status: "uploaded", attempts: 0 });
  // The job runs again at once, without waiting for a lease or a pause.
  const attempts: number[] = [];
  start(
    handlerOf(async (job) => {
      attempts.push(job.attempts);
      return { kind: "ready" };
    }),
  );
  await world.untilDone();
  expect(attempts).toEqual([1, 1]);
});

test("a loop, stopped while its work ignores the abort: stops, and hands the job back", async () => {
  const [asset] = await seed(1);
  const untilStarted = Promise.withResolvers<void>();
  const loop = start(
    handlerOf(() => {
      untilStarted.resolve();
      return new Promise(() => {});
    }),
    { timing: { stopMs: 10 } },
  );
  await untilStarted.promise;
  await loop.stop();
  expect(await world.stateOf(asset as never)).toMatchObject({ status: "uploaded", attempts: 0 });
});

test("work, taking too long: aborted, counted as an attempt", async () => {
  const [asset] = await seed(1);
  start(
    handlerOf(async (_, { signal }) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      return { kind: "retry", error: "canceled" };
    }),
    { timing: { maxJobMs: 50, retrySeconds: 3600 } },
  );
  await until(async () => (await world.stateOf(asset as never)).lastError !== null);
  expect(await world.stateOf(asset as never)).toMatchObject({ attempts: 1, lastError: "It took too long." });
});

test("a queue, unreadable for a time: logged, then read again", async () => {
  const { client } = world.database.db;
  await client`alter table jobs rename to away`;
  start(handlerOf());
  await until(() => world.lines.some(({ msg }) => msg === "failed to claim a job; retrying"));
  await client`alter table away rename to jobs`;
  const [asset] = await seed(1);
  await world.untilDone();
  expect((await world.stateOf(asset as never)).status).toBe("ready");
});

test("a job, ended: counted in the metrics and with a span in the traces, by kind and outcome", async () => {
  const metrics = createMetrics("1.2.3");
  await seed(1);
  const spans: object[] = [];
  start(handlerOf(), { metrics, tracing: { record: (...span) => void spans.push(span) } });
  await world.untilDone();
  await world.stopLoops();
  const text = await (await metrics.fetch(new Request("http://localhost/metrics"))).text();
  metrics.stop();
  expect(text).toContain('realtime_avatar_job_duration_seconds_count{kind="process_asset",outcome="ready"} 1');
  const attributes = { job_id: expect.stringMatching(/^job_/), kind: "process_asset", outcome: "ready", attempts: 1 };
  expect(spans).toEqual([["job", expect.any(Number), attributes, false]]);
});

test("a renewal that takes longer than its lease: the job is lost, because another worker may have it", async () => {
  await seed(1);
  const now = performance.now.bind(performance);
  let passedMs = 0;
  const clock = spyOn(performance, "now").mockImplementation(() => now() + passedMs);
  const reasons: unknown[] = [];
  start(async (_, { signal, holdLease }) => {
    const renewing = holdLease();
    passedMs = 60_001;
    await renewing;
    // A due timer fires before a timer that is set now.
    await Bun.sleep(1);
    passedMs = 0;
    reasons.push(signal.reason);
    return { kind: "gone" };
  });
  await until(() => reasons.length > 0, { pollMs: 5 });
  clock.mockRestore();
  expect(reasons).toEqual(["lost"]);
});

test("an ended job: leaves no listener on the signal of the worker", async () => {
  const gone = async () => ({ kind: "gone" });
  const handlers = { process_asset: gone, prepare_avatar: gone, render_video: gone };
  const runner = { db: world.database.db, handlers, log: world.log, random, timing: JOB_TIMING } as JobRunner;
  const { signal } = new AbortController();
  const job = { id: "job_1", kind: "process_asset", attempts: 1 } as unknown as ClaimedJob;
  expect(await runJob(runner, job, performance.now(), signal)).toBe("gone");
  expect(getEventListeners(signal, "abort")).toEqual([]);
});
