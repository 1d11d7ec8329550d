/** The call of the page: what it shows, and what the person can do. */
import { LIFECYCLE_TOPIC, type LifecycleMessage } from "@realtime-avatar/domain/calls/lifecycle";
import { LogLevel, Room, RoomEvent, setLogLevel } from "livekit-client";
import { type RefObject, useEffect, useRef, useState } from "react";
import { useAccount } from "../layout/context.tsx";
import { Cancelled, useVerified } from "../layout/verified.tsx";
import { type CallKey, createKey, microphoneFault, releaseCall, revokeKey, startCall } from "./call.ts";

/** `open`: with the avatar, once its picture is here. `startedAt`: since when seconds count, by the clock of this device. */
export type CallView =
  | { state: "idle" }
  | { state: "starting"; text: string }
  | { state: "open"; sessionId: string; isSeen: boolean; startedAt: number | null }
  | { state: "ended"; sessionId: string; isHungUp: boolean }
  | { state: "failed"; error: unknown };

/** Whether the avatar hears the person; or why not. */
export type Microphone = { isOn: boolean; fault: string | null };

// What it does is no news to the console of the person.
setLogLevel(LogLevel.warn);

/** A lock of the browser: one page at a time has a call. */
const LOCK = "realtime-avatar-call";
const ELSEWHERE = "Another page of this browser has a call. Hang up there first.";

/** A clock of the avatar that is further away is not believed. */
const MAX_CLOCK_DIFFERENCE_MS = 60_000;

/** Runs `work` while no other page has the lock. */
const alone = <Result>(work: () => Promise<Result>): Promise<Result> =>
  navigator.locks.request(LOCK, { ifAvailable: true }, (lock) => {
    if (lock === null) throw new Error(ELSEWHERE);
    return work();
  });

type Media = { video: RefObject<HTMLVideoElement | null>; audio: RefObject<HTMLAudioElement | null> };
type Events = { onSeen: () => void; onClock: (startedAt: number) => void; onEnd: () => void };

/** The message of the avatar; null for anything else. */
const messageIn = (data: Uint8Array): LifecycleMessage | null => {
  try {
    return JSON.parse(new TextDecoder().decode(data));
  } catch {
    return null;
  }
};

/** Shows the avatar in the elements, and tells what happens in the room. */
const watchRoom = (room: Room, { video, audio }: Media, { onSeen, onClock, onEnd }: Events): void => {
  room.on(RoomEvent.TrackSubscribed, (track) => {
    const element = track.kind === "video" ? video.current : audio.current;
    if (element) track.attach(element);
    if (track.kind === "video") onSeen();
  });
  room.on(RoomEvent.DataReceived, (data, _participant, _kind, topic) => {
    if (topic !== LIFECYCLE_TOPIC) return;
    const message = messageIn(data);
    if (message?.kind === "ended") onEnd();
    if (message?.kind !== "session_clock") return;
    const { started_at_unix_ms: startedAt } = message;
    const now = Date.now();
    onClock(Math.abs(now - startedAt) < MAX_CLOCK_DIFFERENCE_MS ? startedAt : now);
  });
  room.on(RoomEvent.Disconnected, onEnd);
};

const revoke = (key: RefObject<CallKey | null>): void => {
  if (key.current) void revokeKey(key.current);
  key.current = null;
};

export const useCall = (avatarId: string, media: Media) => {
  const { client, environment } = useAccount();
  const runVerified = useVerified();
  const [view, setView] = useState<CallView>({ state: "idle" });
  const [microphone, setMicrophone] = useState<Microphone>({ isOn: false, fault: null });
  const key = useRef<CallKey>(null);
  const room = useRef<Room>(null);
  const hangUp = useRef<AbortController>(null);

  useEffect(() => {
    // Also when the page is kept for the back button: a call that nobody sees ends.
    const leave = (): void => {
      revoke(key);
      void room.current?.disconnect();
    };
    addEventListener("pagehide", leave);
    return () => removeEventListener("pagehide", leave);
  }, []);

  const turnMicrophone = async (isOn: boolean): Promise<void> => {
    try {
      await room.current?.localParticipant.setMicrophoneEnabled(isOn);
      setMicrophone({ isOn, fault: null });
    } catch (error) {
      setMicrophone({ isOn: false, fault: microphoneFault(error instanceof Error ? error.name : "") });
    }
  };

  /** Returns when the call is over. */
  const talk = async (signal: AbortSignal): Promise<void> => {
    const created = await runVerified(() => createKey(client, environment));
    key.current = created;
    signal.throwIfAborted();
    const onQueued = (position: number, size: number): void =>
      setView({ state: "starting", text: `All places are taken. Yours in the queue is ${position} of ${size}.` });
    const grant = await startCall(created, avatarId, { signal, onQueued });
    const { session_id: sessionId } = grant;
    const joined = new Room();
    room.current = joined;
    const opened = { state: "open", sessionId, isSeen: false, startedAt: null } as const;
    const change = (fields: { isSeen?: true; startedAt?: number }): void =>
      setView((present) => ({ ...(present.state === "open" ? present : opened), ...fields }));
    const over = new Promise<void>((resolve) => {
      const onSeen = () => change({ isSeen: true });
      watchRoom(joined, media, { onSeen, onClock: (startedAt) => change({ startedAt }), onEnd: resolve });
      signal.addEventListener("abort", () => resolve());
      if (signal.aborted) resolve();
    });
    await joined.connect(grant.livekit_url, grant.participant_token).catch((cause: unknown) => {
      const { host } = new URL(grant.livekit_url);
      throw new Error(
        `The browser does not reach LiveKit at ${host}. One that the service has started is on its machine alone: for other devices, LIVEKIT_URL has to name a server.`,
        { cause },
      );
    });
    // The picture may be here already.
    change({});
    if (!signal.aborted) await turnMicrophone(true);
    await over;
    // It may be the person who ends it. Released, it is charged to the second.
    await releaseCall(created, sessionId);
    setView({ state: "ended", sessionId, isHungUp: signal.aborted });
  };

  const start = async (): Promise<void> => {
    // Not the view, which a second click before the next rendering would still find as it was.
    if (hangUp.current !== null) return;
    const controller = new AbortController();
    hangUp.current = controller;
    setView({ state: "starting", text: "Starting the call." });
    setMicrophone({ isOn: false, fault: null });
    try {
      await alone(() => talk(controller.signal));
    } catch (error) {
      const isGivenUp = controller.signal.aborted || error instanceof Cancelled;
      setView(isGivenUp ? { state: "idle" } : { state: "failed", error });
    } finally {
      void room.current?.disconnect();
      room.current = null;
      hangUp.current = null;
      revoke(key);
    }
  };
  return { view, microphone, start, hangUp: () => hangUp.current?.abort(), turnMicrophone };
};
