/** The permissions of a key, and the grants that it may make to the keys it creates. */
import { parseDateTime } from "../date-time.ts";
import type { Environment } from "../environment.ts";
import type { ApiKeyId } from "../id.ts";
import { type FieldError, Problem, validationFailed } from "../problem.ts";
import type { CreateApiKey, UpdateApiKey } from "./schemas.ts";
import { DEFAULT_SCOPES, permits, type Scope } from "./scope.ts";

/** Maximum number of ancestors of a key. */
export const MAX_LINEAGE = 8;

/** The limits of a key that also apply to its descendants. */
export type Limits = {
  /** Hard cap in credit micros; `null` means no cap. */
  spendLimitCreditMicros: number | null;
  /** Maximum number of open sessions; `null` means no limit. */
  maxConcurrentSessions: number | null;
  /** `null` means never. */
  expiresAt: Date | null;
};

/** The permissions of a key, which are also the upper bound of its grants. */
export type Grant = Limits & {
  environment: Environment;
  /** 1 to 16 scopes without duplicates. */
  scopes: readonly Scope[];
};

/** A key that creates or manages other keys: its grant, its id and its ancestors. */
export type Grantor = Grant & {
  /** `null` for the operator. */
  id: ApiKeyId | null;
  /** Ids of its ancestors, the root first. */
  lineage: readonly ApiKeyId[];
  /** The tightest limits of its ancestors. Except for the expiry, only ancestors in the same environment count. */
  inheritedLimits: Limits;
};

const NO_LIMITS: Limits = { spendLimitCreditMicros: null, maxConcurrentSessions: null, expiresAt: null };

/** The lower of two limits; null means no limit. */
const tighter = <Limit extends number | Date>(a: Limit | null, b: Limit | null): Limit | null =>
  a === null || (b !== null && b < a) ? b : a;

/** Whether `value` is above `limit`; null means no limit. */
const isAbove = <Limit extends number | Date>(value: Limit | null, limit: Limit | null): boolean =>
  limit !== null && (value === null || value > limit);

/** The limits that apply to a key: for each, the tightest of the key and its ancestors. */
export const effectiveLimits = ({
  spendLimitCreditMicros,
  maxConcurrentSessions,
  expiresAt,
  inheritedLimits,
}: Limits & Pick<Grantor, "inheritedLimits">): Limits => ({
  spendLimitCreditMicros: tighter(spendLimitCreditMicros, inheritedLimits.spendLimitCreditMicros),
  maxConcurrentSessions: tighter(maxConcurrentSessions, inheritedLimits.maxConcurrentSessions),
  expiresAt: tighter(expiresAt, inheritedLimits.expiresAt),
});

/** `inheritedLimits` of a key that `creator` creates in `environment`. */
export const limitsInherited = (creator: Grantor, environment: Environment): Limits => {
  const effective = effectiveLimits(creator);
  return environment === creator.environment ? effective : { ...NO_LIMITS, expiresAt: effective.expiresAt };
};

/** The operator of the service: may grant anything, and is not an ancestor of any key. */
export const OPERATOR: Grantor = {
  id: null,
  environment: "live",
  scopes: ["*", "usage:write"],
  ...NO_LIMITS,
  lineage: [],
  inheritedLimits: NO_LIMITS,
};

/**
 * The grant of a person to keys: `*`, without `usage:write`, in the environment of the request. Such a key has no
 * ancestors.
 */
export const personGrantor = (environment: Environment): Grantor => ({ ...OPERATOR, environment, scopes: ["*"] });

/** Parses the `expiresAt` of a validated request. */
export const parseExpiry = (text: string | null): Date | null => (text === null ? null : parseDateTime(text));

/**
 * Compares `grant` with the permissions of `caller`: scopes, environment, spend cap, open sessions and expiry. Returns
 * one refusal for each field that exceeds the caller, with the allowed values; an empty list when no field does.
 */
export const findExcesses = (caller: Grant, grant: Grant): FieldError[] => {
  const refusals: FieldError[] = [];
  const refuse = (field: string, detail: string, allowed: unknown): void => {
    refusals.push({ pointer: `#/${field}`, code: "exceeds_caller", detail, allowed });
  };
  if (!grant.scopes.every((scope) => permits(caller.scopes, scope))) {
    const detail = "The calling key must hold each scope. If omitted, the default scopes are requested.";
    refuse("scopes", detail, caller.scopes);
  }
  if (grant.environment === "live" && caller.environment !== "live") {
    refuse("environment", "A test key can create only test keys.", ["test"]);
  }
  if (isAbove(grant.spendLimitCreditMicros, caller.spendLimitCreditMicros)) {
    const maximum = caller.spendLimitCreditMicros;
    refuse("spendLimitCreditMicros", "Must be at most the spend cap of the calling key.", { maximum });
  }
  if (isAbove(grant.maxConcurrentSessions, caller.maxConcurrentSessions)) {
    const maximum = caller.maxConcurrentSessions;
    refuse("maxConcurrentSessions", "Must be at most the limit of the calling key.", { maximum });
  }
  if (isAbove(grant.expiresAt, caller.expiresAt)) {
    const latest = caller.expiresAt?.toISOString();
    refuse("expiresAt", "Must be no later than the expiry of the calling key.", { latest });
  }
  return refusals;
};

/** The limits of a valid request. Omitted limits are those of `defaults`. */
export const requestedLimits = (
  { spendLimitCreditMicros, maxConcurrentSessions, expiresAt }: Pick<UpdateApiKey, keyof Limits>,
  defaults: Limits,
): Limits => ({
  spendLimitCreditMicros:
    spendLimitCreditMicros === undefined ? defaults.spendLimitCreditMicros : spendLimitCreditMicros,
  maxConcurrentSessions: maxConcurrentSessions === undefined ? defaults.maxConcurrentSessions : maxConcurrentSessions,
  expiresAt: expiresAt === undefined ? defaults.expiresAt : parseExpiry(expiresAt),
});

/**
 * The grant of a key that `caller` creates with `request`, or every reason to refuse it. A key never creates a key that can
 * do more than itself: scopes, environment, expiry and the other limits are compared. Defaults for omitted fields: the default
 * scopes, `test`, and the limits of the caller.
 *
 * `request` must be a valid `CreateApiKey`. This function has no clock, so its caller checks that the expiry is in the
 * future.
 */
export const attenuate = (
  caller: Grant & Pick<Grantor, "lineage">,
  request: Omit<CreateApiKey, "name">,
): { grant: Grant } | { refusals: FieldError[] } => {
  const { environment = "test", scopes = DEFAULT_SCOPES } = request;
  const grant: Grant = { environment, scopes: [...new Set(scopes)], ...requestedLimits(request, caller) };
  const refusals = findExcesses(caller, grant);
  if (caller.lineage.length >= MAX_LINEAGE) {
    const detail = `A key can have at most ${MAX_LINEAGE} ancestors, so the calling key cannot create keys.`;
    refusals.push({ pointer: "#", code: "lineage_too_deep", detail, allowed: null });
  }
  return refusals.length > 0 ? { refusals } : { grant };
};

/** Throws the problem `grant_exceeds_caller` with `refusals`, unless the list is empty. */
export const refuseGrant = (detail: string, refusals: readonly FieldError[]): void => {
  if (refusals.length > 0) throw new Problem("grant_exceeds_caller", detail, { errors: refusals });
};

/** Throws the problem `validation_failed` when `expiresAt` is not after `checkedAt`. */
export const checkFuture = (expiresAt: string | null | undefined, checkedAt: Date): void => {
  const expiry = parseExpiry(expiresAt ?? null);
  if (expiry && expiry.getTime() <= checkedAt.getTime()) {
    throw validationFailed([{ pointer: "#/expiresAt", code: "not_in_future", detail: "Must be in the future." }]);
  }
};
