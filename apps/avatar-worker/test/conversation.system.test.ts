/** Conversations on a real LiveKit server, with an avatar worker as a process and scripted providers. */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { APOLOGY, NO_TOKENS_LEFT } from "../src/conversation/conversation.ts";
import { KEY, type ScriptedProviders, startProviders } from "../src/conversation/providers/providers.testing.ts";
import type { ControlPlane } from "./support/control-plane.ts";
import { preparedFace } from "./support/faces.ts";
import { joinAsPerson, type Person } from "./support/person.ts";
import { watchTranscript } from "./support/transcript.ts";
import { startWorkerWorld, type WorkerWorld } from "./support/worker-world.ts";

setDefaultTimeout(60_000);

const binary = await livekitBinary();
const title = `a conversation${binary.kind === "missing" ? ` (skipped: ${binary.reason})` : ""}`;

describe.skipIf(binary.kind === "missing")(title, () => {
  let world: WorkerWorld;
  let control: ControlPlane;
  let providers: ScriptedProviders;
  let persons: Person[] = [];

  beforeAll(async () => {
    providers = startProviders({ llmMs: 100, tokenMs: 5, ttsMs: 50, sttMs: 50 });
    const limits = { AVATAR_SLOTS: "8", AVATAR_WORKER_METRICS_PORT: "0" };
    world = await startWorkerWorld(binary, { ...providers.variables, ...limits });
    control = world.control;
  });
  afterEach(async () => {
    await Promise.all(persons.map((person) => person.leave()));
    persons = [];
    providers.faults.clear();
  });
  afterAll(async () => {
    await world?.stop();
    await providers?.stop();
  });

  /** A call with a person, who can type when the avatar is present. */
  const startCall = async (options: Parameters<ControlPlane["start"]>[0] = {}) => {
    const call = await control.start(options);
    const person = await joinAsPerson(world.livekit.url, call.personToken);
    persons.push(person);
    const { transcripts, said } = watchTranscript(person.room);
    await control.untilReported(call.session, "started");
    // A message is lost if it is sent before the data channel is open.
    await person.until(() => person.messages.length > 0);
    const type = (text: string, attributes: Record<string, string> = {}) =>
      person.room.localParticipant?.sendText(text, { topic: "lk.chat", attributes });
    return { ...call, person, transcripts, said, type };
  };

  test("a typed turn: its answer is heard, both are in the transcript under their names, and the lips move", async () => {
    providers.setAnswer(() => "Good morning. I am very glad that you are here today.");
    const { person, said, type } = await startCall({ mode: "avatar" });
    await person.until(() => person.seen.length > 10);
    const still = new Set(person.seen.map(({ digest }) => digest)).size;
    await type("  Good morning!  ", { "rta.turn_id": "t1", "rta.turn_instructions": "Be brief." });
    await person.until(() => said().length === 2);
    expect(said()).toEqual([
      { who: "person", text: "Good morning!" },
      { who: "avatar", text: "Good morning. I am very glad that you are here today." },
    ]);
    // 53 characters at 15 a second.
    expect(person.heardSeconds()).toBeGreaterThan(2.5);
    expect(new Set(person.seen.map(({ digest }) => digest)).size).toBeGreaterThan(still + 10);
    const states = person.attributes.map((changed) => changed["lk.agent.state"]);
    expect(states.filter(Boolean)).toEqual(["thinking", "speaking", "listening"]);
    expect(providers.of("llm").at(-1)?.body).toMatchObject({
      ...{ model: "model", stream: true, max_tokens: 400 },
      messages: [
        { role: "system", content: expect.stringMatching(/spoken sentences[\s\S]*\n\nBe brief\.$/) },
        { role: "user", content: "Good morning!" },
      ],
    });
  });

  test("a call with instructions and a context: the model gets them after the operator's, only in this call", async () => {
    providers.setAnswer(({ messages }) => `I know ${messages.length} messages.`);
    const first = await startCall({
      input: {
        stt_mode: "server",
        instructions: "The secret of tenant one is a teapot.",
        initial_context: [{ role: "assistant", content: "Welcome back, Ada." }],
      },
    });
    const second = await startCall({ input: { stt_mode: "server", instructions: "You are a pirate." } });
    await Promise.all([first.type("One?"), second.type("Two?")]);
    await first.person.until(() => first.said().length === 2 && second.said().length === 2);
    expect(first.said().at(-1)?.text).toBe("I know 3 messages.");
    expect(second.said().at(-1)?.text).toBe("I know 2 messages.");
    const [one, two] = ["One?", "Two?"].map((text) => {
      const request = providers.of("llm").find(({ body }) => JSON.stringify(body).includes(text));
      return JSON.stringify(request?.body);
    });
    expect(one).toContain("links.\\n\\nThe secret of tenant one is a teapot.");
    expect(one).toContain("Welcome back, Ada.");
    expect(one).not.toContain("pirate");
    expect(two).toContain("You are a pirate.");
    expect(two).not.toContain("teapot");
    expect(JSON.stringify([first.transcripts, second.transcripts])).not.toContain("teapot");
  });

  test("a call of an avatar with its own voice: it speaks in that voice only", async () => {
    providers.setAnswer(() => "Good morning to you.");
    const before = providers.of("tts").length;
    const { person, said, type } = await startCall({ default_voice_id: "flite-rms" });
    await type("Hi.");
    await person.until(() => said().length === 2);
    expect(person.heardSeconds()).toBeGreaterThan(0.5);
    expect(providers.of("tts").length).toBe(before);
  });

  test("a second turn while the avatar speaks: silence at once; the transcript keeps the words that were heard", async () => {
    const long = Array.from({ length: 30 }, (_, index) => `Sentence number ${index} is here.`).join(" ");
    providers.setAnswer(({ messages }) => (messages.at(-1)?.content === "Tell me all." ? long : "Of course."));
    const { person, said, type } = await startCall();
    await type("Tell me all.", { "rta.turn_id": "t1" });
    await person.until(() => person.heardSeconds() > 2);
    const aborted = providers.of("llm").length;
    await type("Stop.", { "rta.turn_id": "t2" });
    await person.until(() => said().length === 4);
    const [, interrupted, , answer] = said();
    expect(long.startsWith(interrupted?.text ?? "?")).toBe(true);
    expect(interrupted?.text.length).toBeGreaterThan(15);
    expect(interrupted?.text.length).toBeLessThan(150);
    expect(answer?.text).toBe("Of course.");
    // The model gets only the heard words.
    const { body } = providers.of("llm")[aborted] ?? {};
    expect((body as { messages: unknown[] }).messages.slice(1)).toEqual([
      { role: "user", content: "Tell me all." },
      { role: "assistant", content: interrupted?.text },
      { role: "user", content: "Stop." },
    ]);
  });

  test("a provider that fails: one apology, and the next turn is answered", async () => {
    providers.setAnswer(() => "All is well.");
    const { person, said, type } = await startCall();
    providers.faults.set("llm", 401);
    await type("First?");
    await person.until(() => said().length === 2);
    providers.faults.clear();
    providers.faults.set("tts", 500);
    await type("Second?");
    await person.until(() => said().length === 4);
    providers.faults.clear();
    await type("Third?");
    await person.until(() => said().length === 6);
    const texts = said().map(({ text }) => text);
    expect(texts).toEqual(["First?", APOLOGY, "Second?", APOLOGY, "Third?", "All is well."]);
    await world.worker.waitFor(/"provider":"llm","why":"refused"/);
    await world.worker.waitFor(/"provider":"tts","why":"busy"/);
    const [, address = ""] = await world.worker.waitFor(/"metrics":"(http:[^"]+)"/);
    const metrics = await (await fetch(address)).text();
    expect(metrics).toMatch(/realtime_avatar_conversation_turns_total [1-9]/);
    expect(metrics).toMatch(/realtime_avatar_provider_failures_total{provider="llm",why="refused"} [1-9]/);
    expect(metrics).toMatch(/realtime_avatar_provider_failures_total{provider="tts",why="busy"} [1-9]/);
    expect(metrics).toMatch(/realtime_avatar_provider_up{provider="llm"} 1/);
    const [, url = ""] = await world.worker.waitFor(/"url":"(http:[^"]+)"/);
    const ready = await (await fetch(`${url}readyz`)).json();
    expect(ready).toEqual({ status: "ok", providers: { llm: "ok", stt: "ok", tts: "ok" } });
  });

  test("a limit of tokens: answers while tokens are left, then one notice; the usage is reported", async () => {
    providers.setUsage({ prompt_tokens: 31, completion_tokens: 7 });
    providers.setAnswer(() => "Here I am.");
    const before = providers.of("llm").length;
    const { session, person, said, type } = await startCall({ tokens_left: 70 });
    for (const [index, text] of ["One?", "Two?", "Three?"].entries()) {
      await type(text);
      await person.until(() => said().length === 2 * (index + 1));
    }
    await type("Four?");
    await person.until(() => said().length === 7);
    expect(said().map(({ text }) => text)).toEqual([
      ...["One?", "Here I am.", "Two?", "Here I am.", "Three?", NO_TOKENS_LEFT, "Four?"],
    ]);
    expect(providers.of("llm").length - before).toBe(2);
    control.end(session, "user_ended");
    const { usage } = await control.untilReported(session, "ended");
    expect(usage).toMatchObject({ input_tokens: 62, output_tokens: 14, estimated_tokens: 0, heard_seconds: 0 });
    expect(usage?.spoken_characters).toBe("Here I am.".length * 2 + NO_TOKENS_LEFT.length);
    providers.setUsage(null);
  });

  test("a model that fails three times in a row: the call ends as failed", async () => {
    const { session, person, said, type } = await startCall();
    providers.faults.set("llm", "json");
    for (const [index, text] of ["One?", "Two?", "Three?"].entries()) {
      await type(text);
      await person.until(() => said().length === 2 * (index + 1));
    }
    expect(await control.untilReported(session, "ended")).toMatchObject({ reason: "failed" });
  });

  test("the last line of a call: said verbatim, reported to the page, then the call ends; later turns are not taken", async () => {
    providers.setAnswer(() => "Goodbye.");
    const { session, person, said, type } = await startCall();
    await type("Bye.", { "rta.turn_id": "t1" });
    await person.until(() => said().length === 2);
    const requests = providers.of("llm").length;
    await type("Bye.", { "rta.turn_id": "t2", "rta.retry_of_turn_id": "t1" });
    await type("It was good to see you.", { "rta.turn_id": "t3", "rta.closing_turn": "1" });
    await person.until(() => person.attributes.at(-1)?.["lk.agent.state"] === "speaking");
    await type("Wait!", { "rta.turn_id": "t4" });
    await person.until(() => person.messages.some(({ kind }) => kind === "closing_turn_done"));
    expect(person.messages.filter(({ kind }) => kind === "closing_turn_done")).toEqual([
      { kind: "closing_turn_done", turn_id: "t3" },
    ]);
    // A text is a stream of messages, and can arrive after the message that was sent behind it.
    await person.until(() => said().length > 2);
    expect(said().slice(2)).toEqual([{ who: "avatar", text: "It was good to see you." }]);
    expect(providers.of("llm").length).toBe(requests);
    expect(await control.untilReported(session, "ended")).toMatchObject({ reason: "user_ended" });
    expect(person.messages.at(-1)).toEqual({ kind: "ended", reason: "user_ended" });
  });

  test("gestures that the page requests: made one at a time; unknown ones are refused", async () => {
    const { image, file, manifest } = await preparedFace();
    control.files.set(file, image);
    const { person } = await startCall({ mode: "avatar", avatar: { avatar_id: "ava_x", manifest } });
    const acks = () => person.messages.filter((message) => message.kind === "clip_ack");
    const ask = (request_id: string, action_id: string): void => {
      const request = new TextEncoder().encode(JSON.stringify({ kind: "action_request", request_id, action_id }));
      void person.room.localParticipant?.publishData(request, { reliable: true, topic: "rta.lifecycle" });
    };
    await person.until(() => person.seen.length > 10);
    ask("r1", "nod");
    ask("r2", "smile");
    ask("r3", "somersault");
    await person.until(() => acks().length === 3);
    expect(acks()).toEqual([
      { kind: "clip_ack", request_id: "r1", accepted: true, reason: "accepted" },
      { kind: "clip_ack", request_id: "r2", accepted: false, reason: "busy" },
      { kind: "clip_ack", request_id: "r3", accepted: false, reason: "unknown_action" },
    ]);
  });

  test("the worker's output: no key, no text of a person or a model, no address of a provider", () => {
    expect(providers.received.every(({ key }) => key === `Bearer ${KEY}`)).toBe(true);
    const output = world.worker.stdout() + world.worker.stderr();
    for (const secret of [KEY, "teapot", "Tell me all", "All is well", providers.url]) {
      expect(output).not.toContain(secret);
    }
  });
});
