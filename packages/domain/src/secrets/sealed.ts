/**
 * Secrets at rest: sealed with AES-256-GCM under a key that HKDF-SHA-256 (RFC 5869) derives from a secret of the
 * service for one purpose, with their owner as associated data. A dump of the database reveals no secret. A sealed
 * secret that is copied to another owner cannot be opened.
 */
import { createCipheriv, createDecipheriv, hkdfSync } from "node:crypto";
import type { RandomBytes } from "../id.ts";

const CIPHER = "aes-256-gcm";
const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * The key for one purpose. The text of `purpose` is part of the format: with another text, sealed secrets cannot be
 * opened.
 */
export const deriveKey = (secret: { reveal(): string }, purpose: string): Uint8Array =>
  new Uint8Array(hkdfSync("sha256", secret.reveal(), "", purpose, 32));

/** `text` sealed for `owner`: initialization vector, ciphertext, tag. */
export const seal = (text: string, owner: string, key: Uint8Array, random: RandomBytes): Uint8Array => {
  const iv = random(IV_BYTES);
  const cipher = createCipheriv(CIPHER, key, iv).setAAD(Buffer.from(owner));
  return Buffer.concat([iv, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
};

/** The text; null when it was sealed with another key, for another owner, or was changed. */
export const openSealed = (sealed: Uint8Array, owner: string, key: Uint8Array): string | null => {
  if (sealed.length <= IV_BYTES + TAG_BYTES) return null;
  try {
    const decipher = createDecipheriv(CIPHER, key, sealed.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
      .setAAD(Buffer.from(owner))
      .setAuthTag(sealed.subarray(-TAG_BYTES));
    return Buffer.concat([decipher.update(sealed.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]).toString("utf8");
  } catch {
    return null;
  }
};
