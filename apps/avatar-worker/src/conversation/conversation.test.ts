import { describe, expect, test } from "bun:test";
import { APOLOGY, NO_TOKENS_LEFT, TOO_MANY_TURNS } from "./conversation.ts";
import type { TurnEvent } from "./hearing/turn-detector.ts";
import { ProviderError } from "./providers/errors.ts";
import { LONG, spoken, startConversation as start } from "./testing/conversation-testing.ts";
import { NoTokensLeft } from "./usage-meter.ts";

describe("typed turns", () => {
  test("a turn: states thinking and speaking, an answer, and both in the history", async () => {
    const { conversation, asked, states, said, done, pass } = start();
    conversation.take({ text: "Hi.", id: "t1", instructions: "Only now." });
    await pass(2000);
    expect(said).toEqual(["user: Hi.", "assistant: Good morning to you."]);
    expect(states).toEqual(["thinking", "speaking", "listening"]);
    expect(done.map(({ id }) => id)).toEqual(["t1"]);
    conversation.take({ text: "Again." });
    await pass(2000);
    expect(asked[0]).toEqual([
      { role: "system", content: "Be brief.\n\nOnly now." },
      { role: "user", content: "Hi." },
    ]);
    expect(asked[1]).toEqual([
      { role: "system", content: "Be brief." },
      { role: "user", content: "Hi." },
      { role: "assistant", content: "Good morning to you." },
      { role: "user", content: "Again." },
    ]);
  });

  test("a turn while the avatar speaks: the first answer keeps only its heard words; its request is aborted", async () => {
    const { conversation, asked, said, done, aborted, counted, pass, setAnswer, isQuiet } = start();
    setAnswer(LONG);
    conversation.take({ text: "Count." });
    await pass(1500);
    setAnswer("Yes.");
    conversation.take({ text: "Stop." });
    expect(isQuiet()).toBe(true);
    expect(aborted.length).toBe(1);
    await pass(1000);
    expect(said).toEqual(["user: Count.", "assistant: One two three four", "user: Stop.", "assistant: Yes."]);
    expect(asked[1]?.slice(1).map(({ content }) => content)).toEqual(["Count.", "One two three four", "Stop."]);
    expect(done.map(({ text }) => text)).toEqual(["Count.", "Stop."]);
    expect(counted).toEqual(["turn", "interruption", "turn"]);
  });

  test("a repeated turn: not answered again if it has an answer; otherwise answered, with its text once in the history", async () => {
    const { conversation, asked, said, pass, fail } = start();
    conversation.take({ text: "Hi.", id: "t1" });
    await pass(2000);
    conversation.take({ text: "Hi.", id: "t2", retryOf: "t1" });
    conversation.take({ text: "Hi.", id: "t3", retryOf: "t2" });
    await pass(500);
    expect(asked.length).toBe(1);
    fail(new ProviderError("llm", "busy"));
    conversation.take({ text: "What?", id: "t4" });
    await pass(3000);
    fail(null);
    conversation.take({ text: "What?", id: "t5", retryOf: "t4" });
    await pass(2000);
    expect(said.slice(2)).toEqual(["user: What?", `assistant: ${APOLOGY}`, "assistant: Good morning to you."]);
    expect(asked.at(-1)?.filter(({ content }) => content === "What?").length).toBe(1);
  });

  test("turns above the limit of a minute: one short sentence, no request to the model", async () => {
    const { conversation, asked, said, done, counted, pass } = start({ maxTurnsPerMinute: 2 });
    for (const text of ["One.", "Two.", "Three."]) {
      conversation.take({ text });
      await pass(3000);
    }
    expect(said.at(-1)).toBe(`assistant: ${TOO_MANY_TURNS}`);
    expect(asked.length).toBe(2);
    // A flood of turns is dropped: no sound, no interruption.
    for (let turn = 0; turn < 200; turn++) conversation.take({ text: `Flood ${turn}.`, id: `${turn}` });
    await pass(3000);
    expect(said.filter((text) => text.includes(TOO_MANY_TURNS)).length).toBe(1);
    expect(said.some((text) => text.includes("Flood"))).toBe(false);
    expect(done.length).toBe(203);
    await pass(60_000);
    conversation.take({ text: "Four." });
    await pass(2000);
    expect(asked.length).toBe(3);
    expect(counted).toEqual(["turn", "turn", "turn"]);
  });

  test("no tokens left: one notice in the built-in voice; the call continues; after new tokens: an answer", async () => {
    let isEmpty = true;
    const { conversation, asked, said, states, done, ends, failures, pass } = start({
      ask: async function* (messages) {
        if (isEmpty) throw new NoTokensLeft();
        asked.push(messages);
        yield "Here I am.";
      },
    });
    for (const text of ["One.", "Two.", "Three.", "Four."]) {
      conversation.take({ text });
      await pass(6000);
    }
    expect(said.filter((text) => text.startsWith("assistant"))).toEqual([`assistant: ${NO_TOKENS_LEFT}`]);
    expect([states.at(-1), done.length, ends, failures]).toEqual(["listening", 4, [], []]);
    isEmpty = false;
    conversation.take({ text: "Five." });
    await pass(3000);
    expect(said.at(-1)).toBe("assistant: Here I am.");
    isEmpty = true;
    conversation.take({ text: "Six." });
    await pass(6000);
    expect(said.at(-1)).toBe(`assistant: ${NO_TOKENS_LEFT}`);
  });

  test("a turn before the last answer is heard, and the end of the call: no interruption counted", async () => {
    const { conversation, counted, pass, setAnswer } = start();
    conversation.take({ text: "One." });
    setAnswer(LONG);
    conversation.take({ text: "Two." });
    await pass(1500);
    conversation.stop();
    expect(counted).toEqual(["turn", "turn"]);
  });
});

describe("failures", () => {
  test("a model that fails: an apology outside the history; the third failure in a row ends the conversation", async () => {
    const { conversation, asked, said, failures, ends, pass, fail } = start();
    fail(new ProviderError("llm", "timeout"));
    for (const text of ["One.", "Two."]) {
      conversation.take({ text });
      await pass(3000);
    }
    fail(null);
    conversation.take({ text: "Three." });
    await pass(2000);
    fail(new ProviderError("llm", "malformed"));
    for (const text of ["Four.", "Five.", "Six."]) {
      expect(ends).toEqual([]);
      conversation.take({ text });
      await pass(3000);
    }
    expect(ends).toEqual(["failed"]);
    expect(failures.filter((failure) => failure === "llm timeout").length).toBe(2);
    expect(said.filter((text) => text.includes(APOLOGY)).length).toBe(5);
    expect(JSON.stringify(asked)).not.toContain(APOLOGY);
  });

  test("a voice that fails in the middle: the heard words stay in the history; the avatar apologises", async () => {
    const { conversation, said, failures, pass, setAnswer } = start({
      voice: async function* () {
        yield new Int16Array(48_000).fill(1000);
        throw new ProviderError("tts", "malformed");
      },
    });
    setAnswer(LONG);
    conversation.take({ text: "Count." });
    await pass(5000);
    expect(said).toEqual(["user: Count.", "assistant: One two three", `assistant: ${APOLOGY}`]);
    expect(failures).toEqual(["tts malformed"]);
  });

  test("a recognizer that fails: an apology, unless the avatar is speaking", async () => {
    const { conversation, hear, said, failures, pass, setAnswer } = start({
      recognize: async () => {
        throw new ProviderError("stt", "refused");
      },
    });
    for (const event of spoken("begin", "pause", "end")) hear(event);
    await pass(3000);
    expect(said).toEqual([`assistant: ${APOLOGY}`]);
    setAnswer(LONG);
    conversation.take({ text: "Count." });
    await pass(1000);
    for (const event of spoken("begin", "pause", "end")) hear(event);
    await pass(6000);
    expect(said.at(-1)).toBe(`assistant: ${LONG}`);
    expect(failures).toEqual(["stt refused", "stt refused"]);
  });
});

describe("spoken turns", () => {
  test("a whole sentence: recognized at its pause, answered at its end", async () => {
    const { hear, said, verdicts, asked, pass, settle, setHeard } = start();
    setHeard("What time is it?");
    for (const event of spoken("begin", "pause")) hear(event);
    await settle();
    expect(verdicts).toEqual([[1, "whole"]]);
    // The request to the model is sent at the pause.
    expect(asked.length).toBe(1);
    await pass(500);
    expect(said).toEqual([]);
    for (const event of spoken("end")) hear(event);
    await pass(2000);
    expect(said).toEqual(["user: What time is it?", "assistant: Good morning to you."]);
    expect(asked.map((messages) => messages.slice(1))).toEqual([[{ role: "user", content: "What time is it?" }]]);
  });

  test("a person who continues after a whole sentence: the early request is aborted and leaves no trace", async () => {
    const { hear, said, timings, asked, aborted, pass, settle, setHeard } = start();
    setHeard("What time is it?");
    for (const event of spoken("begin", "pause")) hear(event);
    await settle();
    for (const event of spoken("resume")) hear(event);
    expect([asked.length, aborted.length]).toEqual([1, 1]);
    setHeard("What time is it? In Rome.");
    for (const event of spoken("pause", "end")) hear(event);
    await pass(2000);
    expect(said).toEqual(["user: What time is it? In Rome.", "assistant: Good morning to you."]);
    expect([asked.length, timings.length]).toEqual([2, 1]);
  });

  test("a person who continues: the text of the pause is dropped", async () => {
    const signals: AbortSignal[] = [];
    const { hear, said, verdicts, pass } = start({
      recognize: async (_, signal) => {
        signals.push(signal);
        return signals.length === 1 ? "I would like" : "I would like a table.";
      },
    });
    for (const event of spoken("begin", "pause", "resume", "pause", "end")) hear(event);
    await pass(2000);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
    expect(said[0]).toBe("user: I would like a table.");
    expect(verdicts.length).toBeLessThanOrEqual(1);
  });

  test.each(["Mm-hmm.", "[music]", "three four five six seven eight"])(
    "%p while the avatar speaks: a pause, then the rest of the answer",
    async (text) => {
      const { conversation, hear, states, said, counted, verdicts, asked, pass, settle, setAnswer, setHeard, isQuiet } =
        start();
      setAnswer(LONG);
      setHeard(text);
      conversation.take({ text: "Count." });
      await pass(1500);
      for (const event of spoken("begin")) hear(event);
      expect(isQuiet()).toBe(true);
      await pass(300);
      expect(isQuiet()).toBe(true);
      for (const event of spoken("pause")) hear(event);
      await settle();
      expect(verdicts).toEqual([[1, "ignored"]]);
      await pass(5000);
      expect(said).toEqual(["user: Count.", `assistant: ${LONG}`]);
      expect(states).toEqual(["thinking", "speaking", "listening", "speaking", "listening"]);
      expect(asked.length).toBe(1);
      expect(counted).toEqual(["turn"]);
    },
  );

  test("words while the avatar speaks: its answer ends, and the new turn is answered", async () => {
    const { conversation, hear, said, counted, pass, setAnswer, setHeard } = start();
    setAnswer(LONG);
    conversation.take({ text: "Count." });
    await pass(1500);
    setHeard("Wait, stop please.");
    setAnswer("All right.");
    for (const event of spoken("begin", "pause", "end")) hear(event);
    await pass(2000);
    expect(said).toEqual([
      "user: Count.",
      "assistant: One two three four",
      "user: Wait, stop please.",
      "assistant: All right.",
    ]);
    expect(counted).toEqual(["turn", "interruption", "turn"]);
  });

  test("a typed turn while the person speaks: answered after the person's turn", async () => {
    const { conversation, hear, said, pass, setHeard, isQuiet } = start();
    setHeard("Mm-hmm.");
    for (const event of spoken("begin")) hear(event);
    conversation.take({ text: "Hi." });
    await pass(500);
    expect(isQuiet()).toBe(true);
    setHeard("");
    for (const event of spoken("pause", "end")) hear(event);
    await pass(2500);
    expect(said).toEqual(["user: Hi.", "assistant: Good morning to you."]);
  });
});

test("10,000 events in random order: each turn is reported done once, and the conversation still answers", async () => {
  let seed = 11;
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) | 0;
    return (seed >>> 8) % below;
  };
  const { conversation, hear, said, done, pass, settle, setHeard, setAnswer } = start({ maxTurnsPerMinute: 100_000 });
  const kinds = ["begin", "pause", "resume", "end", "noise"] as const;
  let typed = 0;
  for (let round = 0; round < 10_000; round++) {
    const action = random(8);
    setHeard(["Mm-hmm.", "", "Stop now.", "and"][random(4)] as string);
    if (action === 0) conversation.take({ text: "Hi.", id: `t${typed++}` });
    else if (action < 6) hear(spoken(kinds[action - 1] ?? "noise")[0] as TurnEvent);
    else conversation.step();
    if (random(20) === 0) await settle();
  }
  for (const event of spoken("begin", "pause", "end")) hear(event);
  await pass(5000);
  const ids = done.flatMap(({ id }) => id ?? []);
  expect(ids.length).toBe(typed);
  expect(new Set(ids).size).toBe(typed);
  setAnswer("Still here.");
  conversation.take({ text: "Are you there?" });
  await pass(2000);
  expect(said.at(-1)).toBe("assistant: Still here.");
});
