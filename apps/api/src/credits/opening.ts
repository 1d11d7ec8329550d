/** The limits that refuse the opening of a session and the start of a call. */

import type { Origin } from "@realtime-avatar/db/audit/audit-events";
import type { Caller } from "@realtime-avatar/db/callers/callers";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { countOpenSessions } from "@realtime-avatar/db/credits/list-usage-sessions";
import type { OpenOutcome } from "@realtime-avatar/db/credits/usage-sessions";
import type { AvatarStatus } from "@realtime-avatar/domain/avatars/status";
import {
  concurrencyLimitReached,
  findReachedLimit,
  type Hold,
  insufficientCredits,
  type PlannedSession,
  type ReachedLimit,
  refuseHold,
  spendLimitExceeded,
} from "@realtime-avatar/domain/credits/open";
import { notFound, Problem } from "@realtime-avatar/domain/problem";
import type { Metrics, SessionLimit } from "@realtime-avatar/runtime/metrics";
import type { SweepOverdue } from "./overdue-sessions.ts";

/** The problems of an operation that holds credits for an avatar. */
export const OPENING_PROBLEMS = [
  "spend_limit_exceeded",
  "insufficient_credits",
  "not_found",
  "avatar_not_ready",
  "concurrency_limit_reached",
] as const;

/**
 * The problem of a reached limit of open sessions. It tells a key the number of open sessions only if the limit is its
 * own.
 */
const sessionLimitReached = async (db: Db, caller: Caller, reached: ReachedLimit): Promise<Problem> =>
  concurrencyLimitReached(reached, reached.limitedBy === "self" ? await countOpenSessions(db, caller) : null);

/** Throws the problem of a session that cannot fit, according to the look-up of its caller. */
export const checkHeadroom = async (db: Db, planned: PlannedSession, caller: Caller): Promise<void> => {
  const { headroom } = caller;
  // Overdue sessions hold credits. The write closes them before it refuses the session.
  if (!headroom || headroom.hasOverdue) return;
  const reached = findReachedLimit(headroom);
  if (reached) throw await sessionLimitReached(db, caller, reached);
  const refusal = refuseHold(planned, headroom);
  // The write then refuses it, and announces it at most once an hour.
  if (refusal?.code === "insufficient_credits" && headroom.announcesExhaustion) return;
  if (refusal) throw refusal;
};

/** Outcomes for which a session is tried again after overdue sessions are closed. */
const LIMITS: readonly string[] = ["spend_limit_exceeded", "insufficient_credits", "concurrency_limit_reached"];

/** Opens a session. If a limit refuses it while the tenant has overdue sessions, closes them and tries once more. */
export const openWithinLimits = async <Outcome extends { kind: string }>(
  open: () => Promise<Outcome>,
  { db, caller, origin, sweepOverdue }: { db: Db; caller: Caller; origin: Origin; sweepOverdue: SweepOverdue },
): Promise<Outcome> => {
  const since = performance.now();
  const outcome = await open();
  if (!LIMITS.includes(outcome.kind) || !caller.headroom?.hasOverdue) return outcome;
  return (await sweepOverdue(db, caller.tenantId, origin, since)) ? open() : outcome;
};

/** The outcomes that refuse a session. */
export type OpeningRefusal = Exclude<OpenOutcome, { kind: "written" | "replayed" | "stale" }>;

/** The step that makes an avatar of this status ready for a call. */
const UNTIL_READY: Partial<Record<AvatarStatus, string>> = {
  draft: "Set its `sourceAssetId`, and wait until it is `ready`.",
  preprocessing: "Wait until it is `ready`.",
  failed: "Its `error` has the reason. Set another `sourceAssetId`.",
  disabled: "Set its `status` to `ready`.",
};

/** The problem of a call with an avatar of this status. */
export const avatarNotReady = (status: AvatarStatus): Problem =>
  new Problem("avatar_not_ready", `The status of the avatar is \`${status}\`. ${UNTIL_READY[status] ?? ""}`.trim());

/** The problem of an opening that was refused. */
export const openingRefused = async (
  outcome: OpeningRefusal,
  planned: Hold,
  db: Db,
  caller: Caller,
): Promise<Problem> => {
  switch (outcome.kind) {
    case "avatar_not_found":
      return notFound();
    case "avatar_not_ready":
      return avatarNotReady(outcome.avatarStatus);
    case "spend_limit_exceeded":
      return spendLimitExceeded(planned, outcome.limitedBy);
    case "insufficient_credits":
      return insufficientCredits(planned);
    case "concurrency_limit_reached":
      return sessionLimitReached(db, caller, outcome);
  }
};

/** The limit that has refused a session, for metrics; null for other errors. */
const limitOf = (error: unknown): SessionLimit | null => {
  if (!(error instanceof Problem)) return null;
  const { code, status, extras } = error;
  if (code === "concurrency_limit_reached") return "sessions";
  if (status !== 402) return null;
  return extras.limitedBy === "self" || extras.limitedBy === "ancestor" ? extras.limitedBy : "balance";
};

/**
 * Counts a refusal by a limit, and rethrows it. Called last, because a refused request can still get a stored response.
 */
export const countRefusal =
  (metrics: Pick<Metrics, "sessionRefused"> | null) =>
  (error: unknown): never => {
    const limit = limitOf(error);
    if (limit !== null) metrics?.sessionRefused(limit);
    throw error;
  };
