/**
 * Idempotency of POST requests: comparison of request bodies, and encryption of stored responses that contain a secret, so
 * that only the original caller can decrypt them.
 */
import { createCipheriv, createDecipheriv, createHash, hkdfSync } from "node:crypto";
import type { RandomBytes } from "./id.ts";
import { canonicalJson } from "./json-text.ts";

/** How long the response to a request with an `Idempotency-Key` is stored. */
export const CLAIM_HOURS = 24;

/** 1 to 255 visible ASCII characters. */
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;

/** Whether `text` is a well-formed `Idempotency-Key`. */
export const isIdempotencyKey = (text: string): boolean => IDEMPOTENCY_KEY.test(text);

/** SHA-256 of the canonical JSON of `body`, 32 bytes: independent of white space and of the order of members. */
export const hashBody = (body: unknown): Uint8Array => createHash("sha256").update(canonicalJson(body)).digest();

/** The first byte of a sealed response. Format 1 did not authenticate the headers. */
const FORMAT = 2;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** The unencrypted part of a stored response, authenticated together with its sealed body. */
export type SealedHead = {
  status: number;
  location: string | null;
  etag: string;
  /** `hashBody` of the request's body. */
  bodyHash: Uint8Array;
};

/**
 * The request of a sealed response: the caller's full secret (of a key, or the token of a session), the `Idempotency-Key`,
 * and method and path.
 */
export type SealContext = { secret: { reveal(): string }; idempotencyKey: string; request: string };

/**
 * The encryption key for one secret and one request; both are needed to derive it. The text is part of the stored
 * format: with another text, stored responses cannot be opened.
 */
const sealingKey = ({ secret, idempotencyKey, request }: SealContext, format: number): Uint8Array =>
  new Uint8Array(
    hkdfSync("sha256", secret.reveal(), idempotencyKey, `realtime-avatar answer ${format} ${request}`, 32),
  );

const authenticatedData = ({ status, location, etag, bodyHash }: SealedHead): Uint8Array =>
  Buffer.from(JSON.stringify([status, location, etag, Buffer.from(bodyHash).toString("hex")]));

/**
 * Seals a response body with AES-256-GCM. HKDF-SHA-256 (RFC 5869) derives the encryption key from the caller's full
 * secret and the `Idempotency-Key`. Layout: format byte, nonce, tag, ciphertext. `head` is also authenticated: with
 * another status, `Location`, `ETag` or body hash, the body cannot be opened.
 */
export const sealResponse = (body: string, head: SealedHead, context: SealContext, random: RandomBytes): Uint8Array => {
  const nonce = random(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", sealingKey(context, FORMAT), nonce).setAAD(authenticatedData(head));
  const ciphertext = Buffer.concat([cipher.update(body, "utf8"), cipher.final()]);
  return Buffer.concat([Uint8Array.of(FORMAT), nonce, cipher.getAuthTag(), ciphertext]);
};

/**
 * Opens a sealed response body; `null` when the secret, the request or the head differs, or the sealed bytes were changed.
 * Format 1 is still supported, because responses in it remain stored for one day after the upgrade.
 */
export const openResponse = (sealed: Uint8Array, head: SealedHead, context: SealContext): string | null => {
  const ciphertextOffset = 1 + NONCE_BYTES + TAG_BYTES;
  const [format] = sealed;
  if (sealed.length < ciphertextOffset || (format !== 1 && format !== FORMAT)) return null;
  const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
  const decipher = createDecipheriv("aes-256-gcm", sealingKey(context, format), nonce, { authTagLength: TAG_BYTES });
  if (format !== 1) decipher.setAAD(authenticatedData(head));
  decipher.setAuthTag(sealed.subarray(1 + NONCE_BYTES, ciphertextOffset));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(ciphertextOffset)), decipher.final()]).toString("utf8");
  } catch {
    return null;
  }
};
