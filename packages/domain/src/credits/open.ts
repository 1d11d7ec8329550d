/** Opening a usage session. Amounts are in credit micros. */
import { type AvatarId, isId, newId, type RandomBytes, type SessionId } from "../id.ts";
import { notFound, Problem, validationFailed } from "../problem.ts";
import type { CreateUsageSession, OpenedSession } from "./schemas.ts";
import { presentSession, type SessionRecord } from "./session.ts";

/** The price of a second, and the time within which a session must be started. */
export type SessionTerms = { priceCreditMicrosPerSecond: number; startSeconds: number };

/** What a request asks to hold: as many seconds as fit, at most `maxSeconds`, at least `minSeconds`. */
export type PlannedSession = {
  id: SessionId;
  environment: SessionRecord["environment"];
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
 * The session that `request`, a valid `CreateUsageSession`, asks for. Throws the problem `validation_failed` when the least
 * time is longer than the longest, and `not_found` when `avatarId` is not the id of an avatar.
 */
export const plannedSession = (
  request: CreateUsageSession,
  { priceCreditMicrosPerSecond, startSeconds }: SessionTerms,
  { environment, now, random }: Pick<SessionRecord, "environment"> & { now: Date; random: RandomBytes },
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

/** What a session has to hold at least. */
export const requiredCreditMicros = ({ minSeconds, price }: Pick<PlannedSession, "minSeconds" | "price">): number =>
  minSeconds * price;

/** The API representation of a session that is about to be opened, without what only the write knows. */
export const presentOpened = (
  planned: PlannedSession,
  { id: apiKeyId }: { id: SessionRecord["apiKeyId"] },
): OpenedSession => {
  const {
    reservedCreditMicros: _,
    expiresAt: __,
    avatarName: ___,
    ...known
  } = presentSession({
    ...planned,
    apiKeyId,
    avatarName: null,
    status: "reserved",
    reserved: 0,
    used: 0,
    version: 1,
    startedAt: null,
    endedAt: null,
    expiresAt: planned.createdAt,
  });
  return known;
};

/**
 * What the caller and its tenant can still hold. `own`: under the spend cap of the key; `ancestors`: under the tightest of
 * its ancestors'. A cap counts for keys of its own environment; null means no cap.
 */
export type Headroom = { own: number | null; ancestors: number | null; account: number };

/** The problem of a session that does not fit; null when it fits. A spend cap is checked before the balance. */
export const refusalOf = (planned: PlannedSession, { own, ancestors, account }: Headroom): Problem | null => {
  const required = requiredCreditMicros(planned);
  // Ancestors first, as the write does: the keys of a lineage are checked in the order of their ids.
  if (ancestors !== null && ancestors < required) return spendLimitExceeded(planned, "ancestor");
  if (own !== null && own < required) return spendLimitExceeded(planned, "self");
  return account < required ? insufficientCredits(planned) : null;
};

/** The problem `spend_limit_exceeded`. It never says what an ancestor has spent or holds. */
export const spendLimitExceeded = (planned: PlannedSession, limitedBy: "self" | "ancestor"): Problem => {
  const whose = limitedBy === "self" ? "the calling key" : "an ancestor of the calling key";
  const extras = { limitedBy, requiredCreditMicros: requiredCreditMicros(planned), retryable: false };
  return new Problem("spend_limit_exceeded", `The spend cap of ${whose} leaves less than the session needs.`, extras);
};

/** The problem `insufficient_credits`. */
export const insufficientCredits = (planned: PlannedSession): Problem => {
  const extras = { requiredCreditMicros: requiredCreditMicros(planned), retryable: false };
  return new Problem("insufficient_credits", "The tenant has fewer credits available than the session needs.", extras);
};
