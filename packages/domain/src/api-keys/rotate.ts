/** Rotation of API keys: a new credential for the same record. */
import type { RandomBytes } from "../id.ts";
import { type FieldError, validationFailed } from "../problem.ts";
import type { ApiKeyRecord } from "./api-key.ts";
import type { Grantor } from "./grant.ts";
import { checkActive, checkRotation, isSelf, visibleApiKey } from "./reach.ts";
import type { RotateApiKey } from "./schemas.ts";
import { type ApiKeySecret, generateApiKey } from "./secret.ts";

/** Minimum overlap when a key rotates itself. Without an overlap, a lost response would lock the caller out. */
const MIN_OWN_OVERLAP_SECONDS = 60;

/**
 * Gives the key `stored` a new credential. Returns the key before and after, the new secret, and how long the old one
 * stays valid. The request is a valid `RotateApiKey`. Throws the problems `not_found`, `validation_failed`,
 * `grant_exceeds_caller` and `invalid_transition`, checked in this order. The SQL statement checks, under its locks,
 * whether an earlier overlap has ended. `random`: a source for the database of the key.
 */
export const rotatedApiKey = (
  stored: ApiKeyRecord | null,
  { overlapSeconds = 0 }: RotateApiKey,
  caller: Grantor & { credentialKeyId?: string },
  random: RandomBytes,
): { target: ApiKeyRecord; record: ApiKeyRecord; secret: ApiKeySecret; overlapSeconds: number } => {
  const target = visibleApiKey(caller, stored);
  // When the caller uses the older secret of an overlap, that overlap keeps its end, and `overlapSeconds` is ignored.
  const usesOlderSecret = caller.credentialKeyId !== undefined && caller.credentialKeyId !== target.keyId;
  if (isSelf(caller, target) && !usesOlderSecret && overlapSeconds < MIN_OWN_OVERLAP_SECONDS) {
    const error: FieldError = {
      pointer: "#/overlapSeconds",
      code: "too_short_for_own_key",
      detail: `Must be at least ${MIN_OWN_OVERLAP_SECONDS} when a key rotates itself; otherwise a lost response would lock the caller out.`,
    };
    throw validationFailed([error]);
  }
  checkRotation(caller, target);
  checkActive(target);
  const secret = generateApiKey(target.environment, random);
  const record = { ...target, keyId: secret.keyId, version: target.version + 1 };
  return { target, record, secret, overlapSeconds };
};
