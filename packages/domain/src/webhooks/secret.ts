/**
 * Secrets of webhook endpoints at rest: sealed with AES-256-GCM under a key that HKDF-SHA-256 (RFC 5869) derives from
 * `WEBHOOK_SECRET_KEY`, with the id of the endpoint as associated data. A dump of the database signs nothing, and a secret that is
 * copied to another endpoint cannot be opened.
 */
import { createCipheriv, createDecipheriv, hkdfSync } from "node:crypto";
import type { Id, RandomBytes } from "../id.ts";

const CIPHER = "aes-256-gcm";
const IV_BYTES = 12;
const TAG_BYTES = 16;
/** The text is part of the format: with another one, no secret can be opened. */
const INFO = "realtime-avatar webhook secret 1";

/** The key that seals, from `WEBHOOK_SECRET_KEY`. Derived once, at the start of a process. */
export const webhookSealingKey = (secretKey: { reveal(): string }): Uint8Array =>
  new Uint8Array(hkdfSync("sha256", secretKey.reveal(), "", INFO, 32));

/** `secret` sealed for an endpoint: initialization vector, ciphertext, tag. */
export const sealWebhookSecret = (
  secret: string,
  endpointId: Id<"whe">,
  key: Uint8Array,
  random: RandomBytes,
): Uint8Array => {
  const iv = random(IV_BYTES);
  const cipher = createCipheriv(CIPHER, key, iv).setAAD(Buffer.from(endpointId));
  return Buffer.concat([iv, cipher.update(secret, "utf8"), cipher.final(), cipher.getAuthTag()]);
};

/** The secret; null when it was sealed with another key, for another endpoint, or was changed. */
export const openWebhookSecret = (sealed: Uint8Array, endpointId: Id<"whe">, key: Uint8Array): string | null => {
  if (sealed.length <= IV_BYTES + TAG_BYTES) return null;
  try {
    const decipher = createDecipheriv(CIPHER, key, sealed.subarray(0, IV_BYTES))
      .setAAD(Buffer.from(endpointId))
      .setAuthTag(sealed.subarray(-TAG_BYTES));
    return Buffer.concat([decipher.update(sealed.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]).toString("utf8");
  } catch {
    return null;
  }
};
