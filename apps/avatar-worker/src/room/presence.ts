/**
 * The times of a call: since when both sides are present, and when it has to end. The other side is the person, or the agent in a
 * room of its owner. Pure; times are in milliseconds.
 */

import type { EndReason } from "@realtime-avatar/domain/calls/end-reasons";
import { ENDING_SECONDS, FREE_GAP_SECONDS, FREE_GAPS } from "@realtime-avatar/domain/calls/limits";
import type { AssignedCall } from "@realtime-avatar/domain/calls/worker-sync";

/** The call ends so much earlier than its seconds, because leaving takes a moment. */
const MARGIN_MS = 200;
/** How long LiveKit has waited for a participant whose network was cut, when it tells that the participant is gone. */
const TIMEOUT_MS = 20_000;

/** Absences of the other side: how many there were, and how many seconds of them are not charged. */
export type Gaps = { gap_count: number; gap_seconds: number };

/** Until how many seconds are used the call can go on, and why it ends then. */
export type Limits = Pick<AssignedCall, "max_seconds" | "limit">;

export type Presence = {
  /**
   * Moment from which seconds count: those of earlier workers are before it, and it is later by each absence that was not charged. null
   * before both sides were present.
   */
  startedAt(): number | null;
  /** Whether seconds count now. Not in an absence that is not charged. */
  isCounting(now: number): boolean;
  gaps(now: number): Gaps;
  /** In whole seconds, rounded up, at most `max_seconds`. */
  usedSeconds(now: number): number;
  otherArrived(now: number): void;
  /** `isTimeout`: LiveKit has waited for it already. Where it cannot come back to another room, it does not come back. */
  otherLeft(now: number, isTimeout?: boolean): void;
  /** The call is in another room. The other side has as long to come there as if it had just left. */
  roomChanged(now: number): void;
  /** The connection to the room is lost, or is back. What ends while it is lost does not count the time since. */
  connectionChanged(now: number, isLost: boolean): void;
  /** The other side has spoken or sent something. */
  otherWasActive(now: number): void;
  /** Whether to tell that the call ends soon, which is certain then. */
  endsSoon(now: number): boolean;
  /** In the last minute: for how many seconds the call can go on, and why it ends then. null before. */
  timeLeft(now: number): { seconds: number; reason: AssignedCall["limit"] } | null;
  /** When the call ends as far as the page is to know: its hold grows, unless it has not when little is left. */
  shownSeconds(now: number): number;
  /** The call can go on until `max_seconds` are used. */
  grow(limits: Limits): void;
  /** Why the call has to end now; null while it can go on. */
  endReason(now: number): EndReason | null;
};

/** Counts absences. A number of them, of some length together, is free. */
const createGaps = (resume: AssignedCall["resume"]) => {
  let count = resume?.gap_count ?? 0;
  let freeMs = (resume?.gap_seconds ?? 0) * 1000;
  let since: number | null = null;
  /** How much of the absence so far is free, in milliseconds. */
  const freeSince = (now: number): number =>
    since === null || count > FREE_GAPS ? 0 : Math.max(0, Math.min(now - since, FREE_GAP_SECONDS * 1000 - freeMs));
  return {
    begin: (now: number): void => {
      if (resume === undefined || since !== null) return;
      count++;
      since = now;
    },
    /** Returns how much of it was free. */
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

/** `publishedAt`: the avatar can be seen and heard from now on. */
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
  // The other side was there before, with an earlier worker.
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
