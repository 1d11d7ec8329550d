import { describe, expect, test } from "bun:test";
import { EventEmitter } from "node:events";
import { type Room, RoomEvent } from "@livekit/rtc-node";
import { createMovingRoom, following } from "./moving-room.ts";

/** The used part of the library's room. */
const fakeRoom = (name: string, people: string[] = []) => {
  const registered: string[] = [];
  const participant = (identity: string) => ({
    identity,
    trackPublications: new Map([[`${identity} track`, { sid: `${identity} track` }]]),
  });
  const room = Object.assign(new EventEmitter(), {
    name,
    isConnected: true,
    remoteParticipants: new Map(people.map((identity) => [identity, participant(identity)])),
    registerTextStreamHandler: (topic: string) => void registered.push(topic),
    localParticipant: {
      metadata: `of ${name}`,
      registerRpcMethod: (method: string) => void registered.push(method),
      setAttributes: async () => `set in ${name}`,
    },
  });
  return { room: room as unknown as Room, emitter: room as EventEmitter, registered };
};

describe("the room of a call that moves", () => {
  test("its members: those of the current room, also through a participant that was read before", async () => {
    const { room, moveTo } = createMovingRoom(fakeRoom("one").room);
    const { localParticipant } = room;
    expect([room.name, await localParticipant?.setAttributes({})]).toEqual(["one", "set in one"] as never);
    moveTo(fakeRoom("two").room);
    expect([room.name, localParticipant?.metadata]).toEqual(["two", "of two"]);
    expect(await localParticipant?.setAttributes({})).toBe("set in two" as never);
  });

  test("handlers, streams and methods: registered once in each room, silent for the previous room", () => {
    const [one, two] = [fakeRoom("one"), fakeRoom("two")];
    const { room, moveTo } = createMovingRoom(one.room);
    const seen: string[] = [];
    room.on(RoomEvent.DataReceived, (data) => void seen.push(String(data)));
    room.registerTextStreamHandler("lk.chat", () => {});
    room.localParticipant?.registerRpcMethod("rta.x", async () => "");
    moveTo(two.room);
    one.emitter.emit(RoomEvent.DataReceived, "late");
    two.emitter.emit(RoomEvent.DataReceived, "new");
    expect(seen).toEqual(["new"]);
    expect([one.registered, two.registered]).toEqual([
      ["lk.chat", "rta.x"],
      ["lk.chat", "rta.x"],
    ]);
  });

  test("participants: those of the previous room leave, those of the next one join with their tracks", () => {
    const { room, moveTo } = createMovingRoom(fakeRoom("one", ["person"]).room);
    const seen: string[] = [];
    room.on(RoomEvent.ParticipantDisconnected, ({ identity }) => {
      // The room has no participants then, so a leave is not taken for a rejoin.
      seen.push(`${identity} left, ${room.remoteParticipants.size} here`);
    });
    room.on(RoomEvent.ParticipantConnected, ({ identity }) => void seen.push(`${identity} came to ${room.name}`));
    room.on(RoomEvent.TrackPublished, ({ sid }) => void seen.push(`${sid}`));
    moveTo(fakeRoom("two", ["person"]).room);
    expect(seen).toEqual(["person left, 0 here", "person came to two", "person track"]);
    moveTo(fakeRoom("three").room);
    expect(seen.slice(3)).toEqual(["person left, 0 here"]);
  });
});

test("an object that follows others: a function that was read earlier calls the current one", () => {
  let current = { value: 1, read: () => current.value };
  const object = following(() => current);
  const { read } = object;
  expect([object.value, read()]).toEqual([1, 1]);
  current = { value: 2, read: () => -current.value };
  expect([object.value, read()]).toEqual([2, -2]);
});
