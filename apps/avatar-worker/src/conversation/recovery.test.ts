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

test("with answers: nothing is repeated; the model gets the heard words in order", async () => {
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

test("whose last turn has no answer: answered now, once in the history", async () => {
  const before = [asks("Hi."), says("Hello."), asks("How are you?", { turn_id: "t-2" })];
  const { conversation, asked, said, pass } = startConversation({ before });
  await pass(2000);
  expect(said).toEqual(["assistant: Good morning to you."]);
  expect(asked[0]?.slice(1).map(({ content }) => content)).toEqual(["Hi.", "Hello.", "How are you?"]);
  conversation.take({ text: "How are you?", id: "t-3", retryOf: "t-2" });
  await pass(2000);
  expect(asked).toHaveLength(1);
});

test("whose answer had begun: a retry of its turn is not answered again", async () => {
  const before = [asks("Hi.", { turn_id: "t-1" }), says("Hel", { interrupted: true })];
  const { conversation, asked, pass } = startConversation({ before });
  conversation.take({ text: "Hi.", id: "t-2", retryOf: "t-1" });
  await pass(2000);
  expect(asked).toEqual([]);
});

test("whose last turn is of a program: failed, so not answered", async () => {
  const { input_provenance: _, ...turn } = asks("Say something.");
  const { asked, pass } = startConversation({ before: [turn] });
  await pass(2000);
  expect(asked).toEqual([]);
});
