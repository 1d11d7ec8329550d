/** Which secrets have authenticated recently, and for which tenant, in bounded memory. */
import { type ApiKeySecret, digestApiKey } from "@realtime-avatar/domain/api-key-secret";
import type { TenantId } from "@realtime-avatar/domain/id";

export type RecentSecrets = {
  /** The tenant for which the secret authenticated; `undefined` when it did not recently. */
  tenantOf(secret: ApiKeySecret): TenantId | undefined;
  add(secret: ApiKeySecret, tenantId: TenantId): void;
};

/**
 * Remembers secrets, at most `maximum` of them and at least the latest half of that many. It decides the order in which
 * look-ups wait, and is no cache of credentials. A secret is known by its digest, so a wrong secret with the public
 * handle of a key in use is not recent. Entries are kept in two generations: when the younger is full, the older is
 * forgotten. So nothing has to be ordered or expired one by one.
 */
export const createRecentSecrets = (maximum: number): RecentSecrets => {
  let younger = new Map<string, TenantId>();
  let older = new Map<string, TenantId>();
  const nameOf = (secret: ApiKeySecret): string => Buffer.from(digestApiKey(secret)).toString("latin1");
  return {
    tenantOf: (secret) => {
      const name = nameOf(secret);
      return younger.get(name) ?? older.get(name);
    },
    add: (secret, tenantId) => {
      const name = nameOf(secret);
      if (younger.has(name)) return;
      if (younger.size >= Math.floor(maximum / 2)) {
        older = younger;
        younger = new Map();
      }
      younger.set(name, tenantId);
    },
  };
};
