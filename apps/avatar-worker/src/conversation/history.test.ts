import { expect, test } from "bun:test";
import { createHistory } from "./history.ts";

test("what both sides say: told to the model in its order, without empty texts", () => {
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

test("a long call: the newest messages, and the system messages of the start", () => {
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
