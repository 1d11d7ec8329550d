/**
 * The secret of an API key: how it is made, read, stored and compared.
 *
 *     rta_live_<keyId>_<secret><checksum>
 *
 * - `keyId`, 16 base62 characters: public, the handle by which a stored key is found. It may stand in logs.
 * - `secret`, 43 base62 characters: 256 bits, known to the holder alone.
 * - `checksum`, 6 base62 characters: CRC-32 of all before it. Junk is refused without asking the database, and a
 *   secret scanner can tell a key from a look-alike. It is public, and no defence against a determined flood.
 *
 * At rest stands only the SHA-256 of the whole. A slow hash defends guessable passwords; 256 random bits cannot be
 * guessed (OWASP ASVS 5.0 §6.5.2, §11), so it would only give an attacker a way to burn our processor.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { RandomBytes } from "./id.ts";

export const ENVIRONMENTS = ["live", "test"] as const;
export type Environment = (typeof ENVIRONMENTS)[number];

export const KEY_ID_LENGTH = 16;
const SECRET_LENGTH = 43;
const CHECKSUM_LENGTH = 6;
const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

const API_KEY = new RegExp(
  `^rta_(live|test)_([${DIGITS}]{${KEY_ID_LENGTH}})_[${DIGITS}]{${SECRET_LENGTH}}([${DIGITS}]{${CHECKSUM_LENGTH}})$`,
);

const KEY_ID = new RegExp(`^[${DIGITS}]{${KEY_ID_LENGTH}}$`);

/** Whether `text` may be the public handle of a credential. */
export const isKeyId = (text: string): boolean => KEY_ID.test(text);

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

/** CRC-32 (ISO-HDLC: the one of zip and PNG) of ASCII text, as six base62 digits, most significant first. */
export const checksum = (text: string): string => {
  let crc = 0xffffffff;
  for (let index = 0; index < text.length; index++) {
    crc = (crc >>> 8) ^ (CRC_TABLE[(crc ^ text.charCodeAt(index)) & 0xff] as number);
  }
  let rest = ~crc >>> 0;
  let digits = "";
  for (let index = 0; index < CHECKSUM_LENGTH; index++) {
    digits = DIGITS[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
};

/** The form of a key that may be shown: all but the secret. */
export const redactedKey = (environment: Environment, keyId: string): string => `rta_${environment}_${keyId}_****`;

/**
 * A full secret that has passed the format and the checksum. It prints as its redacted form wherever text, JSON or
 * an inspection is made of it; only `reveal` gives the secret.
 */
export class ApiKeySecret {
  readonly environment: Environment;
  readonly keyId: string;
  readonly #text: string;

  /** Use `parseApiKey` or `generateApiKey`: they prove the format. */
  private constructor(text: string, environment: Environment, keyId: string) {
    this.#text = text;
    this.environment = environment;
    this.keyId = keyId;
  }

  /** Reads a full secret; `null` when the format or the checksum is wrong. Touches nothing but `text`. */
  static parse(text: string): ApiKeySecret | null {
    const match = API_KEY.exec(text);
    if (!match) return null;
    const [, environment, keyId, sum] = match;
    if (checksum(text.slice(0, -CHECKSUM_LENGTH)) !== sum) return null;
    return new ApiKeySecret(text, environment as Environment, keyId as string);
  }

  /** The full secret. For the one answer that hands it over, and for its digest. */
  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return redactedKey(this.environment, this.keyId);
  }

  toJSON(): string {
    return this.toString();
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return this.toString();
  }
}

/** Reads a full secret; `null` when the format or the checksum is wrong. */
export const parseApiKey = (text: string): ApiKeySecret | null => ApiKeySecret.parse(text);

/** `length` base62 characters, each equally likely: bytes of 248 and above are drawn again (no modulo bias). */
const randomBase62 = (length: number, random: RandomBytes): string => {
  let text = "";
  while (text.length < length) {
    for (const byte of random(length - text.length)) if (byte < 248) text += DIGITS[byte % 62];
  }
  return text;
};

/** Makes a new secret. */
export const generateApiKey = (environment: Environment, random: RandomBytes): ApiKeySecret => {
  const body = `rta_${environment}_${randomBase62(KEY_ID_LENGTH, random)}_${randomBase62(SECRET_LENGTH, random)}`;
  return parseApiKey(body + checksum(body)) as ApiKeySecret;
};

/** What is stored of a secret: SHA-256 of the whole, 32 bytes. It binds the environment and the `keyId`. */
export const digestApiKey = (secret: ApiKeySecret): Uint8Array => createHash("sha256").update(secret.reveal()).digest();

/** Whether `digest` is that of `secret`, in a time that does not depend on where they differ. */
export const verifyApiKey = (secret: ApiKeySecret, digest: Uint8Array): boolean => {
  const own = digestApiKey(secret);
  return own.length === digest.length && timingSafeEqual(own, digest);
};

/** A key, the beginning of one, or one that has lost its fixed prefix. */
const LOOKS_LIKE_A_KEY =
  /rta_(live|test)_([0-9A-Za-z]{0,16})[0-9A-Za-z_]*|(?:live|test)_[0-9A-Za-z]{16}_[0-9A-Za-z]{16,}/gi;

/** Replaces whatever looks like a key, or like the beginning of one, by its public part. */
export const maskApiKeys = (text: string): string =>
  // The plain search comes first: nearly no text has a key in it, and this runs on every log line.
  /(?:live|test)_/i.test(text)
    ? text.replace(LOOKS_LIKE_A_KEY, (_, environment?: string, keyId?: string) =>
        environment === undefined ? "****" : `rta_${environment}_${keyId}_****`,
      )
    : text;
