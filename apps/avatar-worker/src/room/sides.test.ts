/** Which participants the avatar obeys, in a room that is not connected. test/call.system.test.ts uses a real room. */
import { expect, test } from "bun:test";
import { EventEmitter } from "node:events";
import { RoomEvent } from "@livekit/rtc-node";
import { LIFECYCLE_TOPIC, type LifecycleMessage } from "@realtime-avatar/domain/calls/lifecycle";
import { handlePageMessages } from "./sides.ts";

test("a request to end the call: obeyed only from the person, on its topic", () => {
  const room = new EventEmitter();
  let ends = 0;
  let activities = 0;
  const times = { otherWasActive: () => activities++ };
  handlePageMessages(room as never, { times: times as never, gesture: () => "accepted", onEnd: () => ends++ });
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

test("gestures that a page requests: one response each, with the reason; malformed and foreign requests: no response", () => {
  const sent: LifecycleMessage[] = [];
  const asked: string[] = [];
  const localParticipant = {
    publishData: async (data: Uint8Array) => void sent.push(JSON.parse(new TextDecoder().decode(data))),
  };
  const room = Object.assign(new EventEmitter(), { localParticipant });
  handlePageMessages(room as never, {
    times: { otherWasActive: () => {} } as never,
    gesture: (name) => {
      asked.push(name);
      return name === "nod" ? "accepted" : "unknown_action";
    },
    onEnd: () => {},
  });
  const ask = (message: object, identity = "person"): void => {
    const data = new TextEncoder().encode(JSON.stringify({ kind: "action_request", request_id: "r1", ...message }));
    room.emit(RoomEvent.DataReceived, data, { identity }, undefined, LIFECYCLE_TOPIC);
  };
  ask({ action_id: "nod" });
  ask({ request_id: "r2", action_id: "__proto__" });
  expect(sent).toEqual([
    { kind: "clip_ack", request_id: "r1", accepted: true, reason: "accepted" },
    { kind: "clip_ack", request_id: "r2", accepted: false, reason: "unknown_action" },
  ]);
  ask({ action_id: "nod" }, "other");
  const broken = [
    {},
    { action_id: "" },
    { action_id: 7 },
    { action_id: "n".repeat(65) },
    { request_id: "", action_id: "nod" },
  ];
  for (const message of [...broken, { request_id: "r".repeat(65), action_id: "nod" }]) ask(message);
  expect(asked).toEqual(["nod", "__proto__"]);
  expect(sent.length).toBe(2);
});
