/**
 * Calls that continue in another room, on a real LiveKit server, with an avatar worker as a process and scripted
 * providers.
 */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { type ScriptedProviders, startProviders } from "../src/conversation/providers/providers.testing.ts";
import type { ControlPlane } from "./support/control-plane.ts";
import { joinAsPerson, type Person } from "./support/person.ts";
import { watchTranscript } from "./support/transcript.ts";
import { startWorkerWorld, type WorkerWorld } from "./support/worker-world.ts";

setDefaultTimeout(60_000);

const binary = await livekitBinary();
const title = `a call that is resumed${binary.kind === "missing" ? ` (skipped: ${binary.reason})` : ""}`;
const resume = { room_number: 1, gap_count: 0, gap_seconds: 0, return_seconds: 60 };
const options = { resume, away_seconds: 10 };

describe.skipIf(binary.kind === "missing")(title, () => {
  let world: WorkerWorld;
  let control: ControlPlane;
  let providers: ScriptedProviders;
  let persons: Person[] = [];

  beforeAll(async () => {
    providers = startProviders({ llmMs: 50, tokenMs: 5, ttsMs: 20, sttMs: 50 });
    world = await startWorkerWorld(binary, { ...providers.variables, AVATAR_SLOTS: "4" });
    control = world.control;
  });
  afterEach(async () => {
    await Promise.all(persons.map((person) => person.leave()));
    persons = [];
  });
  afterAll(async () => {
    await world?.stop();
    await providers?.stop();
  });

  /** Joins a room of a call. Resolves when the avatar is present too. */
  const join = async ({ session, personToken }: Awaited<ReturnType<ControlPlane["start"]>>) => {
    const person = await joinAsPerson(world.livekit.url, personToken);
    persons.push(person);
    const { said } = watchTranscript(person.room);
    await person.until(() => person.messages.length > 0);
    const type = (text: string) => person.room.localParticipant?.sendText(text, { topic: "lk.chat" });
    const started = () => control.reportsOf(session).findLast(({ state }) => state === "started");
    return { person, said, type, started };
  };

  test("a person who returns in the next room: the model has the history; the absence is free", async () => {
    providers.setAnswer(({ messages }) => `I know ${messages.length} messages.`);
    const call = await control.start({ ...options, mode: "avatar" });
    const first = await join(call);
    await first.person.publishMicrophone();
    await first.type("Good morning!");
    await first.person.until(() => first.said().length === 2);
    await first.person.leave();
    await first.person.until(() => control.reportsOf(call.session).at(-1)?.resume?.gap_count === 1);
    const next = await control.move(call.session);
    await control.untilInRoom(next.room, "avatar");
    const second = await join(next);
    await second.person.until(() => second.person.seen.length > 10);
    await second.type("Are you still there?");
    await second.person.until(() => second.said().length === 2);
    expect(second.said().map(({ text }) => text)).toEqual(["Are you still there?", "I know 4 messages."]);
    expect(second.person.heardSeconds()).toBeGreaterThan(0.5);
    const request = providers.of("llm").at(-1)?.body as unknown as { messages: { content: string }[] };
    expect(request.messages.slice(1).map(({ content }) => content)).toEqual([
      "Good morning!",
      "I know 2 messages.",
      "Are you still there?",
    ]);
    const last = second.started();
    expect(last?.resume).toMatchObject({ room_number: 2, gap_count: 1 });
    expect(last?.resume?.gap_seconds).toBeGreaterThan(0);
    const reports = control.reportsOf(call.session);
    const whileAway = reports.filter(({ state, resume: gaps }) => state === "joined" && gaps?.gap_count === 1);
    expect(whileAway.length).toBeGreaterThan(0);
    for (const { used_seconds } of whileAway) expect(used_seconds).toBe(whileAway[0]?.used_seconds as number);
    // The previous room and its token are gone.
    await expect(joinAsPerson(world.livekit.url, call.personToken)).rejects.toThrow();
    expect((await control.rooms.listRooms()).map(({ name }) => name)).not.toContain(call.room);
    control.end(call.session, "user_ended");
    await second.person.until(() => second.person.messages.some(({ kind }) => kind === "ended"));
  });

  test("an answer during which the person leaves: continues when the person is back", async () => {
    const answer =
      "One, two, three, four, five, six, seven, eight, nine, ten, and so on, and here the long sentence ends.";
    providers.setAnswer(() => answer);
    const call = await control.start(options);
    const first = await join(call);
    await first.type("Count!");
    await first.person.until(() => first.person.heardSeconds() > 1);
    await first.person.leave();
    const next = await control.move(call.session);
    await control.untilInRoom(next.room, "avatar");
    const second = await join(next);
    await second.person.until(() => second.said().length === 1);
    expect(second.said()).toEqual([{ who: "avatar", text: answer }]);
    expect(second.person.heardSeconds()).toBeGreaterThan(1);
    control.end(call.session, "user_ended");
  });

  test("a call, moved twice while the person is present: the person is heard in the last room only", async () => {
    providers.setAnswer(() => "Yes.");
    const call = await control.start(options);
    const first = await join(call);
    const second = await control.move(call.session);
    const third = await control.move(call.session);
    await first.person.until(() => first.person.disconnectReason() !== null);
    const { person, type, said } = await join(third);
    await type("Here?");
    await person.until(() => said().length === 2);
    await expect(joinAsPerson(world.livekit.url, second.personToken)).rejects.toThrow();
    expect(control.reportsOf(call.session).at(-1)?.resume).toMatchObject({ room_number: 3, gap_count: 1 });
    control.end(call.session, "user_ended");
    await control.untilReported(call.session, "ended");
  });

  test("a room that another resume deletes before the avatar joins: the call waits for the next room", async () => {
    providers.setAnswer(() => "Yes.");
    const call = await control.start({ ...options, mode: "avatar" });
    await join(call);
    for (let round = 0; round < 6; round++) {
      const { room } = await control.move(call.session);
      // The delay of a round falls before, into or after the join of the avatar.
      await Bun.sleep(round * 50);
      await control.rooms.deleteRoom(room);
      await Bun.sleep(50);
    }
    const last = await control.move(call.session);
    await control.untilInRoom(last.room, "avatar");
    const { person, type, said } = await join(last);
    await type("Here?");
    await person.until(() => said().length === 2);
    expect(control.reportsOf(call.session).filter(({ state }) => state === "ended")).toEqual([]);
    control.end(call.session, "user_ended");
    await control.untilReported(call.session, "ended");
  });

  test("a deleted room without a successor: the call ends, and the seconds without a room are free", async () => {
    const call = await control.start({ resume, away_seconds: 3 });
    await join(call);
    await control.rooms.deleteRoom(call.room);
    const { used_seconds } = await control.untilReported(call.session, "joined");
    const ended = await control.untilReported(call.session, "ended");
    expect(ended).toMatchObject({ reason: "disconnected" });
    expect(ended.used_seconds - used_seconds).toBeLessThan(3);
  });

  test("a process that is killed after a move: the next process continues in the last room", async () => {
    const call = await control.start(options);
    await join(call);
    const next = await control.move(call.session);
    await join(next);
    const [pid] = [...world.worker.stdout().matchAll(/"pid":(\d+),"mode"/g)].map(([, id]) => Number(id)).slice(-1);
    process.kill(pid ?? 0, "SIGKILL");
    await control.untilReported(call.session, "joining");
    await control.untilInRoom(next.room, "avatar", "person");
    const { resume: gaps } = await control.untilReported(call.session, "started");
    expect(gaps).toMatchObject({ room_number: 2, gap_count: 1 });
    control.end(call.session, "user_ended");
  });
});
