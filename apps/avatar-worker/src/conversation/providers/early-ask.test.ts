import { expect, test } from "bun:test";
import type { Message } from "./chat.ts";
import { createEarlyAsk } from "./early-ask.ts";
import { ProviderError } from "./errors.ts";

const NO_OFFER = { tools: [], onCalls: () => {} };
const says = (content: string): Message[] => [{ role: "user", content }];
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const collect = async (answer: AsyncGenerator<string>): Promise<string> => (await Array.fromAsync(answer)).join("");

/** A model that answers with the number of the request and its text. */
const start = (failure?: ProviderError) => {
  const asked: string[] = [];
  const signals: AbortSignal[] = [];
  const early = createEarlyAsk(async function* (messages, signal) {
    const number = asked.push(messages.at(-1)?.content ?? "");
    signals.push(signal);
    if (failure) throw failure;
    yield `${number}: `;
    yield messages.at(-1)?.content ?? "";
  });
  const ask = (content: string, signal = new AbortController().signal) =>
    collect(early.ask(says(content), signal, NO_OFFER));
  return { ...early, early, ask, asked, signals };
};

test("a turn that ends with the expected text: one request, sent before its end", async () => {
  const { begin, ask, asked } = start();
  begin(says("What time is it?"));
  await settle();
  expect(asked).toEqual(["What time is it?"]);
  expect(await ask("What time is it?")).toBe("1: What time is it?");
  expect(await ask("What time is it?")).toBe("2: What time is it?");
});

test("a person who continues, or a turn with another text: the request is aborted; the model is asked again", async () => {
  const { begin, drop, ask, signals } = start();
  begin(says("I would like a table."));
  await settle();
  drop();
  expect(signals[0]?.aborted).toBe(true);
  begin(says("I would like a table. For four."));
  expect(await ask("I would like a table for four.")).toBe("3: I would like a table for four.");
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, false]);
});

test("an early request without tools, a turn with tools: the model is asked again", async () => {
  const { begin, early } = start();
  begin(says("Open the door."));
  const tool = { name: "open", description: "", parameters: {} };
  const answer = early.ask(says("Open the door."), new AbortController().signal, { ...NO_OFFER, tools: [tool] });
  expect(await collect(answer)).toBe("2: Open the door.");
});

test("an interrupted answer: its request is aborted with the reason", async () => {
  const { begin, ask, signals } = start();
  const stop = new AbortController();
  begin(says("Hi."));
  stop.abort(new Error("interrupted"));
  expect(ask("Hi.", stop.signal)).rejects.toThrow("interrupted");
  await settle();
  expect(signals[0]?.aborted).toBe(true);
});

test("an early request that fails: the turn fails with its error; a dropped request fails no turn", async () => {
  const { begin, drop, ask } = start(new ProviderError("llm", "busy"));
  begin(says("Hi."));
  await settle();
  expect(ask("Hi.")).rejects.toThrow(ProviderError);
  begin(says("Hi."));
  drop();
  await settle();
});

test("endless pauses: at most three requests until a turn is answered", async () => {
  const { begin, ask, asked } = start();
  for (let pause = 0; pause < 50; pause++) begin(says(`Pause ${pause}.`));
  expect(asked.length).toBe(3);
  await ask("The end.");
  begin(says("Again."));
  expect(asked.at(-1)).toBe("Again.");
});
