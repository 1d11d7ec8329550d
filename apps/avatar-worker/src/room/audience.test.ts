/** Viewers of the pictures, in a room that is not connected. */
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

test("a room of the service: viewed while the person is present", () => {
  const { isWatched, remoteParticipants, subscribe } = watch(null);
  expect([isWatched(), subscribe(KIND_VIDEO)]).toEqual([false, false]);
  remoteParticipants.set("person", {});
  expect(isWatched()).toBe(true);
  remoteParticipants.delete("person");
  expect(isWatched()).toBe(false);
});

test("a brought room: the agent is no viewer, another participant is", () => {
  const { isWatched, remoteParticipants } = watch("agent", "agent");
  expect(isWatched()).toBe(false);
  remoteParticipants.set("visitor", {});
  expect(isWatched()).toBe(true);
});

test("a hidden participant that subscribes to the pictures: a viewer from then on", () => {
  const { remoteParticipants, isWatched, subscribe } = watch("agent", "agent");
  expect(subscribe(KIND_AUDIO)).toBe(false);
  expect(subscribe(KIND_VIDEO)).toBe(true);
  remoteParticipants.clear();
  expect(isWatched()).toBe(true);
});

test("a visible participant that subscribes and leaves: no viewer", () => {
  const { remoteParticipants, isWatched, subscribe } = watch("agent", "agent", "visitor");
  expect(subscribe(KIND_VIDEO)).toBe(true);
  remoteParticipants.delete("visitor");
  expect(isWatched()).toBe(false);
});
