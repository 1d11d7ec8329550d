/** Token counts of a language model, reported by its server or estimated. */
import { afterAll, afterEach, beforeEach, expect, test } from "bun:test";
import { until } from "@realtime-avatar/testing/until";
import { askModel, type Tokens } from "./chat.ts";
import { type ScriptedProviders, startProviders } from "./providers.testing.ts";

let providers: ScriptedProviders;
beforeEach(() => {
  providers = startProviders();
});
afterEach(() => void providers.stop());
afterAll(() => void providers.stop());

const messages = [{ role: "user", content: "How are you today?" }] as const;
const ESTIMATE = Math.ceil(JSON.stringify(messages).length / 4);

/** The tokens of a request. `isCut`: the answer is interrupted after its first piece. */
const tokensOf = async ({ isCut = false } = {}): Promise<Tokens[]> => {
  const all: Tokens[] = [];
  const stop = new AbortController();
  const onTokens = (tokens: Tokens): void => void all.push(tokens);
  const answer = askModel(providers.endpoint("m"), messages, { maxTokens: 50, signal: stop.signal, onTokens });
  try {
    for await (const _ of answer) if (isCut) stop.abort(new Error("interrupted"));
  } catch {}
  return all;
};

test("a server that reports the usage: its numbers, once", async () => {
  providers.setUsage({ prompt_tokens: 31, completion_tokens: 7, total_tokens: 38 });
  expect(await tokensOf()).toEqual([{ input: 31, output: 7, isEstimated: false }]);
});

test.each([
  null,
  {},
  { prompt_tokens: -1, completion_tokens: 2 },
  { prompt_tokens: "9", completion_tokens: 2 },
  { prompt_tokens: 1e12, completion_tokens: 0 },
])("a server that reports %j: an estimate of four characters a token", async (usage) => {
  providers.setUsage(usage);
  providers.setAnswer(() => "Fine, thanks.");
  expect(await tokensOf()).toEqual([{ input: ESTIMATE, output: 4, isEstimated: true }]);
});

test("a server that refuses the option: asked again without the option, and never again with it", async () => {
  providers.setUsage({ prompt_tokens: 1, completion_tokens: 1 }, true);
  providers.setAnswer(() => "Fine, thanks.");
  const estimate = { input: ESTIMATE, output: 4, isEstimated: true };
  expect([await tokensOf(), await tokensOf()]).toEqual([[estimate], [estimate]]);
  expect(providers.of("llm").map(({ body }) => "stream_options" in (body as object))).toEqual([true, false, false]);
});

test("an interrupted answer: an estimate of the received part", async () => {
  providers.setUsage({ prompt_tokens: 31, completion_tokens: 7 });
  providers.setAnswer(() => "word ".repeat(500));
  const [tokens, ...others] = await tokensOf({ isCut: true });
  expect([tokens?.input, tokens?.isEstimated, others]).toEqual([ESTIMATE, true, []]);
  expect(tokens?.output).toBeGreaterThan(0);
});

test("a request, interrupted before its answer: an estimate of its messages", async () => {
  const slow = startProviders({ llmMs: 60_000 });
  const all: Tokens[] = [];
  const stop = new AbortController();
  const options = { maxTokens: 50, signal: stop.signal, onTokens: (tokens: Tokens) => void all.push(tokens) };
  const first = askModel(slow.endpoint("m"), messages, options).next();
  await until(() => slow.received.length > 0, { pollMs: 2 });
  stop.abort(new Error("interrupted"));
  await expect(first).rejects.toThrow("interrupted");
  await slow.stop();
  expect(all).toEqual([{ input: ESTIMATE, output: 0, isEstimated: true }]);
});

test("a server that refuses the key, or is busy: no tokens", async () => {
  for (const fault of [401, 500] as const) {
    providers.faults.set("llm", fault);
    expect(await tokensOf()).toEqual([]);
  }
});
