import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { inspect } from "node:util";
import { Secret } from "@realtime-avatar/storage/secret";
import { askModel, CHAT_LIMITS, MAX_ANSWER_LENGTH } from "./chat.ts";
import { ProviderError } from "./errors.ts";
import { type Fault, KEY, startProviders } from "./providers.testing.ts";
import { MAX_HEARD_LENGTH, TRANSCRIPTION_LIMITS, transcribe } from "./transcribe.ts";

const providers = startProviders();
const endpoint = { ...providers.endpoint("model"), apiKey: new Secret(KEY) };
const WAIT_MS = 200;

afterEach(() => providers.faults.clear());
afterAll(() => providers.stop());

const ask = async (signal = new AbortController().signal, limits = CHAT_LIMITS): Promise<string> => {
  let answer = "";
  const messages = [{ role: "user", content: "Hi" }] as const;
  for await (const part of askModel(endpoint, messages, { maxTokens: 100, signal, limits })) answer += part;
  return answer;
};
const recognize = (
  sound = new Int16Array(1600),
  signal = new AbortController().signal,
  limits = TRANSCRIPTION_LIMITS,
): Promise<string> => transcribe(endpoint, sound, { sampleRate: 16_000, hints: {}, signal, limits });
const failureOf = async (work: Promise<unknown>): Promise<ProviderError> => {
  const error = await work.then(
    (result) => new Error(`it succeeded: ${result}`),
    (error: unknown) => error,
  );
  if (error instanceof ProviderError) return error;
  throw error;
};

const FAULTS: [Fault, string][] = [
  [401, "refused"],
  [429, "busy"],
  [500, "busy"],
  ["redirect", "refused"],
  ["hang", "timeout"],
  ["close", "malformed"],
  ["utf8", "malformed"],
  ["json", "malformed"],
  ["large", "malformed"],
];

describe("a language model", () => {
  test("an answer: its text, without the key in the body", async () => {
    providers.setAnswer(({ messages }) => `You said "${messages[0]?.content}".\n\nIs that so? ☕`);
    expect(await ask()).toBe('You said "Hi".\n\nIs that so? ☕');
    const { body, key } = providers.of("llm").at(-1) ?? {};
    expect(key).toBe(`Bearer ${KEY}`);
    expect(body).toEqual({
      ...{ model: "model", stream: true, max_tokens: 100, stream_options: { include_usage: true } },
      messages: [{ role: "user", content: "Hi" }],
    });
  });

  test.each([...FAULTS, ["half", "malformed"] as [Fault, string]])(
    "%p: %s, with no text of the server",
    async (fault, why) => {
      providers.setAnswer(() => "Half of it");
      providers.faults.set("llm", fault);
      const error = await failureOf(ask(undefined, { ...CHAT_LIMITS, waitMs: fault === "hang" ? WAIT_MS : 5000 }));
      expect({ provider: error.provider, why: error.why }).toEqual({ provider: "llm", why } as never);
      expect(inspect(error, { depth: 9 })).not.toContain(KEY);
      expect(inspect(error, { depth: 9 })).not.toContain(providers.url);
      expect(error.cause).toBeUndefined();
      expect(providers.redirected()).toBe(0);
    },
  );

  test("an answer that is too long: cut at 4,000 characters", async () => {
    providers.setAnswer(() => "word ".repeat(2000));
    expect((await ask()).length).toBe(MAX_ANSWER_LENGTH);
  });

  test("an unreachable server: busy", async () => {
    const messages = [{ role: "user", content: "Hi" }] as const;
    const unreachable = { ...endpoint, url: "http://127.0.0.1:9/v1" };
    const options = { maxTokens: 1, signal: new AbortController().signal };
    expect((await failureOf(askModel(unreachable, messages, options).next())).why).toBe("busy");
  });

  test("an endless answer: a timeout after the total time", async () => {
    const slow = startProviders({ tokenMs: 20 });
    slow.setAnswer(() => "word ".repeat(1000));
    const signal = new AbortController().signal;
    const limits = { ...CHAT_LIMITS, totalMs: 300 };
    const answer = askModel(slow.endpoint("m"), [], { maxTokens: 1, signal, limits });
    const read = async () => {
      for await (const _ of answer) {
        // The answer is read to its end.
      }
    };
    expect((await failureOf(read())).why).toBe("timeout");
    await slow.stop();
  });

  test.each(["before the first byte", "in the answer"])(
    "aborted %s: ends with the reason, without the rest of the answer; the connection closes",
    async (when) => {
      // Without an abort, the answer takes longer than the test may.
      const slow = startProviders(when === "in the answer" ? { tokenMs: 100 } : { llmMs: 100_000 });
      slow.setAnswer(() => "word ".repeat(1000));
      const stop = new AbortController();
      const answer = askModel(slow.endpoint("m"), [], { maxTokens: 1, signal: stop.signal });
      if (when === "in the answer") await answer.next();
      const next = answer.next();
      next.catch(() => {});
      while (slow.received.length === 0) await Bun.sleep(5);
      const reason = new Error("interrupted");
      stop.abort(reason);
      const read = async () => {
        for (let result = await next; !result.done; result = await answer.next());
      };
      expect(await read().catch((error: unknown) => error)).toBe(reason);
      while (slow.received[0]?.abortedAt === null) await Bun.sleep(5);
      await slow.stop();
    },
  );
});

describe("a recognizer", () => {
  test("a sound: sent as WAV with hints; returns its text", async () => {
    providers.setText(() => "  Good morning. ");
    const sound = Int16Array.from({ length: 1600 }, (_, index) => index);
    const hints = { language: "en", vocabulary: "Kokoro, Piper" };
    const { signal } = new AbortController();
    expect(await transcribe(endpoint, sound, { sampleRate: 16_000, hints, signal })).toBe("Good morning.");
    const { body } = providers.of("stt").at(-1) ?? {};
    const { file, ...fields } = body as { file: File };
    expect(fields).toEqual({
      model: "model",
      response_format: "json",
      language: "en",
      prompt: "Kokoro, Piper",
    } as never);
    const bytes = new Uint8Array(await file.arrayBuffer());
    const view = new DataView(bytes.buffer);
    expect(
      Buffer.from(bytes.subarray(0, 16))
        .toString("latin1")
        .replace(/WAVE.*/, ""),
    ).toStartWith("RIFF");
    expect([view.getUint32(4, true), view.getUint32(24, true), view.getUint32(40, true)]).toEqual([3236, 16_000, 3200]);
    expect(new Int16Array(bytes.buffer.slice(44))).toEqual(sound);
  });

  test("a text above the limit: cut between two characters", async () => {
    providers.setText(() => "😀".repeat(MAX_HEARD_LENGTH));
    const even = await recognize();
    providers.setText(() => `a${"😀".repeat(MAX_HEARD_LENGTH)}`);
    const odd = await recognize();
    for (const text of [even, odd]) {
      expect([text.length, text.isWellFormed()]).toEqual([MAX_HEARD_LENGTH, true]);
    }
  });

  test.each(FAULTS)("%p: %s", async (fault, why) => {
    providers.faults.set("stt", fault);
    const limits = { ...TRANSCRIPTION_LIMITS, waitMs: fault === "hang" ? WAIT_MS : 5000 };
    const error = await failureOf(recognize(undefined, undefined, limits));
    expect({ provider: error.provider, why: error.why }).toEqual({ provider: "stt", why } as never);
    expect(inspect(error, { depth: 9 })).not.toContain(KEY);
    expect(providers.redirected()).toBe(0);
  });
});
