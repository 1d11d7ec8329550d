/** A hostile LiveKit server of an agent's owner, at the level of the protocol, and its effect on an avatar worker. */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { createSocket } from "node:dgram";
import { createServer } from "node:net";
import { personToken } from "@realtime-avatar/domain/calls/room";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { type LivekitServer, startLivekit } from "@realtime-avatar/testing/livekit/server";
import { type RunningProcess, source, startProcess } from "@realtime-avatar/testing/processes";
import { until } from "@realtime-avatar/testing/until";
import { AGENT_IDENTITY, joinAsAgent } from "./support/agent.ts";
import { type ControlPlane, sign, startControlPlane } from "./support/control-plane.ts";
import { joinAsPerson, type Person, receivedBy } from "./support/person.ts";
import { AVATAR_WORKER } from "./support/service.ts";

setDefaultTimeout(60_000);

const LONG = process.env["LONG"] === "1";
/** How much more memory the worker may take during an attack. Without a limit it was two gigabytes in ten seconds. */
const MORE_MIB = 250;

/** A machine that stops a process for this long is so busy that it loses frames itself. */
const STALL_MS = 100;
const STALL_POLL_MS = 10;

const binary = await livekitBinary();
const title = `a hostile LiveKit server${binary.kind === "missing" ? ` (skipped: ${binary.reason})` : ""}`;

/** Listens with TCP and UDP on one port, and records what it receives. */
const startListener = async () => {
  const received: string[] = [];
  const tcp = createServer((socket) => {
    received.push("tcp");
    socket.on("data", (bytes) => received.push(bytes.toString("latin1"))).on("error", () => {});
  });
  await new Promise<void>((resolve) => tcp.listen(0, "127.0.0.1", resolve));
  const { port } = tcp.address() as { port: number };
  const udp = createSocket("udp4", (bytes) => received.push("udp", bytes.toString("latin1")));
  await new Promise<void>((resolve) => udp.bind(port, "127.0.0.1", resolve));
  const close = () => {
    tcp.close();
    udp.close();
  };
  return { port, received, close };
};

/** Measures the longest time for which this process did not run. */
const watchStalls = () => {
  let longestMs = 0;
  let ranAt = performance.now();
  const timer = setInterval(() => {
    longestMs = Math.max(longestMs, performance.now() - ranAt - STALL_POLL_MS);
    ranAt = performance.now();
  }, STALL_POLL_MS);
  return { longestMs: () => longestMs, stop: () => clearInterval(timer) };
};

describe.skipIf(binary.kind === "missing")(title, () => {
  let livekit: LivekitServer;
  let control: ControlPlane;
  let worker: RunningProcess;
  let other: { session: string; person: Person; senders: number[] };
  const stops: (() => Promise<void>)[] = [];
  const stalls = watchStalls();
  beforeAll(async () => {
    livekit = await startLivekit(binary.kind === "found" ? binary.path : "");
    control = await startControlPlane(livekit);
    worker = startProcess(AVATAR_WORKER, { ...control.variables, RUST_LOG: "off" });
    // The pictures of a call take half of a core, including their reception.
    const { session, personToken } = await control.start({ mode: LONG ? "avatar" : "voice" });
    const person = await joinAsPerson(livekit.url, personToken);
    await person.publishMicrophone();
    person.speak(true);
    await person.until(() => person.heard.some(({ level }) => level > 0.1) && (person.seen.length > 0 || !LONG));
    other = { session, person, senders: (await receivedBy(person.room)).senders };
    expect(other.senders).toHaveLength(LONG ? 2 : 1);
  });
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop();
  });
  afterAll(async () => {
    stalls.stop();
    await other?.person.leave();
    worker?.kill("SIGKILL");
    await worker?.exited;
    await control?.stop();
    await livekit?.stop();
  });

  const memoryMib = async (): Promise<number> => {
    const status = await Bun.file(`/proc/${worker.pid}/status`).text();
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
  };
  /**
   * Waits until the person of the other call has received further echo, and with LONG further pictures, from the same
   * senders, without a lost frame.
   */
  const untilOtherReceives = async (): Promise<void> => {
    const { heard, seen, room } = other.person;
    heard.length = 0;
    seen.length = 0;
    await until(() => heard.some(({ level }) => level > 0.1) && (seen.length > 0 || !LONG));
    const { senders, lostFrames } = await receivedBy(room);
    expect(senders).toEqual(other.senders);
    if (stalls.longestMs() < STALL_MS) expect(lostFrames).toBe(0);
  };
  /** Runs a call in a room at the server. `isJoined`: its agent is present, according to the real server. */
  const startAt = async (behaviour: string, isJoined: boolean, port = 0) => {
    const server = startProcess(
      source("apps/avatar-worker/test/support/hostile-livekit.ts", livekit.url, behaviour, `${port}`),
    );
    const [url] = await server.waitFor(/ws:\S+(?=\/)|http:\S+(?=\/)/);
    const {
      session,
      room,
      personToken: ofPerson,
    } = await control.start({ url: url.replace("http", "ws"), agent_identity: AGENT_IDENTITY }, true);
    const { video, ...token } = personToken(room);
    const { canPublishSources: _, ...grant } = video;
    const signed = await sign(livekit, { ...token, identity: AGENT_IDENTITY, kind: "agent", video: grant });
    const agent = isJoined ? await joinAsAgent(livekit.url, signed, "avatar") : null;
    const stop = async (): Promise<void> => {
      server.kill("SIGKILL");
      await Promise.all([server.exited, agent?.leave()]);
    };
    stops.push(stop);
    const joinPerson = () => joinAsPerson(livekit.url, ofPerson);
    return { server, url, session, agent, joinPerson, token: control.assignedOf(session).token };
  };

  const ends: [string, boolean][] = [
    ["pings before the join", false],
    ["metadata of the room", true],
    ["silence", false],
    ["a room of 60 MiB", false],
    ["pings", true],
    ["messages of 15 MiB", true],
    ["participants", true],
    ["tokens", true],
    ["no messages", true],
  ];
  test.each(LONG ? ends : ends.slice(0, 2))(
    "that sends %s and never closes: its call and the connection end, and another call loses no frame",
    async (behaviour, isJoined) => {
      const before = await memoryMib();
      const { server, session } = await startAt(behaviour, isJoined);
      await untilOtherReceives();
      const { used_seconds } = await control.untilReported(session, "ended");
      if (!isJoined) expect(used_seconds).toBe(0);
      expect((await memoryMib()) - before).toBeLessThan(MORE_MIB);
      // The library may have reconnected to the server before.
      await server.waitFor(/closed/);
      await untilOtherReceives();
      expect(control.reportsOf(other.session).at(-1)).toMatchObject({ state: "started" });
      expect(worker.stdout() + worker.stderr()).not.toMatch(/eyJ[\w-]{20}/);
    },
  );

  const joins = [
    ...["an interval of pings of 0", "an interval of pings of -1", "a time-out of pings of -1", "an invalid version"],
    ...["a join without a room", "a join without a participant", "a join as the participant x"],
    "a join with the participant x",
  ];
  const messages = [
    ...["a participant with the id x", "a track with the id x", "a track of type DATA", "an update without a room"],
    ...["a candidate that is not JSON", "an invalid candidate", "candidates whose addresses are names"],
    ...["3,000 candidates", "an answer that is garbage", "an answer without a type", "2,000,000 sections of media"],
  ];
  test.each(joins)("that sends %s: its call ends at no charge, and another call loses no frame", async (behaviour) => {
    const { session } = await startAt(behaviour, false);
    await untilOtherReceives();
    expect(await control.untilReported(session, "ended")).toMatchObject({ reason: "agent_ended", used_seconds: 0 });
    await untilOtherReceives();
    expect(control.reportsOf(other.session).at(-1)).toMatchObject({ state: "started" });
  });

  /** Runs a call with its agent at the server, which then sends its messages. */
  const startAndHarm = async (behaviour: string) => {
    const started = await startAt(behaviour, true);
    await control.untilReported(started.session, "started");
    await fetch(`${started.url}/harm`);
    return started;
  };
  test.each(messages)("that sends %s: its call ends, and another call loses no frame", async (behaviour) => {
    const { server, session } = await startAndHarm(behaviour);
    const { reason, used_seconds } = await control.untilReported(session, "ended");
    expect(reason).toBe("agent_ended");
    expect(used_seconds).toBeGreaterThan(0);
    await server.waitFor(/closed/);
    await untilOtherReceives();
    expect(control.reportsOf(other.session).at(-1)).toMatchObject({ state: "started" });
  });

  test("that cuts its own connection but not the media: heard sound does not exceed the charge", async () => {
    const { url, session, agent, joinPerson } = await startAt("cut", true);
    await control.untilReported(session, "started");
    const person = await joinPerson();
    agent?.say(40).catch(() => {});
    // The cut comes in the middle of a second. The library of the person conceals lost packets for a moment.
    await person.until(() => person.heardSeconds() > 1);
    await fetch(`${url}/harm`);
    await person.until(() => person.hasSilence(0.5));
    const { reason, used_seconds } = await control.untilReported(session, "ended");
    const { concealedSeconds } = await receivedBy(person.room);
    expect(reason).toBe("disconnected");
    expect(person.heardSeconds() - concealedSeconds).toBeLessThanOrEqual(used_seconds);
    await person.leave();
  });

  const unread = [
    ...["a speaker with the id x", "speakers whose level is no number", "a subscription to the track x"],
    "the quality of a participant with the id x",
  ];
  test.each(unread)("that sends %s: not read by the worker, and no call loses a frame", async (behaviour) => {
    const { session } = await startAndHarm(behaviour);
    await untilOtherReceives();
    expect(control.reportsOf(session).at(-1)).toMatchObject({ state: "started" });
    control.end(session, "user_ended");
    await control.untilReported(session, "ended");
    await untilOtherReceives();
  });

  test.skipIf(!LONG)("that redirects the worker: no request to the other address", async () => {
    const listener = await startListener();
    const { server, session } = await startAt("elsewhere", true, listener.port);
    await server.waitFor(/closed/);
    await Bun.sleep(5000);
    expect(listener.received).toEqual([]);
    control.end(session, "user_ended");
    await control.untilReported(session, "ended");
    listener.close();
  });

  // docs/security.md describes the remaining risk.
  test.skipIf(!LONG)("that names addresses for media: they are contacted, without the token", async () => {
    const listener = await startListener();
    const { session, token } = await startAt("addresses", true, listener.port);
    await until(() => listener.received.includes("udp"));
    expect(listener.received.join()).not.toContain(token.split(".")[1]);
    control.end(session, "user_ended");
    await control.untilReported(session, "ended");
    listener.close();
  });
});
