/**
 * Attempts to sign in by OpenID Connect. An attempt is sealed into a cookie instead of stored, so that a client without
 * credentials writes no row. It is bound to the browser with the cookie, to one tenant and to one purpose, and lasts
 * ten minutes. Its id is written on use, so that it counts once.
 *
 * It is sealed with AES-256-GCM under a key that HKDF-SHA-256 (RFC 5869) derives from `SESSION_SECRET` for this
 * purpose. A signature would not suffice, because an attempt contains the verifier of PKCE and may contain the token of
 * an invitation.
 */
import { createCipheriv, createDecipheriv, hkdfSync, timingSafeEqual } from "node:crypto";
import type { Environment } from "../environment.ts";
import type { RandomBytes, TenantId, UserSessionId } from "../id.ts";
import { NONCE_BYTES } from "./challenge.ts";
import type { ReturnPath } from "./oidc-pages.ts";

/**
 * The session for which an attempt began. `digest`: the digest of its token, in base64url. So `SESSION_SECRET` alone
 * does not suffice to make an attempt for a session.
 */
export type OidcSession = { sessionId: UserSessionId; digest: string };

/** The purpose of an attempt. `token`: the token of the invitation. `name`: the name of the new user. */
export type OidcPurpose =
  | { kind: "sign_in" }
  | { kind: "acceptance"; token: string; name: string }
  | ({ kind: "identity" } & OidcSession)
  | ({ kind: "verification"; returnTo: ReturnPath; environment: Environment } & OidcSession);

export type OidcAttempt = {
  tenantId: TenantId;
  purpose: OidcPurpose;
  /** In base64url, 16 bytes. It is spent with the attempt. */
  id: string;
  state: string;
  /** The nonce of the ID token. */
  nonce: string;
  /** The verifier of PKCE. */
  verifier: string;
  /** In milliseconds since 1970. */
  startedAt: number;
};

/** A secret that does not print. */
type Secret = { reveal(): string };

export const OIDC_ATTEMPT_MS = 10 * 60_000;
const CIPHER = "aes-256-gcm";
const IV_BYTES = 12;
const TAG_BYTES = 16;
/** The text is part of the format: with another text, no attempt can be opened. */
const INFO = "realtime-avatar oidc attempt 1";

const keyOf = (secret: Secret): Uint8Array => new Uint8Array(hkdfSync("sha256", secret.reveal(), "", INFO, 32));
const randomText = (random: RandomBytes, length: number): string => Buffer.from(random(length)).toString("base64url");

/** A new attempt. */
export const newOidcAttempt = (
  tenantId: TenantId,
  purpose: OidcPurpose,
  { now, random }: { now: Date; random: RandomBytes },
): OidcAttempt => ({
  tenantId,
  purpose,
  id: randomText(random, NONCE_BYTES),
  state: randomText(random, 32),
  nonce: randomText(random, 32),
  verifier: randomText(random, 32),
  startedAt: now.getTime(),
});

/** The sealed attempt in base64url: initialization vector, ciphertext, tag. */
export const sealOidcAttempt = (attempt: OidcAttempt, secret: Secret, random: RandomBytes): string => {
  const iv = random(IV_BYTES);
  const cipher = createCipheriv(CIPHER, keyOf(secret), iv);
  const ciphertext = Buffer.concat([cipher.update(JSON.stringify(attempt), "utf8"), cipher.final()]);
  return Buffer.concat([iv, ciphertext, cipher.getAuthTag()]).toString("base64url");
};

/** Opens an attempt that this service has sealed and that has not expired; null for any other text. */
export const openOidcAttempt = (text: string, secret: Secret, now: Date): OidcAttempt | null => {
  const bytes = Buffer.from(text, "base64url");
  if (bytes.length <= IV_BYTES + TAG_BYTES) return null;
  const decipher = createDecipheriv(CIPHER, keyOf(secret), bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  let attempt: OidcAttempt;
  try {
    const plaintext = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]);
    attempt = JSON.parse(plaintext.toString("utf8"));
  } catch {
    return null;
  }
  return attemptExpiry(attempt).getTime() > now.getTime() ? attempt : null;
};

/** When an attempt expires. */
export const attemptExpiry = ({ startedAt }: Pick<OidcAttempt, "startedAt">): Date =>
  new Date(startedAt + OIDC_ATTEMPT_MS);

/** The attempt in the form in which it is spent. See `Challenge`. */
export const spentAttempt = (attempt: OidcAttempt): { nonce: Uint8Array; expiresAt: Date } => ({
  nonce: Buffer.from(attempt.id, "base64url"),
  expiresAt: attemptExpiry(attempt),
});

/** Whether two values are the same. Compares in constant time. */
const isSame = (expected: Uint8Array, actual: Uint8Array): boolean =>
  expected.length === actual.length && timingSafeEqual(expected, actual);

/** Whether the state of a response belongs to the attempt. */
export const hasState = ({ state }: OidcAttempt, text: string): boolean =>
  isSame(Buffer.from(state), Buffer.from(text));

/** Whether an attempt began for the session whose token has this digest. */
export const isForSession = ({ digest }: OidcSession, stored: Uint8Array): boolean =>
  isSame(stored, Buffer.from(digest, "base64url"));
