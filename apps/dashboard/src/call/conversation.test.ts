/**
 * The conversation on the page of calls, in a room that is not connected. test/call.system.test.ts uses a real room.
 */
import { expect, test } from "bun:test";
import { EventEmitter } from "node:events";
import { RoomEvent } from "livekit-client";
import { addCaption, type Caption, watchConversation } from "./conversation.ts";

test("a growing text: shown once; of a hundred texts, the last fifty are shown", () => {
  let captions: readonly Caption[] = [];
  for (const text of ["Good", "Good morning."])
    captions = addCaption(captions, { id: "avatar SG_1", isOwn: false, text });
  expect(captions).toEqual([{ id: "avatar SG_1", isOwn: false, text: "Good morning." }]);
  for (let index = 0; index < 100; index++)
    captions = addCaption(captions, { id: `${index}`, isOwn: true, text: "Hi." });
  expect(captions.map(({ id }) => Number(id))).toEqual(Array.from({ length: 50 }, (_, index) => 50 + index));
});

test("a room: texts of both sides by their segments; the known states", async () => {
  let receive = (_reader: unknown, _sender: unknown): void => {};
  const room = Object.assign(new EventEmitter(), {
    registerTextStreamHandler: (_topic: string, handler: typeof receive) => {
      receive = handler;
    },
  });
  const captions: Caption[] = [];
  const states: string[] = [];
  watchConversation(room as never, {
    onCaption: (caption) => captions.push(caption),
    onState: (state) => states.push(state),
  });
  const tell = (identity: string, text: Promise<string>): void =>
    receive({ info: { id: "s1", attributes: { "lk.segment_id": "SG_1" } }, readAll: () => text }, { identity });
  tell("person", Promise.resolve("Hi."));
  tell("avatar", Promise.resolve("Hello."));
  tell("avatar", Promise.reject(new Error("the stream was cut")));
  for (const state of ["thinking", "dancing", undefined]) {
    room.emit(RoomEvent.ParticipantAttributesChanged, { "lk.agent.state": state });
  }
  await Bun.sleep(0);
  expect(captions).toEqual([
    { id: "person SG_1", isOwn: true, text: "Hi." },
    { id: "avatar SG_1", isOwn: false, text: "Hello." },
  ]);
  expect(states).toEqual(["thinking"]);
});
