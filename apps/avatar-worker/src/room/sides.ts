/** The two sides of a call: connects the avatar with the person or the agent in its room. */
import {
  DisconnectReason,
  type RemoteParticipant,
  type RemoteTrackPublication,
  type Room,
  RoomEvent,
  TrackKind,
} from "@livekit/rtc-node";
import type { EndReason } from "@realtime-avatar/domain/calls/end-reasons";
import { LIFECYCLE_TOPIC, readPageMessage } from "@realtime-avatar/domain/calls/lifecycle";
import { PERSON_IDENTITY, sessionOfRoom } from "@realtime-avatar/domain/calls/room";
import type { AssignedCall } from "@realtime-avatar/domain/calls/worker-sync";
import {
  type CallConversation,
  type HeldConversation,
  holdConversation,
  type InRoom,
} from "../conversation/in-room.ts";
import { type EchoParts, holdEcho } from "../conversation/speaking/hold-echo.ts";
import { createNotice, type Notice } from "../recording/notice.ts";
import type { Recorder } from "../recording/recorder.ts";
import { FRAME_MS, type Rendering } from "../renderer/renderer.ts";
import type { AgentVoice } from "./agent-voice.ts";
import { listenTo, openFrames } from "./audio-in.ts";
import { LIMITS, watchFlood } from "./flood.ts";
import { createClockSender, sendMessage } from "./messages.ts";
import type { Presence } from "./presence.ts";
import type { Published } from "./publish.ts";

/** The avatar in the room. `voice`: the voice of the agent, if the call has an agent. */
export type JoinedAvatar = { rendering: Rendering; published: Published; voice: AgentVoice | null };

/** The other side of a call: the person whom the avatar hears, or the agent for which it speaks. */
export const otherSide = ({ agent_identity }: AssignedCall): "person" | "agent" =>
  agent_identity === null ? "person" : "agent";

/**
 * Whether the room belongs to the service. Only the service can name a room after a call before it starts. Such a room
 * has a page of the SDK. In other rooms, the avatar ignores messages, and sends only its picture and its sound.
 */
export const isOurs = ({ name = "" }: Room, { session_id }: AssignedCall): boolean =>
  sessionOfRoom(name) === session_id;

/** Plays the voice of the agent. No other participant is heard. `wasLost`: another process had the call before. */
const playAgent = ({ rendering, published, voice }: JoinedAvatar, times: Presence, wasLost: boolean): void => {
  voice?.play({ published, rendering, onActivity: () => times.otherWasActive(performance.now()) });
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
    // A rejoin replaces the first participant; its disconnect event arrives later.
    if (participant.identity !== identity || room.remoteParticipants.has(identity)) return;
    // LiveKit has already waited for 20 seconds when it drops a participant whose network was cut.
    const isTimeout = participant.disconnectReason === DisconnectReason.CONNECTION_TIMEOUT;
    times.otherLeft(performance.now(), isTimeout);
    onLeave();
  });
  room.on(RoomEvent.Reconnecting, () => times.connectionChanged(performance.now(), true));
  room.on(RoomEvent.Reconnected, () => times.connectionChanged(performance.now(), false));
  const isThere = room.remoteParticipants.has(identity);
  // The avatar was published for the agent. An agent that has left since is charged for it.
  if (isThere || isAgent) arrived();
  if (!isThere) times.otherLeft(performance.now());
};

/**
 * Calls `onVideo` when the person publishes a video track. The token allows only a microphone, but LiveKit trusts the
 * source that the client declares.
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
 * Sends nothing while the connection to the server of a brought room is lost. Media has a separate connection. The time
 * is charged only when the connection comes back.
 */
const pauseWhileLost = (room: Room, { pause, resume }: Published): void => {
  room.on(RoomEvent.Reconnecting, pause);
  room.on(RoomEvent.Reconnected, resume);
};

/** Handles requests from the person's page: gestures, and the end of the call. */
export const handlePageMessages = (
  room: Room,
  { times, gesture, onEnd }: { times: Presence; gesture: Rendering["gesture"]; onEnd: () => void },
): void => {
  room.on(RoomEvent.DataReceived, (data, participant, _kind, topic) => {
    if (participant?.identity !== PERSON_IDENTITY) return;
    times.otherWasActive(performance.now());
    const message = topic === LIFECYCLE_TOPIC ? readPageMessage(data) : null;
    if (message?.kind === "end") onEnd();
    if (message?.kind !== "action") return;
    const result = gesture(message.actionId);
    const accepted = result === "accepted";
    void sendMessage(room, { kind: "clip_ack", request_id: message.requestId, accepted, reason: result });
  });
};

export type SidesOptions = {
  isRestart: boolean;
  recorder: Recorder | null;
  conversation: CallConversation | null;
  echo: EchoParts;
  onArrival: () => void;
  onEnd: (why: EndReason) => void;
};

export type Sides = {
  /** Must be called often. */
  step(now: number): void;
  /** null in a call with an agent. */
  takeTurns: HeldConversation["takeTurns"] | null;
  stop(): void;
};

/**
 * Connects the avatar with the person: hearing and speaking. A recorded person is heard even when nothing else needs the
 * sound.
 */
const meetPerson = (
  room: Room,
  assigned: AssignedCall,
  joined: JoinedAvatar,
  times: Presence,
  { conversation, echo, recorder, notice, onEnd }: SidesOptions & { notice: Notice | null },
): HeldConversation => {
  let isListening = false;
  const listen: InRoom["listen"] = (onSound, frameMs) => {
    isListening = true;
    const hear = (pcm: Int16Array): void => {
      if (notice && !notice.isOver()) return;
      recorder?.hear(pcm);
      onSound(pcm);
    };
    listenTo(room, PERSON_IDENTITY, hear, openFrames(frameMs));
  };
  const inRoom: InRoom = { ...joined, published: notice?.published ?? joined.published, times, listen };
  const held =
    conversation && isOurs(room, assigned)
      ? holdConversation(room, assigned, inRoom, conversation, onEnd)
      : holdEcho(room, assigned, inRoom, echo);
  if (recorder && !isListening) listen(() => {}, FRAME_MS);
  return held;
};

/**
 * Connects the avatar with the person. In a recorded call by voice, no sound passes between them before the notice of
 * the recording. Each page that joins hears the notice, because another person can use it.
 */
const createMeeting = (
  room: Room,
  assigned: AssignedCall,
  joined: JoinedAvatar,
  times: Presence,
  options: SidesOptions,
): HeldConversation => {
  const { recorder, echo } = options;
  const isThere = room.remoteParticipants.has(PERSON_IDENTITY);
  const isTold = isThere && (recorder?.isRecording() || assigned.recording?.is_told === true);
  const notice =
    recorder !== null && assigned.mode === "voice"
      ? createNotice(room, assigned, joined.published, { ...echo, isTold })
      : null;
  const held = meetPerson(room, assigned, joined, times, { ...options, notice });
  if (notice === null) return held;
  held.personLeft();
  const tell = async (): Promise<void> => {
    recorder?.pause();
    // A page that replaces the first one joins before it leaves.
    held.personLeft();
    const outcome = await notice.say();
    if (outcome === "interrupted") return;
    if (outcome === "said") recorder?.begin();
    held.personCame();
  };
  return {
    ...held,
    personCame: () => void tell(),
    personLeft: () => {
      notice.interrupt();
      held.personLeft();
    },
    stop: () => {
      notice.interrupt();
      held.stop();
    },
  };
};

/** Connects the avatar with the other side. */
export const connectSides = (
  room: Room,
  assigned: AssignedCall,
  joined: JoinedAvatar,
  times: Presence,
  options: SidesOptions,
): Sides => {
  const { onArrival, onEnd, isRestart } = options;
  const { agent_identity, generation } = assigned;
  const isAgent = agent_identity !== null;
  const held = isAgent ? null : createMeeting(room, assigned, joined, times, options);
  if (isAgent) playAgent(joined, times, isRestart || generation > 1);
  const arrived = (): void => {
    held?.personCame();
    onArrival();
  };
  const left = (): void => {
    held?.personLeft();
    joined.voice?.forget();
  };
  watchOther(room, agent_identity ?? PERSON_IDENTITY, times, { onArrival: arrived, onLeave: left }, isAgent);
  const stop = (): void => held?.stop();
  if (isAgent) pauseWhileLost(room, joined.published);
  const checkFlood = watchFlood(room, LIMITS[otherSide(assigned)], () => onEnd("agent_ended"));
  const takeTurns = held?.takeTurns ?? null;
  if (!isOurs(room, assigned)) return { step: checkFlood, takeTurns, stop };
  handlePageMessages(room, { times, gesture: joined.rendering.gesture, onEnd: () => onEnd("user_ended") });
  refuseVideo(room, () => onEnd("agent_ended"));
  const tell = createClockSender(room, assigned, times);
  const step = (now: number): void => {
    tell(now);
    checkFlood(now);
  };
  return { step, takeTurns, stop };
};
