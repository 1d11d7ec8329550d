/** Agents that speak through the avatar in brought rooms, and hostile agents and rooms, on a real LiveKit server. */

import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { personToken } from "@realtime-avatar/domain/calls/room";
import type { AssignedCall } from "@realtime-avatar/domain/calls/worker-sync";
import { isLoud } from "@realtime-avatar/face/loudness";
import { FLITE_SETTINGS } from "@realtime-avatar/speech/settings";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { type LivekitServer, startLivekit } from "@realtime-avatar/testing/livekit/server";
import { startNetwork } from "@realtime-avatar/testing/network/network";
import { until } from "@realtime-avatar/testing/until";
import { readConfig } from "../src/config.ts";
import { createService } from "../src/fleet/service.ts";
import { portrait } from "../src/renderer/portrait.ts";
import { type Renderer, SAMPLE_RATE } from "../src/renderer/renderer.ts";
import { type Call, startCall } from "../src/room/call.ts";
import { AGENT_IDENTITY, type Agent, joinAsAgent } from "./support/agent.ts";
import { type ControlPlane, sign, startControlPlane } from "./support/control-plane.ts";
import { joinAsPerson } from "./support/person.ts";

const LONG = process.env["LONG"] === "1";
setDefaultTimeout(LONG ? 120_000 : 60_000);
const IGNORED = {
  conversation: null,
  echo: { speech: FLITE_SETTINGS, onProviderFailure: () => {}, segments: null, onTurn: () => {} },
  onChange: () => {},
  onFailure: () => {},
};

/** Allowed difference between a position and the heard sound, in seconds. */
const TOLERANCE = 0.2;
/** Allowed loss of heard sound on a busy machine, in seconds. */
const LOST = 1;

const binary = await livekitBinary();
const title = `an agent and its avatar${binary.kind === "missing" ? ` (skipped: ${binary.reason})` : ""}`;

describe.skipIf(binary.kind === "missing")(title, () => {
  let livekit: LivekitServer;
  let control: ControlPlane;
  /**
   * Resources of the running test. They are closed after it: its calls run in this process, and calls of a failed test
   * would slow the next tests.
   */
  const opened = new Set<{ leave(): Promise<unknown> }>();
  const closedAfterTest = <Opened extends { leave(): Promise<unknown> }>(one: Opened): Opened => {
    opened.add(one);
    return one;
  };

  beforeAll(async () => {
    livekit = await startLivekit(binary.kind === "found" ? binary.path : "");
    control = await startControlPlane(livekit);
  });
  afterEach(async () => {
    const left = [...opened];
    opened.clear();
    await Promise.allSettled(left.map((one) => one.leave()));
  });
  afterAll(async () => {
    await livekit?.stop();
    await control?.stop();
  });

  const tokenOf = (room: string, identity: string) => {
    const token = personToken(room);
    const rights = { canSubscribe: true, canPublish: true, canPublishData: true, canUpdateOwnMetadata: false };
    return sign(livekit, { ...token, identity, kind: "agent", video: { roomJoin: true, room, ...rights } });
  };
  /** Runs the call in this process. `said`: the seconds of loud sound that the renderer received. */
  const enter = (session: string, change: Partial<AssignedCall>) => {
    let saidSamples = 0;
    const renderer: Renderer = {
      ...portrait,
      open: async (...parts) => {
        const rendering = await portrait.open(...parts);
        const hear = (pcm: Int16Array, delayMs: number): void => {
          if (isLoud(pcm)) saidSamples += pcm.length;
          rendering.hear(pcm, delayMs);
        };
        return { ...rendering, hear };
      },
    };
    const service = createService({ ...readConfig(control.variables), workerId: "wrk_x" });
    const load = (file: string) => service.file(session, file);
    const parts = { renderer, label: "AI", load, isRestart: false, recorder: null, ...IGNORED };
    const assigned = { ...control.assignedOf(session), agent_identity: AGENT_IDENTITY, ...change };
    return {
      call: closedAfterTest(startCall(assigned, parts)),
      token: assigned.token,
      said: () => saidSamples / SAMPLE_RATE,
    };
  };
  const joinPerson = async (token: string, options?: Parameters<typeof joinAsPerson>[2]) =>
    closedAfterTest(await joinAsPerson(livekit.url, token, options));
  const start = async (change: Partial<AssignedCall> = {}, isForeign = true) => {
    const { session, room, personToken } = await control.start({}, isForeign);
    const join = async (identity = AGENT_IDENTITY) =>
      closedAfterTest(await joinAsAgent(livekit.url, await tokenOf(room, identity), "avatar"));
    return { ...enter(session, change), session, room, personToken, join };
  };
  const untilState = (call: Call, state: string): Promise<unknown> =>
    until(() => call.report().state === state, { state: () => [state, call.report()] });
  /** Starts a call that an agent has joined. */
  const startWithAgent = async (change: Partial<AssignedCall> = {}) => {
    const started = await start(change);
    const agent = await started.join();
    await untilState(started.call, "started");
    return { ...started, agent };
  };
  /**
   * Starts a call with an agent and a person who receives the picture and the sound. This takes more processor time
   * than the call itself.
   */
  const startWithPerson = async (change: Partial<AssignedCall> = {}) => {
    const started = await startWithAgent(change);
    const person = await joinPerson(started.personToken);
    await person.until(() => person.heard.length > 0);
    return { ...started, person, heard: person.heardSeconds };
  };

  test("segments of all formats in a row: seen and heard in order, each with its position", async () => {
    const { agent, person, said, heard } = await startWithPerson({ mode: "avatar" });
    await agent.untilSeen();
    await agent.say(1);
    await agent.say(0.5, { sampleRate: 48_000, channels: 2, pieceBytes: 1001 });
    await agent.say(0.7, { sampleRate: 8000 });
    await agent.say(0.9, { sampleRate: 44_100, channels: 2 });
    await agent.say(0.6, { sampleRate: 22_050, pieceBytes: 333 });
    const finished = await agent.untilFinished(5);
    for (const [index, seconds] of [1, 0.5, 0.7, 0.9, 0.6].entries()) {
      expect(finished[index]?.playback_position).toBeCloseTo(seconds, 1);
      expect(finished[index]).toEqual({ playback_position: expect.any(Number), interrupted: false });
    }
    expect(agent.startedSegments()).toBe(5);
    expect(Math.abs(said() - 3.7)).toBeLessThan(TOLERANCE);
    await person.until(() => heard() > 3.7 - LOST);
    expect(new Set(person.seen.map(({ digest }) => digest)).size).toBeGreaterThan(3);
    expect(person.messages).toEqual([]);
  });

  test("an interruption: the speech stops at once, its position equals the heard sound, and the next speech is played", async () => {
    const { agent, person, said, heard } = await startWithPerson();
    await agent.say(6);
    await agent.say(1);
    // Sending a stream takes time on a busy machine. An interruption that overtakes it would not end it.
    await agent.until(() => heard() >= 3);
    expect(await agent.interrupt()).toBe("ok");
    const [first, second] = await agent.untilFinished(2);
    expect(first).toMatchObject({ interrupted: true });
    expect(second).toEqual({ playback_position: 0, interrupted: true });
    expect(agent.early).toEqual([]);
    await agent.until(() => person.hasSilence(0.3));
    const position = first?.playback_position ?? 0;
    // The renderer knows 0.14 s ahead. On a busy machine, the person also hears the library's filling of gaps.
    expect([said() - position < TOLERANCE + 0.14, heard() > position - LOST]).toEqual([true, true]);
    await agent.say(0.5);
    expect((await agent.untilFinished(3)).slice(2)).toEqual([
      { playback_position: expect.closeTo(0.5, 1), interrupted: false },
    ]);
  });

  test("an interruption while a segment still arrives: its rest is dropped; without speech: no end is reported", async () => {
    const { agent, said } = await startWithAgent();
    expect(await agent.interrupt()).toBe("ok");
    const writer = await agent.open({ sample_rate: "24000", num_channels: "1" });
    await writer.write(new Uint8Array(48_000));
    await agent.until(() => agent.finished.length === 0);
    expect(await agent.interrupt()).toBe("ok");
    await agent.untilFinished(1);
    for (let piece = 0; piece < 10; piece++) await writer.write(Buffer.alloc(9600, 0x20));
    await writer.close();
    await agent.say(0.3);
    await agent.untilFinished(2);
    expect(agent.finished.map(({ interrupted }) => interrupted)).toEqual([true, false]);
    expect(Math.abs(said() - 0.3)).toBeLessThan(TOLERANCE);
  });

  test("another participant: not heard, and cannot interrupt, start or end", async () => {
    const { call, room: name, join, said, personToken } = await start();
    const person = await joinPerson(personToken, { subscribes: false });
    await person.publishMicrophone();
    person.speak(true);
    const other = await join("other");
    await control.untilInRoom(name, "avatar", "other", "person");
    await other.say(2);
    expect(await other.interrupt()).toBe("reject");
    const request = new TextEncoder().encode('{"kind":"request_graceful_close"}');
    const options = { reliable: true, topic: "rta.lifecycle" };
    await Promise.all([other, person].map(({ room }) => room.localParticipant?.publishData(request, options)));
    await Bun.sleep(500);
    expect(call.report()).toMatchObject({ state: "joining", used_seconds: 0 });
    expect(said()).toBe(0);
    const agent = await join();
    await untilState(call, "started");
    await agent.say(1);
    await agent.until(() => said() > 0.3);
    expect(await other.interrupt()).toBe("reject");
    await agent.room.localParticipant?.publishData(request, options);
    expect(await agent.untilFinished(1)).toEqual([{ playback_position: expect.closeTo(1, 1), interrupted: false }]);
    expect(call.report()).toMatchObject({ state: "started" });
    expect(other.finished).toEqual([]);
  });

  test("an agent that leaves: the avatar is silent at once; the call continues if the agent returns in time, and ends otherwise", async () => {
    const { call, room, agent, join, person, heard, said } = await startWithPerson({ away_seconds: 8 });
    // More sound than the avatar plays before it learns that the agent has left, even on a busy machine.
    agent.say(20).catch(() => {});
    await agent.until(() => heard() > 0.3);
    await agent.leave();
    await control.untilInRoom(room, "avatar", "person");
    // The person can hear a gap before the avatar is silent.
    let before = -1;
    while (before !== said()) {
      before = said();
      await Bun.sleep(300);
    }
    expect(before).toBeLessThan(15);
    await agent.until(() => person.hasSilence(0.3));
    const again = await join();
    await again.say(0.5);
    expect(await again.untilFinished(1)).toEqual([{ playback_position: expect.closeTo(0.5, 1), interrupted: false }]);
    expect(said() - before).toBeLessThan(0.5 + TOLERANCE);
    await again.leave();
    await untilState(call, "ended");
    expect(call.report()).toMatchObject({ reason: "disconnected" });
    expect(call.report().used_seconds).toBeGreaterThanOrEqual(4);
    await control.untilInRoom(room, "person");
    expect(person.messages).toEqual([]);
  });

  test("a silent room: the call ends as idle; it continues while the agent sends a person's words", async () => {
    const { call, agent } = await startWithAgent({ idle_seconds: 3 });
    const options = { topic: "lk.transcription", destinationIdentities: ["avatar"] };
    const pausesMs: number[] = [];
    for (let sentAt = performance.now(); pausesMs.length < 20; sentAt = performance.now()) {
      await Promise.all([agent.room.localParticipant?.sendText("and then", options), Bun.sleep(200)]);
      pausesMs.push(performance.now() - sentAt);
    }
    // A machine that is too busy for a text in half of the idle time may end the call.
    if (Math.max(...pausesMs) < 1500) expect(call.report()).toMatchObject({ state: "started" });
    await untilState(call, "ended");
    expect(call.report()).toMatchObject({ reason: "idle" });
  });

  test("an agent in a room of the service: the person's page gets messages of the call, and can end it", async () => {
    const { call, join, personToken } = await start({}, false);
    const person = await joinPerson(personToken, { subscribes: false });
    await join();
    await person.until(() => person.messages.some(({ kind }) => kind === "session_clock"));
    const request = new TextEncoder().encode('{"kind":"request_graceful_close"}');
    const options = { reliable: true, topic: "rta.lifecycle" };
    while (call.report().state !== "ended") {
      await person.room.localParticipant?.publishData(request, options);
      await Bun.sleep(200);
    }
    expect(call.report()).toMatchObject({ reason: "user_ended" });
    expect(person.messages.at(-1)).toEqual({ kind: "ended", reason: "user_ended" });
  });

  test("a worker that takes the call over: reports the lost segment to the agent, and plays the next", async () => {
    const { call, session, agent, said } = await startWithAgent();
    await agent.say(6);
    await agent.until(() => said() > 0.3);
    await call.leave();
    const successor = enter(session, { generation: 2, used_seconds: 7 }).call;
    expect(await agent.untilFinished(1)).toEqual([{ playback_position: 0, interrupted: true }]);
    await agent.say(0.5);
    expect((await agent.untilFinished(2)).at(-1)).toMatchObject({ interrupted: false });
    expect(successor.report()).toMatchObject({ state: "started" });
    expect(successor.report().used_seconds).toBeGreaterThan(7);
  });

  test("an avatar that is removed: the call ends", async () => {
    const { call, room } = await startWithAgent();
    await control.rooms.removeParticipant(room, "avatar");
    await untilState(call, "ended");
    expect(call.report()).toMatchObject({ reason: "disconnected" });
  });

  describe("hostile agents and servers", () => {
    const bad = [{}, { sample_rate: "96000", num_channels: "1" }, { sample_rate: "24000", num_channels: "3" }];
    const worse = [
      { sample_rate: "1e4", num_channels: "1" },
      { sample_rate: "-8000", num_channels: "2" },
    ];
    const sendAll = async (agent: Agent, attributes: Record<string, string>[]) => {
      for (const format of attributes) {
        const writer = await agent.open(format);
        await writer.write(Buffer.alloc(9600, 0x20));
        await writer.close();
      }
    };

    test("sound in unsupported formats: an end for each, and the next is played; too often: the call ends", async () => {
      const { call, agent, said } = await startWithAgent();
      await sendAll(agent, [...bad, ...worse]);
      await agent.say(0.5);
      const ends = await agent.untilFinished(6);
      expect(ends.slice(0, 5)).toEqual(Array(5).fill({ playback_position: 0, interrupted: true }));
      expect(ends[5]).toMatchObject({ interrupted: false });
      expect(Math.abs(said() - 0.5)).toBeLessThan(TOLERANCE);
      // The call ends before all are sent.
      sendAll(agent, Array(20).fill(bad[1])).catch(() => {});
      await untilState(call, "ended");
      expect(call.report()).toMatchObject({ reason: "agent_ended" });
    });

    test("endless streams: the first is played as it comes, the others wait, those above 16 get an end", async () => {
      const { agent, said } = await startWithAgent();
      const format = { sample_rate: "24000", num_channels: "1" };
      for (let count = 0; count < 18; count++) {
        const writer = await agent.open(format);
        await writer.write(Buffer.alloc(24_000, 0x20));
      }
      await agent.until(() => said() > 0.45);
      expect(await agent.untilFinished(2)).toEqual(Array(2).fill({ playback_position: 0, interrupted: true }));
      await agent.interrupt();
      const ends = await agent.untilFinished(18);
      expect(ends[2]?.playback_position).toBeCloseTo(0.5, 0);
      await agent.say(0.3);
      expect((await agent.untilFinished(19)).at(-1)).toMatchObject({ interrupted: false });
    });

    test("a method call whose large payload is small when compressed: not read", async () => {
      const { agent } = await startWithAgent();
      // Until the agent sees the avatar, its library sends method calls in another way, without compression.
      await agent.until(() => agent.room.remoteParticipants.has("avatar"));
      expect(await agent.call("lk.clear_buffer", "x".repeat(2000))).toBe("reject");
      const large = agent.call("lk.clear_buffer", "x".repeat(20 * 1024 * 1024));
      expect(await large.catch(({ code }) => code)).toBe(1500);
    });

    test("a server that sends an unrequested track: the call ends", async () => {
      const { call, room, personToken } = await startWithAgent();
      const person = await joinPerson(personToken, { subscribes: false });
      const track = await person.publishMicrophone();
      await control.rooms.updateSubscriptions(room, "avatar", [track], true);
      await untilState(call, "ended");
      expect(call.report()).toMatchObject({ reason: "agent_ended" });
    });

    type Sender = NonNullable<Agent["room"]["localParticipant"]>;
    const floods: [string, (agent: Agent, sender: Sender) => Promise<unknown>][] = [
      [
        "calls of a method",
        async (agent) => {
          agent.call("lk.clear_buffer").catch(() => {});
          await Bun.sleep(10);
        },
      ],
      ["messages", (_, sender) => sender.publishData(new Uint8Array(10), { reliable: true })],
      ["short segments", (agent) => agent.say(0.01)],
      ["seconds of sound", (agent) => agent.say(1, { sampleRate: 48_000 })],
      [
        "endless streams with large attributes",
        async (_, sender) => {
          const options = { destinationIdentities: ["avatar"], attributes: { much: "x".repeat(13_000) } };
          await sender.streamBytes({ name: "x", topic: "other", ...options });
        },
      ],
    ];
    test.skipIf(!LONG).each(floods)("an agent that sends thousands of %s: the call ends", async (_, send) => {
      const { call, agent } = await startWithAgent();
      const sender = agent.room.localParticipant as Sender;
      while (call.report().state !== "ended") {
        await Promise.all(Array.from({ length: 50 }, () => send(agent, sender).catch(() => {})));
      }
      expect(call.report()).toMatchObject({ reason: "agent_ended" });
    });

    test("a server that redirects: no request to the other address; the call fails at no charge", async () => {
      const seen: string[] = [];
      const redirect = ({ url }: Request) => {
        seen.push(url);
        return Response.redirect(new URL("/inside", url).href, 307);
      };
      const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: redirect });
      const { call } = await start({ url: `ws://127.0.0.1:${server.port}` });
      await untilState(call, "ended");
      expect(call.report()).toMatchObject({ reason: "failed", used_seconds: 0 });
      expect(seen.join()).toContain("/rtc");
      expect(seen.join()).not.toContain("/inside");
      await server.stop(true);
    });

    test("a server that closes no connection: the call still ends", async () => {
      const network = await startNetwork(Number(new URL(livekit.url).port));
      const { call } = await startWithAgent({ url: `ws://127.0.0.1:${network.port}` });
      network.loseExisting();
      await call.end("user_ended");
      expect(call.report()).toMatchObject({ state: "ended", reason: "user_ended" });
      network.close();
    });

    // The worker waits for ten seconds.
    test.skipIf(!LONG)("a server that takes the connection and says nothing: the call fails at no charge", async () => {
      const network = await startNetwork(Number(new URL(livekit.url).port));
      network.isLost = true;
      const { call } = await start({ url: `ws://127.0.0.1:${network.port}` });
      await untilState(call, "ended");
      expect(call.report()).toMatchObject({ reason: "failed", used_seconds: 0 });
      network.close();
    });
  });
});
