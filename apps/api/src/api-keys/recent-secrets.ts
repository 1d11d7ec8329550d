/** The secrets that have authenticated recently, with their tenants, in bounded memory. */
import { type ApiKeySecret, digestApiKey } from "@realtime-avatar/domain/api-keys/secret";
import type { TenantId } from "@realtime-avatar/domain/id";

export type RecentSecrets = {
  /** The tenant of the secret; `undefined` when the secret has not authenticated recently. */
  tenantOf(secret: ApiKeySecret): TenantId | undefined;
  add(secret: ApiKeySecret, tenantId: TenantId): void;
};

/**
 * Remembers at most `maximum` secrets, and at least the latest half of that number. They decide the order in which
 * look-ups wait; they are not a cache of credentials. A secret is identified by its digest, so a wrong secret with the
 * public key id of a key in use does not count as recent. Entries are in two generations. When the younger one is full,
 * the older one is dropped, so no entry needs a time or an order.
 */
export const createRecentSecrets = (maximum: number): RecentSecrets => {
  let younger = new Map<string, TenantId>();
  let older = new Map<string, TenantId>();
  const digestOf = (secret: ApiKeySecret): string => Buffer.from(digestApiKey(secret)).toString("latin1");
  return {
    tenantOf: (secret) => {
      const digest = digestOf(secret);
      return younger.get(digest) ?? older.get(digest);
    },
    add: (secret, tenantId) => {
      const digest = digestOf(secret);
      if (younger.has(digest)) return;
      if (younger.size >= Math.floor(maximum / 2)) {
        older = younger;
        younger = new Map();
      }
      younger.set(digest, tenantId);
    },
  };
};
