/** The avatar's messages to pages of the published SDK during a call. */

import { setTimeout as pause } from "node:timers/promises";
import type { Room } from "@livekit/rtc-node";
import type { EndReason } from "@realtime-avatar/domain/calls/end-reasons";
import {
  avatarAttributes,
  encodeLifecycle,
  LIFECYCLE_TOPIC,
  type LifecycleMessage,
} from "@realtime-avatar/domain/calls/lifecycle";
import type { CallMode } from "@realtime-avatar/domain/calls/schemas";
import type { AssignedCall } from "@realtime-avatar/domain/calls/worker-sync";
import { withTimeout } from "./join.ts";
import type { Presence } from "./presence.ts";

/** Timeout of a message. The last one is sent before the avatar leaves. */
const SEND_MS = 2000;
/** How long the last message has to reach LiveKit. It is not charged. */
const LAST_MESSAGE_MS = 200;
/** Interval of the clock message. It repeats, because a page that has just joined misses earlier messages. */
const CLOCK_MS = 5000;
/** How long the avatar counts as speaking after its last sound. */
const SPEAKING_MS = 600;

/** Sends a message to all participants of the room. Drops it if sending fails. */
export const sendMessage = async ({ localParticipant }: Room, message: LifecycleMessage): Promise<void> => {
  const sending = localParticipant?.publishData(encodeLifecycle(message), { reliable: true, topic: LIFECYCLE_TOPIC });
  await withTimeout(SEND_MS, sending ?? Promise.resolve()).catch(() => {});
};

/**
 * Sends the reason of the end. LiveKit learns on another connection that the avatar leaves, and drops later messages.
 */
export const sendLastMessage = async (room: Room, reason: EndReason): Promise<void> => {
  await sendMessage(room, { kind: "ended", reason });
  await pause(LAST_MESSAGE_MS);
};

/**
 * Returns a function that must be called often. It sends the start of the call, the remaining time in the last minute,
 * and the warning before the end. Each is repeated with every clock message.
 */
export const createClockSender = (room: Room, { idle_seconds }: AssignedCall, times: Presence) => {
  let clockSentAt = -CLOCK_MS;
  let hasTold = false;
  let hasWarned = false;
  return (now: number): void => {
    const startedAt = times.startedAt();
    if (startedAt === null) return;
    const left = times.timeLeft(now);
    // A change is sent at once.
    const isDue = now - clockSentAt >= CLOCK_MS || (left !== null) !== hasWarned;
    if (isDue) {
      clockSentAt = now;
      void sendMessage(room, {
        kind: "session_clock",
        started_at_unix_ms: Math.round(Date.now() - (now - startedAt)),
        max_session_seconds: times.shownSeconds(now),
        idle_timeout_seconds: idle_seconds,
      });
    }
    if (isDue && left !== null) void sendMessage(room, { kind: "time_left", ...left });
    if (left === null && hasWarned) void sendMessage(room, { kind: "time_left", seconds: null, reason: null });
    hasWarned = left !== null;
    const endsSoon = times.endsSoon(now);
    if (!endsSoon || (hasTold && !isDue)) {
      hasTold = endsSoon;
      return;
    }
    hasTold = true;
    void sendMessage(room, { kind: "ending", reason: "session_cap" });
  };
};

/**
 * Returns a function that must be called for each frame of the avatar's voice, with its loudness. It publishes whether
 * the avatar speaks.
 */
export const createSpeakingPublisher = ({ localParticipant }: Room, mode: CallMode) => {
  let speaksUntil = 0;
  let isSpeaking = false;
  return (isLoud: boolean): void => {
    const now = performance.now();
    if (isLoud) speaksUntil = now + SPEAKING_MS;
    if (isSpeaking === now < speaksUntil) return;
    isSpeaking = !isSpeaking;
    localParticipant?.setAttributes(avatarAttributes(mode, isSpeaking ? "speaking" : "listening")).catch(() => {});
  };
};
