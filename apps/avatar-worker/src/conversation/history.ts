/** The messages of both sides that are sent to the language model. */
import type { RecordedToolCall, TranscriptSegment } from "@realtime-avatar/domain/calls/transcript";
import type { Message } from "./providers/chat.ts";
import { type ToolCall, toolError } from "./providers/tool-calls.ts";

/** Older messages are dropped. Simultaneous tool calls and their results count as one message. */
const MAX_MESSAGES = 48;
/** Bound of all messages and of the system messages of the start, in UTF-16 units each. */
const MAX_LENGTH = 24_000;

/** Messages that stay together: one spoken message, or tool calls with their results. */
type Entry = { messages: Message[]; isCalls: boolean };

export type History = {
  /** Adds the words of one side. For an interrupted answer: the heard words. */
  add(role: "user" | "assistant", text: string): void;
  /**
   * Adds tool calls that have no results yet. `text`: the text of the model before the calls; it is part of the history
   * until the answer, which contains it, is added. Returns a function that sets the result of a call.
   */
  addCalls(text: string, calls: readonly ToolCall[]): (call: ToolCall, result: string) => void;
  /** The last message; null in a new call. */
  last(): Message | null;
  /** All messages for the model, oldest first. */
  messages(): readonly Message[];
};

const lengthOf = ({ messages }: Entry): number =>
  messages.reduce(
    (sum, message) =>
      sum + message.content.length + ("tool_calls" in message ? JSON.stringify(message.tool_calls).length : 0),
    0,
  );

/**
 * The newest of `entries` that fit into `MAX_LENGTH`, in their order. Always includes the last message of the person
 * and all after it.
 */
const newest = (entries: readonly Entry[]): Message[] => {
  let lengthLeft = MAX_LENGTH;
  const tooOld = entries.findLastIndex((entry) => {
    lengthLeft -= lengthOf(entry);
    return lengthLeft < 0;
  });
  const turn = entries.findLastIndex(({ messages: [message] }) => message?.role === "user");
  const first = turn === -1 ? tooOld + 1 : Math.min(tooOld + 1, turn);
  return entries.slice(first).flatMap(({ messages }) => messages);
};

const toEntry = (message: Message): Entry => ({ messages: [message], isCalls: false });

/** The result of a tool call that was interrupted or whose process was lost, for the model: the page may have run it. */
const UNKNOWN = toolError("The result is not known: the call was interrupted.");

const callEntry = (text: string, calls: readonly ToolCall[]): Entry => ({
  isCalls: true,
  messages: [
    {
      role: "assistant",
      content: text,
      tool_calls: calls.map(({ id, name, args }) => ({
        id,
        type: "function",
        // Servers that parse the arguments refuse anything except an object.
        function: { name, arguments: args ?? "{}" },
      })),
    },
    ...calls.map(({ id }): Message => ({ role: "tool", tool_call_id: id, content: UNKNOWN })),
  ],
});

/**
 * Returns a function that adds recorded tool calls. Each call is recorded when it begins, and again with its result.
 */
const createRestoreCalls = (addCalls: History["addCalls"]) => {
  let begun = { ids: "", setResult: (_: ToolCall, __: string): void => {} };
  return (calls: readonly RecordedToolCall[]): void => {
    const ids = JSON.stringify(calls.map(({ id }) => id));
    const hasResults = calls.some(({ result }) => result !== undefined);
    if (!hasResults || ids !== begun.ids) begun = { ids, setResult: addCalls("", calls) };
    for (const { result, ...call } of calls) if (result !== undefined) begun.setResult(call, result);
    if (hasResults) begun.ids = "";
  };
};

/**
 * `context`: the `initial_context` of the start. Its system messages are always kept. `before`: the segments of earlier
 * processes.
 */
export const createHistory = (context: readonly Message[] = [], before: readonly TranscriptSegment[] = []): History => {
  const system = newest(context.filter(({ role }) => role === "system").map(toEntry));
  const said = context.filter(({ role }) => role !== "system").map(toEntry);
  const push = (entry: Entry): void => {
    said.push(entry);
    if (said.length > MAX_MESSAGES) said.splice(0, said.length - MAX_MESSAGES);
  };
  const addCalls: History["addCalls"] = (text, calls) => {
    const entry = callEntry(text, calls);
    push(entry);
    return ({ id }, result) => {
      const message = entry.messages.find((each) => "tool_call_id" in each && each.tool_call_id === id);
      if (message) message.content = result;
    };
  };
  const restore = createRestoreCalls(addCalls);
  for (const { role, text, own, tool_calls } of before) {
    if (tool_calls) restore(tool_calls);
    else if (!own) push(toEntry({ role, content: text }));
  }
  return {
    addCalls,
    add: (role, content) => {
      // The answer contains the text that was said before its tool calls.
      if (role === "assistant") {
        for (const { messages } of said.slice(said.findLastIndex(({ isCalls }) => !isCalls) + 1)) {
          if (messages[0]) messages[0].content = "";
        }
      }
      if (content !== "") push(toEntry({ role, content }));
    },
    last: () => said.findLast(({ isCalls }) => !isCalls)?.messages[0] ?? null,
    messages: () => [...system, ...newest(said)],
  };
};
