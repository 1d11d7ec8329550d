/**
 * A call. In a room of the service, the avatar speaks with the person. In a brought room, the room of an agent's owner,
 * it speaks for the agent.
 */

import { type Room, RoomEvent } from "@livekit/rtc-node";
import type { EndReason } from "@realtime-avatar/domain/calls/end-reasons";
import { AGENT_JOIN_SECONDS } from "@realtime-avatar/domain/calls/limits";
import type { AssignedCall, ReportedCall } from "@realtime-avatar/domain/calls/worker-sync";
import type { CallConversation } from "../conversation/in-room.ts";
import type { EchoParts } from "../conversation/speaking/hold-echo.ts";
import type { ProgramTurn } from "../conversation/speaking/program-turns.ts";
import type { Recorder } from "../recording/recorder.ts";
import { createLateRendering } from "../renderer/late.ts";
import type { Renderer, Rendering } from "../renderer/renderer.ts";
import { receiveVoice } from "./agent-voice.ts";
import { watchAudience } from "./audience.ts";
import { type Access, type Connection, connect } from "./connection.ts";
import { waitForParticipant } from "./join.ts";
import { sendLastMessage } from "./messages.ts";
import { createMovingRoom, following, type MovingRoom } from "./moving-room.ts";
import { createPresence, type Limits, type Presence } from "./presence.ts";
import { type Published, publishAvatar } from "./publish.ts";
import { connectSides, isOurs, type JoinedAvatar, type Sides } from "./sides.ts";

/** How often the times of the call are checked. */
const TICK_MS = 100;
/**
 * How long a call in a room of the service tries to join after a failure. A LiveKit that was killed has lost the room: the
 * service creates it again, at once for a repeated start, otherwise after two lists of rooms (9 s).
 */
const REJOIN_MS = 20_000;
const REJOIN_PAUSE_MS = 500;

/**
 * Delay between the sound of a recovered call and the opening of its avatar. The answer begins in this time, and
 * opening the avatar would delay it.
 */
const VOICE_FIRST_MS = 500;

export type CallParts = {
  renderer: Renderer;
  /** Label that is drawn into each picture. */
  label: string;
  /** null: the call echoes. */
  conversation: CallConversation | null;
  echo: EchoParts;
  /** Reads a prepared file of the avatar. */
  load: (file: string) => Promise<Uint8Array>;
  /** An earlier process of this worker had the call. */
  isRestart: boolean;
  /** null: the call is not recorded. */
  recorder: Recorder | null;
  onChange: () => void;
  /** `cause`: for the log, contains no secret. */
  onFailure: (cause: string) => void;
};

export type Call = {
  report(): ReportedCall;
  takeTurns(turns: readonly ProgramTurn[]): void;
  /** Moves to another room of the service. Its person comes back there. */
  move(access: Access): void;
  /** Continues until more seconds are used. */
  grow(limits: Limits): void;
  /** Tells the person the reason, and leaves the room. */
  end(reason: EndReason): Promise<void>;
  /** Leaves the room silently. A call that is joining leaves after it has joined. */
  leave(): Promise<void>;
};

/**
 * Whether the sound is published before the avatar is opened. Opening takes processor time that joining needs. The
 * person has heard nothing since another process was lost. After a handover, the avatar is already open.
 */
const isVoiceFirst = (
  { agent_identity, mode, generation, history }: AssignedCall,
  { isRestart }: Pick<CallParts, "isRestart">,
): boolean => {
  const isRecovery = isRestart || (generation > 1 && !history?.handed_over);
  return isRecovery && agent_identity === null && mode === "avatar";
};

/** Publishes the sound of a call, and then its pictures. The call fails when the pictures fail. */
const publishVoiceFirst = async (call: CallState, room: Room): Promise<JoinedAvatar> => {
  const isWatched = watchAudience(room, call.assigned);
  const shown = call.opening.then((rendering) => ({ rendering, isWatched }));
  const onFailure = (error: unknown): void => {
    if (call.reason === null && !call.leaving) fail(call, error);
  };
  const published = await publishAvatar(room, null, { later: { shown, onFailure }, recorder: call.parts.recorder });
  setTimeout(call.beginOpening, VOICE_FIRST_MS);
  return { rendering: createLateRendering(call.opening), published, voice: null };
};

/** Publishes the avatar of a call in a room. */
const publish = async (call: CallState, { room, joining }: Connection): Promise<JoinedAvatar> => {
  const { assigned } = call;
  const { agent_identity, mode, used_seconds, away_seconds, idle_seconds } = assigned;
  await joining;
  if (call.inRoom === null && isVoiceFirst(assigned, call.parts)) return publishVoiceFirst(call, room);
  const onFlood = (): void => void end(call, "agent_ended");
  const voice =
    agent_identity === null
      ? null
      : receiveVoice(room, agent_identity, onFlood, call.parts.echo.segments?.onSegment ?? null);
  const rendering = await call.opening;
  // Published after the voice is received, because an agent speaks as soon as it sees the picture.
  if (agent_identity !== null) {
    const seconds = used_seconds > 0 ? away_seconds : Math.min(AGENT_JOIN_SECONDS, idle_seconds);
    if (!(await waitForParticipant(room, agent_identity, seconds))) throw new NoAgentError();
  }
  const shown = mode === "avatar" ? { rendering, isWatched: watchAudience(room, assigned) } : null;
  return { rendering, published: await publishAvatar(room, shown, { recorder: call.parts.recorder }), voice };
};

/**
 * Publishes the avatar of a call in a room. Rejects as soon as the room is gone or `newer` rejects. The library alone
 * can take ten seconds to give up.
 */
const publishUnlessGone = async (
  call: CallState,
  connection: Connection,
  newer: Promise<never>,
): Promise<JoinedAvatar> => {
  const publishing = publish(call, connection);
  try {
    return await Promise.race([publishing, connection.gone, newer]);
  } catch (error) {
    publishing.then(
      ({ published }) => published.close(),
      () => {},
    );
    throw error;
  }
};

/** The agent has not joined. Nothing is published then, because pictures without an agent would not be charged. */
class NoAgentError extends Error {}

/**
 * The state of a call after the avatar has joined. `connection`, `published`: the connection and the tracks in the
 * current room.
 */
type InRoom = {
  connection: Connection;
  published: Published;
  readonly voice: JoinedAvatar["voice"];
  readonly presence: Presence;
  readonly moving: MovingRoom;
  sides: Sides | null;
  timer: NodeJS.Timeout | null;
};

/** The state of a call: its input, its current parts, and its end. The functions below are its steps. */
type CallState = {
  assigned: AssignedCall;
  readonly parts: CallParts;
  /** Resolves when the renderer has opened the avatar. */
  readonly opening: Promise<Rendering>;
  /** Opens the avatar if it was delayed: see `isVoiceFirst`. */
  readonly beginOpening: () => void;
  /** The rooms that the call has not left, the newest last. */
  connections: Connection[];
  /** Settles when the join of the newest room has ended. */
  entering: Promise<void>;
  /** Number of rooms that the call was sent to. */
  rooms: number;
  /** After this time, a failed join ends the call; null before the first one. */
  rejoinUntil: number | null;
  /** Aborts the current join, because the call was sent to another room. */
  giveUpEntering: () => void;
  phase: ReportedCall["state"];
  /** null until the avatar has joined. */
  inRoom: InRoom | null;
  /** Why the call ends; null before the end. */
  reason: EndReason | null;
  /** The seconds of the call at its end; null before the end. */
  usedAtEnd: number | null;
  /** Settles when the rooms are left; null before. */
  leaving: Promise<void> | null;
};

const usedSeconds = ({ assigned, inRoom, usedAtEnd }: CallState): number =>
  usedAtEnd ?? inRoom?.presence.usedSeconds(performance.now()) ?? assigned.used_seconds;

const enterPhase = (call: CallState, phase: CallState["phase"]): void => {
  if (call.phase === phase || call.phase === "ended") return;
  call.phase = phase;
  call.parts.onChange();
};

/** Leaves all joined rooms without a message. */
const leave = (call: CallState): Promise<void> => {
  call.usedAtEnd ??= usedSeconds(call);
  clearInterval(call.inRoom?.timer ?? undefined);
  call.inRoom?.voice?.stop();
  call.inRoom?.sides?.stop();
  call.parts.recorder?.stop();
  call.leaving ??= Promise.all(
    call.connections.map(({ joining, disconnect }) => joining.catch(() => {}).then(disconnect)),
  ).then(() => call.inRoom?.published.close());
  return call.leaving;
};

/** Ends the call. Only the first reason counts. */
const end = async (call: CallState, reason: EndReason): Promise<void> => {
  if (call.reason !== null || call.leaving) return;
  call.reason = reason;
  call.usedAtEnd = usedSeconds(call);
  const room = (call.inRoom?.connection ?? call.connections.at(-1))?.room;
  if (room?.isConnected && isOurs(room, call.assigned)) await sendLastMessage(room, reason);
  await leave(call);
  enterPhase(call, "ended");
};

const fail = (call: CallState, error: unknown): void => {
  call.parts.onFailure(error instanceof Error ? error.message : "unknown");
  void end(call, "failed");
};

/**
 * Handles a deleted room, or the loss of LiveKit. A call that can move waits for another room, as long as for a lost
 * connection.
 */
const lose = (call: CallState, { room }: Connection, isNewest: boolean): void => {
  const { assigned, inRoom } = call;
  if (inRoom === null && isNewest && assigned.resume === undefined) void end(call, "disconnected");
  if (inRoom?.connection.room !== room) return;
  if (assigned.resume === undefined) return void end(call, "disconnected");
  inRoom.presence.otherLeft(performance.now());
  inRoom.presence.connectionChanged(performance.now(), true);
};

/** Connects the avatar with the other side for the rest of the call. */
const begin = (call: CallState, connection: Connection, { rendering, published, voice }: JoinedAvatar): void => {
  const { assigned, parts } = call;
  const presence = createPresence(assigned, performance.now());
  const moving = createMovingRoom(connection.room);
  const inRoom: InRoom = { connection, published, voice, presence, moving, sides: null, timer: null };
  call.inRoom = inRoom;
  enterPhase(call, "joined");
  const onEnd = (reason: EndReason): void => void end(call, reason);
  const onArrival = (): void => enterPhase(call, "started");
  const avatar = { rendering, published: following(() => inRoom.published), voice };
  const sides = connectSides(moving.room, assigned, avatar, presence, { ...parts, onArrival, onEnd });
  inRoom.sides = sides;
  // A room can end the call while the sides are being connected.
  if (call.leaving) {
    sides.stop();
    return;
  }
  inRoom.timer = setInterval(() => {
    const now = performance.now();
    const reason = presence.endReason(now);
    if (reason !== null) return onEnd(reason);
    if (presence.startedAt() !== null) enterPhase(call, presence.isCounting(now) ? "started" : "joined");
    sides.step(now);
  }, TICK_MS);
};

/** Continues the call in another room, and leaves the previous one. */
const continueInRoom = async (
  call: CallState,
  inRoom: InRoom,
  connection: Connection,
  published: Published,
): Promise<void> => {
  const before = { connection: inRoom.connection, published: inRoom.published };
  // The person in the next room may know nothing of the recording. Pictures of the previous room tell nothing there.
  before.published.pause();
  call.parts.recorder?.pause();
  Object.assign(inRoom, { connection, published });
  inRoom.presence.roomChanged(performance.now());
  inRoom.moving.moveTo(connection.room);
  call.connections = call.connections.filter((one) => one !== before.connection);
  await before.connection.disconnect();
  await before.published.close();
};

/** Tries again to join a room that was lost before the avatar was published there. Returns false when the call must end. */
const rejoin = (call: CallState, connection: Connection, access: Access): boolean => {
  const now = performance.now();
  call.rejoinUntil ??= now + REJOIN_MS;
  // A failure in a connected room has another cause.
  if (call.assigned.resume === undefined || connection.room.isConnected || now >= call.rejoinUntil) return false;
  void connection.joining.catch(() => {}).then(connection.disconnect);
  call.connections = call.connections.filter((one) => one !== connection);
  const { rooms } = call;
  setTimeout(() => call.rooms === rooms && goTo(call, access), REJOIN_PAUSE_MS);
  return true;
};

/** Joins a room, and publishes the avatar there. `newer`: rejects when the call is sent to another room. */
const enter = async (
  call: CallState,
  connection: Connection,
  access: Access,
  newer: Promise<never>,
  isNewest: () => boolean,
): Promise<void> => {
  try {
    const avatar = await publishUnlessGone(call, connection, newer);
    // A room can be left only after the join.
    if (call.leaving) await call.leaving.then(connection.disconnect).then(avatar.published.close);
    else if (call.inRoom === null) begin(call, connection, avatar);
    else await continueInRoom(call, call.inRoom, connection, avatar.published);
  } catch (error) {
    if (call.reason !== null || call.leaving) return;
    // The person is already in the next room; or another resume has deleted this room. The service then soon names the
    // next one.
    if (!isNewest() || call.inRoom !== null) {
      if (call.inRoom !== null) lose(call, call.inRoom.connection, true);
      // The room is left after the join.
      void connection.joining.catch(() => {}).then(connection.disconnect);
      return;
    }
    if (error instanceof NoAgentError) return void end(call, "disconnected");
    if (!rejoin(call, connection, access)) fail(call, error);
  }
};

/** Enters a room after the join of the previous one, unless a newer room has come by then. */
const goTo = (call: CallState, access: Access): void => {
  const number = ++call.rooms;
  const isNewest = (): boolean => call.rooms === number;
  call.giveUpEntering();
  const newer = new Promise<never>((_, reject) => {
    call.giveUpEntering = () => reject(new Error("another room follows"));
  });
  newer.catch(() => {});
  const join = async (): Promise<void> => {
    // Another worker's avatar stays in the room until this one joins.
    if (call.assigned.history?.handed_over && number === 1) await call.opening.catch(() => {});
    if (call.reason !== null || call.leaving || !isNewest()) return;
    const connection = connect(call.assigned, access, () => void end(call, "agent_ended"));
    call.connections.push(connection);
    connection.room.on(RoomEvent.Disconnected, () => lose(call, connection, isNewest()));
    await enter(call, connection, access, newer, isNewest);
  };
  call.entering = (number === 1 ? join() : call.entering.then(join)).catch(() => {});
};

/** Starts a call. It ends by itself when the other side is gone, when its seconds are used, or when it fails. */
export const startCall = (assigned: AssignedCall, parts: CallParts): Call => {
  let beginOpening = (): void => {};
  const mayOpen = new Promise<void>((resolve) => {
    beginOpening = resolve;
  });
  const open = () => parts.renderer.open({ ...assigned, label: parts.label }, parts.load);
  const opening = isVoiceFirst(assigned, parts) ? mayOpen.then(open) : open();
  // `opening` is awaited only after the join. If the join fails, a rejection must be handled here.
  opening.catch(() => {});
  const call: CallState = {
    ...{
      assigned,
      parts,
      opening,
      beginOpening,
      connections: [],
      entering: Promise.resolve(),
      rooms: 0,
      rejoinUntil: null,
      giveUpEntering: () => {},
    },
    ...{ phase: "joining", inRoom: null, reason: null, usedAtEnd: null, leaving: null },
  };
  goTo(call, assigned);
  return {
    report: () => {
      const { session_id, generation, resume } = assigned;
      const why = call.phase === "ended" && call.reason !== null ? { reason: call.reason } : {};
      const { room_number = 1, gap_count = 0, gap_seconds = 0 } = resume ?? {};
      const gaps = call.inRoom?.presence.gaps(performance.now()) ?? { gap_count, gap_seconds };
      const absences = resume && { resume: { room_number, ...gaps } };
      return { session_id, generation, state: call.phase, used_seconds: usedSeconds(call), ...why, ...absences };
    },
    takeTurns: (turns) => {
      const take = call.leaving ? null : call.inRoom?.sides?.takeTurns;
      if (take) return take(turns);
      for (const { turn_id } of turns) parts.echo.onTurn({ turn_id, status: "failed", heard: null });
    },
    move: (access) => goTo(call, access),
    grow: (limits) => {
      call.assigned = { ...call.assigned, ...limits };
      call.inRoom?.presence.grow(limits);
    },
    end: (reason) => end(call, reason),
    leave: () => leave(call),
  };
};
