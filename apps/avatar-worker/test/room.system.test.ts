/**
 * Tests which inputs a call accepts from its room, on a real LiveKit server. The call runs in this process, so that the
 * test can count the renderer's sound.
 */

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { LocalVideoTrack, RpcError, TrackPublishOptions, TrackSource, VideoSource } from "@livekit/rtc-node";
import { avatarToken } from "@realtime-avatar/domain/calls/room";
import type { AssignedCall } from "@realtime-avatar/domain/calls/worker-sync";
import { isLoud } from "@realtime-avatar/face/loudness";
import { FLITE_SETTINGS } from "@realtime-avatar/speech/settings";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { type LivekitServer, startLivekit } from "@realtime-avatar/testing/livekit/server";
import { until } from "@realtime-avatar/testing/until";
import { readConfig } from "../src/config.ts";
import { createService } from "../src/fleet/service.ts";
import { portrait } from "../src/renderer/portrait.ts";
import type { Renderer } from "../src/renderer/renderer.ts";
import { startCall } from "../src/room/call.ts";
import { type ControlPlane, sign, startControlPlane } from "./support/control-plane.ts";
import { joinAsPerson, type Person } from "./support/person.ts";

setDefaultTimeout(60_000);

const LONG = process.env["LONG"] === "1";

const binary = await livekitBinary();
const title = `the room of a call${binary.kind === "missing" ? ` (skipped: ${binary.reason})` : ""}`;

describe.skipIf(binary.kind === "missing")(title, () => {
  let livekit: LivekitServer;
  let control: ControlPlane;

  beforeAll(async () => {
    livekit = await startLivekit(binary.kind === "found" ? binary.path : "");
    control = await startControlPlane(livekit);
  });
  afterAll(async () => {
    await livekit?.stop();
    await control?.stop();
  });

  /** A call in this process. `heard`: for each frame that the renderer got, whether it was loud. */
  const start = async (change: Partial<AssignedCall> = {}) => {
    const { session, ...own } = await control.start();
    const heard: boolean[] = [];
    const renderer: Renderer = {
      ...portrait,
      open: async (...parts) => {
        const rendering = await portrait.open(...parts);
        const hear = (pcm: Int16Array, delayMs: number): void => {
          heard.push(isLoud(pcm));
          rendering.hear(pcm, delayMs);
        };
        return { ...rendering, hear };
      },
    };
    const service = createService({ ...readConfig(control.variables), workerId: "wrk_x" });
    const load = (file: string) => service.file(session, file);
    const parts = {
      renderer,
      label: "AI",
      load,
      isRestart: false,
      recorder: null,
      conversation: null,
      echo: { speech: FLITE_SETTINGS, onProviderFailure: () => {}, segments: null, onTurn: () => {} },
      onChange: () => {},
      onFailure: () => {},
    };
    const assigned = { ...control.assignedOf(session), ...change };
    return { ...own, call: startCall(assigned, parts), heard };
  };

  test("a person with several microphones: only the newest is heard; after its end, the previous one", async () => {
    const { call, heard, personToken } = await start();
    const person = await joinAsPerson(livekit.url, personToken, { subscribes: false });
    person.speak(true);
    const untilHeard = (isLoud: boolean) =>
      person.until(() => heard.length > 20 && heard.slice(-20).every((loud) => loud === isLoud));
    await person.publishMicrophone();
    await untilHeard(true);
    const silent = await person.publishMicrophone(true);
    await untilHeard(false);
    await person.room.localParticipant?.unpublishTrack(silent);
    await untilHeard(true);
    await call.leave();
    await person.leave();
  });

  test("a person who publishes a picture as a microphone: the call ends", async () => {
    const { call, personToken } = await start();
    const person = await joinAsPerson(livekit.url, personToken, { subscribes: false });
    await person.until(() => call.report().state === "started");
    const track = LocalVideoTrack.createVideoTrack("x", new VideoSource(64, 64));
    const options = new TrackPublishOptions({ source: TrackSource.SOURCE_MICROPHONE });
    const publishing = person.room.localParticipant?.publishTrack(track, options).catch(() => {});
    await person.until(() => call.report().state === "ended");
    expect(call.report()).toMatchObject({ reason: "agent_ended" });
    await Promise.all([publishing, person.leave()]);
  });

  type Sender = NonNullable<Person["room"]["localParticipant"]>;
  const floods: [string, number, (person: Sender) => Promise<unknown>][] = [
    ["1,500 messages", 1500, (person) => person.publishData(new Uint8Array(10), { reliable: true })],
    ["1,500 streams of text", 1500, (person) => person.sendText("x", { topic: "lk.chat" })],
    [
      "1,500 calls of methods",
      1500,
      (person) => person.performRpc({ destinationIdentity: "avatar", method: "x", payload: "" }).catch(() => {}),
    ],
    ["1.1 MiB", 80, (person) => person.publishData(new Uint8Array(14 * 1024), { reliable: true })],
  ];
  test.each(LONG ? floods : floods.slice(0, 1))(
    "a person who sends %s at once: the call ends; half of it: the call continues",
    async (_, many, send) => {
      const { call, personToken } = await start();
      const person = await joinAsPerson(livekit.url, personToken, { subscribes: false });
      await person.until(() => call.report().state === "started");
      const sender = person.room.localParticipant as Sender;
      const sendAll = (count: number) => Promise.all(Array.from({ length: count }, () => send(sender)));
      await sendAll(many / 2);
      // The messages of the person are counted every second.
      await Bun.sleep(2500);
      expect(call.report()).toMatchObject({ state: "started" });
      sendAll(many).catch(() => {});
      await person.until(() => call.report().state === "ended");
      expect(call.report()).toMatchObject({ reason: "agent_ended" });
      await person.leave();
    },
  );

  test("a person who calls a method with a payload of 1 MiB, compressed to 1 KiB: not read", async () => {
    const { call, personToken } = await start();
    const person = await joinAsPerson(livekit.url, personToken, { subscribes: false });
    await person.until(() => call.report().state === "started");
    // Until the person sees the avatar, the library sends method calls in another way, without compression.
    await person.until(() => person.room.remoteParticipants.has("avatar"));
    const perform = (payload: string) =>
      person.room.localParticipant
        ?.performRpc({ destinationIdentity: "avatar", method: "x", payload })
        .catch(({ code }: { code: number }) => code);
    const { UNSUPPORTED_METHOD, APPLICATION_ERROR } = RpcError.ErrorCode;
    expect(await perform("x".repeat(32 * 1024))).toBe(UNSUPPORTED_METHOD);
    expect(await perform("x".repeat(1024 * 1024))).toBe(APPLICATION_ERROR);
    await call.leave();
    await person.leave();
  });

  test("a room that does not exist when the avatar joins: the avatar is there when it is created", async () => {
    const name = "rta-test-later";
    const token = await sign(livekit, avatarToken(name, "voice", 600));
    const resume = { room_number: 1, gap_count: 0, gap_seconds: 0, return_seconds: 60 };
    const { call } = await start({ token, resume });
    await until(async () => (await readFile(livekit.logFile, "utf8")).includes(name));
    await control.rooms.createRoom({ name });
    await control.untilInRoom(name, "avatar");
    await until(() => call.report().state === "joined");
    await call.leave();
  });

  test("a call that is left while it is joining: absent from the room afterwards", async () => {
    const { call, room, personToken } = await start();
    const person = await joinAsPerson(livekit.url, personToken, { subscribes: false });
    await call.leave();
    await control.untilInRoom(room, "person");
    // A call that still joins would be present by now.
    await Bun.sleep(1000);
    await control.untilInRoom(room, "person");
    await person.leave();
  });
});
