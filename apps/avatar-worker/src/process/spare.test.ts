import { expect, test } from "bun:test";
import { join } from "node:path";
import { until } from "@realtime-avatar/testing/until";
import { type CallProcess, startCallProcess } from "./call-process.ts";
import { createCallProcesses } from "./spare.ts";

const SCRIPTED = [process.execPath, "--no-env-file", join(import.meta.dir, "scripted.testing.ts")];

/** Call processes with a record of all that were started. */
const create = () => {
  const started: CallProcess[] = [];
  const processes = createCallProcesses(() => {
    const process = startCallProcess(SCRIPTED);
    started.push(process);
    return process;
  });
  const untilStarted = async (count: number): Promise<void> => {
    await until(() => started.length >= count);
    await started[count - 1]?.ready();
  };
  return { started, processes, untilStarted };
};

test("two calls at once: the spare process and a new one; then another spare process", async () => {
  const { started, processes, untilStarted } = create();
  await processes.ready();
  const [first, second] = [processes.take(), processes.take()];
  expect([first, second]).toEqual(started);
  await untilStarted(3);
  expect(processes.take()).toBe(started[2] as CallProcess);
  await processes.stop();
  await Promise.all(started.map((process) => process.stop()));
});

test("a spare process that ends: another one takes its place", async () => {
  const { started, processes, untilStarted } = create();
  await processes.ready();
  process.kill(started[0]?.pid as number, "SIGKILL");
  await untilStarted(2);
  expect(processes.take()).toBe(started[1] as CallProcess);
  await processes.stop();
  await started[1]?.stop();
});

test("a spare process that ends before it is ready: no call can start until the next one is ready", async () => {
  const commands = [SCRIPTED, ["/bin/false"], SCRIPTED];
  const started: CallProcess[] = [];
  const processes = createCallProcesses(() => {
    const process = startCallProcess(commands[started.length] ?? SCRIPTED);
    started.push(process);
    return process;
  });
  await processes.ready();
  expect(processes.canStart()).toBe(true);
  const taken = processes.take();
  await until(() => !processes.canStart(), { pollMs: 5 });
  expect(started).toHaveLength(2);
  await until(() => processes.canStart(), { pollMs: 5 });
  expect(started).toHaveLength(3);
  await Promise.all([processes.stop(), taken.stop()]);
});

test("a spare process that hangs before it is ready: ended and replaced", async () => {
  const started: CallProcess[] = [];
  const processes = createCallProcesses(() => {
    const process = startCallProcess(started.length === 0 ? ["/bin/sleep", "600"] : SCRIPTED);
    started.push(process);
    return process;
  }, 1000);
  await expect(processes.ready()).rejects.toThrow("has ended before it was ready");
  expect(processes.canStart()).toBe(false);
  await until(() => processes.canStart());
  await processes.stop();
  await Promise.all(started.map((process) => process.stop()));
});

test("no spare process after the stop", async () => {
  const { started, processes } = create();
  await processes.ready();
  await processes.stop();
  expect(() => process.kill(started[0]?.pid as number, 0)).toThrow();
  // A call that comes after the stop still gets a process, and no spare process follows.
  await processes.take().stop();
  await Bun.sleep(600);
  expect(started).toHaveLength(2);
});
