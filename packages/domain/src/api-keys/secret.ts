/**
 * The secret of an API key: generation, parsing, storage and comparison.
 *
 *     rta_live_<keyId>_<secret><checksum>
 *
 * - `keyId`, 16 base62 characters: public identifier for the look-up; safe to log.
 * - `secret`, 43 base62 characters: 256 random bits, known only to the holder.
 * - `checksum`, 6 base62 characters: CRC-32 of everything before it. It rejects malformed keys without a database
 *   query, and lets a secret scanner recognize keys without false positives. It is public, so it does not defend
 *   against a flood.
 *
 * Only the SHA-256 digest of the full key is stored. A slow hash protects guessable passwords; 256 random bits cannot be
 * guessed (OWASP ASVS 5.0 §6.5.2, §11), so a slow hash would only let an attacker waste our processor time.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { Environment } from "../environment.ts";
import type { RandomBytes } from "../id.ts";
import { BASE62 as DIGITS, randomBase62 } from "../secrets/base62.ts";
import { markedKeyId } from "../shards.ts";

export const KEY_ID_LENGTH = 16;
const SECRET_LENGTH = 43;
const CHECKSUM_LENGTH = 6;

const API_KEY = new RegExp(
  `^rta_(live|test)_([${DIGITS}]{${KEY_ID_LENGTH}})_[${DIGITS}]{${SECRET_LENGTH}}([${DIGITS}]{${CHECKSUM_LENGTH}})$`,
);

const KEY_ID = new RegExp(`^[${DIGITS}]{${KEY_ID_LENGTH}}$`);

/** Whether `text` is a well-formed `keyId`. */
export const isKeyId = (text: string): boolean => KEY_ID.test(text);

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

/** CRC-32 (ISO-HDLC, as in zip and PNG) of ASCII text, as six base62 digits, most significant first. */
export const checksum = (text: string): string => {
  let crc = 0xffffffff;
  for (let index = 0; index < text.length; index++) {
    crc = (crc >>> 8) ^ (CRC_TABLE[(crc ^ text.charCodeAt(index)) & 0xff] as number);
  }
  let remainder = ~crc >>> 0;
  let digits = "";
  for (let index = 0; index < CHECKSUM_LENGTH; index++) {
    digits = DIGITS[remainder % 62] + digits;
    remainder = Math.floor(remainder / 62);
  }
  return digits;
};

/** The key without its secret; safe to show. */
export const redactedKey = (environment: Environment, keyId: string): string => `rta_${environment}_${keyId}_****`;

/**
 * A full secret whose format and checksum are valid. Conversion to text or JSON and inspection give its redacted form; only
 * `reveal` returns the secret.
 */
export class ApiKeySecret {
  readonly environment: Environment;
  readonly keyId: string;
  readonly #text: string;
  #digest: Buffer | null = null;

  /** Use `parseApiKey` or `generateApiKey`, which guarantee the format. */
  private constructor(text: string, environment: Environment, keyId: string) {
    this.#text = text;
    this.environment = environment;
    this.keyId = keyId;
  }

  /** Parses a full secret; `null` when the format or the checksum is wrong. No I/O. */
  static parse(text: string): ApiKeySecret | null {
    const match = API_KEY.exec(text);
    if (!match) return null;
    const [, environment, keyId, actualChecksum] = match;
    if (checksum(text.slice(0, -CHECKSUM_LENGTH)) !== actualChecksum) return null;
    return new ApiKeySecret(text, environment as Environment, keyId as string);
  }

  /** SHA-256 of the full secret. Computed once: a request needs it several times. */
  get digest(): Buffer {
    this.#digest ??= createHash("sha256").update(this.#text).digest();
    return this.#digest;
  }

  /** The full secret. Only for the response that returns it, and to derive keys from it. */
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

/** Parses a full secret; `null` when the format or the checksum is wrong. */
export const parseApiKey = (text: string): ApiKeySecret | null => ApiKeySecret.parse(text);

/** Generates a new secret from `random`, a source for the database that will store the key. */
export const generateApiKey = (environment: Environment, random: RandomBytes): ApiKeySecret => {
  const keyId = markedKeyId(randomBase62(KEY_ID_LENGTH, random), random);
  const body = `rta_${environment}_${keyId}_${randomBase62(SECRET_LENGTH, random)}`;
  return parseApiKey(body + checksum(body)) as ApiKeySecret;
};

/** SHA-256 of the full secret, 32 bytes: the form stored in the database. It also covers the environment and the `keyId`. */
export const digestApiKey = (secret: ApiKeySecret): Uint8Array => secret.digest;

/** Whether `digest` is the digest of `secret`. Compares in constant time. */
export const verifyApiKey = (secret: ApiKeySecret, digest: Uint8Array): boolean => {
  const expected = digestApiKey(secret);
  return expected.length === digest.length && timingSafeEqual(expected, digest);
};

/** A key, the beginning of a key, or a key without its fixed prefix. */
const LOOKS_LIKE_A_KEY =
  /rta_(live|test)_([0-9A-Za-z]{0,16})[0-9A-Za-z_]*|(?:live|test)_[0-9A-Za-z]{16}_[0-9A-Za-z]{16,}/gi;

/** A token of a person (`people/tokens.ts`), or the beginning of one. */
const LOOKS_LIKE_A_TOKEN = /rta_(session|invitation)_[0-9A-Za-z_]*/gi;

/** The key of a call (`calls/call-key.ts`), or the beginning of one. */
const LOOKS_LIKE_A_CALL_KEY = /rtc_ten_[\w-]*/gi;

/** Replaces each text that looks like a key or a token of a person, or like the beginning of one, with its redacted form. */
export const maskApiKeys = (text: string): string => {
  // The cheap searches come first, because this runs on every log line, and few lines contain a key or a token.
  const ofCalls = text.replace(LOOKS_LIKE_A_CALL_KEY, "rtc_****");
  const masked = /(?:live|test)_/i.test(ofCalls)
    ? ofCalls.replace(LOOKS_LIKE_A_KEY, (_, environment?: string, keyId?: string) =>
        environment === undefined ? "****" : `rta_${environment}_${keyId}_****`,
      )
    : ofCalls;
  return /rta_[si]/i.test(masked)
    ? masked.replace(LOOKS_LIKE_A_TOKEN, (_, kind: string) => `rta_${kind}_****`)
    : masked;
};
