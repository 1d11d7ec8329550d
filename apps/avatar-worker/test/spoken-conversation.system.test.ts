/** Conversations by voice on a real LiveKit server: the avatar hears a person, and is interrupted. */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { RoomEvent } from "@livekit/rtc-node";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { type ScriptedProviders, startProviders } from "../src/conversation/providers/providers.testing.ts";
import { joinAsPerson, type Person } from "./support/person.ts";
import { watchTranscript } from "./support/transcript.ts";
import { wordFrames } from "./support/words.ts";
import { startWorkerWorld, type WorkerWorld } from "./support/worker-world.ts";

setDefaultTimeout(60_000);

const LONG_ANSWER = Array.from({ length: 30 }, (_, index) => `Sentence number ${index} is here.`).join(" ");

const binary = await livekitBinary();
const title = `a conversation by voice${binary.kind === "missing" ? ` (skipped: ${binary.reason})` : ""}`;

describe.skipIf(binary.kind === "missing")(title, () => {
  let world: WorkerWorld;
  let providers: ScriptedProviders;
  let person: Person;

  beforeAll(async () => {
    providers = startProviders({ llmMs: 100, tokenMs: 5, ttsMs: 50, sttMs: 100 });
    world = await startWorkerWorld(binary, providers.variables);
  });
  afterEach(async () => {
    await person.leave();
    providers.faults.clear();
  });
  afterAll(async () => {
    await world?.stop();
    await providers?.stop();
  });

  const startCall = async () => {
    const call = await world.control.start();
    person = await joinAsPerson(world.livekit.url, call.personToken);
    const { said } = watchTranscript(person.room);
    const heard = new Promise((resolve) => person.room.once(RoomEvent.LocalTrackSubscribed, resolve));
    await person.publishMicrophone();
    await world.control.untilReported(call.session, "started");
    // Earlier speech would be lost.
    await heard;
    await person.until(() => person.heard.length > 20);
    return { ...call, said };
  };

  test("a spoken sentence with a pause: one turn, answered", async () => {
    providers.setText((request) =>
      request === 0 ? "I would like to book a table" : "I would like to book a table for four.",
    );
    providers.setAnswer(() => "With pleasure. For what time?");
    const { said } = await startCall();
    const before = providers.of("llm").length;
    person.say(wordFrames("I would like to book a table", 600, "for four people on Friday evening."));
    await person.until(() => said().length === 2);
    expect(said()).toEqual([
      { who: "person", text: "I would like to book a table for four." },
      { who: "avatar", text: "With pleasure. For what time?" },
    ]);
    expect(person.heardSeconds()).toBeGreaterThan(1.2);
    expect(providers.of("llm").length).toBe(before + 1);
    const { body } = providers.of("stt").at(-1) ?? {};
    expect(body).toMatchObject({ model: "recognizer", response_format: "json" });
  });

  test("a person who interrupts: silence; the transcript keeps the heard words", async () => {
    providers.setText((request) => (request === 0 ? "Could you please tell me all?" : "Wait, stop please."));
    providers.setAnswer(({ messages }) => (messages.length === 2 ? LONG_ANSWER : "All right."));
    const { said } = await startCall();
    person.say(wordFrames("Could you please tell me"));
    await person.until(() => person.heardSeconds() > 3.5);
    person.say(wordFrames("Wait, stop please."));
    // The delay is measured by bench/conversation: on a busy machine, any bound would fail.
    await person.until(() => person.heard.at(-1) !== undefined && person.hasSilence(0.4));
    await person.until(() => said().length === 4);
    const [, interrupted, stop, answer] = said();
    expect(LONG_ANSWER.startsWith(interrupted?.text ?? "?")).toBe(true);
    expect(interrupted?.text.length).toBeGreaterThan(30);
    expect(interrupted?.text.length).toBeLessThan(140);
    expect([stop?.text, answer?.text]).toEqual(["Wait, stop please.", "All right."]);
  });

  test("a backchannel while the avatar speaks: it says all, without a request to the model", async () => {
    providers.setText((request) => (request === 0 ? "Could you please tell me all?" : "Mm-hmm."));
    const answer = LONG_ANSWER.slice(0, LONG_ANSWER.indexOf(" Sentence number 4"));
    providers.setAnswer(() => answer);
    const { said } = await startCall();
    person.say(wordFrames("Could you please tell me"));
    await person.until(() => person.heardSeconds() > 2.5);
    const before = providers.of("llm").length;
    person.say(wordFrames("Mm-hmm."));
    await person.until(() => said().length === 2);
    expect(said().at(-1)?.text).toBe(answer);
    expect(providers.of("llm").length).toBe(before);
    expect(person.heardSeconds()).toBeGreaterThan(answer.length / 15 - 2);
  });
});
