/**
 * The times of a call: since when both sides are present, and when it has to end. The other side is the person, or the agent in a
 * room of its owner. Pure; times are in milliseconds.
 */

import type { EndReason } from "@realtime-avatar/domain/calls/end-reasons";
import type { AssignedCall } from "@realtime-avatar/domain/calls/worker-sync";

/** The call ends so much earlier than its seconds, because leaving takes a moment. */
const MARGIN_MS = 200;
/** How long before the end of its seconds the other side is told. */
const ENDING_MS = 12_000;

export type Presence = {
  /** Moment from which seconds count; those of earlier workers are before it. null before both sides were present. */
  startedAt(): number | null;
  /** In whole seconds, rounded up, at most `max_seconds`. */
  usedSeconds(now: number): number;
  otherArrived(now: number): void;
  /** `isForGood`: the other side does not come back. */
  otherLeft(now: number, isForGood?: boolean): void;
  /** The connection to the room is lost, or is back. What ends while it is lost does not count the time since. */
  connectionChanged(now: number, isLost: boolean): void;
  /** The other side has spoken or sent something. */
  otherWasActive(now: number): void;
  /** Whether to tell that the call ends soon. */
  endsSoon(now: number): boolean;
  /** Why the call has to end now; null while it can go on. */
  endReason(now: number): EndReason | null;
};

/** `publishedAt`: the avatar can be seen and heard from now on. */
export const createPresence = (
  { max_seconds, used_seconds, idle_seconds, away_seconds, limit }: AssignedCall,
  publishedAt: number,
): Presence => {
  const maxMs = max_seconds * 1000;
  const awayMs = away_seconds * 1000;
  let startedAt: number | null = null;
  let activeAt = publishedAt;
  let isPresent = false;
  let lostAt: number | null = null;
  // The other side was there before, with an earlier worker.
  let leftAt: number | null = used_seconds > 0 ? publishedAt : null;

  const usedMs = (now: number): number =>
    startedAt === null ? used_seconds * 1000 : Math.min(maxMs, (lostAt ?? now) - startedAt);

  return {
    startedAt: () => startedAt,
    usedSeconds: (now) => Math.ceil(usedMs(now) / 1000),
    otherArrived: (now) => {
      isPresent = true;
      leftAt = null;
      activeAt = now;
      startedAt ??= now - used_seconds * 1000;
    },
    otherLeft: (now, isForGood = false) => {
      if (!isPresent) return;
      isPresent = false;
      leftAt = isForGood ? now - awayMs : now;
    },
    connectionChanged: (now, isLost) => {
      lostAt = isLost ? (lostAt ?? now) : null;
    },
    otherWasActive: (now) => {
      activeAt = now;
    },
    endsSoon: (now) => startedAt !== null && usedMs(now) >= Math.max(maxMs - ENDING_MS, maxMs / 2),
    endReason: (now) => {
      if (startedAt !== null && usedMs(now) >= maxMs - MARGIN_MS) return limit;
      for (const since of [leftAt, lostAt]) if (since !== null && now - since >= awayMs) return "disconnected";
      return isPresent && now - activeAt >= idle_seconds * 1000 ? "idle" : null;
    },
  };
};
