/** The call of the page: its state, and the actions of the person. */
import type { AgentState } from "@realtime-avatar/domain/calls/lifecycle";
import { type LocalAudioTrack, LogLevel, Room, setLogLevel } from "livekit-client";
import { type Dispatch, type RefObject, type SetStateAction, useEffect, useRef, useState } from "react";
import { useAccount } from "../layout/context.tsx";
import { Cancelled, useVerified } from "../layout/verified.tsx";
import { type CallKey, createKey, type Grant, releaseCall, revokeKey, startCall } from "./call.ts";
import { addCaption, type Caption, sendTurn, watchConversation } from "./conversation.ts";
import { type Microphone, publishMicrophone } from "./microphone.ts";
import { type Media, type TimeLeft, watchRoom } from "./room.ts";
import { useMicrophone } from "./use-microphone.ts";

/**
 * `asking`: the browser asks for the microphone. `ready`: the person tests it, at no charge. `open`: in the room. Its
 * `picture` is `lost` while the avatar has stopped sending pictures.
 */
export type CallView =
  | { state: "idle" | "asking" | "ready" }
  | { state: "starting"; text: string }
  | { state: "open"; sessionId: string; picture: "awaited" | "shown" | "lost" }
  | { state: "ended"; sessionId: string; isHungUp: boolean }
  | { state: "failed"; error: unknown };

// Routine messages of the library do not belong on the person's console.
setLogLevel(LogLevel.warn);

/**
 * The state of the avatar, and the words of both sides. `kind`: the avatar echoes without a language model; the person
 * types without a recognizer.
 */
export type ConversationView = {
  kind: "echo" | "typed" | "spoken";
  state: AgentState;
  captions: readonly Caption[];
};
const NO_CONVERSATION: ConversationView = { kind: "echo", state: "listening", captions: [] };

const conversationKind = ({ ignored }: Grant): ConversationView["kind"] => {
  if (ignored.includes("capabilities")) return "echo";
  return ignored.includes("transcription") ? "typed" : "spoken";
};

/** A lock of the browser, so that only one page has a call. */
const LOCK = "realtime-avatar-call";
const ELSEWHERE = "Another page of this browser has a call. Hang up there first.";

/** Runs `work` if no other page has the lock. */
const alone = <Result>(work: () => Promise<Result>): Promise<Result> =>
  navigator.locks.request(LOCK, { ifAvailable: true }, (lock) => {
    if (lock === null) throw new Error(ELSEWHERE);
    return work();
  });

const join = async (room: Room, { livekit_url: url, participant_token: token }: Grant): Promise<void> => {
  await room.connect(url, token).catch((cause: unknown) => {
    throw new Error(
      `The browser does not reach LiveKit at ${new URL(url).host}. A LiveKit that the service has started is reachable only on the machine of the service: for other devices, set LIVEKIT_URL to another server.`,
      { cause },
    );
  });
};

const revoke = (key: RefObject<CallKey | null>): void => {
  if (key.current) void revokeKey(key.current);
  key.current = null;
};

type Talk = {
  key: CallKey;
  avatarId: string;
  media: Media;
  room: Room;
  track: LocalAudioTrack | null;
  signal: AbortSignal;
  setView: Dispatch<SetStateAction<CallView>>;
  setConversation: Dispatch<SetStateAction<ConversationView>>;
  setTimeLeft: (left: TimeLeft) => void;
};

/** Starts the call and shows it. Resolves when it is over. */
const talk = async (parts: Talk): Promise<void> => {
  const { key, avatarId, media, room, track, signal, setView, setConversation, setTimeLeft } = parts;
  const onQueued = (position: number, size: number): void =>
    setView({ state: "starting", text: `All slots are in use. Your place in the queue is ${position} of ${size}.` });
  const grant = await startCall(key, avatarId, { signal, onQueued });
  const { session_id: sessionId } = grant;
  setConversation({ ...NO_CONVERSATION, kind: conversationKind(grant) });
  watchConversation(room, {
    onCaption: (caption) =>
      setConversation((present) => ({ ...present, captions: addCaption(present.captions, caption) })),
    onState: (state) => setConversation((present) => ({ ...present, state })),
  });
  const over = new Promise<void>((resolve) => {
    watchRoom(room, media, {
      onPicture: () => setView({ state: "open", sessionId, picture: "shown" }),
      // The pictures count as lost only after the first one was shown.
      onLost: () =>
        setView((present) =>
          present.state === "open" && present.picture === "shown" ? { ...present, picture: "lost" } : present,
        ),
      onEnd: resolve,
      onTimeLeft: setTimeLeft,
    });
    signal.addEventListener("abort", () => resolve());
    if (signal.aborted) resolve();
  });
  await join(room, grant);
  // The first picture can arrive before this line.
  setView((present) => (present.state === "open" ? present : { state: "open", sessionId, picture: "awaited" }));
  if (!signal.aborted && track) await publishMicrophone(room, track);
  await over;
  // The person or the avatar has ended the call. The release charges it exactly to the second.
  await releaseCall(key, sessionId);
  setView({ state: "ended", sessionId, isHungUp: signal.aborted });
};

export const useCall = (avatarId: string, media: Media) => {
  const { client, environment } = useAccount();
  const runVerified = useVerified();
  const [view, setView] = useState<CallView>({ state: "idle" });
  const [conversation, setConversation] = useState(NO_CONVERSATION);
  const [timeLeft, setTimeLeft] = useState<TimeLeft>(null);
  const key = useRef<CallKey>(null);
  const room = useRef<Room>(null);
  const hangUp = useRef<AbortController>(null);
  const microphone = useMicrophone(room);

  useEffect(() => {
    // The call also ends when the browser keeps the page for the back button, because it would be invisible.
    const leave = (): void => {
      revoke(key);
      void room.current?.disconnect();
    };
    addEventListener("pagehide", leave);
    return () => removeEventListener("pagehide", leave);
  }, []);

  /** Requests the microphone, at no charge. */
  const prepare = async (): Promise<Microphone> => {
    setView({ state: "asking" });
    const opened = await microphone.open();
    setView({ state: "ready" });
    return opened;
  };

  /** `isSilent`: starts without a microphone, for a device without one. */
  const start = async ({ isSilent = false } = {}): Promise<void> => {
    // Checks `hangUp`, because the view is outdated for a second click before the next rendering.
    if (hangUp.current !== null) return;
    const controller = new AbortController();
    const { signal } = controller;
    hangUp.current = controller;
    try {
      if (microphone.track.current === null && !isSilent && (await prepare()).track === null) return;
      setView({ state: "starting", text: "Starting the call." });
      await alone(async () => {
        key.current = await runVerified(() => createKey(client, environment));
        signal.throwIfAborted();
        room.current = new Room();
        const { track } = microphone;
        const parts = { avatarId, media, signal, setView, setConversation, setTimeLeft };
        await talk({ ...parts, key: key.current, room: room.current, track: track.current });
      });
      microphone.close();
    } catch (error) {
      const isGivenUp = signal.aborted || error instanceof Cancelled;
      setView(isGivenUp ? { state: "ready" } : { state: "failed", error });
      if (!isGivenUp) microphone.close();
    } finally {
      // The page itself stops the microphone. After a call was given up, the microphone stays open.
      void room.current?.disconnect(false);
      room.current = null;
      hangUp.current = null;
      setTimeLeft(null);
      revoke(key);
    }
  };
  return {
    view,
    conversation,
    /** Set in the last minute of the call. */
    timeLeft,
    /** Sends a turn as text. */
    write: (text: string) => sendTurn(room.current, text),
    microphone: microphone.view,
    prepare,
    start,
    hangUp: () => hangUp.current?.abort(),
    turnMicrophone: microphone.turn,
  };
};
