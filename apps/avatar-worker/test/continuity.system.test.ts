/**
 * A call continues when its avatar worker is lost, and does not move otherwise. Uses a real LiveKit server and real
 * processes.
 */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { startNetwork } from "@realtime-avatar/testing/network/network";
import type { RunningProcess } from "@realtime-avatar/testing/processes";
import { until } from "@realtime-avatar/testing/until";
import { die, type OwnCall, readWorkerId, startWorld, type World } from "./support/faults.ts";
import { joinAsPerson } from "./support/person.ts";

setDefaultTimeout(60_000);

const LONG = process.env["LONG"] === "1";
const binary = await livekitBinary();
const title = `a call and its workers${binary.kind === "missing" ? ` (skipped: ${binary.reason})` : ""}`;

describe.skipIf(binary.kind === "missing")(title, () => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld(binary.kind === "found" ? binary.path : "", false);
  });
  afterAll(() => world?.stop());
  afterEach(async () => {
    world.leaveAll();
    await world.clean();
    await world.noWorker();
  });

  /** A call that has started, with its avatar in the room. */
  const startedCall = async (): Promise<{ call: OwnCall; avatar: string | null }> => {
    const call = await world.startJoined();
    await until(async () => (await world.avatarOf(call)) !== null);
    return { call, avatar: await world.avatarOf(call) };
  };
  const endAndVerify = async (call: OwnCall): Promise<void> => {
    await world.endCall(call);
    await world.expectCharged(call);
  };
  const workerOf = async ({ id }: OwnCall): Promise<string> =>
    (await world.service.db.client`select worker_id from fleet.avatar_slots where session_id = ${id}`)[0]?.[
      "worker_id"
    ];

  test("a killed worker: lost when its connection ends, and another one takes the call", async () => {
    const first = await world.service.startWorker();
    const { call, avatar } = await startedCall();
    const second = await world.service.startWorker();
    // The sync of the worker has just begun, and waits at the service for most of a second.
    const lease = await world.leaseOf(first);
    await until(async () => (await world.leaseOf(first)) > lease);
    await die(first);
    await until(async () => ![null, avatar].includes(await world.avatarOf(call)));
    await until(async () => (await world.state(call))["status"] === "started");
    // The end of its connection shows the loss before the lease ends.
    expect(world.service.api.process().stdout()).toMatch(
      new RegExp(`"worker":"${await readWorkerId(first)}","moved":1,"msg":"an avatar worker is lost`),
    );
    expect(await workerOf(call)).toBe(await readWorkerId(second));
    await endAndVerify(call);
  });

  // `lost-workers.test.ts` tests a service that ends in order.
  test.each(LONG ? (["SIGTERM", "SIGKILL"] as const) : (["SIGKILL"] as const))(
    "the API, stopped by %s and started again: no call moves",
    async (signal) => {
      const first = await world.service.startWorker();
      // A free worker would get the calls.
      await world.service.startWorker();
      const { call, avatar } = await startedCall();
      const owner = await workerOf(call);
      const api = world.service.api.process();
      api.kill(signal);
      await api.exited;
      // Longer than a worker may take to sync again, and than a pass of the reconciler.
      await Bun.sleep(2500);
      await world.service.api.restart();
      await first.waitFor(/the service responds again/);
      await Bun.sleep(4000);
      expect(await world.state(call)).toMatchObject({ status: "started", generation: 1 });
      expect([await workerOf(call), await world.avatarOf(call)]).toEqual([owner, avatar]);
      await endAndVerify(call);
    },
  );

  test("a worker that is cut off from the service only: LiveKit removes its avatar when another joins; it stays out", async () => {
    const network = await startNetwork(Number(new URL(world.service.url).port));
    const first: RunningProcess = await world.service.startWorker(`http://127.0.0.1:${network.port}`);
    const { call, avatar } = await startedCall();
    const second = await world.service.startWorker();
    // The network refuses new connections from now on, and closes the existing ones.
    network.close();
    network.cut();
    await until(async () => (await world.state(call))["generation"] === 2);
    await until(async () => ![null, avatar].includes(await world.avatarOf(call)));
    expect(await world.identities(call)).toBe("avatar,person");
    await first.waitFor(/"state":"ended"[^\n]*"reason":"disconnected"/);
    const successor = await world.avatarOf(call);
    await Bun.sleep(3000);
    expect([await world.avatarOf(call), await workerOf(call)]).toEqual([successor, await readWorkerId(second)]);
    await endAndVerify(call);
  });

  test("a killed worker whose call moves seconds later: no charge for the time between", async () => {
    const network = await startNetwork(Number(new URL(world.service.url).port));
    const first = await world.service.startWorker(`http://127.0.0.1:${network.port}`);
    const call = await world.startCall();
    await until(async () => (await world.avatarOf(call)) !== null);
    const from = performance.now();
    const person = await joinAsPerson(call.url, call.token);
    await person.publishMicrophone();
    person.speak(true);
    await person.until(() => person.heardSeconds() > 1);
    // The service does not see the end of the connection. The call waits for another worker.
    network.isLost = true;
    await die(first);
    const lostFrom = performance.now();
    await person.until(() => person.hasSilence(3));
    await world.service.startWorker();
    // The last moment at which the call was still at the first worker.
    let lostUntil = performance.now();
    await until(async () => {
      const askedAt = performance.now();
      const isMoved = (await world.state(call))["generation"] === 2;
      if (!isMoved) lostUntil = askedAt;
      return isMoved;
    });
    const before = person.heardSeconds();
    await person.until(() => person.heardSeconds() > before + 1);
    await world.endCall(call);
    const presentMs = performance.now() - from - (lostUntil - lostFrom);
    await person.leave();
    network.close();
    await world.expectCharged(call);
    // Each worker rounds its seconds up.
    expect((await world.state(call))["used"]).toBeLessThanOrEqual((Math.ceil(presentMs / 1000) + 1) * 1_000_000);
  });
});
