/** Turns of programs in a conversation on a simulated clock. */
import { describe, expect, test } from "bun:test";
import { ProviderError } from "../providers/errors.ts";
import { LONG, spoken, startConversation } from "../testing/conversation-testing.ts";
import { createProgramTurns, type ProgramTurn } from "./program-turns.ts";

const start = (parts: Parameters<typeof startConversation>[0] = {}) => {
  const conversation = startConversation(parts);
  const told: string[] = [];
  const turns = createProgramTurns({
    ...conversation.conversation,
    onProgress: ({ turn_id, status, heard }) => told.push(`${turn_id} ${status}${heard === null ? "" : `: ${heard}`}`),
  });
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 10) {
      await conversation.pass(10);
      turns.step();
    }
  };
  let count = 0;
  const send = (text: string, change: Partial<ProgramTurn> = {}): void =>
    turns.take([{ turn_id: `${++count}`, kind: "say", text, instructions: null, interrupt: true, ...change }]);
  return { ...conversation, turns, told, pass, send, stopAll: () => send("", { kind: "interrupt", text: null }) };
};
const WAITS = { interrupt: false };

describe("say", () => {
  test("words: said without a request to the model, which gets them with the next turn", async () => {
    const { send, told, said, asked, counted, conversation, pass } = start();
    send("Your *table* is booked.");
    await pass(3000);
    expect(told).toEqual(["1 speaking", "1 said: Your table is booked."]);
    expect([said, asked, counted]).toEqual([["assistant: Your table is booked."], [], []]);
    conversation.take({ text: "When?" });
    await pass(2000);
    expect(asked[0]?.slice(1)).toEqual([
      { role: "assistant", content: "Your table is booked." },
      { role: "user", content: "When?" },
    ]);
  });

  test("a turn that waits: said after the answer, and the others in order", async () => {
    const { send, told, said, conversation, pass } = start();
    conversation.take({ text: "Hi." });
    send("First.", WAITS);
    send("Second.", WAITS);
    await pass(6000);
    expect(said).toEqual(["user: Hi.", "assistant: Good morning to you.", "assistant: First.", "assistant: Second."]);
    expect(told).toEqual(["1 speaking", "1 said: First.", "2 speaking", "2 said: Second."]);
  });

  test("a turn that interrupts: the current answer keeps its heard words, and waiting turns are dropped", async () => {
    const { send, told, counted, pass, isQuiet } = start();
    send(LONG);
    send("Waits.", WAITS);
    await pass(1500);
    send("Now.");
    expect(isQuiet()).toBe(true);
    await pass(2000);
    expect(told).toEqual([
      "1 speaking",
      "2 dropped",
      "1 interrupted: One two three four",
      "3 speaking",
      "3 said: Now.",
    ]);
    expect(counted).toEqual(["interruption"]);
  });

  test("another turn before its first sound: interrupted, with no heard words", async () => {
    const { send, told, setDelays, pass } = start();
    setDelays({ llmMs: 0, ttsMs: 500 });
    send("First.");
    await pass(100);
    send("Second.");
    await pass(3000);
    expect(told).toEqual(["1 interrupted: ", "2 speaking", "2 said: Second."]);
  });

  test("a voice that fails: the turn fails without an apology, and the next turn is said", async () => {
    const ownVoice = async function* (): AsyncGenerator<Int16Array> {
      yield new Int16Array(480);
    };
    // biome-ignore lint/correctness/useYield: it fails before its first sound.
    const voice = async function* (text: string): AsyncGenerator<Int16Array> {
      throw text === "First." ? new ProviderError("tts", "busy") : new Error("unexpected");
    };
    const { send, told, said, failures, pass } = start({ voice, ownVoice });
    send("First.");
    await pass(1000);
    expect([told, said, failures]).toEqual([["1 failed: "], [], ["tts busy"]]);
  });

  test("a voice that knows none of the letters: the turn fails", async () => {
    const voice = async function* (): AsyncGenerator<Int16Array> {};
    const { send, told, pass } = start({ voice });
    send("\u4f60\u597d");
    await pass(500);
    expect(told).toEqual(["1 failed: "]);
  });
});

describe("answer", () => {
  test("a text with instructions: answered like a turn of the person", async () => {
    const { send, told, said, asked, counted, pass } = start();
    send("Is it booked?", { kind: "answer", instructions: "Only now." });
    await pass(3000);
    expect(said).toEqual(["user: Is it booked?", "assistant: Good morning to you."]);
    expect(asked[0]).toEqual([
      { role: "system", content: "Be brief.\n\nOnly now." },
      { role: "user", content: "Is it booked?" },
    ]);
    expect([told, counted]).toEqual([["1 speaking", "1 said: Good morning to you."], ["turn"]]);
  });

  test("a model that fails: the turn fails; the avatar apologises", async () => {
    const { send, told, said, fail, pass } = start();
    fail(new ProviderError("llm", "busy"));
    send("Is it booked?", { kind: "answer" });
    await pass(4000);
    expect(told).toEqual(["1 failed: "]);
    expect(said[1]).toStartWith("assistant: Sorry");
  });

  test("turns above the limit of a minute: dropped", async () => {
    const { send, told, pass } = start({ maxTurnsPerMinute: 1 });
    send("One?", { kind: "answer" });
    await pass(2000);
    send("Two?", { kind: "answer" });
    send("Three?", { kind: "answer" });
    await pass(2000);
    expect(told.slice(2)).toEqual(["2 dropped", "3 dropped"]);
  });
});

describe("the person", () => {
  test("interrupts a turn by speech: it ends with its heard words; by mm-hmm: it continues", async () => {
    const { send, told, hear, setHeard, setAnswer, pass } = start();
    send(LONG);
    await pass(1500);
    setHeard("Mm-hmm.");
    for (const event of spoken("begin", "pause")) hear(event);
    await pass(500);
    expect(told).toEqual(["1 speaking"]);
    setHeard("Wait, stop please.");
    setAnswer("Yes.");
    for (const event of spoken("begin", "pause")) hear(event);
    await pass(100);
    for (const event of spoken("end")) hear(event);
    await pass(3000);
    expect(told[1]).toStartWith("1 interrupted: One two three four");
  });

  test("is in the middle of a turn: turns of programs wait for its end, even interrupting ones", async () => {
    const { send, told, hear, setHeard, pass } = start();
    setHeard("What is the time?");
    hear(spoken("begin")[0] as never);
    send("Now.");
    await pass(500);
    expect(told).toEqual([]);
    for (const event of spoken("pause")) hear(event);
    await pass(100);
    for (const event of spoken("end")) hear(event);
    await pass(5000);
    expect(told).toEqual(["1 speaking", "1 said: Now."]);
  });

  test("is away: waiting turns stay", async () => {
    const { send, told, conversation, pass } = start();
    conversation.setAway(true);
    send("Hello.");
    await pass(500);
    expect(told).toEqual([]);
    conversation.setAway(false);
    await pass(2000);
    expect(told).toEqual(["1 speaking", "1 said: Hello."]);
  });
});

describe("the end", () => {
  test("an interruption: ends answers to the person and to programs, drops waiting turns, and is done at once", async () => {
    const { send, stopAll, told, said, conversation, pass, setAnswer } = start();
    setAnswer(LONG);
    conversation.take({ text: "Count." });
    send("Waits.", WAITS);
    await pass(1500);
    stopAll();
    await pass(1000);
    expect(told).toEqual(["1 dropped", "2 said"]);
    expect(said).toEqual(["user: Count.", "assistant: One two three four"]);
    // An interruption in silence.
    stopAll();
    send("After.");
    await pass(1000);
    expect(told.slice(2)).toEqual(["3 said", "4 speaking", "4 said: After."]);
  });

  test("the end of the call: waiting turns are dropped, and the current one is interrupted", async () => {
    const { send, told, turns, conversation, settle, pass } = start();
    send(LONG);
    send("Waits.", WAITS);
    await pass(1500);
    turns.stop();
    conversation.stop();
    await settle();
    expect(told).toEqual(["1 speaking", "2 dropped", "1 interrupted: One two three four"]);
  });
});
