import { expect, test } from "bun:test";
import { createHistory } from "./history.ts";

test("the words of both sides: sent to the model in order, without empty texts", () => {
  const history = createHistory([{ role: "assistant", content: "Welcome." }]);
  history.add("user", "Hi.");
  history.add("assistant", "");
  history.add("assistant", "Hello.");
  expect(history.messages()).toEqual([
    { role: "assistant", content: "Welcome." },
    { role: "user", content: "Hi." },
    { role: "assistant", content: "Hello." },
  ]);
  expect(history.last()).toEqual({ role: "assistant", content: "Hello." });
});

test("a long call: the newest messages, with the system messages of the start", () => {
  const history = createHistory([
    { role: "system", content: "The table is booked." },
    { role: "user", content: "Old." },
  ]);
  for (let turn = 0; turn < 1000; turn++) history.add("user", `Turn ${turn}.`);
  const messages = history.messages();
  expect(messages.length).toBe(49);
  expect(messages[0]?.content).toBe("The table is booked.");
  expect(messages.at(-1)?.content).toBe("Turn 999.");
});

test("long messages: at most 24,000 characters of them", () => {
  const history = createHistory(Array.from({ length: 32 }, () => ({ role: "system", content: "x".repeat(4000) })));
  for (let turn = 0; turn < 20; turn++) history.add("user", "y".repeat(4000));
  const length = (of: string) =>
    history
      .messages()
      .filter(({ role }) => role === of)
      .reduce((sum, { content }) => sum + content.length, 0);
  expect([length("system"), length("user")]).toEqual([24_000, 24_000]);
});

const CALLS = [
  { id: "a", name: "order", args: '{"id":7}' },
  { id: "b", name: "weather", args: null },
];

test("tool calls: sent with their results before the answer, which includes the text before them", () => {
  const history = createHistory();
  history.add("user", "Where is it?");
  const setResult = history.addCalls("Let me look.", CALLS);
  const call = (id: string, name: string, args: string) => ({
    id,
    type: "function",
    function: { name, arguments: args },
  });
  const toolCalls = [call("a", "order", '{"id":7}'), call("b", "weather", "{}")];
  expect(history.messages().slice(1)).toEqual([
    { role: "assistant", content: "Let me look.", tool_calls: toolCalls },
    { role: "tool", tool_call_id: "a", content: expect.stringContaining("not known") },
    { role: "tool", tool_call_id: "b", content: expect.stringContaining("not known") },
  ] as never);
  for (const call of CALLS) setResult(call, `Result of ${call.name}.`);
  expect(history.last()).toEqual({ role: "user", content: "Where is it?" });
  history.add("assistant", "Let me look. It is on its way.");
  expect(history.messages().slice(1)).toEqual([
    { role: "assistant", content: "", tool_calls: toolCalls },
    { role: "tool", tool_call_id: "a", content: "Result of order." },
    { role: "tool", tool_call_id: "b", content: "Result of weather." },
    { role: "assistant", content: "Let me look. It is on its way." },
  ] as never);
});

test("a long call with tools: each tool call stays together with its results", () => {
  const history = createHistory();
  for (let turn = 0; turn < 100; turn++) {
    history.add("user", `Turn ${turn}.`);
    const setResult = history.addCalls("", CALLS);
    for (const call of CALLS) setResult(call, "r".repeat(turn % 7 === 0 ? 8000 : 100));
    history.add("assistant", "Done.");
    const messages = history.messages();
    expect(messages.length).toBeLessThanOrEqual(96);
    const ids = messages.flatMap((message) => ("tool_calls" in message ? message.tool_calls.map(({ id }) => id) : []));
    const results = messages.flatMap((message) => ("tool_call_id" in message ? [message.tool_call_id] : []));
    expect(results).toEqual(ids);
    expect(messages.at(-1)?.content).toBe("Done.");
  }
});

test("results that fill the history: their question stays", () => {
  const history = createHistory();
  history.add("user", "An older question.");
  history.add("user", "The question.");
  const setResult = history.addCalls("", CALLS);
  for (const call of CALLS) setResult(call, "r".repeat(16_000));
  expect(history.messages().map(({ role }) => role)).toEqual(["user", "assistant", "tool", "tool"]);
  expect(history.messages()[0]?.content).toBe("The question.");
});
