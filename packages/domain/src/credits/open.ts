/** Opening a usage session. Amounts are in credit micros. */
import { type ApiKeyId, type AvatarId, isId, newId, type RandomBytes, type SessionId } from "../id.ts";
import { notFound, Problem, validationFailed } from "../problem.ts";
import type { SESSION_LIMITED_BY } from "../problems/extras.ts";
import type { CreateUsageSession, OpenedSession, UsageSession } from "./schemas.ts";

/** The price of a second, and the time within which a session must be started. */
export type SessionTerms = { priceCreditMicrosPerSecond: number; startSeconds: number };

/** The requested hold: as many seconds as fit, at most `maxSeconds`, at least `minSeconds`. */
export type PlannedSession = {
  id: SessionId;
  environment: UsageSession["environment"];
  avatarId: AvatarId | null;
  maxSeconds: number;
  minSeconds: number;
  /** For each second. */
  price: number;
  startSeconds: number;
  metadata: Record<string, string>;
  createdAt: Date;
};

/**
 * The session that `request`, a valid `CreateUsageSession`, asks for. Throws the problem `validation_failed` when the
 * minimum time is longer than the maximum, and `not_found` when `avatarId` is not the id of an avatar.
 */
export const plannedSession = (
  request: CreateUsageSession,
  { priceCreditMicrosPerSecond, startSeconds }: SessionTerms,
  { environment, now, random }: Pick<UsageSession, "environment"> & { now: Date; random: RandomBytes },
): PlannedSession => {
  const { maxSessionSeconds, minSessionSeconds = maxSessionSeconds, avatarId = null, metadata = {} } = request;
  if (minSessionSeconds > maxSessionSeconds) {
    const detail = "Must be at most `maxSessionSeconds`.";
    throw validationFailed([{ pointer: "#/minSessionSeconds", code: "out_of_range", detail }]);
  }
  if (avatarId !== null && !isId("ava", avatarId)) throw notFound();
  return {
    id: newId("ses", now, random),
    environment,
    avatarId,
    maxSeconds: maxSessionSeconds,
    minSeconds: minSessionSeconds,
    price: priceCreditMicrosPerSecond,
    startSeconds,
    metadata,
    createdAt: now,
  };
};

/** The minimum hold of a session: a number of seconds, and the price of each. */
export type Hold = Pick<PlannedSession, "minSeconds" | "price">;

/** The minimal hold of a session. */
export const requiredCreditMicros = ({ minSeconds, price }: Hold): number => minSeconds * price;

/** The API representation of a session that is about to be opened, without the fields that only the write knows. */
export const presentOpened = (
  { id, avatarId, environment, price, metadata, createdAt }: PlannedSession,
  { id: apiKeyId }: { id: ApiKeyId },
): OpenedSession => ({
  sessionId: id,
  environment,
  apiKeyId,
  avatarId,
  videoId: null,
  status: "reserved",
  startedAt: null,
  endedAt: null,
  activeSeconds: null,
  billedCreditMicros: null,
  usedCreditMicros: 0,
  priceCreditMicrosPerSecond: price,
  metadata,
  createdAt: createdAt.toISOString(),
  mustEnd: false,
  reportedBy: null,
  closedBy: null,
  endReason: null,
  releaseReason: null,
});

/**
 * The credits that the caller and its tenant can still hold. `own`: under the spend cap of the key. `ancestors`: under
 * the tightest cap of its ancestors. A cap counts for keys of the same environment; null means no cap. `reachedLimits`:
 * each limit of open sessions that is reached.
 */
export type Headroom = {
  own: number | null;
  ancestors: number | null;
  account: number;
  reachedLimits: Record<SessionLimitedBy, number | null>;
};

/**
 * The owner of the limit of open sessions that refuses a session: the calling key, one of its ancestors, or the tenant.
 */
export type SessionLimitedBy = (typeof SESSION_LIMITED_BY)[number];

/** A limit of open sessions that refuses a session, and its owner. */
export type ReachedLimit = { limitedBy: SessionLimitedBy; limit: number };

/** The reached limit, ancestors first as in `refuseHold`; null when no limit is reached. */
export const findReachedLimit = ({ reachedLimits }: Headroom): ReachedLimit | null => {
  for (const limitedBy of ["ancestor", "self", "tenant"] as const) {
    const limit = reachedLimits[limitedBy];
    if (limit !== null) return { limitedBy, limit };
  }
  return null;
};

/**
 * The problem of a session that cannot fit according to the look-up of its caller; null when it may fit. This keeps
 * refusals cheap, and admits nothing: `admit_sessions.sql` decides under the locks. A spend cap is checked before the
 * balance.
 */
export const refuseHold = (planned: Hold, { own, ancestors, account }: Headroom): Problem | null => {
  const required = requiredCreditMicros(planned);
  // Ancestors first, like the write, which checks the keys of a lineage in the order of their ids.
  if (ancestors !== null && ancestors < required) return spendLimitExceeded(planned, "ancestor");
  if (own !== null && own < required) return spendLimitExceeded(planned, "self");
  return account < required ? insufficientCredits(planned) : null;
};

/** The problem `spend_limit_exceeded`. It never says what an ancestor has spent or holds. */
export const spendLimitExceeded = (planned: Hold, limitedBy: "self" | "ancestor"): Problem => {
  const whose = limitedBy === "self" ? "the calling key" : "an ancestor of the calling key";
  const extras = { limitedBy, requiredCreditMicros: requiredCreditMicros(planned), retryable: false };
  return new Problem("spend_limit_exceeded", `The spend cap of ${whose} leaves less than the session needs.`, extras);
};

/** The problem `insufficient_credits`. */
export const insufficientCredits = (planned: Hold): Problem => {
  const extras = { requiredCreditMicros: requiredCreditMicros(planned), retryable: false };
  return new Problem("insufficient_credits", "The tenant has fewer credits available than the session needs.", extras);
};

/**
 * The counts of a key and its descendants: started sessions, sessions that are not yet started, and starts of calls
 * that wait for a slot.
 */
export type OpenSessionCounts = { activeSessions: number; connectingSessions: number; pendingSessions: number };

const OWNER_OF_LIMIT = {
  self: "The calling key has",
  ancestor: "An ancestor of the calling key has",
  tenant: "The tenant has",
} as const satisfies Record<SessionLimitedBy, string>;

/**
 * The problem `concurrency_limit_reached`. A key learns the number of open sessions only for its own limit: `counts` is null
 * for the limit of an ancestor or of the tenant.
 */
export const concurrencyLimitReached = (
  { limitedBy, limit }: ReachedLimit,
  counts: OpenSessionCounts | null,
): Problem => {
  const live = counts && {
    liveSessions: counts.activeSessions + counts.connectingSessions,
    ...counts,
  };
  return new Problem("concurrency_limit_reached", `${OWNER_OF_LIMIT[limitedBy]} the maximum number of open sessions.`, {
    limitedBy,
    maxConcurrentSessions: limit,
    ...live,
    retryable: true,
  });
};
