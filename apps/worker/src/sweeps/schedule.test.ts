/** The schedule of the sweeps: each runs repeatedly, and none stops the others. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { createLog } from "@realtime-avatar/runtime/log";
import { startSweeps } from "./schedule.ts";

// Tests do not assert times, and a slow machine must not fail one.
setDefaultTimeout(60_000);

const logged = () => {
  const lines: Record<string, unknown>[] = [];
  return { lines, log: createLog("info", { write: (line) => void lines.push(JSON.parse(line)) }) };
};

test("a sweep, failing each time: logged once a minute, and others run", async () => {
  const { lines, log } = logged();
  const passes = { failing: 0, working: 0 };
  const enough = Promise.withResolvers<void>();
  const count = (name: keyof typeof passes): void => {
    passes[name]++;
    if (Math.min(passes.failing, passes.working) >= 3) enough.resolve();
  };
  const failing = async () => {
    count("failing");
    throw Object.assign(new Error("https://user:hunter2@host/"), { code: "EIO" });
  };
  const working = async () => {
    count("working");
    return passes.working === 1 ? 7 : 0;
  };
  const sweeps = startSweeps(
    [
      { name: "failing", intervalMs: 1, run: failing },
      { name: "working", intervalMs: 1, run: working },
    ],
    log,
  );
  await enough.promise;
  await sweeps.stop();
  expect(lines.filter(({ sweep }) => sweep === "failing")).toMatchObject([{ level: 40, error: "Error: Error (EIO)." }]);
  expect(lines.filter(({ sweep }) => sweep === "working")).toMatchObject([{ level: 30, removed: 7 }]);
  expect(JSON.stringify(lines)).not.toContain("hunter2");
});

test("sweeps, stopped during and between passes: end, and the running one is aborted", async () => {
  const started = Promise.withResolvers<void>();
  const { lines, log } = logged();
  const run = async (signal: AbortSignal): Promise<number> => {
    started.resolve();
    await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    return 1;
  };
  const sweeps = startSweeps(
    [
      { name: "running", intervalMs: 1, run },
      { name: "waiting", intervalMs: 1e9, run: async () => 0 },
    ],
    log,
  );
  await started.promise;
  await sweeps.stop();
  expect(lines).toEqual([]);
});
