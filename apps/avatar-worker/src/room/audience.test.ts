/** Whose pictures are drawn, on a room that is not connected. */
import { expect, test } from "bun:test";
import { EventEmitter } from "node:events";
import { RoomEvent, TrackKind } from "@livekit/rtc-node";
import { watchAudience } from "./audience.ts";

const { KIND_AUDIO, KIND_VIDEO } = TrackKind;

const watch = (agent_identity: string | null, ...identities: string[]) => {
  const remoteParticipants = new Map(identities.map((identity) => [identity, {}]));
  const room = Object.assign(new EventEmitter(), { remoteParticipants });
  const isWatched = watchAudience(room as never, { agent_identity });
  const subscribe = (kind: TrackKind): boolean => {
    room.emit(RoomEvent.LocalTrackSubscribed, { kind });
    return isWatched();
  };
  return { isWatched, remoteParticipants, subscribe };
};

test("a room of the service: the pictures are watched while the person is there", () => {
  const { isWatched, remoteParticipants, subscribe } = watch(null);
  expect([isWatched(), subscribe(KIND_VIDEO)]).toEqual([false, false]);
  remoteParticipants.set("person", {});
  expect(isWatched()).toBe(true);
  remoteParticipants.delete("person");
  expect(isWatched()).toBe(false);
});

test("the room of an agent's owner: the agent does not watch, another participant does", () => {
  const { isWatched, remoteParticipants } = watch("agent", "agent");
  expect(isWatched()).toBe(false);
  remoteParticipants.set("visitor", {});
  expect(isWatched()).toBe(true);
});

test("a hidden participant, who subscribes to the pictures: watches from then on", () => {
  const { remoteParticipants, isWatched, subscribe } = watch("agent", "agent");
  expect(subscribe(KIND_AUDIO)).toBe(false);
  expect(subscribe(KIND_VIDEO)).toBe(true);
  remoteParticipants.clear();
  expect(isWatched()).toBe(true);
});

test("a visible participant, who subscribes and leaves: nobody watches", () => {
  const { remoteParticipants, isWatched, subscribe } = watch("agent", "agent", "visitor");
  expect(subscribe(KIND_VIDEO)).toBe(true);
  remoteParticipants.delete("visitor");
  expect(isWatched()).toBe(false);
});
