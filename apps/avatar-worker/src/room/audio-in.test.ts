/** The choice of a participant's track. */
import { expect, test } from "bun:test";
import { EventEmitter } from "node:events";
import { type Room, RoomEvent, TrackKind } from "@livekit/rtc-node";
import { until } from "@realtime-avatar/testing/until";
import { listenTo } from "./audio-in.ts";

/** A publication with a sid. It records its subscription. */
const publicationOf = (sid: string, subscriptions: string[]) => ({
  sid,
  kind: TrackKind.KIND_AUDIO,
  setSubscribed: (isSubscribed: boolean) => subscriptions.push(`${sid} ${isSubscribed}`),
});
type Publication = ReturnType<typeof publicationOf>;

/** A room with one participant, and the sound that is heard of it. */
const openRoom = (...publications: Publication[]) => {
  const trackPublications = new Map(publications.map((publication) => [publication.sid, publication]));
  const remoteParticipants = new Map([["person", { trackPublications }]]);
  const room = Object.assign(new EventEmitter(), { isConnected: true, remoteParticipants });
  const heard: number[] = [];
  listenTo(
    room as unknown as Room,
    "person",
    ([sample = 0]) => heard.push(sample),
    async function* (track) {
      yield { data: Int16Array.of((track as unknown as { sample: number }).sample) };
    },
  );
  return {
    heard,
    publish: (publication: Publication): void => {
      trackPublications.set(publication.sid, publication);
      room.emit(RoomEvent.TrackPublished, publication);
    },
    subscribed: (sid: string, sample: number): void => {
      room.emit(RoomEvent.TrackSubscribed, { sample }, trackPublications.get(sid));
    },
  };
};

test("a publication that is reported twice before its track comes: heard", async () => {
  const subscriptions: string[] = [];
  const room = openRoom(publicationOf("TR_1", subscriptions));
  // The library reports earlier publications again with a new object, and then their subscription.
  room.publish(publicationOf("TR_1", subscriptions));
  room.subscribed("TR_1", 7);
  await until(() => room.heard.length > 0);
  expect(room.heard).toEqual([7]);
  await until(() => subscriptions.length > 1);
  expect(subscriptions).toEqual(["TR_1 true", "TR_1 true"]);
});

test("a newer track: only it is subscribed to and heard", async () => {
  const subscriptions: string[] = [];
  const room = openRoom(publicationOf("TR_1", subscriptions));
  room.publish(publicationOf("TR_2", subscriptions));
  await until(() => subscriptions.length > 2);
  expect(subscriptions).toEqual(["TR_1 true", "TR_1 false", "TR_2 true"]);
  room.subscribed("TR_1", 1);
  room.subscribed("TR_2", 2);
  await until(() => room.heard.length > 0);
  expect(room.heard).toEqual([2]);
});
