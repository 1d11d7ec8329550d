/**
 * Calls while packets are lost between LiveKit and a person or an avatar worker, on a network that drops them, with a
 * real LiveKit server. LiveKit waits for 20 seconds before it drops a participant.
 */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { AVATAR_IDENTITY, PERSON_IDENTITY } from "@realtime-avatar/domain/calls/room";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { type RunningProcess, source, startProcess } from "@realtime-avatar/testing/processes";
import { until } from "@realtime-avatar/testing/until";
import { die, startWorld, type World } from "./support/faults.ts";
import { type LossyNetwork, missingForLoss, startLossyNetwork } from "./support/lossy-network.ts";
import { AVATAR_WORKER, type StartedCall } from "./support/service.ts";

const LONG = process.env["LONG"] === "1";
setDefaultTimeout(120_000);

const binary = await livekitBinary();
const missing = !LONG ? "only with LONG=1" : binary.kind === "missing" ? binary.reason : missingForLoss();

const title = `a call whose packets are lost${missing ? ` (skipped: ${missing})` : ""}, room.auto_create: %p`;
describe.skipIf(missing !== null).each([false, true])(title, (autoCreate) => {
  let network: LossyNetwork;
  let world: World;
  let persons: RunningProcess[] = [];
  beforeAll(async () => {
    network = startLossyNetwork();
    world = await startWorld(binary.kind === "found" ? binary.path : "", autoCreate, network);
  });
  afterEach(async () => {
    network.lose(0);
    await Promise.all(persons.map(die));
    persons = [];
    try {
      await world.expectOpen([]);
    } finally {
      await world.clean();
    }
  });
  afterAll(async () => {
    await world?.stop();
    network?.close();
  });

  /** A call with a person behind the network, who hears the echo. */
  const startHeard = async () => {
    const call = await world.startCall();
    const program = source("apps/avatar-worker/test/support/person-process.ts", call.url, call.token);
    const person = startProcess(network.run(program));
    persons.push(person);
    await person.waitFor(/\nhears\n/);
    return { call, person };
  };
  /** Waits until the person reports these words again. */
  const untilSays = (person: RunningProcess, words: string): Promise<unknown> => {
    const before = person.stdout().length;
    return until(() => person.stdout().slice(before).includes(`\n${words}\n`));
  };
  /** Starts an avatar worker behind the network. */
  const startWorkerInside = (): Promise<RunningProcess> => {
    const url = world.service.url.replace("127.0.0.1", network.address);
    return world.service.startWorker(url, network.run(AVATAR_WORKER));
  };
  const endAndCharge = async (call: Awaited<ReturnType<World["startCall"]>>): Promise<void> => {
    await world.endCall(call);
    await world.expectCharged(call);
  };
  const isAlone = async (call: StartedCall): Promise<boolean> =>
    ["", PERSON_IDENTITY].includes(await world.identities(call));

  test("a person with every fifth packet lost: hears the echo; the call continues", async () => {
    await world.onlyWorker();
    network.lose(0.2);
    const { call, person } = await startHeard();
    for (let second = 0; second < 10; second++) await untilSays(person, "hears");
    expect(await world.identities(call)).toBe(`${AVATAR_IDENTITY},${PERSON_IDENTITY}`);
    expect((await world.state(call))["status"]).toBe("started");
    await endAndCharge(call);
  });

  test("a person with all packets lost for eight seconds: hears the echo again, in the same call", async () => {
    await world.onlyWorker();
    const { call, person } = await startHeard();
    network.lose(1);
    await untilSays(person, "hears nothing");
    await Bun.sleep(8000);
    network.lose(0);
    await untilSays(person, "hears");
    expect(await world.state(call)).toMatchObject({ status: "started", generation: 1 });
    await endAndCharge(call);
  });

  test("a person with all packets lost: the call ends, charged once", async () => {
    await world.onlyWorker();
    const { call } = await startHeard();
    network.lose(1);
    await world.untilStatus(call, "released");
    expect((await world.state(call))["reason"]).toBe("disconnected");
    await world.expectCharged(call);
  });

  test("an avatar worker with all packets lost: another one takes the call, and keeps it when the packets return", async () => {
    await world.noWorker();
    const first = await startWorkerInside();
    const call = await world.startJoined();
    await until(async () => (await world.avatarOf(call)) !== null);
    const before = await world.avatarOf(call);
    await world.service.startWorker();
    network.lose(1);
    await first.waitFor(/the lease has ended/);
    await until(async () => (await world.state(call))["generation"] === 2);
    await until(async () => ![null, before].includes(await world.avatarOf(call)));
    const avatar = await world.avatarOf(call);
    network.lose(0);
    await first.waitFor(/the service responds again/);
    expect(await world.avatarOf(call)).toBe(avatar);
    await endAndCharge(call);
    await die(first);
  });

  test("an avatar worker with only its packets to LiveKit lost: leaves; the call ends, charged once", async () => {
    await world.noWorker();
    const worker = await startWorkerInside();
    const call = await world.startJoined();
    await until(async () => (await world.avatarOf(call)) !== null);
    network.lose(1, Number(new URL(world.service.url).port));
    await until(() => isAlone(call));
    await world.untilStatus(call, "released");
    expect((await world.state(call))["reason"]).toBe("disconnected");
    await world.expectCharged(call);
    await die(worker);
  });
});
