import { describe, expect, test } from "bun:test";
import { askWithTools, MAX_ROUNDS, type Tools } from "./ask-with-tools.ts";
import { createHistory } from "./history.ts";
import type { Message } from "./providers/chat.ts";
import { ProviderError } from "./providers/errors.ts";
import type { Tool, ToolCall } from "./providers/tool-calls.ts";

const TOOL: Tool = { name: "order", description: "Finds an order.", parameters: { type: "object" } };
const call = (id: string, args = "{}"): ToolCall => ({ id, name: "order", args });

type Step = string | { text?: string; calls: ToolCall[] } | ProviderError;

/** Asks a model whose responses are `steps`, in order. The last step repeats. */
const start = (steps: Step[], parts: Partial<Tools> = {}) => {
  const requests: { messages: Message[]; tools: readonly Tool[] }[] = [];
  const called: string[] = [];
  const told: string[] = [];
  let dropped = 0;
  let isClosed = false;
  let tools: readonly Tool[] = [TOOL];
  const history = createHistory();
  history.add("user", "Where is it?");
  const stop = new AbortController();
  const answer = askWithTools(
    {
      ask: async function* (messages, _, offer) {
        const step = steps[Math.min(requests.length, steps.length - 1)] ?? "";
        requests.push({ messages: structuredClone(messages) as Message[], tools: offer.tools });
        if (step instanceof ProviderError) throw step;
        try {
          const { text = "", calls } = typeof step === "string" ? { text: step, calls: [] } : step;
          if (text !== "") yield text;
          if (calls.length > 0) offer.onCalls(calls);
        } finally {
          isClosed = true;
        }
      },
      tools: {
        list: () => tools,
        call: async ({ id }) => {
          called.push(id);
          return `Result of ${id}.`;
        },
        drop: () => {
          dropped++;
          tools = [];
        },
        ...parts,
      },
      history,
      system: "Be brief.",
      onCalls: (calls, results) => told.push(calls.map((each) => `${each.id} ${results.get(each) ?? "runs"}`).join()),
    },
    stop.signal,
  );
  const read = async (): Promise<string> => {
    let text = "";
    for await (const part of answer) text += part;
    return text;
  };
  return { answer, read, requests, called, told, history, stop, dropped: () => dropped, isClosed: () => isClosed };
};

describe("a model with tools", () => {
  test("two calls in one response: both run, then an answer with their results", async () => {
    const steps: Step[] = [{ text: "Let me look.", calls: [call("a"), call("b")] }, "It is sent."];
    const { read, requests, called, told } = start(steps);
    expect(await read()).toBe("Let me look.\nIt is sent.");
    expect(called).toEqual(["a", "b"]);
    expect(told).toEqual(["a runs,b runs", "a Result of a.,b Result of b."]);
    expect(requests.map(({ tools }) => tools)).toEqual([[TOOL], [TOOL]]);
    expect(requests[1]?.messages.map(({ role, content }) => `${role}: ${content}`)).toEqual([
      ...["system: Be brief.", "user: Where is it?", "assistant: Let me look."],
      ...["tool: Result of a.", "tool: Result of b."],
    ]);
  });

  test("a model that always calls tools: four rounds, then a request without tools", async () => {
    const { read, requests, called } = start([{ text: "Again.", calls: [call("a")] }]);
    expect(await read()).toBe(`${"Again.\n".repeat(MAX_ROUNDS)}Again.`);
    expect(called.length).toBe(MAX_ROUNDS);
    expect(requests.map(({ tools }) => tools.length)).toEqual([1, 1, 1, 1, 0]);
  });

  test("results of more than 16,384 characters together: the model gets an error for the rest", async () => {
    const calls = ["a", "b", "c"].map((id) => call(id));
    const { read, requests } = start([{ calls }, "Done."], { call: async () => "r".repeat(8192) });
    await read();
    const lengths = requests[1]?.messages.slice(-3).map(({ content }) => content.length) ?? [];
    expect(lengths.slice(0, 2)).toEqual([8192, 8192]);
    expect(requests[1]?.messages.at(-1)?.content).toBe('{"error":"The results of this turn are too long."}');
  });

  test("endless text between calls: the answer ends at 4,000 characters", async () => {
    const { read } = start([{ text: "t".repeat(1500), calls: [call("a")] }]);
    expect((await read()).replaceAll("\n", "").length).toBe(4500);
  });
});

describe("a server that refuses tools", () => {
  test("the retry without tools succeeds: the tools are dropped", async () => {
    const { read, requests, dropped } = start([new ProviderError("llm", "refused"), "Good morning."]);
    expect(await read()).toBe("Good morning.");
    expect(requests.map(({ tools }) => tools.length)).toEqual([1, 0]);
    expect(dropped()).toBe(1);
  });

  test("the retry fails too, or the server is busy: its error, and the tools stay", async () => {
    const refused = start([new ProviderError("llm", "refused")]);
    await expect(refused.read()).rejects.toThrow("llm: refused");
    expect([refused.requests.length, refused.dropped()]).toEqual([2, 0]);
    const busy = start([new ProviderError("llm", "busy")]);
    await expect(busy.read()).rejects.toThrow("llm: busy");
    expect([busy.requests.length, busy.dropped()]).toEqual([1, 0]);
  });
});

describe("an interruption", () => {
  test("aborted while a tool runs: the answer ends; no request follows; the model reads that the result is unknown", async () => {
    const { read, requests, history, stop } = start([{ text: "Let me look.", calls: [call("a")] }, "It is sent."], {
      call: (_, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason));
          setTimeout(() => stop.abort());
        }),
    });
    await expect(read()).rejects.toThrow("aborted");
    expect(requests.length).toBe(1);
    history.add("assistant", "Let me");
    history.add("user", "Never mind.");
    expect(history.messages().map(({ content }) => content)).toEqual([
      ...["Where is it?", "", '{"error":"The result is not known: the call was interrupted."}', "Let me"],
      "Never mind.",
    ]);
  });

  test("a reader that stops early: the model request is closed, and no tool runs", async () => {
    const { answer, called, isClosed } = start([{ text: "Let me look.", calls: [call("a")] }]);
    await answer.next();
    await answer.return(undefined);
    expect([isClosed(), called]).toEqual([true, []]);
  });
});
