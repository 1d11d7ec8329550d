/** The schedule of a delivery's attempts, and the time for which it is kept. */
import { parseDateTime } from "../date-time.ts";
import { validationFailed } from "../problem.ts";
import { DELIVERY_DAYS } from "./schemas.ts";

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** Deliveries that were created before this time are not kept. */
export const keptSince = (now: Date): Date => new Date(now.getTime() - DELIVERY_DAYS * 24 * HOUR_MS);

/**
 * The start of a recovery. `since`: the field of the request, a valid date-time. Throws the problem `validation_failed`
 * when `since` is before the oldest delivery that is kept: the recovery would be incomplete.
 */
export const recoveredSince = (since: string, now: Date): Date => {
  const time = parseDateTime(since) as Date;
  if (time >= keptSince(now)) return time;
  throw validationFailed([
    {
      pointer: "#/since",
      code: "too_old",
      detail: `Must be at most ${DELIVERY_DAYS} days ago: older ones are not kept.`,
    },
  ]);
};

/** The pause before each attempt after the first. With the jitter, attempts go on for 75 to 91 hours. */
export const ATTEMPT_PAUSES_MS: readonly number[] = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
];
/** The maximum number of attempts of a delivery. */
export const MAX_ATTEMPTS = ATTEMPT_PAUSES_MS.length + 1;

/**
 * Pauses are longer by up to this fraction, so that deliveries that failed at the same time are not tried again at the
 * same time.
 */
const JITTER = 0.2;

/**
 * The pause before the next attempt in milliseconds, after `attempts` failed attempts (at least one); null when no
 * attempt is left. `retryAfterMs` (null without the header) makes it longer, at most to the pause after the next
 * attempt. `random`: from 0 to 1.
 */
export const pauseMs = (attempts: number, retryAfterMs: number | null, random: number): number | null => {
  const pause = ATTEMPT_PAUSES_MS[attempts - 1];
  if (pause === undefined) return null;
  const longest = ATTEMPT_PAUSES_MS[attempts] ?? pause;
  return Math.round(Math.max(pause, Math.min(retryAfterMs ?? 0, longest)) * (1 + JITTER * random));
};

/** Statuses by which a receiver, or a proxy before it, reports too much load. */
const SLOWING_STATUSES = [429, 502, 504];
const SLOW_MS = 30 * SECOND_MS;
const MAX_SLOW_MS = 5 * MINUTE_MS;

/** How long nothing is sent to an endpoint that has responded with `status`; null without a pause. */
export const slowMs = (status: number, retryAfterMs: number | null): number | null =>
  SLOWING_STATUSES.includes(status) ? Math.min(Math.max(retryAfterMs ?? SLOW_MS, SECOND_MS), MAX_SLOW_MS) : null;

/** The only form of HTTP-date that a sender may generate (RFC 9110 §5.6.7). */
const HTTP_DATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** The milliseconds of a `Retry-After` header: seconds, or a date; null without a valid one. */
export const retryAfterMs = (header: string | undefined, now: Date): number | null => {
  const text = header?.trim() ?? "";
  if (/^\d{1,10}$/.test(text)) return Number(text) * SECOND_MS;
  const at = HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? null : Math.max(0, at - now.getTime());
};
