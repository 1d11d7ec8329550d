/** The processes of calls, in real rooms: the end of one process affects no other call. */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { type LivekitServer, startLivekit } from "@realtime-avatar/testing/livekit/server";
import { bun, type RunningProcess, startProcess } from "@realtime-avatar/testing/processes";
import { until } from "@realtime-avatar/testing/until";
import { type ControlPlane, startControlPlane } from "./support/control-plane.ts";
import { joinAsPerson, type Person } from "./support/person.ts";

setDefaultTimeout(60_000);

const LONG = process.env["LONG"] === "1";
const binary = await livekitBinary();
const title = `the processes of calls${binary.kind === "missing" ? ` (skipped: ${binary.reason})` : ""}`;

describe.skipIf(binary.kind === "missing" || process.platform !== "linux")(title, () => {
  let livekit: LivekitServer;
  let control: ControlPlane;
  let workers: RunningProcess[] = [];

  const startWorker = async (): Promise<RunningProcess> => {
    const worker = startProcess(bun("apps/avatar-worker/src/main.ts"), control.variables);
    workers.push(worker);
    await worker.waitFor(/"started"/);
    return worker;
  };
  /** The ids of the processes that have run a call, in order. */
  const pidsOf = (worker: RunningProcess, session: string): number[] =>
    worker
      .stdout()
      .split("\n")
      .filter((line) => line.includes(session) && /"a call was (assigned|started again)"/.test(line))
      .map((line) => (JSON.parse(line) as { pid: number }).pid);
  /** The process that ran the call first, or second. Waits for it. */
  const pidOf = (worker: RunningProcess, session: string, number: number): Promise<number> =>
    until(() => pidsOf(worker, session)[number - 1], { state: worker.stdout });
  const isAlive = (pid: number): boolean => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  const untilEnded = (pid: number): Promise<unknown> => until(() => !isAlive(pid));
  /** A call with a person who hears the echo. */
  const startCall = async (worker: RunningProcess) => {
    const call = await control.start();
    const person = await joinAsPerson(livekit.url, call.personToken);
    await person.publishMicrophone();
    person.speak(true);
    await untilHeard(person);
    return { ...call, person, pid: await pidOf(worker, call.session, 1) };
  };
  /** Waits until the person hears the avatar again. */
  const untilHeard = (person: Person): Promise<unknown> => {
    const before = performance.now();
    return person.until(() => person.heard.some(({ at, level }) => at > before && level > 0.1));
  };
  const end = async ({ session, person }: { session: string; person: Person }): Promise<void> => {
    control.end(session, "user_ended");
    await control.untilReported(session, "ended");
    await person.leave();
  };

  beforeAll(async () => {
    livekit = await startLivekit(binary.kind === "found" ? binary.path : "");
    control = await startControlPlane(livekit);
  });
  afterEach(async () => {
    control.setLease(15);
    for (const worker of workers) {
      worker.kill("SIGCONT");
      worker.kill("SIGTERM");
    }
    await Promise.all(workers.map(({ exited }) => exited));
    workers = [];
  });
  afterAll(async () => {
    await livekit?.stop();
    await control?.stop();
  });

  test("a killed call process: the call continues in another one, and other calls are undisturbed", async () => {
    const worker = await startWorker();
    const [killed, other] = [await startCall(worker), await startCall(worker)];
    expect(killed.pid).not.toBe(other.pid);
    process.kill(killed.pid, "SIGKILL");
    const again = await pidOf(worker, killed.session, 2);
    await untilHeard(other.person);
    await untilHeard(killed.person);
    expect(control.reportsOf(killed.session).some(({ state }) => state === "ended")).toBe(false);
    expect(control.reportsOf(killed.session).every(({ generation }) => generation === 1)).toBe(true);
    expect(pidsOf(worker, other.session)).toEqual([other.pid]);
    const otherStates = control.reportsOf(other.session).map(({ state }) => state);
    expect(otherStates.slice(otherStates.indexOf("started")).every((state) => state === "started")).toBe(true);

    process.kill(again, "SIGKILL");
    const { reason, used_seconds } = await control.untilReported(killed.session, "ended");
    expect(reason).toBe("failed");
    const reported = control.reportsOf(killed.session).filter(({ state }) => state === "started");
    expect(used_seconds).toBeGreaterThanOrEqual(reported.at(-1)?.used_seconds as number);
    await killed.person.leave();
    await end(other);
    await untilEnded(other.pid);
  });

  test("a killed worker: its call processes end; the avatar leaves", async () => {
    const worker = await startWorker();
    const call = await startCall(worker);
    worker.kill("SIGKILL");
    await untilEnded(call.pid);
    control.end(call.session, null);
    await call.person.leave();
  });

  test("a worker that is stopped forever: its calls leave when the lease ends", async () => {
    const worker = await startWorker();
    const call = await startCall(worker);
    await control.untilLease(2);
    worker.kill("SIGSTOP");
    await control.untilInRoom(call.room, "person");
    control.end(call.session, null);
    control.setLease(15);
    worker.kill("SIGCONT");
    await untilEnded(call.pid);
    await call.person.leave();
  });

  test("Ctrl-C in the terminal of a worker: the worker decides when its calls end", async () => {
    const worker = await startWorker();
    const call = await startCall(worker);
    process.kill(call.pid, "SIGINT");
    process.kill(call.pid, "SIGHUP");
    await untilHeard(call.person);
    expect(pidsOf(worker, call.session)).toHaveLength(1);
    worker.kill("SIGINT");
    expect(await worker.exited).toBe(0);
    expect(isAlive(call.pid)).toBe(false);
    await control.untilInRoom(call.room, "person");
    control.end(call.session, null);
    await call.person.leave();
  });

  // An unresponsive process is killed after ten seconds.
  test.skipIf(!LONG)("an unresponsive call process: another one takes the call", async () => {
    const worker = await startWorker();
    const call = await startCall(worker);
    process.kill(call.pid, "SIGSTOP");
    await untilEnded(call.pid);
    await pidOf(worker, call.session, 2);
    await untilHeard(call.person);
    await end(call);
  });
});
