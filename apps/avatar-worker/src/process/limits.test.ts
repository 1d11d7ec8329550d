import { expect, test } from "bun:test";
import { until } from "@realtime-avatar/testing/until";
import { createLimits, type ExceededLimit, RECORDED_CPU_SHARE, readUsage, watchLimits } from "./limits.ts";

const usage = { bytes: 90 * 2 ** 20, threads: 40, cpuSeconds: 0 };

test("a process within its limits, also after an expensive start: no limit exceeded", () => {
  const check = createLimits();
  expect(check(usage, 0)).toBeNull();
  for (let second = 1; second <= 600; second++) {
    expect(check({ ...usage, cpuSeconds: Math.min(2 * second, 20 + 0.5 * second) }, second * 1000)).toBeNull();
  }
});

test.each([
  ["memory", { bytes: 600 * 2 ** 20 }],
  ["threads", { threads: 1637 }],
] as const)("a process above its %s: that limit exceeded", (limit, exceeded) => {
  const check = createLimits();
  expect(check(usage, 0)).toBeNull();
  expect(check({ ...usage, ...exceeded }, 1000)).toBe(limit);
});

test("a process that draws a face on a slow core: no limit exceeded", () => {
  const check = createLimits();
  const found = Array.from({ length: 1800 }, (_, second) =>
    check({ ...usage, cpuSeconds: 0.8 * second }, second * 1000),
  );
  expect(new Set(found)).toEqual(new Set([null]));
});

test("a process that draws and records a face on a slow core: no limit exceeded; a process that takes 1.6 cores: limit exceeded", () => {
  const use = (share: number) => {
    const check = createLimits(RECORDED_CPU_SHARE);
    return Array.from({ length: 600 }, (_, second) => check({ ...usage, cpuSeconds: share * second }, second * 1000));
  };
  expect(new Set(use(1.2))).toEqual(new Set([null]));
  expect(use(1.6)).toContain("processor_time");
});

test("a process that takes a core without end: exceeds its processor time", () => {
  const check = createLimits();
  const found = Array.from({ length: 180 }, (_, second) => check({ ...usage, cpuSeconds: second }, second * 1000));
  expect(found.indexOf("processor_time")).toBeGreaterThan(60);
});

test.skipIf(process.platform !== "linux")("the usage of a process: read from /proc; null for an ended one", () => {
  // Uses enough system time to be measurable.
  while (process.cpuUsage().system < 150_000) readUsage(process.pid);
  const { bytes, threads, cpuSeconds } = readUsage(process.pid) ?? { bytes: 0, threads: 0, cpuSeconds: 0 };
  expect(Math.abs(bytes / process.memoryUsage.rss() - 1)).toBeLessThan(0.5);
  expect(threads).toBeGreaterThan(0);
  // User and system time together.
  const { user, system } = process.cpuUsage();
  expect(Math.abs(cpuSeconds - (user + system) / 1e6)).toBeLessThan(0.05);
  expect(readUsage(2 ** 30)).toBeNull();
});

test("a watched process: its first exceeded limit is reported once, and none after its end or the watch's", async () => {
  const found: ExceededLimit[] = [];
  let looks = 0;
  const watch = (usages: (typeof usage | null)[]) => {
    looks = 0;
    const readNow = () => usages[Math.min(looks++, usages.length - 1)] ?? null;
    return watchLimits(1, (limit) => found.push(limit), { readNow, intervalMs: 2 });
  };
  const untilLooks = async (count: number): Promise<void> => {
    await until(() => looks >= count, { pollMs: 1 });
  };
  const end = watch([usage, usage, { ...usage, threads: 10_000 }, { ...usage, bytes: 2 ** 40 }]);
  await untilLooks(3);
  await Bun.sleep(20);
  expect([found.splice(0), looks]).toEqual([["threads"], 3]);
  end();
  const endOther = watch([usage, null]);
  await untilLooks(3);
  endOther();
  const before = looks;
  await Bun.sleep(20);
  expect([found, looks]).toEqual([[], before]);
});
