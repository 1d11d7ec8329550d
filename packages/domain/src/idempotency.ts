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

/** The first byte of a sealed response. Format 1 did not authenticate the headers. */
const FORMAT = 2;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** The parts of a stored response that stand beside its sealed body, and are authenticated with it. */
export type SealedHead = {
  status: number;
  location: string | null;
  etag: string;
  /** SHA-256 of the request's body as a JSON value. */
  bodyHash: Uint8Array;
};

/** What a sealed response belongs to: the caller's full secret, its `Idempotency-Key`, and method and path. */
export type SealContext = { secret: ApiKeySecret; idempotencyKey: string; request: string };

/** The key of one secret and one request: without either it cannot be derived. */
const sealingKey = ({ secret, idempotencyKey, request }: SealContext, format: number): Uint8Array =>
  new Uint8Array(
    hkdfSync("sha256", secret.reveal(), idempotencyKey, `realtime-avatar answer ${format} ${request}`, 32),
  );

const authenticated = ({ status, location, etag, bodyHash }: SealedHead): Uint8Array =>
  Buffer.from(JSON.stringify([status, location, etag, Buffer.from(bodyHash).toString("hex")]));

/**
 * Seals a response body with AES-256-GCM under a key that HKDF-SHA-256 (RFC 5869) derives from the caller's full secret
 * and the Idempotency-Key: a byte of format, the nonce, the tag, and the text. The sealed body is bound to `head` as
 * well: with another status, `Location`, `ETag` or body hash beside it, it does not open.
 */
export const sealResponse = (body: string, head: SealedHead, context: SealContext, random: RandomBytes): Uint8Array => {
  const nonce = random(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", sealingKey(context, FORMAT), nonce).setAAD(authenticated(head));
  const text = Buffer.concat([cipher.update(body, "utf8"), cipher.final()]);
  return Buffer.concat([Uint8Array.of(FORMAT), nonce, cipher.getAuthTag(), text]);
};

/**
 * The body that was sealed; `null` when it was sealed for another secret, request or head, or has been changed since.
 * Format 1 is still read: responses of it are stored for a day after the upgrade.
 */
export const openResponse = (sealed: Uint8Array, head: SealedHead, context: SealContext): string | null => {
  const textAt = 1 + NONCE_BYTES + TAG_BYTES;
  const [format] = sealed;
  if (sealed.length < textAt || (format !== 1 && format !== FORMAT)) return null;
  const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
  const decipher = createDecipheriv("aes-256-gcm", sealingKey(context, format), nonce, { authTagLength: TAG_BYTES });
  if (format !== 1) decipher.setAAD(authenticated(head));
  decipher.setAuthTag(sealed.subarray(1 + NONCE_BYTES, textAt));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(textAt)), decipher.final()]).toString("utf8");
  } catch {
    return null;
  }
};
