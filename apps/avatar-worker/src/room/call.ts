/** A call in a room of the service: the avatar hears the person, and the person sees and hears the avatar. */

import { DisconnectReason, Room, RoomEvent } from "@livekit/rtc-node";
import type { EndReason } from "@realtime-avatar/domain/calls/end-reasons";
import { asksToEnd, LIFECYCLE_TOPIC } from "@realtime-avatar/domain/calls/lifecycle";
import { PERSON_IDENTITY } from "@realtime-avatar/domain/calls/room";
import type { AssignedCall, ReportedCall } from "@realtime-avatar/domain/calls/worker-sync";
import { timeOfId } from "@realtime-avatar/domain/id";
import type { Logger } from "@realtime-avatar/runtime/log";
import type { Service } from "../fleet/service.ts";
import { createEcho } from "../renderer/echo.ts";
import { isLoud } from "../renderer/loudness.ts";
import type { Renderer, Rendering } from "../renderer/renderer.ts";
import type { CallTraces } from "../tracing.ts";
import { listenTo } from "./audio-in.ts";
import { watchFlood } from "./flood.ts";
import { joinRoom, leaveRoom } from "./join.ts";
import { sendLastMessage, tellSpeech, tellTimes } from "./messages.ts";
import { createPresence, type Presence } from "./presence.ts";
import { type Published, publishAvatar } from "./publish.ts";

/** How often the times of the call are checked. */
const TICK_MS = 100;

/** Is told what happens to calls, for metrics. */
export type CallWatcher = {
  /** Both sides were present so long after the start of the call. Not told of a call that another worker had before. */
  joined(milliseconds: number): void;
  ended(reason: EndReason, usedSeconds: number): void;
};

export type CallParts = {
  service: Service;
  renderer: Renderer;
  log: Logger;
  watcher: CallWatcher | null;
  traces: CallTraces | null;
  onChange: () => void;
};

export type Call = {
  report(): ReportedCall;
  /** Tells the person why, and leaves the room. */
  end(reason: EndReason): Promise<void>;
  /** Leaves the room without a word: of a call that is joining, once it has joined. */
  leave(): Promise<void>;
};

/** Publishes the avatar of a call in its room. `joining`: of the room. */
const enter = async (
  room: Room,
  assigned: AssignedCall,
  { service, renderer }: CallParts,
  joining: Promise<void>,
): Promise<{ rendering: Rendering; published: Published }> => {
  const opening = renderer.open(assigned, (file) => service.file(assigned.session_id, file));
  // It is awaited below. If joining fails first, its failure must not be unhandled.
  opening.catch(() => {});
  await joining;
  const rendering = await opening;
  return { rendering, published: await publishAvatar(room, assigned.mode === "avatar" ? rendering : null) };
};

/** Lets the avatar say what the person says. */
const converse = (
  room: Room,
  { mode, input }: AssignedCall,
  { rendering, published }: { rendering: Rendering; published: Published },
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
    if (isLoud(pcm)) times.personWasActive(performance.now());
    echo.hear(pcm);
  });
};

/** Follows the person: `onArrival` is called each time the person comes into the room, `onEnd` when the person asks for the end. */
const watchPerson = (
  room: Room,
  times: Presence,
  { onArrival, onEnd }: { onArrival: () => void; onEnd: () => void },
): void => {
  const arrived = (): void => {
    times.personArrived(performance.now());
    onArrival();
  };
  room.on(RoomEvent.ParticipantConnected, ({ identity }) => {
    if (identity === PERSON_IDENTITY) arrived();
  });
  room.on(RoomEvent.ParticipantDisconnected, ({ identity, disconnectReason }) => {
    // A person who joins a second time replaces the first, whose end is told later.
    if (identity !== PERSON_IDENTITY || room.remoteParticipants.has(identity)) return;
    // LiveKit has waited for 20 seconds already when it drops a participant whose network was cut.
    const hasWaited = disconnectReason === DisconnectReason.CONNECTION_TIMEOUT;
    times.personLeft(performance.now(), hasWaited);
  });
  room.on(RoomEvent.DataReceived, (data, participant, _kind, topic) => {
    if (participant?.identity !== PERSON_IDENTITY) return;
    times.personWasActive(performance.now());
    if (topic === LIFECYCLE_TOPIC && asksToEnd(data)) onEnd();
  });
  room.on(RoomEvent.Reconnecting, () => times.connectionChanged(performance.now(), true));
  room.on(RoomEvent.Reconnected, () => times.connectionChanged(performance.now(), false));
  if (room.remoteParticipants.has(PERSON_IDENTITY)) arrived();
};

/** Shows in metrics and traces that both sides are present. */
const observeJoin = (assigned: AssignedCall, { watcher, traces }: CallParts): void => {
  traces?.joined(assigned);
  if (assigned.generation === 1) watcher?.joined(Date.now() - timeOfId(assigned.session_id));
};

/** Starts a call. It ends by itself when the person is gone, when its seconds are over, or when it fails. */
export const startCall = (assigned: AssignedCall, parts: CallParts): Call => {
  const { session_id, generation, used_seconds } = assigned;
  const room = new Room();
  const log = parts.log.child({ session: session_id, generation });
  let state: ReportedCall["state"] = "joining";
  let reason: EndReason | null = null;
  let presence: Presence | null = null;
  let published: Published | null = null;
  let timer: NodeJS.Timeout | undefined;
  let usedAtEnd: number | null = null;
  let leaving: Promise<void> | null = null;
  const joining = joinRoom(room, assigned.url, assigned.token);

  const usedSeconds = (): number => usedAtEnd ?? presence?.usedSeconds(performance.now()) ?? used_seconds;
  const change = (next: ReportedCall["state"]): void => {
    if (state === next || state === "ended") return;
    state = next;
    log.info({ state, usedSeconds: usedSeconds(), ...(reason && { reason }) }, "the state of a call has changed");
    if (state === "started") observeJoin(assigned, parts);
    if (state === "ended" && reason) parts.watcher?.ended(reason, usedSeconds());
    parts.onChange();
  };

  const leave = (): Promise<void> => {
    usedAtEnd ??= usedSeconds();
    clearInterval(timer);
    if (!leaving) parts.traces?.left(assigned, reason ?? "left");
    // While it is still joining, there is nothing to leave.
    leaving ??= joining
      .catch(() => {})
      .then(() => leaveRoom(room))
      .then(() => published?.close());
    return leaving;
  };
  const end = async (why: EndReason): Promise<void> => {
    if (reason !== null || leaving) return;
    reason = why;
    usedAtEnd = usedSeconds();
    if (room.isConnected) await sendLastMessage(room, why);
    await leave();
    change("ended");
  };

  const run = async (): Promise<void> => {
    // Its room was deleted, or LiveKit is gone.
    room.on(RoomEvent.Disconnected, () => void end("disconnected"));
    const entered = await enter(room, assigned, parts, joining);
    published = entered.published;
    if (leaving) return published.close();
    const times = createPresence(assigned, performance.now());
    presence = times;
    change("joined");
    converse(room, assigned, entered, times);
    watchPerson(room, times, { onArrival: () => change("started"), onEnd: () => void end("user_ended") });
    watchFlood(room, () => void end("agent_ended"));
    const tell = tellTimes(room, assigned, times);
    timer = setInterval(() => {
      const now = performance.now();
      const why = times.endReason(now);
      if (why !== null) void end(why);
      else tell(now);
    }, TICK_MS);
  };
  run()
    .catch((error: unknown) => {
      log.warn({ cause: error instanceof Error ? error.message : "unknown" }, "a call has failed");
      void end("failed");
    })
    // The room cannot be left while it is being joined.
    .then(() => leaving?.then(() => leaveRoom(room)));

  return {
    report: () => {
      const why = state === "ended" && reason !== null ? { reason } : {};
      return { session_id, generation, state, used_seconds: usedSeconds(), ...why };
    },
    end,
    leave,
  };
};
