/**
 * The keys that a key may see, change, rotate and revoke. A stolen key must not lead to access that outlives its own
 * revocation.
 */
import { managedEnvironments } from "../environment.ts";
import { type FieldError, notFound } from "../problem.ts";
import type { FieldErrorCode } from "../problems/field-error-codes.ts";
import { invalidTransition } from "../transitions.ts";
import type { ApiKeyRecord } from "./api-key.ts";
import { effectiveLimits, findExcesses, type Grant, type Grantor, refuseGrant, requestedLimits } from "./grant.ts";
import type { UpdateApiKey } from "./schemas.ts";
import { API_KEY_TRANSITIONS } from "./status.ts";

/**
 * Returns `target`, which was looked up in the tenant of `caller`, if the caller may see it. Otherwise throws the problem
 * `not_found`. Its text is the same for a key that does not exist and for a live key that a test key asks for.
 */
export const visibleApiKey = (caller: Grantor, target: ApiKeyRecord | null): ApiKeyRecord => {
  if (target && managedEnvironments(caller.environment).includes(target.environment)) return target;
  throw notFound();
};

const MANAGEMENT_REFUSED = "The calling key is not allowed to manage this key.";

/** A refusal because of the lineage of the key rather than one of its fields. */
const lineageRefusal = (code: FieldErrorCode, detail: string): FieldError => ({
  pointer: "#",
  code,
  detail,
  allowed: null,
});
const IS_ANCESTOR = lineageRefusal("is_ancestor", "This key is an ancestor of the calling key.");
const NOT_DESCENDANT = lineageRefusal("not_descendant", "Must be a descendant of the calling key.");

export const isSelf = (caller: Grantor, target: ApiKeyRecord): boolean => caller.id === target.id;

const isDescendant = (caller: Grantor, target: ApiKeyRecord): boolean =>
  caller.id === null || target.lineage.includes(caller.id);

/** The refusal of a `target` that is not a descendant of `caller`; an empty list for a descendant. */
const foreignRefusals = (caller: Grantor, target: ApiKeyRecord): FieldError[] => {
  if (isDescendant(caller, target)) return [];
  return [caller.lineage.includes(target.id) ? IS_ANCESTOR : NOT_DESCENDANT];
};

/** The key with its effective limits. */
const effectiveGrant = <Key extends Grantor>(key: Key): Key => ({ ...key, ...effectiveLimits(key) });

/**
 * Throws when `caller` may not narrow or revoke `target`. It may do so for its descendants, even if it was narrowed
 * after it created them, and for every key that it could create. Its ancestors are excluded, because otherwise a key
 * could revoke the keys of its owner.
 */
export const checkNarrowing = (caller: Grantor, target: ApiKeyRecord): void => {
  if (isDescendant(caller, target)) return;
  const refusals = findExcesses(caller, target);
  if (caller.lineage.includes(target.id)) refusals.push(IS_ANCESTOR);
  refuseGrant(MANAGEMENT_REFUSED, refusals);
};

/**
 * Throws when `caller` may not rotate `target`. It may rotate itself and its descendants, except a descendant that can
 * do more than itself. A stolen key that could rotate a sibling would get a secret that outlives its own revocation.
 * Effective limits are compared, because they decide what a key can do.
 */
export const checkRotation = (caller: Grantor, target: ApiKeyRecord): void => {
  const lineage = isSelf(caller, target) ? [] : foreignRefusals(caller, target);
  refuseGrant(MANAGEMENT_REFUSED, [...findExcesses(effectiveGrant(caller), effectiveGrant(target)), ...lineage]);
};

/** Whether `after` exceeds `before` in any field. */
export const isWider = (before: Grant, after: Grant): boolean => findExcesses(before, after).length > 0;

/**
 * Throws when `caller` may not widen `target`. It may widen only its descendants, up to its permissions. For a
 * limit that the request does not change, the effective limit is compared.
 */
export const checkWidening = (
  caller: Grantor,
  target: ApiKeyRecord,
  after: ApiKeyRecord,
  request: UpdateApiKey,
): void => {
  const requested = { ...after, ...requestedLimits(request, effectiveLimits(target)) };
  const refusals = findExcesses(effectiveGrant(caller), requested);
  // When a key widens itself, the refusals of the fields are enough.
  if (!isSelf(caller, target) || refusals.length === 0) refusals.push(...foreignRefusals(caller, target));
  refuseGrant("The key would be able to do more than the calling key.", refusals);
};

/** Throws the problem `invalid_transition` when the key is revoked or expired: such a key cannot be changed. */
export const checkActive = ({ status }: ApiKeyRecord): void => {
  if (status !== "active") throw invalidTransition(status, API_KEY_TRANSITIONS[status]);
};
