/**
 * Secrets of webhook endpoints at rest: sealed (`secrets/sealed.ts`) under a key of `WEBHOOK_SECRET_KEY`, each for the
 * id of its endpoint. A dump of the database does not suffice to sign.
 */
import type { Id, RandomBytes } from "../id.ts";
import { deriveKey, openSealed, seal } from "../secrets/sealed.ts";

/** The key that seals, from `WEBHOOK_SECRET_KEY`. Derived once, at the start of a process. */
export const webhookSealingKey = (secretKey: { reveal(): string }): Uint8Array =>
  deriveKey(secretKey, "realtime-avatar webhook secret 1");

/** `secret` sealed for an endpoint. */
export const sealWebhookSecret = (
  secret: string,
  endpointId: Id<"whe">,
  key: Uint8Array,
  random: RandomBytes,
): Uint8Array => seal(secret, endpointId, key, random);

/** The secret; null when it was sealed with another key or for another endpoint, or was changed. */
export const openWebhookSecret = (sealed: Uint8Array, endpointId: Id<"whe">, key: Uint8Array): string | null =>
  openSealed(sealed, endpointId, key);
