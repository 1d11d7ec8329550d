/**
 * The key that the agent of one call gets in the metadata of its dispatch:
 * `rtc_<tenant>_<session>_<expiry>_<signature>`. It can only bring the avatar of that call: `POST
 * /compat/bey/v1/session` or `/sessions`. It is not stored, but signed with HMAC-SHA-256 under a key that HKDF-SHA-256
 * (RFC 5869) derives from `SESSION_SECRET`.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { isId, type SessionId, type TenantId } from "../id.ts";
import { deriveKey } from "../secrets/sealed.ts";
import { JOIN_TIMEOUT_SECONDS } from "./limits.ts";

export type CallOfKey = { tenantId: TenantId; sessionId: SessionId };

const FORM = /^rtc_(ten_[0-9a-z]{26})_(ses_[0-9a-z]{26})_(\d{10})_([\w-]{43})$/;

/** Whether a text must be read as the key of a call rather than as an API key. */
export const looksLikeCallKey = (text: string): boolean => text.startsWith("rtc_");

/** The key that signs, from `SESSION_SECRET`. Derived once, at the start of a process. */
export const callSigningKey = (secret: { reveal(): string }): Uint8Array =>
  deriveKey(secret, "realtime-avatar call key 1");

const signatureOf = (text: string, key: Uint8Array): Buffer => createHmac("sha256", key).update(text).digest();

/** A key for a call, valid until the call can no longer be joined. */
export const newCallKey = ({ tenantId, sessionId }: CallOfKey, key: Uint8Array, now: Date): string => {
  const text = `rtc_${tenantId}_${sessionId}_${Math.floor(now.getTime() / 1000) + JOIN_TIMEOUT_SECONDS}`;
  return `${text}_${signatureOf(text, key).toString("base64url")}`;
};

/** The call of a key; null when the key is malformed, expired, or not signed by this service. */
export const readCallKey = (text: string, key: Uint8Array, now: Date): CallOfKey | null => {
  const [, tenantId, sessionId, expiry, signature = ""] = FORM.exec(text) ?? [];
  if (!tenantId || !isId("ten", tenantId) || !sessionId || !isId("ses", sessionId)) return null;
  const expected = signatureOf(text.slice(0, -signature.length - 1), key);
  const given = Buffer.from(signature, "base64url");
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null;
  return Number(expiry) * 1000 > now.getTime() ? { tenantId, sessionId } : null;
};
