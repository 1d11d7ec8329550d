/**
 * Recordings of calls, on a real LiveKit server, with an avatar worker as a process. ffmpeg decodes the fragments that
 * the worker sends.
 */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { type ScriptedProviders, startProviders } from "../src/conversation/providers/providers.testing.ts";
import { NOTICE } from "../src/recording/notice.ts";
import { ffmpeg, loudTimes, readPictures, readSound } from "../src/recording/recorded.testing.ts";
import type { ControlPlane } from "./support/control-plane.ts";
import { joinAsPerson, type Person } from "./support/person.ts";
import { watchTranscript } from "./support/transcript.ts";
import { startWorkerWorld, type WorkerWorld } from "./support/worker-world.ts";

setDefaultTimeout(60_000);

const binary = await livekitBinary();
const reason = binary.kind === "missing" ? binary.reason : ffmpeg === null ? "without ffmpeg" : "";
const title = `a call that is recorded${reason === "" ? "" : ` (skipped: ${reason})`}`;
const ECHO_MS = 600;
/** A call that can move to another room. */
const resume = { room_number: 1, gap_count: 0, gap_seconds: 0, return_seconds: 60 };

describe.skipIf(reason !== "")(title, () => {
  let world: WorkerWorld;
  let control: ControlPlane;
  let persons: Person[] = [];

  beforeAll(async () => {
    world = await startWorkerWorld(binary, { AVATAR_SLOTS: "4", AVATAR_WORKER_METRICS_PORT: "0" });
    control = world.control;
  });
  afterEach(async () => {
    await Promise.all(persons.map((person) => person.leave()));
    persons = [];
  });
  afterAll(() => world?.stop());

  const join = async (personToken: string): Promise<Person> => {
    const person = await joinAsPerson(world.livekit.url, personToken);
    persons.push(person);
    await person.publishMicrophone();
    return person;
  };
  const end = async (session: string) => {
    control.end(session, "user_ended");
    await control.untilReported(session, "ended");
    const fragments = control.fragmentsOf(session);
    expect(fragments.map(({ n }) => n)).toEqual(fragments.map((_, index) => index));
    return fragments;
  };
  /** Kills the process that was started last. */
  const killProcess = (): void => {
    const [pid] = [...world.worker.stdout().matchAll(/"pid":(\d+),"mode"/g)].map(([, id]) => Number(id)).slice(-1);
    process.kill(pid ?? 0, "SIGKILL");
  };

  test("an avatar that echoes: the voice of each side at its time; pictures with the mark REC, also those that the person sees", async () => {
    const call = await control.start({ mode: "avatar", recording: { mode: "participants" } });
    const person = await join(call.personToken);
    await person.until(() => person.seen.filter(({ width }) => width === 512).length > 5);
    const times: [from: number, to: number][] = [];
    for (const pauseMs of [6000, 3000]) {
      const from = Date.now();
      person.speak(true);
      await Bun.sleep(1000);
      person.speak(false);
      times.push([from, Date.now()]);
      await Bun.sleep(pauseMs);
    }
    const shown = person.picture();
    const fragments = await end(call.session);
    expect(fragments.length).toBeGreaterThan(1);
    const [user, avatar] = await Promise.all([readSound(fragments, "user"), readSound(fragments, "avatar")]);
    expect([user.length, avatar.length]).toEqual([1, 1]);
    const [said, echoed] = [user, avatar].map((tracks) => tracks.flatMap(loudTimes));
    for (const [index, [from, to]] of times.entries()) {
      const [[heardFrom = 0, heardTo = 0] = [], [echoFrom = 0, echoTo = 0] = []] = [said?.[index], echoed?.[index]];
      // The delay of LiveKit and of its jitter buffer. A sound is found up to 10 ms early, and AAC spreads it over the
      // frame before, of 21 ms.
      expect(heardFrom - from).toBeWithin(-31, 500);
      expect(Math.abs(heardTo - heardFrom - (to - from))).toBeLessThan(250);
      expect(echoFrom - heardFrom).toBeWithin(ECHO_MS - 100, ECHO_MS + 200);
      expect(Math.abs(echoTo - echoFrom - (heardTo - heardFrom))).toBeLessThan(100);
    }
    const pictures = await readPictures(fragments);
    const spanMs = (pictures.at(-1)?.at ?? 0) - (pictures[0]?.at ?? 0);
    expect(spanMs).toBeWithin(10_000, 20_000);
    // On a busy machine, pictures are left out.
    expect(pictures.length).toBeGreaterThan(spanMs / 500);
    // Between the dot and the letters of REC, and on the first letter.
    const rec = (luma: Uint8Array) => [
      luma[512 * 25 + 428] ?? 255,
      Math.max(...luma.subarray(512 * 34 + 430, 512 * 34 + 495)),
    ];
    for (const { luma } of pictures) {
      expect(luma).toHaveLength(512 ** 2);
      expect(rec(luma)[1]).toBeGreaterThan(200);
    }
    expect(rec(shown)[1]).toBeGreaterThan(200);
    const [, metrics = ""] = await world.worker.waitFor(/"metrics":"(http:[^"]+)"/);
    const sent = /recording_fragments_total{result="sent"} (\d+)/.exec(await (await fetch(metrics)).text());
    expect(Number(sent?.[1])).toBe(fragments.length);
  });

  test("a call by voice: the person hears the notice first, and no earlier sound is recorded; a killed process leaves a gap", async () => {
    const call = await control.start({ recording: { mode: "audio" } });
    const person = await join(call.personToken);
    const { said } = watchTranscript(person.room);
    // Until the end of the notice, the avatar does not echo.
    person.speak(true);
    await person.until(() => said().length > 0);
    const told = Date.now();
    person.speak(false);
    expect(said()).toEqual([{ who: "avatar", text: NOTICE }]);
    expect(person.heardSeconds()).toBeGreaterThan(0.8);
    await Bun.sleep(2000);
    const spokenAt = Date.now();
    person.speak(true);
    await Bun.sleep(500);
    person.speak(false);
    // The first fragments are sent: one of two seconds, and the next.
    await person.until(() => control.fragmentsOf(call.session).length === 2);
    const heardBefore = person.heardSeconds();
    killProcess();
    await control.untilReported(call.session, "joining");
    await control.untilReported(call.session, "started");
    await Bun.sleep(2000);
    expect(person.heardSeconds() - heardBefore).toBeLessThan(0.1);
    const fragments = await end(call.session);
    expect(fragments.length).toBeGreaterThan(2);
    for (const { sounds, pictures } of fragments) {
      expect([sounds.map(({ role }) => role), pictures]).toEqual([["both"], null]);
    }
    const [first, second, ...rest] = await readSound(fragments, "both");
    if (!first || !second) throw new Error("the recording has no gap");
    expect(rest).toEqual([]);
    expect(first.startedAt).toBeGreaterThan(told - 700);
    expect(second.startedAt - first.startedAt).toBeWithin(1000 * first.seconds, 1000 * first.seconds + 5000);
    // The voice of the person and its echo follow one another.
    const loud = loudTimes(first).filter(([from]) => from > spokenAt);
    expect((loud[0]?.[0] ?? 0) - spokenAt).toBeWithin(0, 500);
    expect((loud.at(-1)?.[1] ?? 0) - (loud[0]?.[0] ?? 0)).toBeWithin(900, 1500);
  });
});

/** Tries of a tenant to record a person in secret. */
describe.skipIf(reason !== "")("another page that joins a recorded call as its person", () => {
  let world: WorkerWorld;
  const persons: Person[] = [];

  beforeAll(async () => {
    world = await startWorkerWorld(binary, { AVATAR_SLOTS: "4" });
  });
  afterAll(async () => {
    await Promise.all(persons.map((person) => person.leave()));
    await world?.stop();
  });
  const join = async (token: string, subscribes = true): Promise<Person> => {
    const person = await joinAsPerson(world.livekit.url, token, { subscribes });
    persons.push(person);
    return person;
  };
  /** When the person was heard in the recording of a call, in milliseconds since 1970. */
  const endAndListen = async (session: string): Promise<[from: number, to: number][]> => {
    world.control.end(session, "user_ended");
    await world.control.untilReported(session, "ended");
    const tracks = await readSound(world.control.fragmentsOf(session), "user");
    return tracks.flatMap(loudTimes);
  };

  test("in a call by voice, with the token of the first page or after a resume: hears the notice, and is not recorded before", async () => {
    const { control } = world;
    const call = await control.start({ recording: { mode: "participants" }, resume });
    const silent: [from: number, to: number][] = [];
    const hearNotice = async (token: string): Promise<void> => {
      const person = await join(token);
      const { said } = watchTranscript(person.room);
      await person.publishMicrophone();
      person.speak(true);
      const from = Date.now();
      await person.until(() => said().length > 0);
      silent.push([from, Date.now() - 700]);
      person.speak(false);
      expect(said()[0]).toEqual({ who: "avatar", text: NOTICE });
      await Bun.sleep(1000);
    };
    await hearNotice(call.personToken);
    await hearNotice(call.personToken);
    const next = await control.move(call.session);
    await control.untilInRoom(next.room, "avatar");
    await hearNotice(next.personToken);
    const heard = await endAndListen(call.session);
    for (const [from, to] of silent) expect(heard.filter(([start, end]) => start < to && end > from)).toEqual([]);
  });

  test("in a call with pictures, after a resume: recorded only if it receives the pictures", async () => {
    const { control } = world;
    const call = await control.start({ mode: "avatar", recording: { mode: "participants" }, resume });
    const speak = async (token: string, receivesPictures: boolean): Promise<[from: number, to: number]> => {
      const from = Date.now();
      const person = await join(token, receivesPictures);
      await person.publishMicrophone();
      if (receivesPictures) await person.until(() => person.seen.filter(({ width }) => width === 512).length > 5);
      person.speak(true);
      await control.untilReported(call.session, "started");
      await Bun.sleep(3000);
      await person.leave();
      return [from, Date.now()];
    };
    const times = [await speak(call.personToken, true)];
    for (const receivesPictures of [false, true]) {
      const next = await control.move(call.session);
      await control.untilInRoom(next.room, "avatar");
      times.push(await speak(next.personToken, receivesPictures));
    }
    const heard = await endAndListen(call.session);
    const isHeard = ([from, to]: [number, number]) => heard.some(([start, end]) => start < to && end > from);
    expect(times.map(isHeard)).toEqual([true, false, true]);
  });
});

describe.skipIf(reason !== "")("a recorded conversation", () => {
  let world: WorkerWorld;
  let providers: ScriptedProviders;

  beforeAll(async () => {
    providers = startProviders({ llmMs: 20, tokenMs: 5, ttsMs: 20, sttMs: 50 });
    world = await startWorkerWorld(binary, { ...providers.variables, AVATAR_SLOTS: "4" });
  });
  afterAll(async () => {
    await world?.stop();
    await providers?.stop();
  });

  test("a turn of the person and a turn of a program, sent before the notice is said: come after it; the recording continues in the next room", async () => {
    const { control, livekit } = world;
    providers.setAnswer(() => "Good morning.");
    const call = await control.start({ recording: { mode: "audio" }, resume, input: { stt_mode: "off" } });
    const person = await joinAsPerson(livekit.url, call.personToken);
    const { said } = watchTranscript(person.room);
    await control.untilReported(call.session, "started");
    const turn = control.say(call.session, { text: "This is a test.", interrupt: true });
    await turn.untilOver();
    await person.room.localParticipant?.sendText("Hello!", { topic: "lk.chat" });
    await person.until(() => said().length === 4);
    expect(said().map(({ text }) => text)).toEqual([NOTICE, "This is a test.", "Hello!", "Good morning."]);
    await person.leave();
    const next = await control.move(call.session);
    await control.untilInRoom(next.room, "avatar");
    const again = await joinAsPerson(livekit.url, next.personToken);
    const { said: saidAgain } = watchTranscript(again.room);
    await again.publishMicrophone();
    await again.until(() => saidAgain().length > 0);
    await Bun.sleep(1000);
    const spokeAt = Date.now();
    again.speak(true);
    await Bun.sleep(1500);
    control.end(call.session, "user_ended");
    await control.untilReported(call.session, "ended");
    await again.leave();
    const tracks = await readSound(control.fragmentsOf(call.session), "both");
    expect(tracks).toHaveLength(1);
    const loud = tracks.flatMap(loudTimes);
    // The words of the program, the answer, and then the words of the person. No recognizer gets them. On a busy machine,
    // the words of the person have gaps.
    const lengths = Object.groupBy(loud, ([from]) => (from > spokeAt - 100 ? "person" : "avatar"));
    for (const times of [lengths.avatar, lengths.person])
      expect(times?.reduce((sum, [from, to]) => sum + to - from, 0)).toBeGreaterThan(800);
  });
});
