/**
 * The avatar's messages about the end of a call, in a room that is not connected. test/call.system.test.ts uses a real
 * room.
 */
import { expect, test } from "bun:test";
import { EventEmitter } from "node:events";
import { encodeLifecycle, LIFECYCLE_TOPIC, type LifecycleMessage } from "@realtime-avatar/domain/calls/lifecycle";
import { RoomEvent } from "livekit-client";
import { type TimeLeft, watchRoom } from "./room.ts";
import { timeLeftText } from "./time-left.tsx";

const LEFT: LifecycleMessage = { kind: "time_left", seconds: 48, reason: "out_of_credits" };

/** The callbacks of the page for each of these messages. */
const receive = (messages: readonly (Uint8Array | LifecycleMessage)[], topic: string = LIFECYCLE_TOPIC) => {
  const room = new EventEmitter();
  const told: (TimeLeft | "ended")[] = [];
  const media = { video: { current: null }, audio: { current: null } };
  const events = { onPicture: () => {}, onLost: () => {}, onEnd: () => told.push("ended") };
  watchRoom(room as never, media, { ...events, onTimeLeft: (left) => told.push(left) });
  for (const message of messages) {
    const data = message instanceof Uint8Array ? message : encodeLifecycle(message);
    room.emit(RoomEvent.DataReceived, data, undefined, undefined, topic);
  }
  return told;
};

test("time_left: passed to the page, and withdrawn by a message without seconds; then the end", () => {
  const messages: LifecycleMessage[] = [
    LEFT,
    { kind: "session_clock", started_at_unix_ms: 1, max_session_seconds: 7200, idle_timeout_seconds: 120 },
    { kind: "time_left", seconds: null, reason: null },
    { kind: "ended", reason: "session_cap" },
  ];
  expect(receive(messages)).toEqual([{ seconds: 48, reason: "out_of_credits" }, null, "ended"]);
});

test("messages of another topic, malformed JSON, or seconds that are not a number: ignored", () => {
  expect(receive([LEFT], "lk.chat")).toEqual([]);
  const bad = ["{", "null", "7", `{"kind":"time_left"}`, `{"kind":"time_left","seconds":"9","reason":"session_cap"}`];
  expect(receive(bad.map((text) => new TextEncoder().encode(text)))).toEqual([]);
});

test("the remaining seconds: counted down from their arrival, never below 0", () => {
  const left = { seconds: 60, reason: "session_cap" } as const;
  expect(timeLeftText(left, 1000, 1000)).toBe("Ends in 1 min. Its time is over then.");
  expect(timeLeftText(left, 1000, 13_000)).toBe("Ends in 48 s. Its time is over then.");
  expect(timeLeftText({ ...left, reason: "out_of_credits" }, 1000, 99_000)).toBe(
    "Ends in 0 s. The credits that it can hold are used then.",
  );
});
