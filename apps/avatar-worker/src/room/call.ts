/**
 * A call in a room of the service, where the avatar speaks with the person, or in the room of an agent's owner, where it says what the
 * agent says.
 */

import { Room, RoomEvent } from "@livekit/rtc-node";
import type { EndReason } from "@realtime-avatar/domain/calls/end-reasons";
import { AGENT_JOIN_SECONDS } from "@realtime-avatar/domain/calls/limits";
import type { AssignedCall, ReportedCall } from "@realtime-avatar/domain/calls/worker-sync";
import type { CallConversation } from "../conversation/in-room.ts";
import type { Renderer } from "../renderer/renderer.ts";
import { receiveVoice } from "./agent-voice.ts";
import { watchAudience } from "./audience.ts";
import { joinRoom, leaveRoom, waitForParticipant } from "./join.ts";
import { sendLastMessage } from "./messages.ts";
import { createPresence, type Presence } from "./presence.ts";
import { publishAvatar } from "./publish.ts";
import { type Relay, startRelay } from "./relay.ts";
import { connectSides, isOurs, type JoinedAvatar, type Sides, sideOf } from "./sides.ts";

/** How often the times of the call are checked. */
const TICK_MS = 100;
/** The longest stream that is read: of a person none, and of an agent 175 seconds of speech at 48 kHz. */
const MAX_STREAM_BYTES = { person: 64 * 1024, agent: 16 * 1024 * 1024 };

export type CallParts = {
  renderer: Renderer;
  /** Drawn into each picture. */
  label: string;
  /** null: the avatar says what the person says. */
  conversation: CallConversation | null;
  /** Reads a prepared file of the avatar. */
  load: (file: string) => Promise<Uint8Array>;
  /** An earlier process of this worker had the call. */
  isRestart: boolean;
  onChange: () => void;
  /** `cause`: for the log, without a secret. */
  onFailure: (cause: string) => void;
};

export type Call = {
  report(): ReportedCall;
  /** Tells the person why, and leaves the room. */
  end(reason: EndReason): Promise<void>;
  /** Leaves the room without a word: of a call that is joining, once it has joined. */
  leave(): Promise<void>;
};

/** Joins the room of a call. The server of an agent's owner is a stranger: `onFlood` is called when it sends too much. */
const connect = (room: Room, assigned: AssignedCall, onFlood: () => void) => {
  const { agent_identity, url, token } = assigned;
  let relay: Relay | null = null;
  const join = async (): Promise<void> => {
    if (agent_identity !== null) relay = await startRelay(url, onFlood);
    await joinRoom(room, relay?.url ?? url, token, MAX_STREAM_BYTES[sideOf(assigned)]);
  };
  const disconnect = async (): Promise<void> => {
    await leaveRoom(room);
    relay?.close();
  };
  return { joining: join(), disconnect };
};

/** Publishes the avatar of a call in its room. `joining`: of the room. */
const enter = async (
  room: Room,
  assigned: AssignedCall,
  { label, load, renderer }: CallParts,
  { joining, onEnd }: { joining: Promise<void>; onEnd: (why: EndReason) => void },
): Promise<JoinedAvatar> => {
  const { agent_identity, mode, used_seconds, away_seconds, idle_seconds } = assigned;
  const opening = renderer.open({ ...assigned, label }, load);
  // It is awaited below. If joining fails first, its failure must not be unhandled.
  opening.catch(() => {});
  await joining;
  const voice = agent_identity === null ? null : receiveVoice(room, agent_identity, () => onEnd("agent_ended"));
  const rendering = await opening;
  // After the voice is received: an agent speaks as soon as it sees the picture.
  if (agent_identity !== null) {
    const seconds = used_seconds > 0 ? away_seconds : Math.min(AGENT_JOIN_SECONDS, idle_seconds);
    if (!(await waitForParticipant(room, agent_identity, seconds))) throw new NoAgentError();
  }
  const shown = mode === "avatar" ? { rendering, isWatched: watchAudience(room, assigned) } : null;
  return { rendering, published: await publishAvatar(room, shown), voice };
};

/** The agent has not joined. Without it, nothing is published, so that no picture is free. */
class NoAgentError extends Error {}

/** A call: what it was given, what it has now, and how it ended. The functions below are its steps. */
type CallState = {
  readonly assigned: AssignedCall;
  readonly parts: CallParts;
  readonly room: Room;
  readonly connection: ReturnType<typeof connect>;
  phase: ReportedCall["state"];
  /** Null until the avatar has joined. */
  inRoom: { avatar: JoinedAvatar; presence: Presence; sides: Sides | null; timer: NodeJS.Timeout | null } | null;
  /** Why the call ends; null before. */
  reason: EndReason | null;
  /** The seconds of the call, from its end on; null before. */
  usedAtEnd: number | null;
  /** Settles when the room is left; null before the call leaves. */
  leaving: Promise<void> | null;
};

const usedSeconds = ({ assigned, inRoom, usedAtEnd }: CallState): number =>
  usedAtEnd ?? inRoom?.presence.usedSeconds(performance.now()) ?? assigned.used_seconds;

const enterPhase = (call: CallState, phase: CallState["phase"]): void => {
  if (call.phase === phase || call.phase === "ended") return;
  call.phase = phase;
  call.parts.onChange();
};

/** Leaves the room without a message. While the call is still joining, there is nothing to leave. */
const leave = (call: CallState): Promise<void> => {
  call.usedAtEnd ??= usedSeconds(call);
  clearInterval(call.inRoom?.timer ?? undefined);
  call.inRoom?.avatar.voice?.stop();
  call.inRoom?.sides?.stop();
  call.leaving ??= call.connection.joining
    .catch(() => {})
    .then(call.connection.disconnect)
    .then(() => call.inRoom?.avatar.published.close());
  return call.leaving;
};

/** Ends the call: the first reason counts. */
const end = async (call: CallState, reason: EndReason): Promise<void> => {
  if (call.reason !== null || call.leaving) return;
  call.reason = reason;
  call.usedAtEnd = usedSeconds(call);
  if (call.room.isConnected && isOurs(call.room, call.assigned)) await sendLastMessage(call.room, reason);
  await leave(call);
  enterPhase(call, "ended");
};

/** Joins the room, publishes the avatar, and connects it with the other side. */
const run = async (call: CallState): Promise<void> => {
  const { assigned, parts, room, connection } = call;
  const onEnd = (reason: EndReason): void => void end(call, reason);
  // Its room was deleted, or LiveKit is gone.
  room.on(RoomEvent.Disconnected, () => onEnd("disconnected"));
  const avatar = await enter(room, assigned, parts, { joining: connection.joining, onEnd });
  if (call.leaving) return avatar.published.close();
  const presence = createPresence(assigned, performance.now());
  call.inRoom = { avatar, presence, sides: null, timer: null };
  enterPhase(call, "joined");
  const onArrival = (): void => enterPhase(call, "started");
  const sides = connectSides(room, assigned, avatar, presence, { ...parts, onArrival, onEnd });
  call.inRoom.sides = sides;
  // A room can end the call while the sides are connected.
  if (call.leaving) return sides.stop();
  call.inRoom.timer = setInterval(() => {
    const now = performance.now();
    const reason = presence.endReason(now);
    if (reason !== null) onEnd(reason);
    else sides.step(now);
  }, TICK_MS);
};

/** Starts a call. It ends by itself when the other side is gone, when its seconds are over, or when it fails. */
export const startCall = (assigned: AssignedCall, parts: CallParts): Call => {
  const room = new Room();
  const connection = connect(room, assigned, () => void end(call, "agent_ended"));
  const call: CallState = {
    ...{ assigned, parts, room, connection },
    ...{ phase: "joining", inRoom: null, reason: null, usedAtEnd: null, leaving: null },
  };
  run(call)
    .catch((error: unknown) => {
      if (error instanceof NoAgentError) return void end(call, "disconnected");
      parts.onFailure(error instanceof Error ? error.message : "unknown");
      void end(call, "failed");
    })
    // The room cannot be left while it is being joined.
    .then(() => call.leaving?.then(connection.disconnect));
  return {
    report: () => {
      const { session_id, generation } = assigned;
      const why = call.phase === "ended" && call.reason !== null ? { reason: call.reason } : {};
      return { session_id, generation, state: call.phase, used_seconds: usedSeconds(call), ...why };
    },
    end: (reason) => end(call, reason),
    leave: () => leave(call),
  };
};
