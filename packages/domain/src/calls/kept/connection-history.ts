/**
 * The connection history of a call: how well the page of the person was connected, as the page itself observes it. The
 * published SDK uploads and reads it. It proves nothing, because a page can send any values.
 *
 * The page uploads with a token of the call: `rth_<tenant>_<session>_<grant>_<signature>`, with the time of the grant in
 * milliseconds. Nothing is stored for the token: it is signed with HMAC-SHA-256 under `SESSION_SECRET`. A call that is
 * resumed has a new page and a new grant, so the time of the grant orders the observations of several pages.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { type Static, Type } from "@sinclair/typebox";
import { parseDateTime } from "../../date-time.ts";
import { isId, type SessionId, type TenantId } from "../../id.ts";
import { ClosedObject, Count, DateTime, Nullable, OneOf, Text } from "../../schema.ts";
import { JOIN_TIMEOUT_SECONDS, MAX_CALL_SECONDS } from "../limits.ts";

/** The bounds of the published SDK. */
export const MAX_OBSERVATIONS = 240;
const MAX_BATCH = 32;
const MAX_ELAPSED_MS = 86_400_000;

const CONNECTION_STATES = ["disconnected", "connecting", "connected", "reconnecting", "signalReconnecting"] as const;
const Quality = () => OneOf(["excellent", "good", "poor", "lost", "unknown"]);

export const ConnectionObservation = ClosedObject({
  sequence: Count({ minimum: 1, maximum: MAX_OBSERVATIONS }),
  elapsedMs: Count({ maximum: MAX_ELAPSED_MS, description: "Milliseconds since the first page was opened." }),
  clientObservedAt: Nullable(DateTime(), { description: "The time by the clock of the page." }),
  connectionState: OneOf(CONNECTION_STATES, { description: "The state of the connection to LiveKit." }),
  localQuality: Quality(),
  audioQuality: Nullable(Quality(), { description: "The quality of the avatar's sound; null without sound." }),
  videoQuality: Nullable(Quality(), { description: "The quality of the avatar's picture; null without a picture." }),
});
export type ConnectionObservation = Static<typeof ConnectionObservation>;

export const UploadConnectionHistory = ClosedObject({
  sessionId: Text({ minLength: 1, maxLength: 200 }),
  observations: Type.Array(ConnectionObservation, { minItems: 1, maxItems: MAX_BATCH }),
});
export type UploadConnectionHistory = Static<typeof UploadConnectionHistory>;

export const ConnectionHistory = ClosedObject({
  sessionId: Text({ minLength: 1, maxLength: 200 }),
  observations: Type.Array(ConnectionObservation, { minItems: 0, maxItems: MAX_OBSERVATIONS }),
});
export type ConnectionHistory = Static<typeof ConnectionHistory>;

/** How a page uploads its observations. */
export const ConnectionHistoryGrant = ClosedObject({
  endpoint: Text({ minLength: 1, maxLength: 2048, description: "The https URL that takes them, by POST." }),
  token: Text({ minLength: 32, maxLength: 4096, description: "A secret for this call alone." }),
  expiresAt: DateTime(),
});
export type ConnectionHistoryGrant = Static<typeof ConnectionHistoryGrant>;

/** An observation as stored, with the time of the page's grant, in milliseconds. */
export type StoredObservation = ConnectionObservation & { grantedAt: number };

/** The path that takes uploads. */
export const CONNECTION_HISTORIES_PATH = "/public/connection-histories";
/** Longer than any call. After its call, a token has no use. */
const GRANT_SECONDS = MAX_CALL_SECONDS + 2 * JOIN_TIMEOUT_SECONDS;

type Secret = { reveal(): string };
type GrantedPage = { tenantId: TenantId; sessionId: SessionId; grantedAt: number };

const FORM = /^rth_(ten_[0-9a-z]{26})_(ses_[0-9a-z]{26})_(\d{13})_([\w-]{43})$/;

/** The prefix keeps the signature apart from any other use of the same secret. */
const signatureOf = (text: string, secret: Secret): string =>
  createHmac("sha256", secret.reveal()).update(`realtime-avatar connection history\n${text}`).digest("base64url");

/** The grant of a call's next page. `origin`: of the service, with https. */
export const newConnectionHistoryGrant = (
  { tenantId, sessionId }: Pick<GrantedPage, "tenantId" | "sessionId">,
  { origin, secret, now }: { origin: string; secret: Secret; now: Date },
): ConnectionHistoryGrant => {
  const text = `rth_${tenantId}_${sessionId}_${now.getTime()}`;
  return {
    endpoint: `${origin}${CONNECTION_HISTORIES_PATH}`,
    token: `${text}_${signatureOf(text, secret)}`,
    expiresAt: new Date(now.getTime() + GRANT_SECONDS * 1000).toISOString(),
  };
};

/** The page of a token; null when the token is malformed, expired, or not signed by this service. */
export const readConnectionHistoryToken = (token: string, secret: Secret, now: Date): GrantedPage | null => {
  const [, tenantId, sessionId, grantedAt, signature = ""] = FORM.exec(token) ?? [];
  if (!tenantId || !isId("ten", tenantId) || !sessionId || !isId("ses", sessionId)) return null;
  const expected = signatureOf(token.slice(0, -signature.length - 1), secret);
  // Compared as text, because two texts of base64url can decode to the same bytes.
  if (!timingSafeEqual(Buffer.from(signature), Buffer.from(expected))) return null;
  const isValid = Number(grantedAt) + GRANT_SECONDS * 1000 > now.getTime();
  return isValid ? { tenantId, sessionId, grantedAt: Number(grantedAt) } : null;
};

/** The observations of an upload, as they are stored. */
export const storedObservations = (
  { observations }: UploadConnectionHistory,
  { grantedAt }: Pick<GrantedPage, "grantedAt">,
): StoredObservation[] =>
  observations.map(({ clientObservedAt, ...observation }) => ({
    ...observation,
    // The SDK reads fewer forms of a time than this service accepts.
    clientObservedAt: clientObservedAt === null ? null : (parseDateTime(clientObservedAt)?.toISOString() ?? null),
    grantedAt,
  }));

/**
 * The history of a call. The observations of all pages are numbered in one series. Their times count from the first
 * grant.
 */
export const presentConnectionHistory = (
  sessionId: SessionId,
  stored: readonly StoredObservation[],
): ConnectionHistory => ({
  sessionId,
  observations: stored.map(({ grantedAt, elapsedMs, ...observation }, index) => ({
    ...observation,
    sequence: index + 1,
    elapsedMs: Math.min(MAX_ELAPSED_MS, elapsedMs + grantedAt - (stored[0]?.grantedAt ?? grantedAt)),
  })),
});
