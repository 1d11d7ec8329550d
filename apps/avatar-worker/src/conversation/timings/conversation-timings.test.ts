/** The stages of turns in a conversation, on a simulated clock. */
import { expect, test } from "bun:test";
import { APOLOGY } from "../conversation.ts";
import { ProviderError } from "../providers/errors.ts";
import { LONG, spoken, startConversation } from "../testing/conversation-testing.ts";
import { totalMs } from "./turn-timings.ts";

test("a spoken turn: its stages equal the clock, are reported once and are in the transcript of its answer", async () => {
  const { hear, timings, final, pass, setHeard, setDelays } = startConversation();
  setHeard("What time is it?");
  setDelays({ llmMs: 200, ttsMs: 100 });
  for (const event of spoken("begin", "pause", "end")) hear(event);
  await pass(3000);
  const [turn = {}] = timings;
  // The last sound travels for 40 ms. Then 362 ms of silence follow, of which 10 ms belong to the last window of
  // speech. The text was already known.
  expect(turn).toMatchObject({ end_of_speech: 40, end_of_turn: 360, text: 2, first_token: 200, heard: 70 });
  expect(turn.first_sound).toBeWithin(100, 121);
  expect(totalMs(turn)).toBe(40 + 362 + 200 + (turn.first_sound ?? 0) + 70);
  expect(timings.length).toBe(1);
  expect(final.map(({ role, timings }) => [role, timings])).toEqual([
    ["user", undefined],
    ["assistant", turn],
  ]);
});

test('a recognizer slower than the silence: the wait belongs to the stage "text"', async () => {
  const { hear, timings, pass, setDelays } = startConversation({ recognize: async () => "What time is it?" });
  setDelays({ llmMs: 10, ttsMs: 10 });
  const [end] = spoken("end");
  for (const [reason, silenceMs] of [
    ["whole", 640],
    ["silence", 1600],
  ] as const) {
    for (const event of spoken("begin", "pause")) hear(event);
    if (end?.kind === "end") hear({ ...end, reason, silenceMs });
    await pass(2000);
  }
  expect(timings).toMatchObject([
    { end_of_turn: 360, text: 290 },
    { end_of_turn: 360, text: 1250 },
  ]);
});

test('a text that looks open: the longer silence belongs to the stage "end_of_turn"', async () => {
  const { hear, timings, pass, setHeard } = startConversation();
  const [end] = spoken("end");
  setHeard("I would like to");
  for (const event of spoken("begin", "pause")) hear(event);
  if (end?.kind === "end") hear({ ...end, reason: "silence", silenceMs: 1600 });
  await pass(2000);
  expect(timings[0]).toMatchObject({ end_of_turn: 1610, text: 0 });
});

test("a voice that begins with silence: the silence is cut", async () => {
  const silent = { plain: 0, quiet: 24_000 };
  const played = await Promise.all(
    Object.values(silent).map(async (silence) => {
      const { conversation, timings, final, pass } = startConversation({
        voice: async function* () {
          yield new Int16Array(silence).fill(100);
          yield new Int16Array(12_000 + silence / 2).fill(100).fill(1000, silence / 2);
        },
      });
      conversation.take({ text: "Hi." });
      await pass(2000);
      return [timings[0]?.heard, final.at(-1)?.text];
    }),
  );
  expect(played[1]).toEqual(played[0] ?? []);
});

test("a typed turn: stages from the first token on", async () => {
  const { conversation, timings, pass, setDelays } = startConversation();
  setDelays({ llmMs: 200, ttsMs: 0 });
  conversation.take({ text: "Hi." });
  await pass(2000);
  expect(Object.keys(timings[0] ?? {})).toEqual(["first_token", "first_sound", "heard"]);
  expect(timings[0]?.first_token).toBe(200);
});

test("unheard turns: the stages that they reached, once for each turn", async () => {
  const { conversation, timings, said, pass, fail, setAnswer, setDelays } = startConversation();
  setAnswer(LONG);
  setDelays({ llmMs: 100, ttsMs: 400 });
  conversation.take({ text: "One." });
  await pass(300);
  conversation.take({ text: "Two." });
  await pass(200);
  fail(new ProviderError("llm", "busy"));
  conversation.take({ text: "Three." });
  await pass(3000);
  expect(timings).toEqual([{ first_token: 100 }, { first_token: 100 }, {}]);
  // The apology is not the answer.
  expect(said.at(-1)).toBe(`assistant: ${APOLOGY}`);
});

test("a repeated turn, and a flood: no stages", async () => {
  const { conversation, timings, pass } = startConversation({ maxTurnsPerMinute: 2 });
  conversation.take({ text: "One.", id: "t1" });
  await pass(2000);
  for (const text of ["Two.", "Three.", "Four.", "Five."]) {
    conversation.take({ text: "One.", retryOf: "t1" });
    conversation.take({ text });
    await pass(2000);
  }
  expect(timings.length).toBe(2);
});
