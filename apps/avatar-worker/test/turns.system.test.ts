/** Turns of programs in calls on a real LiveKit server, with an avatar worker as a process that has no language model. */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import type { ControlPlane } from "./support/control-plane.ts";
import { joinAsPerson, type Person } from "./support/person.ts";
import { watchTranscript } from "./support/transcript.ts";
import { wordFrames } from "./support/words.ts";
import { startWorkerWorld, type WorkerWorld } from "./support/worker-world.ts";

setDefaultTimeout(60_000);

const binary = await livekitBinary();
const title = `turns of programs${binary.kind === "missing" ? ` (skipped: ${binary.reason})` : ""}`;
const LONG = "One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen.";

describe.skipIf(binary.kind === "missing")(title, () => {
  let world: WorkerWorld;
  let control: ControlPlane;
  let persons: Person[] = [];

  beforeAll(async () => {
    world = await startWorkerWorld(binary, { AVATAR_SLOTS: "8" });
    control = world.control;
  });
  afterEach(async () => {
    await Promise.all(persons.map((person) => person.leave()));
    persons = [];
  });
  afterAll(() => world?.stop());

  const startCall = async (options: Parameters<ControlPlane["start"]>[0] = {}) => {
    const call = await control.start(options);
    const person = await joinAsPerson(world.livekit.url, call.personToken);
    persons.push(person);
    const { said } = watchTranscript(person.room);
    await control.untilReported(call.session, "started");
    await person.until(() => person.messages.length > 0);
    return { ...call, person, said };
  };

  test("words, without a language model: heard, shown, and reported with the heard words", async () => {
    const { session, person, said } = await startCall();
    const { statuses, untilOver } = control.say(session, { text: "Your **table** is booked for eight people." });
    expect(await untilOver()).toMatchObject({ status: "said", heard: "Your table is booked for eight people." });
    expect(statuses()).toEqual(["queued", "speaking", "said"]);
    await person.until(() => said().length > 0);
    expect(said()).toEqual([{ who: "avatar", text: "Your table is booked for eight people." }]);
    expect(person.heardSeconds()).toBeGreaterThan(1);
    const states = person.attributes.map((changed) => changed["lk.agent.state"]).filter(Boolean);
    expect(states).toEqual(["speaking", "listening"]);
  });

  test("an interruption: silence, the heard words, and waiting turns dropped; the next turn is said", async () => {
    const { session, person } = await startCall();
    const first = control.say(session, { text: LONG });
    const second = control.say(session, { text: "Waits.", interrupt: false });
    await person.until(() => person.heardSeconds() > 1.5);
    const stop = control.say(session, { kind: "interrupt", text: null });
    const over = await first.untilOver();
    expect(over.status).toBe("interrupted");
    expect(over.heard).toMatch(/^One two\b/);
    expect(LONG).toStartWith(over.heard ?? "none");
    expect((await second.untilOver()).status).toBe("dropped");
    expect((await stop.untilOver()).status).toBe("said");
    await person.until(() => person.hasSilence(0.5));
    const next = control.say(session, { text: "And on we go." });
    expect(await next.untilOver()).toMatchObject({ status: "said", heard: "And on we go." });
  });

  test("words during the echo: the echo stops, and continues afterwards", async () => {
    const { session, person } = await startCall();
    await person.publishMicrophone();
    person.speak(true);
    await person.until(() => person.heardSeconds() > 1);
    person.speak(false);
    const { untilOver } = control.say(session, { text: "Excuse me for a moment, please." });
    expect((await untilOver()).status).toBe("said");
    await person.until(() => person.hasSilence(0.5));
    const before = person.heardSeconds();
    person.speak(true);
    await person.until(() => person.heardSeconds() > before + 1);
  });

  test("a person who speaks: the words end, and later speech is echoed", async () => {
    const { session, person } = await startCall();
    await person.publishMicrophone(true);
    const { untilOver } = control.say(session, { text: LONG });
    await person.until(() => person.heardSeconds() > 1);
    person.say(wordFrames("Wait, stop please."));
    const { status, heard } = await untilOver();
    expect([status, LONG.startsWith(heard ?? "none")]).toEqual(["interrupted", true]);
    await person.until(() => person.hasSilence(0.5));
    const before = person.heardSeconds();
    person.say(wordFrames("Could you please tell me"));
    await person.until(() => person.heardSeconds() > before + 0.3);
  });

  test("an answer, without a language model: failed", async () => {
    const { session } = await startCall();
    expect(await control.say(session, { kind: "answer", text: "What?" }).untilOver()).toMatchObject({
      status: "failed",
    });
  });

  test("the end of a call in the middle of a turn: reported as interrupted", async () => {
    const { session, person } = await startCall();
    const { untilOver } = control.say(session, { text: LONG });
    await person.until(() => person.heardSeconds() > 1);
    control.end(session, "user_ended");
    expect((await untilOver()).status).toBe("interrupted");
    await control.untilReported(session, "ended");
  });
});
