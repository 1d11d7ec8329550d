/**
 * How often something may be done. What is counted is kept in the memory of the process, or with `REDIS_URL` there, so
 * that all replicas count together; while Redis cannot be reached, each counts for itself again. There is no moment
 * without a limit.
 */
import { Problem } from "@realtime-avatar/domain/problem";
import { type RateLimiterAbstract, RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import type { RedisStore } from "./redis.ts";

/** What is left to whoever has just counted, and for how long that holds. */
type Counted = { isAllowed: boolean; remaining: number; resetMs: number };

/** Counts one more for `id`. */
export type Limiter = (id: string) => Promise<Counted>;

/** A limit of `points` in a window of `seconds`, which begins with the first. */
export const createLimiter = (
  name: string,
  points: number,
  seconds: number,
  store: RedisStore | null = null,
): Limiter => {
  const options = { keyPrefix: `realtime-avatar:${name}`, points, duration: seconds };
  const memory = new RateLimiterMemory(options);
  const limiter: RateLimiterAbstract = store
    ? new RateLimiterRedis({
        ...options,
        storeClient: store,
        rejectIfRedisNotReady: true,
        // Whoever has used up the limit is refused without asking again.
        inMemoryBlockOnConsumed: points,
        insuranceLimiter: memory,
      })
    : memory;
  const windowMs = 1000 * seconds;
  const counted = (isAllowed: boolean, { remainingPoints, msBeforeNext }: RateLimiterRes): Counted => {
    // The library measures by the time of day. When that has been set back, more than a window seems to be left, and
    // what it remembers of those who are refused would last as long.
    if (msBeforeNext > windowMs && limiter instanceof RateLimiterRedis) limiter.deleteInMemoryBlockedAll();
    return { isAllowed, remaining: remainingPoints, resetMs: Math.min(msBeforeNext, windowMs) };
  };
  return (id) =>
    limiter.consume(id).then(
      (result) => counted(true, result),
      (refused: unknown) => {
        if (refused instanceof RateLimiterRes) return counted(false, refused);
        throw refused;
      },
    );
};

/** Whole seconds, and at least one: what a client is told to wait. */
const inSeconds = (milliseconds: number): number => Math.max(1, Math.ceil(milliseconds / 1000));

/** The problem of whoever has done something too often. */
export const rateLimited = (detail: string, resetMs: number): Problem =>
  new Problem("rate_limited", detail, { retryable: true, retryAfterSeconds: inSeconds(resetMs) });

/** In so many seconds, the requests beyond the rate are counted. */
export const BURST_SECONDS = 10;

/** Counts a request of a key, and answers with the headers that tell how it stands; throws the problem `rate_limited`. */
export type RequestLimit = (keyId: string, headers: Record<string, string | number>) => Promise<void>;

/**
 * A limit of `perSecond` requests in each second, and of `burst` more in each ten. Each answer tells it in the fields
 * `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10): two policies, of which the second begins
 * where the first ends.
 */
export const createRequestLimit = (
  { perSecond, burst }: { perSecond: number; burst: number },
  store: RedisStore | null,
): RequestLimit => {
  const rate = createLimiter("rate", perSecond, 1, store);
  const extra = burst > 0 ? createLimiter("burst", burst, BURST_SECONDS, store) : null;
  const policy = `"rate";q=${perSecond};w=1${extra ? `, "burst";q=${burst};w=${BURST_SECONDS}` : ""}`;
  return async (keyId, headers) => {
    const first = await rate(keyId);
    const second = first.isAllowed || extra === null ? null : await extra(keyId);
    const isAllowed = first.isAllowed || second?.isAllowed === true;
    headers["ratelimit-policy"] = policy;
    headers["ratelimit"] = `"rate";r=${first.remaining};t=${inSeconds(first.resetMs)}`;
    if (second) {
      // When both are used up, the rate is the first to come back: `Retry-After` must not be earlier than what is told.
      const reset = isAllowed ? `;t=${inSeconds(second.resetMs)}` : "";
      headers["ratelimit"] += `, "burst";r=${second.remaining}${reset}`;
    }
    if (isAllowed) return;
    const also = extra ? `, and ${burst} more in each ${BURST_SECONDS}` : "";
    const detail = `An API key can make ${perSecond} requests in each second${also}.`;
    throw rateLimited(detail, Math.min(first.resetMs, second?.resetMs ?? first.resetMs));
  };
};
