/**
 * How often something may be done. What is counted is kept in the memory of the process, or with `REDIS_URL` there, so
 * that all replicas count together; while Redis cannot be reached, each counts for itself again. There is no moment
 * without a limit.
 */
import type { ApiKeyRecord } from "@realtime-avatar/domain/api-key";
import { Problem } from "@realtime-avatar/domain/problem";
import { type RateLimiterAbstract, RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import type { RedisStore } from "./redis.ts";

/** The state of a limit after a request was counted: what is left, and until when. */
type Counted = { isAllowed: boolean; remaining: number; resetMs: number };

/** Counts one more for `id`. */
export type Limiter = {
  (id: string): Promise<Counted>;
  /** Takes back one that was counted and allowed. Called right after it, so that it is of the same window. */
  refund(id: string): Promise<void>;
};

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
        // After one refusal, the rest of the window is refused without asking again. Not after the last that is allowed:
        // that one may be refunded.
        inMemoryBlockOnConsumed: points + 1,
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
  const count = (id: string): Promise<Counted> =>
    limiter.consume(id).then(
      (result) => counted(true, result),
      (refused: unknown) => {
        if (refused instanceof RateLimiterRes) return counted(false, refused);
        throw refused;
      },
    );
  const refund = async (id: string): Promise<void> => void (await limiter.reward(id));
  return Object.assign(count, { refund });
};

/** Whole seconds, and at least one: what a client is told to wait. */
const inSeconds = (milliseconds: number): number => Math.max(1, Math.ceil(milliseconds / 1000));

/** The problem `rate_limited`, with the time until the limit allows another request. */
export const rateLimited = (detail: string, resetMs: number): Problem =>
  new Problem("rate_limited", detail, { retryable: true, retryAfterSeconds: inSeconds(resetMs) });

/** In so many seconds, the requests beyond the rate are counted. */
export const BURST_SECONDS = 10;

/** A limit of `perSecond` requests in each second, and of `burst` more in each ten. */
export type RateLimit = { perSecond: number; burst: number };

/** What one request has used of a budget. */
type Use = {
  isAllowed: boolean;
  /** The items for the header `RateLimit`. */
  items: string;
  /** Until the budget can have room again, in milliseconds. */
  resetMs: number;
  /** Puts back what the request has used. */
  refund(): Promise<void>;
};

/**
 * A budget of requests per id: a rate, and beyond it a burst. `name` names the rate in the headers and the counters, and
 * `burstName` the burst.
 */
const createBudget = (name: string, burstName: string, limit: RateLimit, store: RedisStore | null) => {
  const { perSecond, burst } = limit;
  const rate = createLimiter(name, perSecond, 1, store);
  const extra = burst > 0 ? createLimiter(burstName, burst, BURST_SECONDS, store) : null;
  return {
    /** The items for the header `RateLimit-Policy`. */
    policy: `"${name}";q=${perSecond};w=1${extra ? `, "${burstName}";q=${burst};w=${BURST_SECONDS}` : ""}`,
    /** In words, for the problem. */
    words: `${perSecond} requests in each second${extra ? `, and ${burst} more in each ${BURST_SECONDS}` : ""}`,
    use: async (id: string): Promise<Use> => {
      const first = await rate(id);
      const item = `"${name}";r=${first.remaining};t=${inSeconds(first.resetMs)}`;
      if (first.isAllowed || extra === null) {
        return { isAllowed: first.isAllowed, items: item, resetMs: first.resetMs, refund: () => rate.refund(id) };
      }
      const second = await extra(id);
      // When both are used up, the rate is the first to come back: `Retry-After` must not be earlier than what is told.
      const reset = second.isAllowed ? `;t=${inSeconds(second.resetMs)}` : "";
      return {
        isAllowed: second.isAllowed,
        items: `${item}, "${burstName}";r=${second.remaining}${reset}`,
        resetMs: Math.min(first.resetMs, second.resetMs),
        refund: () => extra.refund(id),
      };
    },
  };
};

/** Of a caller, what rate limits need: its tenant, and the ids of its key and of that key's ancestors, root first. */
type Counting = Pick<ApiKeyRecord, "tenantId" | "id" | "lineage">;

/** Counts a request of a caller, and sets the headers that tell how it stands; throws the problem `rate_limited`. */
export type RequestLimit = (caller: Counting, headers: Record<string, string | number>) => Promise<void>;

/**
 * Limits requests by key and by tenant; null when there is neither limit. A key and its descendants share one budget,
 * that of their root key: otherwise a key would evade its limit by creating keys. The key's budget is used first. A
 * request that it refuses uses nothing of the tenant's, so that one key cannot use that up for the others; and one that
 * the tenant's refuses is put back into the key's.
 *
 * Each response tells the limits in `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10): for
 * each budget a rate, and a burst that begins where the rate ends. `RateLimit` has the ones that the request has used.
 */
export const createRequestLimit = (
  limits: { key: RateLimit | null; tenant: RateLimit | null },
  store: RedisStore | null,
): RequestLimit | null => {
  const { key, tenant } = limits;
  const budgets = [
    key && {
      ...createBudget("rate", "burst", key, store),
      idOf: ({ lineage, id }: Counting): string => lineage[0] ?? id,
      who: "An API key and its descendants together",
    },
    tenant && {
      ...createBudget("tenant-rate", "tenant-burst", tenant, store),
      idOf: ({ tenantId }: Counting): string => tenantId,
      who: "The API keys of a tenant together",
    },
  ].filter((budget) => budget !== null);
  if (budgets.length === 0) return null;
  const policy = budgets.map((budget) => budget.policy).join(", ");
  return async (caller, headers) => {
    const uses: Use[] = [];
    headers["ratelimit-policy"] = policy;
    for (const { use, idOf, who, words } of budgets) {
      const used = await use(idOf(caller));
      uses.push(used);
      headers["ratelimit"] = uses.map(({ items }) => items).join(", ");
      if (used.isAllowed) continue;
      for (const earlier of uses.slice(0, -1)) await earlier.refund();
      throw rateLimited(`${who} can make ${words}.`, used.resetMs);
    }
  };
};
