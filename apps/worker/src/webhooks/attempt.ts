/** One attempt of a delivery: signs and sends it, and decides the outcome from the response. */
import type { ClaimedDelivery, FinishedDelivery } from "@realtime-avatar/db/webhooks/sending";
import { maskApiKeys } from "@realtime-avatar/domain/api-keys/secret";
import { pauseMs, retryAfterMs, slowMs } from "@realtime-avatar/domain/webhooks/schedule";
import { type AttemptError, MAX_RESPONSE_BYTES } from "@realtime-avatar/domain/webhooks/schemas";
import { openWebhookSecret } from "@realtime-avatar/domain/webhooks/secret";
import { webhookHeaders } from "@realtime-avatar/domain/webhooks/signature";
import type { RefusalCode, UnavailableCode } from "../remote/outcome.ts";
import type { Message, Posted, Poster } from "../remote/post.ts";
import type { ReadyDelivery } from "./body.ts";

/** The recorded part of an attempt. */
export type AttemptResult = Pick<FinishedDelivery, "attempt" | "outcome" | "delayMs" | "slowMs">;

/** The class of a failure, or `delivered`: for metrics. */
export type AttemptClass =
  | "delivered"
  | "redirected"
  | "refused"
  | "failed"
  | "secret_not_readable"
  | "handed_back"
  | AttemptError;

/** The classes that tenants see. They do not reveal which rule an address or a URL breaks. */
const ERRORS: Record<Exclude<RefusalCode | UnavailableCode, "canceled">, AttemptError> = {
  invalid_url: "invalid_url",
  https_required: "invalid_url",
  credentials_not_allowed: "invalid_url",
  port_not_allowed: "invalid_url",
  ip_address_not_allowed: "invalid_url",
  host_not_public: "host_not_public",
  host_not_found: "host_not_found",
  certificate_not_valid: "certificate_not_valid",
  connection_failed: "connection_failed",
  timed_out: "timed_out",
  invalid_response: "invalid_response",
  // A message gets `unexpected_status` only for the status 101, which is neither a success nor a failure of HTTP. The
  // codes below are outcomes of fetching files.
  unexpected_status: "invalid_response",
  too_many_redirects: "invalid_response",
  encoding_not_allowed: "invalid_response",
  connection_lost: "connection_failed",
  too_large: "invalid_response",
  empty: "invalid_response",
};

const WEBHOOK_SECRET = /whsec_[A-Za-z0-9+/=]*/g;

/** The first bytes of a response as text that PostgreSQL stores, at most as long as the bytes may be, without secrets. */
export const responseText = (bytes: Buffer): string => {
  // With `stream`, a character that was cut at the end is omitted.
  const text = new TextDecoder().decode(bytes, { stream: true }).replaceAll("\0", "\u{FFFD}");
  const masked = maskApiKeys(text).replace(WEBHOOK_SECRET, "whsec_****");
  // Bytes that cannot be decoded become longer.
  const cut = Buffer.from(masked).subarray(0, MAX_RESPONSE_BYTES);
  return new TextDecoder().decode(cut, { stream: true });
};

const classOf = (status: number): AttemptClass => {
  if (status < 300) return "delivered";
  if (status < 400) return "redirected";
  return status < 500 ? "refused" : "failed";
};

/**
 * The secrets that sign: the secret of the endpoint, and the previous one until its expiry. Null when the first cannot
 * be opened.
 */
const secretsOf = ({ secret, previousSecret, endpointId }: ClaimedDelivery, key: Uint8Array): string[] | null => {
  const newest = openWebhookSecret(secret, endpointId, key);
  const previous = previousSecret && openWebhookSecret(previousSecret, endpointId, key);
  return newest === null ? null : [newest, ...(previous === null ? [] : [previous])];
};

/** The outcome after a failed attempt. */
export const failedAfter = (
  attempts: number,
  retryAfter: number | null,
): Pick<AttemptResult, "outcome" | "delayMs"> => {
  const delayMs = pauseMs(attempts, retryAfter, Math.random());
  return delayMs === null ? { outcome: "failed", delayMs } : { outcome: "retry", delayMs };
};

/** The outcome of a response. */
const outcomeOf = ({ status, retryAfter }: Posted, attempts: number, now: Date): Omit<AttemptResult, "attempt"> => {
  if (status >= 200 && status < 300) return { outcome: "delivered", delayMs: null, slowMs: null };
  if (status === 410) return { outcome: "gone", delayMs: null, slowMs: null };
  const waitMs = retryAfterMs(retryAfter, now);
  return { ...failedAfter(attempts, waitMs), slowMs: slowMs(status, waitMs) };
};

/** A delivery that is handed back and sent after `delayMs`. This does not count as an attempt. */
export const handedBack = (delayMs: number): AttemptResult => ({
  attempt: null,
  outcome: "retry",
  delayMs,
  slowMs: null,
});

/**
 * The pause before the next attempt when this worker cannot open the secret, because it has another key than the API.
 */
const UNREADABLE_PAUSE_MS = 60_000;

/** The headers of a message, without its signature. */
export const bodyHeaders = (userAgent: string) => ({
  "Content-Type": "application/json",
  "User-Agent": userAgent,
  Accept: "*/*",
});

export type AttemptOptions = {
  poster: Poster;
  /** The key that opens the secrets of endpoints. */
  sealingKey: Uint8Array;
  userAgent: string;
};

/** The result of sending a message. `response`: the first bytes of the body; null when it is empty or encoded. */
export type PostResult = Pick<AttemptResult, "outcome" | "delayMs" | "slowMs"> & {
  class: AttemptClass;
  status: number | null;
  error: AttemptError | null;
  response: Buffer | null;
  durationMs: number;
};

/**
 * Posts a message after `attempts` earlier attempts, and decides the outcome. Never rejects because of the receiver.
 */
export const postMessage = async (
  poster: Poster,
  message: Message,
  attempts: number,
  signal: AbortSignal,
): Promise<PostResult> => {
  const startedAt = performance.now();
  const posted = await poster.post(message, signal);
  const durationMs = performance.now() - startedAt;
  const nothing = { status: null, error: null, response: null, durationMs };
  if (posted.kind === "posted") {
    const { status, body: response } = posted;
    const next = outcomeOf(posted, attempts + 1, new Date());
    return { ...nothing, ...next, class: classOf(status), status, response };
  }
  if (posted.code === "canceled") return { ...nothing, ...handedBack(0), class: "handed_back" };
  const error = ERRORS[posted.code as keyof typeof ERRORS];
  return { ...nothing, ...failedAfter(attempts + 1, null), slowMs: null, class: error, error };
};

/** Sends a delivery. Resolves when its outcome is known; never rejects because of the receiver. */
export const attemptDelivery = async (
  { poster, sealingKey, userAgent }: AttemptOptions,
  delivery: ReadyDelivery,
  signal: AbortSignal,
): Promise<{ ended: AttemptResult; class: AttemptClass; durationMs: number }> => {
  const { url, body, eventId, endpointId, attemptCount } = delivery;
  if (url === null) {
    // An endpoint without a URL gets no requests: a program reads the list of its deliveries.
    const ended = { attempt: null, outcome: "delivered", delayMs: null, slowMs: null } as const;
    return { ended, class: "delivered", durationMs: 0 };
  }
  const secrets = secretsOf(delivery, sealingKey);
  if (secrets === null) {
    return { ended: handedBack(UNREADABLE_PAUSE_MS), class: "secret_not_readable", durationMs: 0 };
  }
  const sentAt = new Date();
  const headers = { ...webhookHeaders({ id: eventId, sentAt, body }, secrets), ...bodyHeaders(userAgent) };
  const posted = await postMessage(poster, { receiver: endpointId, url, headers, body }, attemptCount, signal);
  const { class: attemptClass, status, error, response, durationMs, outcome, delayMs, slowMs } = posted;
  const attempt =
    attemptClass === "handed_back"
      ? null
      : {
          ...{ at: sentAt.toISOString(), durationMs: Math.round(durationMs), status, error },
          responseBody: response && responseText(response),
        };
  return { ended: { attempt, outcome, delayMs, slowMs }, class: attemptClass, durationMs };
};
