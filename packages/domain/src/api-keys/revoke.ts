/** Revocation of API keys. */
import { checkVersion, type MatchesVersion } from "../transitions.ts";
import type { ApiKeyRecord } from "./api-key.ts";
import type { Grantor } from "./grant.ts";
import { checkNarrowing, visibleApiKey } from "./reach.ts";

/**
 * Returns the key `stored` if `caller` may revoke it, whatever its status: revoking an inactive key has no effect.
 * Throws the problems `not_found`, `grant_exceeds_caller` and `precondition_failed`, checked in this order.
 */
export const revocableApiKey = (
  stored: ApiKeyRecord | null,
  caller: Grantor,
  matches: MatchesVersion,
): ApiKeyRecord => {
  const target = visibleApiKey(caller, stored);
  checkNarrowing(caller, target);
  checkVersion(target, matches);
  return target;
};
