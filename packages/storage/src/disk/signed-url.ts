/**
 * The signed URLs of the disk, which lead to the service itself. A token is `<claims>.<mac>`: the claims as JSON and
 * their HMAC-SHA-256, both in base64url. The MAC is compared before the claims are parsed, so the claims of a forged
 * token are never parsed.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { Secret } from "../secret.ts";
import type { Upload, VerifiedGet, VerifiedPut } from "../storage.ts";

/** The paths of the routes that serve the URLs; the token follows. */
export const UPLOAD_PATH = "/api/v1/assets/uploads/";
export const DOWNLOAD_PATH = "/api/v1/assets/files/";

/** Method, key, content type, size in bytes, MD5, expiry in milliseconds since 1970. */
type PutClaims = ["PUT", string, string, number, string, number];
/** Method, key, expiry. */
type GetClaims = ["GET", string, number];
type Claims = PutClaims | GetClaims;

/** Twice the length of the longest token. It bounds the work for a forged token. */
const MAX_TOKEN_LENGTH = 1024;

/** The prefix keeps the MAC apart from any other use of the same secret. */
const macOf = (secret: Secret, claims: string): Buffer =>
  createHmac("sha256", secret.reveal()).update(`realtime-avatar signed URL\n${claims}`).digest();

const sign = (secret: Secret, claims: Claims): string => {
  const text = Buffer.from(JSON.stringify(claims)).toString("base64url");
  return `${text}.${macOf(secret, text).toString("base64url")}`;
};

/** The claims of a token whose signature is right; null for any other text. */
const verify = (secret: Secret, token: string): Claims | null => {
  const [, text = "", mac = ""] = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{43})$/.exec(token) ?? [];
  if (text === "" || token.length > MAX_TOKEN_LENGTH) return null;
  // Compared as text: two texts of base64url can decode to the same bytes, but only one of them was signed.
  const expected = macOf(secret, text).toString("base64url");
  if (!timingSafeEqual(Buffer.from(mac), Buffer.from(expected))) return null;
  return JSON.parse(Buffer.from(text, "base64url").toString()) as Claims;
};

/** The token of a PUT. */
export const signPutToken = (secret: Secret, key: string, upload: Upload): string => {
  const { contentType, sizeBytes, md5, expiresAt } = upload;
  return sign(secret, ["PUT", key, contentType, sizeBytes, md5, expiresAt.getTime()]);
};

/** The token of a GET. */
export const signGetToken = (secret: Secret, key: string, expiresAt: Date): string =>
  sign(secret, ["GET", key, expiresAt.getTime()]);

/** Verifies the token of a PUT and the headers that it binds. The body is checked while it is received. */
export const verifyPutToken = (secret: Secret, token: string, headers: Headers, now: Date): VerifiedPut => {
  const claims = verify(secret, token);
  if (claims?.[0] !== "PUT") return { kind: "refused", reason: "signature" };
  const [, key, contentType, sizeBytes, md5, expiresAtMs] = claims;
  if (now.getTime() >= expiresAtMs) return { kind: "refused", reason: "expired" };
  if (headers.get("content-type") !== contentType) return { kind: "refused", reason: "content_type" };
  if (headers.get("content-length") !== String(sizeBytes)) return { kind: "refused", reason: "size" };
  if (headers.get("content-md5") !== md5) return { kind: "refused", reason: "md5" };
  return { kind: "valid", upload: { key, contentType, sizeBytes, md5, expiresAt: new Date(expiresAtMs) } };
};

/** Verifies the token of a GET. A HEAD may use it as well. */
export const verifyGetToken = (secret: Secret, token: string, now: Date): VerifiedGet => {
  const claims = verify(secret, token);
  if (claims?.[0] !== "GET") return { kind: "refused", reason: "signature" };
  const [, key, expiresAtMs] = claims;
  if (now.getTime() >= expiresAtMs) return { kind: "refused", reason: "expired" };
  return { kind: "valid", file: { key, expiresAt: new Date(expiresAtMs) } };
};
