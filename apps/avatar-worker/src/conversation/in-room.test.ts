/**
 * The reports of a conversation to the other parts of a call. The room is not connected;
 * test/conversation.system.test.ts uses a real room.
 */
import { afterAll, expect, test } from "bun:test";
import { EventEmitter } from "node:events";
import { until } from "@realtime-avatar/testing/until";
import { assigned } from "../../test/support/assigned.ts";
import { NO_PICTURES } from "../renderer/renderer.ts";
import { createPresence } from "../room/presence.ts";
import { holdConversation } from "./in-room.ts";
import { startProviders } from "./providers/providers.testing.ts";
import { readConversationSettings } from "./settings.ts";
import { createUsageMeter } from "./usage-meter.ts";

const providers = startProviders({ llmMs: 150 });
afterAll(() => providers.stop());

/** Starts a conversation in a room with typed turns. Its sound is played at once. */
const start = () => {
  const thoughts: boolean[] = [];
  const messages: string[] = [];
  const ends: string[] = [];
  const states: (string | undefined)[] = [];
  let receive = (_reader: unknown, _sender: unknown): void => {};
  const room = Object.assign(new EventEmitter(), {
    registerTextStreamHandler: (_topic: string, handler: typeof receive) => {
      receive = handler;
    },
    localParticipant: {
      setAttributes: async (attributes: Record<string, string>) => void states.push(attributes["lk.agent.state"]),
      publishData: async (data: Uint8Array) => void messages.push(JSON.parse(new TextDecoder().decode(data)).kind),
      streamText: async () => ({ write: async () => {}, close: async () => {} }),
      performRpc: async () => "",
    },
    getRtcStats: async () => ({ publisherStats: [], subscriberStats: [] }),
  });
  const settings = readConversationSettings({ ...providers.variables });
  if (!settings) throw new Error("no language model is configured");
  const published = { play: () => {}, queuedMs: () => 0, clear: () => {} };
  const { stop } = holdConversation(
    room as never,
    { ...assigned, input: { stt_mode: "off" } },
    {
      rendering: { ...NO_PICTURES, think: (isThinking) => void thoughts.push(isThinking) },
      published: published as never,
      times: createPresence(assigned, 0),
      listen: () => {},
    },
    {
      settings,
      meter: createUsageMeter({}),
      onProviderFailure: () => {},
      onCount: () => {},
      onTurnTimings: () => {},
      segments: null,
      onTurn: () => {},
    },
    (reason) => void ends.push(reason),
  );
  const type = (text: string, attributes = {}): void =>
    receive({ readAll: async () => text, info: { attributes } }, { identity: "person" });
  return { type, stop, thoughts, messages, ends, states };
};

test("a turn: face and page get the states thinking, then speaking", async () => {
  const { type, stop, thoughts, states } = start();
  type("Good morning.");
  await until(() => states.at(-1) === "listening");
  expect(states).toEqual(["thinking", "speaking", "listening"]);
  expect(thoughts.filter((isThinking, index) => isThinking !== thoughts[index - 1])).toEqual([true, false]);
  stop();
});

test("the last line of a call: reported to the page, then the call ends", async () => {
  const { type, stop, messages, ends } = start();
  type("Goodbye.", { "rta.closing_turn": "1", "rta.turn_id": "t1" });
  await until(() => messages.length > 0);
  expect([messages, ends]).toEqual([["closing_turn_done"], []]);
  await until(() => ends.length > 0);
  expect(ends).toEqual(["user_ended"]);
  stop();
});
