/** Creation of API keys. */
import { newId, type RandomBytes, type TenantId } from "../id.ts";
import { Problem } from "../problem.ts";
import type { ApiKeyRecord } from "./api-key.ts";
import { attenuate, checkFuture, type Grantor, limitsInherited } from "./grant.ts";
import type { CreateApiKey } from "./schemas.ts";
import { type ApiKeySecret, generateApiKey } from "./secret.ts";

/**
 * Creates a key with the grant that `creator` makes for `request`, a valid `CreateApiKey`. `checkedAt`: the time with
 * which the expiry is compared. `now`: the creation time. `random`: a source for the database of the tenant. Throws the
 * problem `validation_failed` when the expiry is not in the future, and `grant_exceeds_caller` with every refusal when
 * the grant exceeds the creator's.
 */
export const issueApiKey = (
  request: CreateApiKey,
  creator: Grantor,
  { tenantId, checkedAt, now, random }: { tenantId: TenantId; checkedAt: Date; now: Date; random: RandomBytes },
): { record: ApiKeyRecord; secret: ApiKeySecret } => {
  checkFuture(request.expiresAt, checkedAt);
  const attenuated = attenuate(creator, request);
  if ("refusals" in attenuated) {
    const detail = "The new key would be able to do more than the calling key.";
    throw new Problem("grant_exceeds_caller", detail, { errors: attenuated.refusals });
  }
  const secret = generateApiKey(attenuated.grant.environment, random);
  const record: ApiKeyRecord = {
    ...attenuated.grant,
    id: newId("key", now, random),
    tenantId,
    keyId: secret.keyId,
    name: request.name,
    status: "active",
    lineage: creator.id === null ? [] : [...creator.lineage, creator.id],
    inheritedLimits: limitsInherited(creator, attenuated.grant.environment),
    version: 1,
    spentCreditMicros: 0,
    reservedCreditMicros: 0,
    lastUsedAt: null,
    createdAt: now,
  };
  return { record, secret };
};
