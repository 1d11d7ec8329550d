/**
 * The URL that serves the file of a recording for a while: `/public/recordings/<tenant>.<environment>.<recording>.<expiry>.<signature>`.
 * Nothing is stored: it is signed with HMAC-SHA-256 under `SESSION_SECRET`. The row is read for each request, so a file that is deleted or
 * too old is not served, whatever the URL says.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { Environment } from "../environment.ts";
import { isId, type RecordingId, type TenantId } from "../id.ts";

/** The path of the route; the token follows. */
export const RECORDING_FILES_PATH = "/public/recordings";

/** For how long a URL serves the file. A player asks for parts of it while it plays. */
export const ACCESS_SECONDS = 3600;

type RecordingOfToken = { tenantId: TenantId; environment: Environment; id: RecordingId };

const FORM = /^(ten_[0-9a-z]{26})\.(live|test)\.(rec_[0-9a-z]{26})\.(\d{10})\.([\w-]{43})$/;

type Secret = { reveal(): string };

/** The prefix keeps the signature apart from any other use of the same secret. */
const signatureOf = (text: string, secret: Secret): string =>
  createHmac("sha256", secret.reveal()).update(`realtime-avatar recording\n${text}`).digest("base64url");

/** A token for the file of a recording, and when it expires: at a whole second. */
export const newRecordingToken = (
  { tenantId, environment, id }: RecordingOfToken,
  secret: Secret,
  now: Date,
): { token: string; expiresAt: Date } => {
  const expiry = Math.floor(now.getTime() / 1000) + ACCESS_SECONDS;
  const text = `${tenantId}.${environment}.${id}.${expiry}`;
  return { token: `${text}.${signatureOf(text, secret)}`, expiresAt: new Date(expiry * 1000) };
};

/** The recording of a token; null when the token is malformed, expired, or not signed by this service. */
export const readRecordingToken = (token: string, secret: Secret, now: Date): RecordingOfToken | null => {
  const [, tenantId, environment, id, expiry, signature = ""] = FORM.exec(token) ?? [];
  if (!tenantId || !isId("ten", tenantId) || !id || !isId("rec", id)) return null;
  const expected = signatureOf(token.slice(0, -signature.length - 1), secret);
  // Compared as text, because two texts of base64url can decode to the same bytes.
  if (!timingSafeEqual(Buffer.from(signature), Buffer.from(expected))) return null;
  return Number(expiry) * 1000 > now.getTime() ? { tenantId, environment: environment as Environment, id } : null;
};
