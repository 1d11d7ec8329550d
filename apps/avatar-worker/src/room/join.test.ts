/** Waiting in a room, and the listeners after it. test/call.system.test.ts uses a real room. */
import { expect, test } from "bun:test";
import { EventEmitter } from "node:events";
import { RoomEvent } from "@livekit/rtc-node";
import { waitForParticipant, withTimeout } from "./join.ts";

test("work in time: its result or failure; late work: a failure", async () => {
  expect(await withTimeout(60_000, Promise.resolve("done"))).toBe("done");
  await expect(withTimeout(60_000, Promise.reject(new Error("failed")))).rejects.toThrow("failed");
  await expect(withTimeout(1, new Promise(() => {}))).rejects.toThrow("it took too long");
});

const roomWith = (identities: string[], isConnected = true) =>
  Object.assign(new EventEmitter(), {
    isConnected,
    remoteParticipants: new Map(identities.map((identity) => [identity, { identity }])),
  });

test.each<[string, string[], boolean, (room: EventEmitter) => unknown, boolean]>([
  ["is there", ["agent"], true, () => {}, true],
  ["is present in a room that was left", ["agent"], false, () => {}, false],
  ["joins", [], true, (room) => room.emit(RoomEvent.ParticipantConnected, { identity: "agent" }), true],
  ["does not join in time", [], true, (room) => room.emit(RoomEvent.ParticipantConnected, { identity: "x" }), false],
  ["does not join before the room is left", [], true, (room) => room.emit(RoomEvent.Disconnected), false],
])(
  "a participant that %s: the right result, and no remaining listener",
  async (name, identities, isConnected, act, expected) => {
    const room = roomWith(identities, isConnected);
    const waiting = waitForParticipant(room as never, "agent", name.endsWith("in time") ? 0.02 : 60);
    act(room);
    expect(await waiting).toBe(expected);
    expect([RoomEvent.ParticipantConnected, RoomEvent.Disconnected].map((event) => room.listenerCount(event))).toEqual([
      0, 0,
    ]);
  },
);
