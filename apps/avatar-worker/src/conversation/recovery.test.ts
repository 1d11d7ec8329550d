/** Recovery: a new process continues the conversation of a killed one. */
import { expect, test } from "bun:test";
import type { TranscriptSegment } from "@realtime-avatar/domain/calls/transcript";
import { startConversation } from "./testing/conversation-testing.ts";

const TYPED = { version: 1, observed_source: "text", observed_by: "sdk", ingress: "room_text" } as const;
const asks = (text: string, fields: Partial<TranscriptSegment> = {}): TranscriptSegment => ({
  ...{ role: "user", text, ts: 1, input_provenance: TYPED },
  ...fields,
});
const says = (text: string, fields: Partial<TranscriptSegment> = {}): TranscriptSegment => ({
  ...{ role: "assistant", text, ts: 2 },
  ...fields,
});
const CONTEXT = [{ role: "user", content: "I am Ada." }] as const;

test("a conversation with answers: nothing is repeated; the model gets the heard words in order", async () => {
  const before = [asks("Hi."), says("Good mor", { interrupted: true }), asks("Go on."), says("Sorry.", { own: true })];
  const { conversation, asked, said, pass } = startConversation({ context: CONTEXT, before });
  await pass(2000);
  expect([asked, said]).toEqual([[], []]);
  conversation.take({ text: "And now?" });
  await pass(2000);
  expect(asked[0]?.slice(1).map(({ role, content }) => `${role}: ${content}`)).toEqual([
    ...["user: I am Ada.", "user: Hi.", "assistant: Good mor", "user: Go on.", "user: And now?"],
  ]);
  expect(said).toEqual(["user: And now?", "assistant: Good morning to you."]);
});

test("a conversation whose last turn has no answer: answered now; the turn is in the history once", async () => {
  const before = [asks("Hi."), says("Hello."), asks("How are you?", { turn_id: "t-2" })];
  const { conversation, asked, said, pass } = startConversation({ before });
  await pass(2000);
  expect(said).toEqual(["assistant: Good morning to you."]);
  expect(asked[0]?.slice(1).map(({ content }) => content)).toEqual(["Hi.", "Hello.", "How are you?"]);
  conversation.take({ text: "How are you?", id: "t-3", retryOf: "t-2" });
  await pass(2000);
  expect(asked).toHaveLength(1);
});

test("a conversation whose last answer had begun: a retry of its turn is not answered again", async () => {
  const before = [asks("Hi.", { turn_id: "t-1" }), says("Hel", { interrupted: true })];
  const { conversation, asked, pass } = startConversation({ before });
  conversation.take({ text: "Hi.", id: "t-2", retryOf: "t-1" });
  await pass(2000);
  expect(asked).toEqual([]);
});

test("a conversation whose last turn is from a program: the turn has failed, and is not answered", async () => {
  const { input_provenance: _, ...turn } = asks("Say something.");
  const { asked, pass } = startConversation({ before: [turn] });
  await pass(2000);
  expect(asked).toEqual([]);
});

const ORDER = { id: "a", name: "order", args: '{"id":7}' };
const toolCall = { id: "a", type: "function", function: { name: "order", arguments: '{"id":7}' } };
const calls = (...tool_calls: NonNullable<TranscriptSegment["tool_calls"]>): TranscriptSegment =>
  says("", { tool_calls });

test("a conversation whose last turn has called a tool: answered with the tool's result; the tool is not called again", async () => {
  const before = [asks("Where is it?"), calls(ORDER), calls({ ...ORDER, result: "On its way." })];
  const { asked, said, pass } = startConversation({ before });
  await pass(2000);
  expect(said).toEqual(["assistant: Good morning to you."]);
  expect<unknown>(asked[0]?.slice(1)).toEqual([
    { role: "user", content: "Where is it?" },
    { role: "assistant", content: "", tool_calls: [toolCall] },
    { role: "tool", tool_call_id: "a", content: "On its way." },
  ]);
});

test("a conversation that was lost while a tool ran: the model is told that the result is not known", async () => {
  const { asked, pass } = startConversation({ before: [asks("Where is it?"), calls(ORDER)] });
  await pass(2000);
  expect<unknown>(asked[0]?.slice(2)).toEqual([
    { role: "assistant", content: "", tool_calls: [toolCall] },
    { role: "tool", tool_call_id: "a", content: expect.stringContaining("not known") },
  ]);
});

test("a model that repeats the ids of tool calls in each turn: each call keeps its result", async () => {
  const round = (result: string) => [calls(ORDER), calls({ ...ORDER, result })];
  const before = [
    asks("One?"),
    ...round("1."),
    says("One."),
    asks("Two?"),
    ...round("2."),
    ...round("3."),
    says("Two."),
  ];
  const { conversation, asked, pass } = startConversation({ before });
  conversation.take({ text: "Three?" });
  await pass(2000);
  const results = asked[0]?.flatMap((message) => ("tool_call_id" in message ? [message.content] : []));
  expect(results).toEqual(["1.", "2.", "3."]);
  expect(asked).toHaveLength(1);
});
