/**
 * Each handle that a call opens in LiveKit's library (sources, tracks, resamplers, frames) is closed when the call
 * ends, for every kind of end. The library is real; the room is not connected. test/call.system.test.ts uses a real
 * room.
 */

import { afterAll, beforeEach, expect, test } from "bun:test";
import { EventEmitter } from "node:events";
import { ReadableStream } from "node:stream/web";
import { FfiHandle } from "@livekit/rtc-ffi-bindings";
import {
  AudioResampler,
  AudioSource,
  ByteStreamReader,
  ConnectionState,
  LocalAudioTrack,
  RoomEvent,
  TrackKind,
} from "@livekit/rtc-node";
import { FLITE_SETTINGS } from "@realtime-avatar/speech/settings";
import { until } from "@realtime-avatar/testing/until";
import { assigned } from "../../test/support/assigned.ts";
import { portrait } from "../renderer/portrait.ts";
import type { Rendering } from "../renderer/renderer.ts";
import { listenTo } from "./audio-in.ts";
import { startCall } from "./call.ts";
import { leaveRoom } from "./join.ts";
import { publishAvatar } from "./publish.ts";
import { createSegments } from "./segments.ts";

// The first use of the library creates its client.
new AudioResampler(48_000, 48_000).close();
const { _ffiClientInstance: client } = globalThis as unknown as {
  _ffiClientInstance: { request(message: unknown): unknown };
};
const { dispose } = FfiHandle.prototype;
const request = client.request.bind(client);
/** The open handles of the library, with the kind of their object. */
const open = new Map<bigint, string>();

/** Records all handles in a response: `owned` objects of the library's protocol have one. */
const note = (value: unknown, kind: string): void => {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return;
  const { handle } = value as { handle?: { id?: unknown } };
  if (typeof handle?.id === "bigint") open.set(handle.id, kind);
  for (const [name, member] of Object.entries(value)) if (name !== "handle") note(member, name);
};
client.request = (message) => {
  const response = request(message);
  note(response, "");
  return response;
};
FfiHandle.prototype.dispose = function (): void {
  open.delete(this.handle);
  dispose.call(this);
};
afterAll(() => {
  client.request = request;
  FfiHandle.prototype.dispose = dispose;
});
beforeEach(() => open.clear());
const left = (): string[] => [...open.values()];

/** A room in which publishing succeeds for tracks of these kinds. */
const roomWith = (...kinds: TrackKind[]) => ({
  localParticipant: {
    trackPublications: new Map(),
    publishTrack: ({ kind }: { kind: TrackKind }) =>
      kinds.includes(kind) ? Promise.resolve() : Promise.reject(new Error("refused")),
  },
});
const { KIND_AUDIO, KIND_VIDEO } = TrackKind;
const call = {
  session_id: "ses_x",
  avatar: { avatar_id: "ava_x", manifest: { pictures: null } },
  environment: "test",
  mode: "avatar",
  label: "AI",
} as const;
let opened: Promise<Rendering> | null = null;
/** Shared by all tests, because opening takes 0.2 s of processor time. */
const renderingOnce = (): Promise<Rendering> => {
  opened ??= portrait.open({ ...call, input: { stt_mode: "server" } }, () => Promise.reject(new Error("no file")));
  return opened;
};

test("the pictures of an avatar: their frames are closed", async () => {
  await renderingOnce();
  expect(left()).toEqual([]);
});

test("an avatar, published and closed: pictures only while viewed; all sources and tracks closed", async () => {
  const rendering = await renderingOnce();
  let pictures = 0;
  let isWatched = true;
  const picture = () => {
    pictures++;
    return rendering.picture();
  };
  const published = await publishAvatar(roomWith(KIND_AUDIO, KIND_VIDEO) as never, {
    rendering: { ...rendering, picture },
    isWatched: () => isWatched,
  });
  published.play(new Int16Array(960));
  await until(() => pictures >= 2, { pollMs: 5 });
  expect(left().sort()).toEqual(["source", "source", "track", "track"]);
  isWatched = false;
  const unwatched = pictures;
  await Bun.sleep(100);
  expect(pictures).toBe(unwatched);
  isWatched = true;
  await until(() => pictures > unwatched, { pollMs: 5 });
  await published.close();
  expect(left()).toEqual([]);
  const before = pictures;
  published.play(new Int16Array(960));
  published.clear();
  await Bun.sleep(100);
  expect([pictures, left()]).toEqual([before, []]);
});

test.each<[string, TrackKind[]]>([
  ["sound", [KIND_VIDEO]],
  ["picture", [KIND_AUDIO]],
])("an avatar whose %s cannot be published: all handles closed", async (_, kinds) => {
  const publishing = publishAvatar(roomWith(...kinds) as never, {
    rendering: await renderingOnce(),
    isWatched: () => true,
  });
  await expect(publishing).rejects.toThrow("the avatar cannot be published");
  expect(left()).toEqual([]);
});

test("an avatar that is opened after its sound is published: its pictures follow; all handles closed", async () => {
  const rendering = await renderingOnce();
  const { promise: opening, resolve } = Promise.withResolvers<void>();
  const kinds: TrackKind[] = [];
  const publishTrack = ({ kind }: { kind: TrackKind }) => Promise.resolve(void kinds.push(kind));
  const published = await publishAvatar(
    { localParticipant: { publishTrack, trackPublications: new Map() } } as never,
    null,
    {
      later: { shown: opening.then(() => ({ rendering, isWatched: () => true })), onFailure: () => {} },
    },
  );
  expect([kinds, left().sort()]).toEqual([[KIND_AUDIO], ["source", "track"]]);
  resolve();
  await until(() => kinds.length === 2, { pollMs: 5 });
  expect(kinds).toEqual([KIND_AUDIO, KIND_VIDEO]);
  await published.close();
  expect(left()).toEqual([]);
});

test("an avatar that is closed before it is open: no published picture; all handles closed", async () => {
  const rendering = await renderingOnce();
  const { promise: shown, resolve } = Promise.withResolvers<{ rendering: Rendering; isWatched: () => boolean }>();
  const failures: unknown[] = [];
  const onFailure = (error: unknown): void => void failures.push(error);
  const published = await publishAvatar(roomWith(KIND_AUDIO) as never, null, { later: { shown, onFailure } });
  await published.close();
  resolve({ rendering, isWatched: () => true });
  await Bun.sleep(20);
  expect([left(), failures]).toEqual([[], []]);
});

test.each<[string, string, () => Promise<Rendering>]>([
  ["cannot be opened", "no file", () => Promise.reject(new Error("no file"))],
  ["is open, but its pictures are refused", "the avatar cannot be published", renderingOnce],
])("an avatar whose sound is published, and that %s: the failure is reported once", async (_, why, open) => {
  const failures: unknown[] = [];
  const published = await publishAvatar(roomWith(KIND_AUDIO) as never, null, {
    later: {
      shown: open().then((rendering) => ({ rendering, isWatched: () => true })),
      onFailure: (error) => void failures.push((error as Error).message),
    },
  });
  await until(() => failures.length > 0, { pollMs: 5 });
  expect(failures).toEqual([why]);
  await published.close();
  expect(left()).toEqual([]);
});

test("an avatar in a call by voice: no picture; its sound is closed", async () => {
  const published = await publishAvatar(roomWith(KIND_AUDIO) as never, null);
  expect(left().sort()).toEqual(["source", "track"]);
  await published.close();
  expect(left()).toEqual([]);
});

test("sound that comes faster than it is played: a bounded queue; an empty one while paused", async () => {
  const published = await publishAvatar(roomWith(KIND_AUDIO) as never, null);
  /** Returns the greatest length of the queue, in milliseconds. The queue is played meanwhile. */
  const play = (frames: number): number => {
    const waited = Array.from({ length: frames }, () => {
      published.play(new Int16Array(960));
      return published.queuedMs();
    });
    return Math.max(...waited);
  };
  expect(play(100)).toBeWithin(150, 221);
  published.clear();
  expect(published.queuedMs()).toBe(0);
  play(5);
  published.pause();
  expect([play(5), published.isPaused()]).toEqual([0, true]);
  published.resume();
  expect([play(5) > 0, published.isPaused()]).toEqual([true, false]);
  await published.close();
});

/** A byte stream of an agent, with a second of sound. */
const stream = (sample_rate = "24000") => {
  const attributes = { sample_rate, num_channels: "1" };
  const info = { streamId: "x", mimeType: "", topic: "", timestamp: 0, name: "", attributes };
  const content = new Uint8Array(48_000);
  return new ByteStreamReader(
    info,
    new ReadableStream({
      start: (controller) => {
        controller.enqueue({ content });
        controller.close();
      },
    }) as never,
  );
};

test("the speech of an agent, played to its end, dropped or refused: its resamplers are closed", async () => {
  const segments = createSegments(() => {});
  segments.open(stream());
  segments.open(stream());
  segments.open(stream("96000"));
  await until(() => segments.first()?.isComplete, { pollMs: 1 });
  expect(left()).toHaveLength(2);
  while (segments.next());
  segments.finish();
  expect(left()).toHaveLength(1);
  segments.clear();
  for (let count = 0; count < 20; count++) segments.open(stream());
  // The maximum number of open streams.
  expect(left()).toHaveLength(16);
  segments.clear();
  expect(left()).toEqual([]);
});

/** A track of another participant. Only its handle matters. */
const newTrack = () => LocalAudioTrack.createAudioTrack("x", new AudioSource(48_000, 1));

test("tracks that are no longer heard, or of a left room: closed", async () => {
  const room = Object.assign(new EventEmitter(), { isConnected: false, remoteParticipants: new Map() });
  listenTo(room as never, "person", () => {});
  room.emit(RoomEvent.TrackUnsubscribed, newTrack());
  await Bun.sleep(0);
  expect(left()).toEqual([]);
  const trackPublications = new Map([
    ["TR_1", { track: newTrack() }],
    ["TR_2", { track: newTrack() }],
    ["TR_3", {}],
  ] as never);
  for (const disconnect of [() => Promise.resolve(), () => Promise.reject(new Error("away"))]) {
    const remoteParticipants = new Map([["person", { trackPublications }]]);
    await leaveRoom({ connectionState: ConnectionState.CONN_CONNECTED, remoteParticipants, disconnect } as never);
    expect(left()).toEqual([]);
  }
});

test.each([null, "agent"])("a call that cannot join (agent: %p): ended; all handles closed", async (agent_identity) => {
  const failures: string[] = [];
  // No server listens on this port.
  const joining = startCall(
    { ...assigned, url: "ws://127.0.0.1:9", token: "x", agent_identity },
    {
      ...{
        renderer: portrait,
        label: "AI",
        load: () => Promise.reject(new Error("no file")),
        isRestart: false,
        recorder: null,
        conversation: null,
        echo: { speech: FLITE_SETTINGS, onProviderFailure: () => {}, segments: null, onTurn: () => {} },
      },
      onChange: () => {},
      onFailure: (cause) => void failures.push(cause),
    },
  );
  await until(() => joining.report().state === "ended", { pollMs: 5 });
  expect([failures, joining.report().reason]).toEqual([["the room cannot be joined"], "failed"]);
  expect(left()).toEqual([]);
});
