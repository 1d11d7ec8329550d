/** Whom the avatar obeys, on a room that is not connected. test/call.test.ts has a real one. */
import { expect, test } from "bun:test";
import { EventEmitter } from "node:events";
import { RoomEvent } from "@livekit/rtc-node";
import { LIFECYCLE_TOPIC } from "@realtime-avatar/domain/calls/lifecycle";
import { obeyPage } from "./sides.ts";

test("a request to end the call: obeyed from the person alone, and on its topic", () => {
  const room = new EventEmitter();
  let ends = 0;
  let activities = 0;
  const times = { otherWasActive: () => activities++ };
  obeyPage(room as never, times as never, () => ends++);
  const request = new TextEncoder().encode(JSON.stringify({ kind: "request_graceful_close" }));
  const send = (identity: string | undefined, topic: string): number[] => {
    room.emit(RoomEvent.DataReceived, request, identity && { identity }, undefined, topic);
    return [ends, activities];
  };
  expect(send("other", LIFECYCLE_TOPIC)).toEqual([0, 0]);
  expect(send(undefined, LIFECYCLE_TOPIC)).toEqual([0, 0]);
  expect(send("person", "chat")).toEqual([0, 1]);
  expect(send("person", LIFECYCLE_TOPIC)).toEqual([1, 2]);
});
