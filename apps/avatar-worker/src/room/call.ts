/**
 * A call in a room of the service, where the avatar says what the person says, or in the room of an agent's owner, where it says
 * what the agent says.
 */

import {
  DisconnectReason,
  type RemoteParticipant,
  type RemoteTrackPublication,
  Room,
  RoomEvent,
  TrackKind,
} from "@livekit/rtc-node";
import type { EndReason } from "@realtime-avatar/domain/calls/end-reasons";
import { asksToEnd, LIFECYCLE_TOPIC } from "@realtime-avatar/domain/calls/lifecycle";
import { AGENT_JOIN_SECONDS } from "@realtime-avatar/domain/calls/limits";
import { PERSON_IDENTITY, sessionOfRoom } from "@realtime-avatar/domain/calls/room";
import type { AssignedCall, ReportedCall } from "@realtime-avatar/domain/calls/worker-sync";
import { createEcho } from "../renderer/echo.ts";
import { isLoud } from "../renderer/loudness.ts";
import type { Renderer, Rendering } from "../renderer/renderer.ts";
import { type AgentVoice, receiveVoice } from "./agent-voice.ts";
import { listenTo } from "./audio-in.ts";
import { LIMITS, watchFlood } from "./flood.ts";
import { joinRoom, leaveRoom, waitForParticipant } from "./join.ts";
import { sendLastMessage, tellSpeech, tellTimes } from "./messages.ts";
import { createPresence, type Presence } from "./presence.ts";
import { type Published, publishAvatar } from "./publish.ts";
import { type Relay, startRelay } from "./relay.ts";

/** How often the times of the call are checked. */
const TICK_MS = 100;
/** The longest stream that is read: of a person none, and of an agent 175 seconds of speech at 48 kHz. */
const MAX_STREAM_BYTES = { person: 64 * 1024, agent: 16 * 1024 * 1024 };

export type CallParts = {
  renderer: Renderer;
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

/** Who talks to the avatar, or through it. */
const sideOf = ({ agent_identity }: AssignedCall): "person" | "agent" => (agent_identity === null ? "person" : "agent");

/**
 * Whether the room is of the service, with a page of the SDK in it: only the service can name a room after a call before it starts.
 * In another room, nothing is obeyed, and nothing sent beside the picture and the sound.
 */
const isOurs = ({ name = "" }: Room, { session_id }: AssignedCall): boolean => sessionOfRoom(name) === session_id;

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

/** The avatar in the room; `voice` is that of the agent, if there is one. */
type JoinedAvatar = { rendering: Rendering; published: Published; voice: AgentVoice | null };

/** Publishes the avatar of a call in its room. `joining`: of the room. */
const enter = async (
  room: Room,
  assigned: AssignedCall,
  { load, renderer }: CallParts,
  { joining, onEnd }: { joining: Promise<void>; onEnd: (why: EndReason) => void },
): Promise<JoinedAvatar> => {
  const { agent_identity, mode, used_seconds, away_seconds, idle_seconds } = assigned;
  const opening = renderer.open(assigned, load);
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
  return { rendering, published: await publishAvatar(room, mode === "avatar" ? rendering : null), voice };
};

/** The agent has not joined. Without it, nothing is published, so that no picture is free. */
class NoAgentError extends Error {}

/** Lets the avatar say what the person says. */
const converse = (
  room: Room,
  { mode, input }: AssignedCall,
  { rendering, published }: JoinedAvatar,
  times: Presence,
): void => {
  if (input.stt_mode === "off") return;
  const tell = tellSpeech(room, mode);
  const echo = createEcho((pcm) => {
    rendering.hear(pcm);
    published.play(pcm);
    tell(pcm);
  });
  listenTo(room, PERSON_IDENTITY, (pcm) => {
    if (isLoud(pcm)) times.otherWasActive(performance.now());
    echo.hear(pcm);
  });
};

/** Lets the avatar say what the agent says. No other participant is heard. `wasLost`: the call had another process before. */
const playAgent = ({ rendering, published, voice }: JoinedAvatar, times: Presence, wasLost: boolean): void => {
  const say = (pcm: Int16Array): void => {
    rendering.hear(pcm);
    published.play(pcm);
  };
  voice?.play(published, say, () => times.otherWasActive(performance.now()));
  if (wasLost) voice?.tellLoss();
};

/** Follows the person or the agent `identity`, and the connection to the room. */
const watchOther = (
  room: Room,
  identity: string,
  times: Presence,
  { onArrival, onLeave }: { onArrival: () => void; onLeave: () => void },
  isAgent: boolean,
): void => {
  const arrived = (): void => {
    times.otherArrived(performance.now());
    onArrival();
  };
  room.on(RoomEvent.ParticipantConnected, (participant) => {
    if (participant.identity === identity) arrived();
  });
  room.on(RoomEvent.ParticipantDisconnected, (participant) => {
    // Who joins a second time replaces the first, whose end is told later.
    if (participant.identity !== identity || room.remoteParticipants.has(identity)) return;
    // LiveKit has waited for 20 seconds already when it drops a participant whose network was cut.
    const hasWaited = participant.disconnectReason === DisconnectReason.CONNECTION_TIMEOUT;
    times.otherLeft(performance.now(), hasWaited);
    onLeave();
  });
  room.on(RoomEvent.Reconnecting, () => times.connectionChanged(performance.now(), true));
  room.on(RoomEvent.Reconnected, () => times.connectionChanged(performance.now(), false));
  const isThere = room.remoteParticipants.has(identity);
  // The avatar was published for the agent. One that has left since is charged for it.
  if (isThere || isAgent) arrived();
  if (!isThere) times.otherLeft(performance.now());
};

/**
 * Calls `onVideo` when the person has a track of video. The token allows a microphone alone, but LiveKit checks only what the client
 * says of the source of a track.
 */
const refuseVideo = (room: Room, onVideo: () => void): void => {
  const check = ({ kind }: RemoteTrackPublication, { identity }: RemoteParticipant): void => {
    if (identity === PERSON_IDENTITY && kind === TrackKind.KIND_VIDEO) onVideo();
  };
  room.on(RoomEvent.TrackPublished, check);
  for (const participant of room.remoteParticipants.values()) {
    for (const publication of participant.trackPublications.values()) check(publication, participant);
  }
};

/**
 * Sends nothing while the connection to the server of an agent's owner is lost. Media has a separate connection, and the time is not
 * charged when the connection does not come back.
 */
const pauseWhileLost = (room: Room, { pause, resume }: Published): void => {
  room.on(RoomEvent.Reconnecting, pause);
  room.on(RoomEvent.Reconnected, resume);
};

/** Calls `onEnd` when the page of the person asks for the end. */
export const obeyPage = (room: Room, times: Presence, onEnd: () => void): void => {
  room.on(RoomEvent.DataReceived, (data, participant, _kind, topic) => {
    if (participant?.identity !== PERSON_IDENTITY) return;
    times.otherWasActive(performance.now());
    if (topic === LIFECYCLE_TOPIC && asksToEnd(data)) onEnd();
  });
};

/** Connects the avatar with the other side. Returns a function to call often. */
const connectSides = (
  room: Room,
  assigned: AssignedCall,
  joined: JoinedAvatar,
  times: Presence,
  { isRestart, onArrival, onEnd }: { isRestart: boolean; onArrival: () => void; onEnd: (why: EndReason) => void },
): ((now: number) => void) => {
  const { agent_identity, generation } = assigned;
  if (agent_identity === null) converse(room, assigned, joined, times);
  else playAgent(joined, times, isRestart || generation > 1);
  const isAgent = agent_identity !== null;
  const onLeave = (): void => joined.voice?.forget();
  watchOther(room, agent_identity ?? PERSON_IDENTITY, times, { onArrival, onLeave }, isAgent);
  if (isAgent) pauseWhileLost(room, joined.published);
  const checkFlood = watchFlood(room, LIMITS[sideOf(assigned)], () => onEnd("agent_ended"));
  if (!isOurs(room, assigned)) return checkFlood;
  obeyPage(room, times, () => onEnd("user_ended"));
  refuseVideo(room, () => onEnd("agent_ended"));
  const tell = tellTimes(room, assigned, times);
  return (now) => {
    tell(now);
    checkFlood(now);
  };
};

/** Starts a call. It ends by itself when the other side is gone, when its seconds are over, or when it fails. */
export const startCall = (assigned: AssignedCall, parts: CallParts): Call => {
  const { session_id, generation, used_seconds } = assigned;
  const room = new Room();
  let state: ReportedCall["state"] = "joining";
  let reason: EndReason | null = null;
  let presence: Presence | null = null;
  let joined: JoinedAvatar | null = null;
  let timer: NodeJS.Timeout | undefined;
  let usedAtEnd: number | null = null;
  let leaving: Promise<void> | null = null;
  const { joining, disconnect } = connect(room, assigned, () => void end("agent_ended"));

  const usedSeconds = (): number => usedAtEnd ?? presence?.usedSeconds(performance.now()) ?? used_seconds;
  const change = (next: ReportedCall["state"]): void => {
    if (state === next || state === "ended") return;
    state = next;
    parts.onChange();
  };

  const leave = (): Promise<void> => {
    usedAtEnd ??= usedSeconds();
    clearInterval(timer);
    joined?.voice?.stop();
    // While it is still joining, there is nothing to leave.
    leaving ??= joining
      .catch(() => {})
      .then(disconnect)
      .then(() => joined?.published.close());
    return leaving;
  };
  const end = async (why: EndReason): Promise<void> => {
    if (reason !== null || leaving) return;
    reason = why;
    usedAtEnd = usedSeconds();
    if (room.isConnected && isOurs(room, assigned)) await sendLastMessage(room, why);
    await leave();
    change("ended");
  };

  const run = async (): Promise<void> => {
    // Its room was deleted, or LiveKit is gone.
    room.on(RoomEvent.Disconnected, () => void end("disconnected"));
    const onEnd = (why: EndReason): void => void end(why);
    joined = await enter(room, assigned, parts, { joining, onEnd });
    if (leaving) return joined.published.close();
    const times = createPresence(assigned, performance.now());
    presence = times;
    change("joined");
    const onArrival = (): void => change("started");
    const step = connectSides(room, assigned, joined, times, { isRestart: parts.isRestart, onArrival, onEnd });
    timer = setInterval(() => {
      const now = performance.now();
      const why = times.endReason(now);
      if (why !== null) void end(why);
      else step(now);
    }, TICK_MS);
  };
  run()
    .catch((error: unknown) => {
      if (error instanceof NoAgentError) return void end("disconnected");
      parts.onFailure(error instanceof Error ? error.message : "unknown");
      void end("failed");
    })
    // The room cannot be left while it is being joined.
    .then(() => leaving?.then(disconnect));

  return {
    report: () => {
      const why = state === "ended" && reason !== null ? { reason } : {};
      return { session_id, generation, state, used_seconds: usedSeconds(), ...why };
    },
    end,
    leave,
  };
};
