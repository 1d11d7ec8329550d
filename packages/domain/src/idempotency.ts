/**
 * Exactly-once requests: how two bodies are told to be the same, and how the answer that shows a secret is kept so that
 * nobody but its caller can read it again.
 */
import { createCipheriv, createDecipheriv, createHash, hkdfSync } from "node:crypto";
import type { ApiKeySecret } from "./api-key-secret.ts";
import type { RandomBytes } from "./id.ts";

/** 1 to 255 visible ASCII characters. */
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;

/** Whether `text` may be an `Idempotency-Key`. */
export const isIdempotencyKey = (text: string): boolean => IDEMPOTENCY_KEY.test(text);

/** A JSON value in one of its spellings: members sorted by name, nothing between the tokens (as in RFC 8785). */
const canonical = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(",")}}`;
};

/** SHA-256 of a body as a JSON value: order of members and white space do not matter, values do. 32 bytes. */
export const hashBody = (body: unknown): Uint8Array => createHash("sha256").update(canonical(body)).digest();

const FORMAT = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** The key is that of one secret and one request: whoever lacks either cannot derive it. */
const sealingKey = (secret: ApiKeySecret, idempotencyKey: string, request: string): Uint8Array =>
  new Uint8Array(
    hkdfSync("sha256", secret.reveal(), idempotencyKey, `realtime-avatar answer ${FORMAT} ${request}`, 32),
  );

/**
 * Seals an answer with AES-256-GCM under a key that HKDF-SHA-256 (RFC 5869) derives from the caller's full secret and the
 * Idempotency-Key: a byte of format, the nonce, the tag, and the text. `request` is the method and the path, to which the
 * sealed answer is bound.
 */
export const sealAnswer = (
  answer: string,
  secret: ApiKeySecret,
  idempotencyKey: string,
  request: string,
  random: RandomBytes,
): Uint8Array => {
  const nonce = random(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", sealingKey(secret, idempotencyKey, request), nonce);
  const text = Buffer.concat([cipher.update(answer, "utf8"), cipher.final()]);
  return Buffer.concat([Uint8Array.of(FORMAT), nonce, cipher.getAuthTag(), text]);
};

/** The answer that was sealed; `null` when it was sealed for another secret or request, or has been tampered with. */
export const openAnswer = (
  sealed: Uint8Array,
  secret: ApiKeySecret,
  idempotencyKey: string,
  request: string,
): string | null => {
  const textAt = 1 + NONCE_BYTES + TAG_BYTES;
  if (sealed.length < textAt || sealed[0] !== FORMAT) return null;
  const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
  const decipher = createDecipheriv("aes-256-gcm", sealingKey(secret, idempotencyKey, request), nonce, {
    authTagLength: TAG_BYTES,
  });
  decipher.setAuthTag(sealed.subarray(1 + NONCE_BYTES, textAt));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(textAt)), decipher.final()]).toString("utf8");
  } catch {
    return null;
  }
};
