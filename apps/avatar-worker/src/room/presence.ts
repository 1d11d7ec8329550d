/**
 * The times of a call: when both sides are present, and when it must end. The other side is the person or, in a brought
 * room, the agent. Pure; times are in milliseconds.
 */

import type { EndReason } from "@realtime-avatar/domain/calls/end-reasons";
import { ENDING_SECONDS, FREE_GAP_SECONDS, FREE_GAPS } from "@realtime-avatar/domain/calls/limits";
import type { AssignedCall } from "@realtime-avatar/domain/calls/worker-sync";

/** How long before the end of its seconds a call ends, because leaving takes a moment. */
const MARGIN_MS = 200;
/** How long LiveKit waits for a participant whose network is cut, before it reports that the participant has left. */
const TIMEOUT_MS = 20_000;

/** Absences of the other side: their number, and their seconds that are not charged. */
export type Gaps = { gap_count: number; gap_seconds: number };

/** The limit of used seconds, and the reason of the end at that limit. */
export type Limits = Pick<AssignedCall, "max_seconds" | "limit">;

export type Presence = {
  /**
   * The moment from which seconds count. Seconds of earlier workers move it back, and absences without charge move it
   * forward. null before both sides were present.
   */
  startedAt(): number | null;
  /** Whether seconds count now. Seconds of an absence without charge do not count. */
  isCounting(now: number): boolean;
  gaps(now: number): Gaps;
  /** The used seconds, rounded up, at most `max_seconds`. */
  usedSeconds(now: number): number;
  otherArrived(now: number): void;
  /**
   * `isTimeout`: LiveKit has already waited for the other side. It does not come back then, except in another room of a
   * call that can be resumed.
   */
  otherLeft(now: number, isTimeout?: boolean): void;
  /** The call is in another room. The other side has as much time to come there as after a leave. */
  roomChanged(now: number): void;
  /**
   * The connection to the room is lost, or is restored. If the call ends while it is lost, the time of the loss does
   * not count.
   */
  connectionChanged(now: number, isLost: boolean): void;
  /** The other side has spoken or sent something. */
  otherWasActive(now: number): void;
  /** Whether to announce the end of the call, which is then certain. */
  endsSoon(now: number): boolean;
  /** In the last minute: the remaining seconds, and the reason of the end. null before. */
  timeLeft(now: number): { seconds: number; reason: AssignedCall["limit"] } | null;
  /** The seconds that the page shows as the end. A hold that can grow is shown as growing, until little is left. */
  shownSeconds(now: number): number;
  /** The call can continue until `max_seconds` are used. */
  grow(limits: Limits): void;
  /** Why the call must end now; null while it can continue. */
  endReason(now: number): EndReason | null;
};

/** Counts absences. A limited number of them, with a limited total length, is not charged. */
const createGaps = (resume: AssignedCall["resume"]) => {
  let count = resume?.gap_count ?? 0;
  let freeMs = (resume?.gap_seconds ?? 0) * 1000;
  let since: number | null = null;
  /** How much of the current absence is free of charge so far, in milliseconds. */
  const freeSince = (now: number): number =>
    since === null || count > FREE_GAPS ? 0 : Math.max(0, Math.min(now - since, FREE_GAP_SECONDS * 1000 - freeMs));
  return {
    begin: (now: number): void => {
      if (resume === undefined || since !== null) return;
      count++;
      since = now;
    },
    /** Ends the absence. Returns how much of it was free. */
    end: (now: number): number => {
      const free = freeSince(now);
      freeMs += free;
      since = null;
      return free;
    },
    freeSince,
    isFree: (now: number): boolean => since !== null && freeSince(now) >= now - since,
    total: (now: number): Gaps => ({ gap_count: count, gap_seconds: Math.ceil((freeMs + freeSince(now)) / 1000) }),
  };
};

/** `publishedAt`: when the avatar became visible and audible. */
export const createPresence = (
  { max_seconds, used_seconds, idle_seconds, away_seconds, limit, resume, growth }: AssignedCall,
  publishedAt: number,
): Presence => {
  let limits: Limits = { max_seconds, limit };
  let maxMs = max_seconds * 1000;
  const lostMs = away_seconds * 1000;
  const awayMs = (resume?.return_seconds ?? away_seconds) * 1000;
  const gaps = createGaps(resume);
  let startedAt: number | null = null;
  let activeAt = publishedAt;
  let isPresent = false;
  let lostAt: number | null = null;
  // The other side was present before, at an earlier worker.
  let leftAt: number | null = used_seconds > 0 ? publishedAt : null;

  const usedMs = (now: number): number => {
    if (startedAt === null) return used_seconds * 1000;
    const until = lostAt ?? now;
    return Math.min(maxMs, until - startedAt - gaps.freeSince(until));
  };
  const timeLeft: Presence["timeLeft"] = (now) => {
    const left = maxMs - usedMs(now);
    if (startedAt === null || left > Math.min(ENDING_SECONDS.warning * 1000, maxMs / 2)) return null;
    return { seconds: Math.max(0, Math.ceil(left / 1000)), reason: limits.limit };
  };
  const beginGap = (now: number): void => {
    isPresent = false;
    if (startedAt !== null) gaps.begin(now);
  };

  return {
    startedAt: () => startedAt,
    isCounting: (now) => startedAt !== null && !gaps.isFree(now),
    gaps: gaps.total,
    usedSeconds: (now) => Math.ceil(usedMs(now) / 1000),
    otherArrived: (now) => {
      isPresent = true;
      leftAt = null;
      activeAt = now;
      startedAt = startedAt === null ? now - used_seconds * 1000 : startedAt + gaps.end(now);
    },
    otherLeft: (now, isTimeout = false) => {
      if (!isPresent) return;
      beginGap(now);
      leftAt = isTimeout ? now - (resume ? TIMEOUT_MS : awayMs) : now;
    },
    roomChanged: (now) => {
      if (isPresent) beginGap(lostAt ?? now);
      else if (startedAt === null && used_seconds > 0) {
        // Only an earlier process has seen the other side. Its absence is charged like any other absence.
        startedAt = now - used_seconds * 1000;
        gaps.begin(now);
      }
      lostAt = null;
      leftAt = now;
    },
    connectionChanged: (now, isLost) => {
      lostAt = isLost ? (lostAt ?? now) : null;
    },
    otherWasActive: (now) => {
      activeAt = now;
    },
    endsSoon: (now) => startedAt !== null && usedMs(now) >= Math.max(maxMs - ENDING_SECONDS.certain * 1000, maxMs / 2),
    timeLeft,
    shownSeconds: (now) =>
      timeLeft(now) ? limits.max_seconds : Math.max(limits.max_seconds, growth?.longest_seconds ?? 0),
    grow: (next) => {
      limits = next;
      maxMs = next.max_seconds * 1000;
    },
    endReason: (now) => {
      if (startedAt !== null && usedMs(now) >= maxMs - MARGIN_MS) return limits.limit;
      if (leftAt !== null && now - leftAt >= awayMs) return "disconnected";
      if (lostAt !== null && now - lostAt >= lostMs) return "disconnected";
      return isPresent && now - activeAt >= idle_seconds * 1000 ? "idle" : null;
    },
  };
};
