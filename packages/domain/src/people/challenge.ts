/**
 * The challenges of WebAuthn. A challenge is signed instead of stored, so that a client without credentials writes no
 * row. It names its purpose and its subject, and lasts five minutes. Its nonce is written on use, so that each
 * authenticator response counts once.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { RandomBytes } from "../id.ts";

/** The purpose of a challenge. */
export type ChallengePurpose = "sign_in" | "registration" | "new_passkey" | "verification";

/** `subject`: the id of the invitation or of the session to which the challenge belongs; empty for a sign-in. */
export type ChallengeUse = { purpose: ChallengePurpose; subject: string };

/** A secret that does not print. */
type Secret = { reveal(): string };

/** The contents of a challenge. */
export type Challenge = { nonce: Uint8Array; expiresAt: Date };

export const CHALLENGE_MS = 5 * 60_000;
const EXPIRY_BYTES = 6;
export const NONCE_BYTES = 16;
const CLAIM_BYTES = EXPIRY_BYTES + NONCE_BYTES;
const LENGTH = CLAIM_BYTES + 32;

/** The prefix separates this MAC from other uses of the same secret. */
const macOf = (secret: Secret, { purpose, subject }: ChallengeUse, claims: Uint8Array): Buffer =>
  createHmac("sha256", secret.reveal())
    .update(`realtime-avatar challenge\n${JSON.stringify([purpose, subject])}\n`)
    .update(claims)
    .digest();

/** A new challenge, 54 bytes in base64url: expiry, nonce, MAC. */
export const createChallenge = (secret: Secret, use: ChallengeUse, now: Date, random: RandomBytes): string => {
  const claims = Buffer.alloc(CLAIM_BYTES);
  claims.writeUIntBE(now.getTime() + CHALLENGE_MS, 0, EXPIRY_BYTES);
  claims.set(random(NONCE_BYTES), EXPIRY_BYTES);
  return Buffer.concat([claims, macOf(secret, use, claims)]).toString("base64url");
};

/** Reads a challenge that this service has signed for this use and that has not expired; null for any other text. */
export const readChallenge = (secret: Secret, text: string, use: ChallengeUse, now: Date): Challenge | null => {
  const bytes = Buffer.from(text, "base64url");
  // Compared as text, because two texts of base64url can decode to the same bytes.
  if (bytes.length !== LENGTH || bytes.toString("base64url") !== text) return null;
  const claims = bytes.subarray(0, CLAIM_BYTES);
  if (!timingSafeEqual(bytes.subarray(CLAIM_BYTES), macOf(secret, use, claims))) return null;
  const expiresAt = new Date(claims.readUIntBE(0, EXPIRY_BYTES));
  return expiresAt.getTime() > now.getTime() ? { nonce: claims.subarray(EXPIRY_BYTES), expiresAt } : null;
};
