/** Calls on a real LiveKit server, with the avatar worker as a process. */

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { createHash } from "node:crypto";
import { preparedFile } from "@realtime-avatar/domain/avatars/preparation";
import { LIFECYCLE_TOPIC } from "@realtime-avatar/domain/calls/lifecycle";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { type LivekitServer, startLivekit } from "@realtime-avatar/testing/livekit/server";
import { bun, type RunningProcess, startProcess } from "@realtime-avatar/testing/processes";
import { until } from "@realtime-avatar/testing/until";
import sharp from "sharp";
import { type ControlPlane, startControlPlane } from "./support/control-plane.ts";
import { preparedFace } from "./support/faces.ts";
import { joinAsPerson, type Person } from "./support/person.ts";
import { joinAsRawClient } from "./support/raw-client.ts";

setDefaultTimeout(60_000);

/** The maximum time for the last message. LiveKit can drop it when the avatar leaves, so the test is repeated then. */
const TOLD_MS = 5000;
const LAST_MESSAGE = { retry: 2 };
const untilTold = ({ messages }: Person): Promise<unknown> =>
  until(() => messages.some(({ kind }) => kind === "ended"), { limitMs: TOLD_MS }).catch(() => null);

const binary = await livekitBinary();
const title = `an avatar worker${binary.kind === "missing" ? ` (skipped: ${binary.reason})` : ""}`;

describe.skipIf(binary.kind === "missing")(title, () => {
  let livekit: LivekitServer;
  let control: ControlPlane;
  let worker: RunningProcess;

  const startWorker = (): RunningProcess =>
    startProcess(bun("apps/avatar-worker/src/main.ts"), {
      ...control.variables,
      AVATAR_SLOTS: "8",
      AVATAR_WORKER_METRICS_PORT: "0",
    });

  beforeAll(async () => {
    livekit = await startLivekit(binary.kind === "found" ? binary.path : "");
    control = await startControlPlane(livekit);
    worker = startWorker();
    await worker.waitFor(/"started"/);
  });
  afterAll(async () => {
    worker?.kill("SIGTERM");
    await worker?.exited;
    await livekit?.stop();
    await control?.stop();
  });

  test("a person who speaks, without a language model: a moving portrait and an echo; the start names the variables to set", async () => {
    await worker.waitFor(/OPENAI_API_KEY or LLM_URL makes them conversations/);
    const call = await control.start({ mode: "avatar" });
    await control.untilReported(call.session, "joined");
    expect(control.reportsOf(call.session).every(({ used_seconds }) => used_seconds === 0)).toBe(true);
    const person = await joinAsPerson(livekit.url, call.personToken);
    await person.publishMicrophone();
    const { used_seconds } = await control.untilReported(call.session, "started");
    expect(used_seconds).toBe(1);
    await person.until(() => person.seen.length > 10);
    const [quiet] = person.seen;
    expect(quiet?.luminance).toBeGreaterThan(50);
    person.speak(true);
    await person.until(() => person.heard.some(({ level }) => level > 0.1));
    await person.until(() => new Set(person.seen.map(({ digest }) => digest)).size > 5);
    await person.until(() => person.seen.some(({ width }) => width === 512));
    await person.until(() => person.attributes.some((changed) => changed["lk.agent.state"] === "speaking"));
    const [avatar] = person.room.remoteParticipants.values();
    expect(avatar?.attributes["rta.media_mode"]).toBe("video");
    await person.until(() => person.messages.length > 0);
    const [clock] = person.messages;
    expect(clock).toMatchObject({ kind: "session_clock", max_session_seconds: 600, idle_timeout_seconds: 120 });
    await person.leave();
    const ended = await control.untilReported(call.session, "ended");
    expect(ended.reason).toBe("disconnected");
    // The time away counts.
    expect(ended.used_seconds).toBeGreaterThan(1);
    await control.untilInRoom(call.room);
  });

  test(
    "a page that ends the call: the person gets the last message; the end is reported after the avatar has left",
    async () => {
      const call = await control.start();
      const person = await joinAsPerson(livekit.url, call.personToken, { subscribes: false });
      await control.untilReported(call.session, "started");
      // A message is lost if it is sent before the person's data channel is open.
      await person.until(() => person.messages.length > 0);
      control.end(call.session, "user_ended");
      expect(await control.untilReported(call.session, "ended")).toMatchObject({ reason: "user_ended" });
      await untilTold(person);
      expect(person.messages.at(-1)).toEqual({ kind: "ended", reason: "user_ended" });
      await control.untilInRoom(call.room, "person");
      await person.leave();
    },
    LAST_MESSAGE,
  );

  test("a request to end like the SDK's: the call ends at once; other messages do not end it", async () => {
    const call = await control.start();
    const person = await joinAsPerson(livekit.url, call.personToken, { subscribes: false });
    await person.until(() => person.messages.length > 0);
    // Not awaited, because a message that is sent before both data channels are open can be lost or delayed.
    const send = (message: string, topic: string): void =>
      void person.room.localParticipant
        ?.publishData(new TextEncoder().encode(message), { reliable: true, topic })
        .catch(() => {});
    const request = JSON.stringify({ kind: "request_graceful_close" });
    for (const [message, topic] of [
      [request, "chat"],
      ['{"kind":"extend","add_seconds":60}', LIFECYCLE_TOPIC],
      ["{", LIFECYCLE_TOPIC],
      ["null", LIFECYCLE_TOPIC],
    ] as const)
      send(message, topic);
    await Bun.sleep(300);
    expect(person.messages.some(({ kind }) => kind === "ended")).toBe(false);
    const repeated = setInterval(() => send(request, LIFECYCLE_TOPIC), 500);
    const ended = await control.untilReported(call.session, "ended");
    clearInterval(repeated);
    expect(ended).toMatchObject({ reason: "user_ended" });
    await person.leave();
  });

  test("a room that is deleted: the call ends for both sides", async () => {
    const call = await control.start();
    const person = await joinAsPerson(livekit.url, call.personToken, { subscribes: false });
    await control.untilReported(call.session, "started");
    await control.rooms.deleteRoom(call.room);
    expect(await control.untilReported(call.session, "ended")).toMatchObject({ reason: "disconnected" });
    await person.until(() => person.disconnectReason() !== null);
    expect(person.disconnectReason()).toBe("ROOM_DELETED");
  });

  test("a call by voice: sound and no picture", async () => {
    const call = await control.start();
    const person = await joinAsPerson(livekit.url, call.personToken);
    await person.publishMicrophone();
    person.speak(true);
    await person.until(() => person.heard.some(({ level }) => level > 0.1));
    const [avatar] = person.room.remoteParticipants.values();
    expect(avatar?.attributes["rta.media_mode"]).toBe("voice");
    expect(avatar?.trackPublications.size).toBe(1);
    control.end(call.session, "user_ended");
    await control.untilReported(call.session, "ended");
    await person.leave();
  });

  test("the prepared picture of a manifest: shown, with a red mark in a call of a test key", async () => {
    const image = await sharp({ create: { width: 300, height: 400, channels: 3, background: "#1060f0" } })
      .webp()
      .toBuffer();
    const file = preparedFile(1, createHash("sha256").update(image).digest("hex"), "webp");
    control.files.set(file, image);
    const manifest = { pictures: { normalized: { file } } };
    const colours = async (environment: "live" | "test") => {
      const call = await control.start({ mode: "avatar", environment, avatar: { avatar_id: "ava_x", manifest } });
      const person = await joinAsPerson(livekit.url, call.personToken);
      await person.until(() => person.seen.filter(({ width }) => width === 512).length > 5);
      const pixels = person.picture();
      control.end(call.session, "user_ended");
      await control.untilReported(call.session, "ended");
      await person.leave();
      // The red difference of I420 pixels, at the centre and within the mark.
      const red = (x: number, y: number) => pixels[512 * 512 + 256 * 256 + (y >> 1) * 256 + (x >> 1)] ?? 0;
      return { centre: red(256, 256), mark: red(185, 485) };
    };
    const live = await colours("live");
    const marked = await colours("test");
    expect(live.centre).toBeLessThan(120);
    expect(live.mark).toBeLessThan(120);
    expect(marked.centre).toBeLessThan(120);
    expect(marked.mark).toBeGreaterThan(170);
  });

  test("an avatar with a face: live pictures with the mark AI, also in silence, 25 a second", async () => {
    const { image, file, manifest } = await preparedFace();
    control.files.set(file, image);
    const call = await control.start({ mode: "avatar", avatar: { avatar_id: "ava_x", manifest } });
    const person = await joinAsPerson(livekit.url, call.personToken);
    const whole = () => person.seen.filter(({ width }) => width === 512);
    await person.until(() => whole().length > 60, { state: () => whole().length });
    const seen = whole().slice(10, 60);
    // A portrait in silence would be a single picture.
    expect(new Set(seen.map(({ digest }) => digest)).size).toBeGreaterThan(25);
    expect(((seen.at(-1)?.at ?? 0) - (seen[0]?.at ?? 0)) / 49).toBeWithin(35, 60);
    const luma = (x: number, y: number): number => person.picture()[512 * y + x] ?? 0;
    // Between the letters of AI, and on the stroke of its I.
    expect([luma(44, 25) < 100, luma(51, 32) > 180]).toEqual([true, true]);
    control.end(call.session, "user_ended");
    await control.untilReported(call.session, "ended");
    await person.leave();
  });

  test.each([
    ["that is missing", {}],
    ["with another digest than its name", { bytes: Buffer.from("x") }],
  ])("a picture %s: the call fails", async (_, { bytes }: { bytes?: Buffer }) => {
    const file = preparedFile(2, (bytes ? "a" : "b").repeat(64), "webp");
    if (bytes) control.files.set(file, bytes);
    const manifest = { pictures: { normalized: { file } } };
    const call = await control.start({ mode: "avatar", avatar: { avatar_id: "ava_x", manifest } });
    expect(await control.untilReported(call.session, "ended")).toMatchObject({ reason: "failed", used_seconds: 0 });
    await control.untilInRoom(call.room);
  });

  test("a token that LiveKit refuses: the call fails, and no log contains the token", async () => {
    const token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl";
    const call = await control.start({ token });
    expect(await control.untilReported(call.session, "ended")).toMatchObject({ reason: "failed", used_seconds: 0 });
    expect(worker.stdout() + worker.stderr()).not.toMatch(/eyJ[\w-]{20}/);
    expect(worker.stdout() + worker.stderr()).not.toContain(control.variables.AVATAR_WORKER_SECRET);
  });

  test("its health and its metrics, after calls: ready, with calls by state and by end", async () => {
    const [, health = ""] = await worker.waitFor(/"url":"(http:[^"]+)"/);
    const [, metrics = ""] = await worker.waitFor(/"metrics":"(http:[^"]+)"/);
    const call = await control.start();
    const person = await joinAsRawClient(livekit.url, call.personToken);
    await control.untilReported(call.session, "started");
    expect(await (await fetch(`${health}readyz`)).json()).toEqual({ status: "ok" });
    const read = async () => (await fetch(metrics)).text();
    expect(await read()).toMatch(
      /realtime_avatar_worker_slots 8\n[\s\S]*realtime_avatar_worker_calls{state="started"} 1/,
    );
    control.end(call.session, "user_ended");
    await control.untilReported(call.session, "ended");
    person?.leave();
    const after = await read();
    expect(after).toMatch(/realtime_avatar_call_seconds_count{reason="user_ended"} [1-9]/);
    expect(after).toMatch(/realtime_avatar_call_join_seconds_count [1-9]/);
  });

  // These tests wait for time to pass, so they run together.
  test.concurrent.each([
    ["of the requested length", "session_cap"],
    ["shorter than requested", "out_of_credits"],
  ] as const)(
    "a call whose seconds are used, with a hold %s: ends within them with %s",
    async (_, limit) => {
      // A connection that stops for a second on a busy machine ends nothing.
      const call = await control.start({ max_seconds: 8, limit, away_seconds: 60 });
      const person = await joinAsPerson(livekit.url, call.personToken, { subscribes: false });
      const ended = await control.untilReported(call.session, "ended");
      expect(ended).toMatchObject({ used_seconds: 8, reason: limit });
      await control.untilInRoom(call.room, "person");
      // The message may reach the person a moment after LiveKit has lost the avatar.
      await untilTold(person);
      expect(person.messages).toContainEqual({ kind: "ending", reason: "session_cap" });
      expect(person.messages.at(-1)).toEqual({ kind: "ended", reason: limit });
      await person.leave();
    },
    LAST_MESSAGE,
  );

  test.concurrent("a person who says nothing: the call ends as idle", async () => {
    const call = await control.start({ idle_seconds: 1 });
    const person = await joinAsPerson(livekit.url, call.personToken, { subscribes: false });
    await person.publishMicrophone();
    expect(await control.untilReported(call.session, "ended")).toMatchObject({ reason: "idle" });
    await person.leave();
  });

  test.concurrent("a person returns in time: the call continues; the absence counts", async () => {
    const call = await control.start({ away_seconds: 10 });
    const first = await joinAsPerson(livekit.url, call.personToken, { subscribes: false });
    await control.untilReported(call.session, "started");
    await first.leave();
    await control.untilInRoom(call.room, "avatar");
    await Bun.sleep(1500);
    const second = await joinAsPerson(livekit.url, call.personToken, { subscribes: false });
    await second.until(() => second.messages.some(({ kind }) => kind === "session_clock"));
    const [clock] = second.messages;
    const lasts = clock?.kind === "session_clock" ? Date.now() - clock.started_at_unix_ms : 0;
    expect(lasts).toBeGreaterThan(1500);
    control.end(call.session, "user_ended");
    const { used_seconds } = await control.untilReported(call.session, "ended");
    expect(used_seconds).toBeGreaterThanOrEqual(2);
    await second.leave();
  });

  test.concurrent("a call with stt_mode off: no echo", async () => {
    const call = await control.start({ input: { stt_mode: "off" } });
    const person = await joinAsPerson(livekit.url, call.personToken);
    await person.publishMicrophone();
    await person.until(() => person.heard.length > 0);
    person.speak(true);
    const spokenAt = performance.now();
    // An echo comes after 0.6 s.
    await person.until(() => (person.heard.at(-1)?.at ?? 0) > spokenAt + 2000);
    control.end(call.session, "user_ended");
    await control.untilReported(call.session, "ended");
    expect(person.heard.filter(({ level }) => level > 0.01)).toEqual([]);
    await person.leave();
  });
});
