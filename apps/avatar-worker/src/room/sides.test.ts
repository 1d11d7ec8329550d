/** Which participants the avatar obeys, in a room that is not connected. test/call.system.test.ts uses a real room. */
import { describe, expect, test } from "bun:test";
import { EventEmitter } from "node:events";
import { RoomEvent, TrackKind } from "@livekit/rtc-node";
import { LIFECYCLE_TOPIC, type LifecycleMessage } from "@realtime-avatar/domain/calls/lifecycle";
import { isLoud } from "@realtime-avatar/face/loudness";
import { FLITE_SETTINGS } from "@realtime-avatar/speech/settings";
import { until } from "@realtime-avatar/testing/until";
import { assigned } from "../../test/support/assigned.ts";
import { createRecorder } from "../recording/recorder.ts";
import { NO_PICTURES } from "../renderer/renderer.ts";
import { createPresence } from "./presence.ts";
import { connectSides, handlePageMessages } from "./sides.ts";

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

describe("a recorded call by voice", () => {
  /** The sides of a call in a room where sound is played at once. `isThere`: the person came before this process. */
  const connect = ({ isTold = false, isThere = false } = {}) => {
    const publication = { kind: TrackKind.KIND_AUDIO, waitForSubscription: async () => {} };
    const localParticipant = {
      trackPublications: new Map([["TR_1", publication]]),
      setAttributes: async () => {},
      streamText: async () => ({ write: async () => {}, close: async () => {} }),
    };
    const remoteParticipants = new Map<string, object>();
    const room = Object.assign(new EventEmitter(), { isConnected: true, localParticipant, remoteParticipants });
    const person = { identity: "person", trackPublications: new Map() };
    if (isThere) remoteParticipants.set("person", person);
    let loud = 0;
    const published = {
      play: (pcm: Int16Array) => {
        if (isLoud(pcm)) loud++;
      },
      queuedMs: () => 0,
      clear: () => {},
    };
    const recorder = createRecorder({
      ...{ mode: "audio", hasPictures: false, onFragment: () => {}, onBegin: () => {} },
      onFailure: (error) => {
        throw error;
      },
    });
    if (isTold) recorder.begin();
    const call = { ...assigned, mode: "voice", recording: { mode: "audio" } } as const;
    const joined = { rendering: NO_PICTURES, published: published as never, voice: null };
    const sides = connectSides(room as never, call, joined, createPresence(call, performance.now()), {
      ...{ isRestart: isTold, recorder, conversation: null, onArrival: () => {}, onEnd: () => {} },
      echo: { speech: FLITE_SETTINGS, onProviderFailure: () => {}, segments: null, onTurn: () => {} },
    });
    const stop = (): void => {
      sides.stop();
      recorder.stop();
    };
    /** A page joins as the person. An earlier page is put out. */
    const join = (): void => {
      remoteParticipants.set("person", person);
      room.emit(RoomEvent.ParticipantConnected, person);
    };
    return { recorder, join, loud: () => loud, stop };
  };

  test("each page that joins: hears the notice, and is recorded after it", async () => {
    const { recorder, join, loud, stop } = connect();
    for (let page = 0; page < 2; page++) {
      const before = loud();
      join();
      expect(recorder.isRecording()).toBe(false);
      await until(() => recorder.isRecording(), { pollMs: 5 });
      expect(loud() - before).toBeGreaterThan(30);
    }
    stop();
  });

  test("a person that an earlier process told: recorded without another notice if still there, else after it", async () => {
    const there = connect({ isTold: true, isThere: true });
    await until(() => there.recorder.isRecording(), { pollMs: 5 });
    expect(there.loud()).toBe(0);
    there.stop();
    const away = connect({ isTold: true });
    away.join();
    expect(away.recorder.isRecording()).toBe(false);
    await until(() => away.recorder.isRecording(), { pollMs: 5 });
    expect(away.loud()).toBeGreaterThan(30);
    away.stop();
  });
});
