/** Calls while the service, the worker or the network fails, on a real LiveKit server. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { AVATAR_IDENTITY } from "@realtime-avatar/domain/calls/room";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { type LivekitServer, startLivekit } from "@realtime-avatar/testing/livekit/server";
import { bun, type RunningProcess, startProcess } from "@realtime-avatar/testing/processes";
import { until } from "@realtime-avatar/testing/until";
import { type ControlPlane, startControlPlane } from "./support/control-plane.ts";
import { joinAsPerson } from "./support/person.ts";
import { joinAsRawClient } from "./support/raw-client.ts";

setDefaultTimeout(60_000);

const LEASE_SECONDS = 2;
const LONG = process.env["LONG"] === "1";

const binary = await livekitBinary();
const title = `a worker and its lease${binary.kind === "missing" ? ` (skipped: ${binary.reason})` : ""}`;

describe.skipIf(binary.kind === "missing")(title, () => {
  let livekit: LivekitServer;
  let control: ControlPlane;
  let workers: RunningProcess[] = [];
  const hanging = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Promise<Response>(() => {}) });

  const startWorker = async (): Promise<RunningProcess> => {
    // An unresponsive collector of traces disturbs no call.
    const traced = {
      ...control.variables,
      OTEL_EXPORTER_OTLP_ENDPOINT: hanging.url.origin,
      OTEL_BSP_SCHEDULE_DELAY: "50",
    };
    const worker = startProcess(bun("apps/avatar-worker/src/main.ts"), traced);
    workers.push(worker);
    await worker.waitFor(/"started"/);
    return worker;
  };
  /** A call with a person, at its own worker. */
  const startCall = async () => {
    const worker = await startWorker();
    const call = await control.start();
    const person = await joinAsPerson(livekit.url, call.personToken, { subscribes: false });
    await control.untilReported(call.session, "started");
    return { worker, call, person };
  };

  beforeAll(async () => {
    livekit = await startLivekit(binary.kind === "found" ? binary.path : "");
  });
  beforeEach(async () => {
    control = await startControlPlane(livekit);
  });
  afterEach(async () => {
    for (const worker of workers) {
      worker.kill("SIGCONT");
      worker.kill("SIGKILL");
    }
    await Promise.all(workers.map(({ exited }) => exited));
    workers = [];
    await control.stop();
  });
  afterAll(async () => {
    await livekit?.stop();
    await hanging.stop(true);
  });

  test("an unresponsive service: the worker leaves silently, and takes the call again when the service is back", async () => {
    const { call, person } = await startCall();
    control.goDown(LEASE_SECONDS);
    await control.untilInRoom(call.room, "person");
    expect(person.messages.some(({ kind }) => kind === "ended")).toBe(false);
    const used = control.reportsOf(call.session).at(-1)?.used_seconds ?? 0;
    control.assignAgain(call.session, { generation: 2, used_seconds: used + 7 });
    control.comeBack();
    await control.untilInRoom(call.room, "avatar", "person");
    const { used_seconds } = await control.untilReported(call.session, "started", 2);
    expect(used_seconds).toBeGreaterThanOrEqual(used + 7);
    expect(control.reportsOf(call.session).some(({ state }) => state === "ended")).toBe(false);
    await person.leave();
  });

  test("a worker that is stopped for longer than its lease: leaves when it resumes", async () => {
    const { worker, call, person } = await startCall();
    await control.untilLease(LEASE_SECONDS);
    worker.kill("SIGSTOP");
    await Bun.sleep(LEASE_SECONDS * 1000 + 500);
    control.end(call.session, null);
    worker.kill("SIGCONT");
    await control.untilInRoom(call.room, "person");
    expect(person.messages.some(({ kind }) => kind === "ended")).toBe(false);
    await person.leave();
  });

  /** Waits until the worker has synced twice without calls. */
  const untilIdle = async (): Promise<void> => {
    const before = control.syncs.length;
    await until(() => control.syncs.slice(before).filter(({ calls }) => calls.length === 0).length >= 2);
  };

  test("a worker that is stopped while a call is assigned to it: does not join after its lease", async () => {
    const worker = await startWorker();
    await control.untilLease(LEASE_SECONDS);
    worker.kill("SIGSTOP");
    const call = await control.start();
    const person = await joinAsRawClient(livekit.url, call.personToken);
    await Bun.sleep(LEASE_SECONDS * 1000 + 500);
    control.end(call.session, null);
    control.setLease(15);
    worker.kill("SIGCONT");
    await untilIdle();
    await control.untilInRoom(call.room, "person");
    expect(person?.hasMet(AVATAR_IDENTITY)).toBe(false);
    person?.leave();
  });

  test("a call that moves to another worker during the join: this worker leaves after the join", async () => {
    const call = await control.start();
    const person = await joinAsRawClient(livekit.url, call.personToken);
    // The connection of the worker waits in the frozen server.
    livekit.process.kill("SIGSTOP");
    const worker = await startWorker();
    await until(() => control.syncs.some(({ calls }) => calls.length > 0));
    control.end(call.session, null);
    await until(() => control.syncs.at(-1)?.calls.length === 0);
    livekit.process.kill("SIGCONT");
    // On a busy machine, the timeout of the connection can pass. The worker then does not join at all.
    const isGivenUp = (): boolean => worker.stdout().includes("the room cannot be joined");
    await until(() => person?.hasMet(AVATAR_IDENTITY) || isGivenUp());
    await control.untilInRoom(call.room, "person");
    person?.leave();
  });

  test("a worker that stops: leaves its rooms, and sends its last sync", async () => {
    const { worker, call, person } = await startCall();
    worker.kill("SIGTERM");
    expect(await worker.exited).toBe(0);
    expect(control.syncs.at(-1)).toMatchObject({ slots: 0, calls: [] });
    expect(control.reportsOf(call.session).some(({ state }) => state === "ended")).toBe(false);
    await control.untilInRoom(call.room, "person");
    await person.leave();
  });

  // The library tries to reach the server for ten seconds.
  test.skipIf(!LONG)("a LiveKit server that is killed: the call is reported as ended", async () => {
    const other = await startLivekit(binary.kind === "found" ? binary.path : "");
    const plane = await startControlPlane(other);
    const worker = startProcess(bun("apps/avatar-worker/src/main.ts"), plane.variables);
    workers.push(worker);
    const call = await plane.start();
    const person = await joinAsPerson(other.url, call.personToken);
    await plane.untilReported(call.session, "started");
    await other.stop();
    expect(await plane.untilReported(call.session, "ended")).toMatchObject({ reason: "disconnected" });
    await person.leave();
    await plane.stop();
  });
});
