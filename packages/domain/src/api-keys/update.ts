/** Changes of API keys. */
import { checkVersion, type MatchesVersion } from "../transitions.ts";
import { type ApiKeyRecord, presentApiKey } from "./api-key.ts";
import { checkFuture, type Grantor, requestedLimits } from "./grant.ts";
import { checkActive, checkNarrowing, checkWidening, isWider, visibleApiKey } from "./reach.ts";
import { UpdateApiKey } from "./schemas.ts";

/**
 * Applies `request`, a valid `UpdateApiKey`, to the key `stored`. Returns the key before and after, and the names of the
 * changed fields. See `checkWidening` and `checkNarrowing` for the changes that `caller` may make. Throws the problems
 * `validation_failed`, `not_found`, `grant_exceeds_caller`, `precondition_failed` and `invalid_transition`, checked in this
 * order.
 */
export const updatedApiKey = (
  stored: ApiKeyRecord | null,
  request: UpdateApiKey,
  caller: Grantor,
  { checkedAt, matches }: { checkedAt: Date; matches: MatchesVersion },
): { target: ApiKeyRecord; record: ApiKeyRecord; changedFields: string[] } => {
  checkFuture(request.expiresAt, checkedAt);
  const target = visibleApiKey(caller, stored);
  const { name = target.name, scopes = target.scopes } = request;
  const record: ApiKeyRecord = {
    ...target,
    name,
    scopes: [...new Set(scopes)],
    ...requestedLimits(request, target),
    version: target.version + 1,
  };
  if (isWider(target, record)) checkWidening(caller, target, record, request);
  else checkNarrowing(caller, target);
  checkVersion(target, matches);
  checkActive(target);
  const before = presentApiKey(target);
  const after = presentApiKey(record);
  const changedFields = (Object.keys(UpdateApiKey.properties) as (keyof UpdateApiKey)[]).filter(
    (field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]),
  );
  return { target, record, changedFields };
};
