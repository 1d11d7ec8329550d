/**
 * Rate limits. Each process counts in its memory; with `REDIS_URL`, all replicas count together in Redis. While Redis cannot
 * be reached, each process counts for itself, so there is always a limit.
 */
import { randomBytes } from "node:crypto";
import { isId } from "@realtime-avatar/domain/id";
import { Problem } from "@realtime-avatar/domain/problem";
import { type RateLimiterAbstract, RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import { clientNetwork } from "./client-address.ts";
import type { RedisStore } from "./redis.ts";

/** The state of a limit after a request was counted. */
type Count = { isAllowed: boolean; remaining: number; resetMs: number };

/** Counts a request of `id`. */
export type Limiter = {
  (id: string): Promise<Count>;
  /** Undoes the count of an allowed request. Called right after it, in the same window. */
  refund(id: string): Promise<void>;
};

/**
 * Counts in memory with `maxIds` counters. Ids with the same hash share one. The seed is secret, so an attacker cannot
 * choose an id that shares a given counter.
 */
class BoundedMemory extends RateLimiterMemory {
  readonly #seed = randomBytes(8).readBigUInt64LE();
  readonly #maxIds: bigint;

  constructor(options: ConstructorParameters<typeof RateLimiterMemory>[0], maxIds: number) {
    super(options);
    this.#maxIds = BigInt(maxIds);
  }

  override getKey(id: string): string {
    return String(BigInt(Bun.hash(id, this.#seed)) % this.#maxIds);
  }
}

/**
 * A limit of `points` requests in a window of `seconds`, which starts with the first request. `maxIds` bounds the
 * memory if clients choose the ids: a counter takes about 700 bytes.
 */
export const createLimiter = (
  name: string,
  points: number,
  seconds: number,
  store: RedisStore | null = null,
  maxIds: number | null = null,
): Limiter => {
  const options = { keyPrefix: `realtime-avatar:${name}`, points, duration: seconds };
  const memory = maxIds === null ? new RateLimiterMemory(options) : new BoundedMemory(options, maxIds);
  const limiter: RateLimiterAbstract = store
    ? new RateLimiterRedis({
        ...options,
        storeClient: store,
        rejectIfRedisNotReady: true,
        // After a refusal, the rest of the window is refused without a call to Redis. The last allowed request does not
        // start this, because it may be refunded.
        inMemoryBlockOnConsumed: points + 1,
        insuranceLimiter: memory,
      })
    : memory;
  const windowMs = 1000 * seconds;
  const countOf = (isAllowed: boolean, { remainingPoints, msBeforeNext }: RateLimiterRes): Count => {
    // The library uses the wall clock. After the clock is set back, a window seems to last longer, and so would
    // remembered refusals.
    if (msBeforeNext > windowMs && limiter instanceof RateLimiterRedis) limiter.deleteInMemoryBlockedAll();
    return { isAllowed, remaining: remainingPoints, resetMs: Math.min(msBeforeNext, windowMs) };
  };
  const count = (id: string): Promise<Count> =>
    limiter.consume(id).then(
      (result) => countOf(true, result),
      (refused: unknown) => {
        if (refused instanceof RateLimiterRes) return countOf(false, refused);
        throw refused;
      },
    );
  const refund = async (id: string): Promise<void> => void (await limiter.reward(id));
  return Object.assign(count, { refund });
};

/** Whole seconds, at least one. */
const inSeconds = (milliseconds: number): number => Math.max(1, Math.ceil(milliseconds / 1000));

/** The problem `rate_limited`, with the time until the limit allows another request. */
export const rateLimited = (detail: string, resetMs: number): Problem =>
  new Problem("rate_limited", detail, { retryable: true, retryAfterSeconds: inSeconds(resetMs) });

/** Maximum number of separately counted networks in memory. An attacker can have more networks. About 11 MB. */
const MAX_NETWORKS = 16_384;

/**
 * Limits requests without credentials: `perMinute` for each network of clients. The returned function throws the
 * problem `rate_limited`. `what` names the requests in its detail.
 */
export const createNetworkLimit = (
  name: string,
  perMinute: number,
  what: string,
  {
    config,
    peerAddress,
    redis,
  }: {
    config: { trustedProxyHops: number };
    peerAddress: (request: Request) => string | null;
    redis: RedisStore | null;
  },
): ((request: Request) => Promise<void>) => {
  const limit = createLimiter(name, perMinute, 60, redis, MAX_NETWORKS);
  return async (request) => {
    const { isAllowed, resetMs } = await limit(clientNetwork(request, peerAddress(request), config.trustedProxyHops));
    if (!isAllowed) throw rateLimited(`A client can ${what} in a minute.`, resetMs);
  };
};

/** The window of a burst. */
export const BURST_SECONDS = 10;

/** At most `perSecond` requests in each second, and `burst` more in each ten seconds. */
export type RateLimit = { perSecond: number; burst: number };

/** The use of a budget by one request. */
type Use = {
  isAllowed: boolean;
  /** The items for the header `RateLimit`. */
  items: string;
  /** Milliseconds until the budget may allow a request again. */
  resetMs: number;
  /** Undoes the use. */
  refund(): Promise<void>;
};

/**
 * A budget of requests per id: a rate, and a burst above it. `name` and `burstName` name them in headers and counters.
 */
const createBudget = (name: string, burstName: string, limit: RateLimit, store: RedisStore | null) => {
  const { perSecond, burst } = limit;
  const rate = createLimiter(name, perSecond, 1, store);
  const extra = burst > 0 ? createLimiter(burstName, burst, BURST_SECONDS, store) : null;
  return {
    /** The items for the header `RateLimit-Policy`. */
    policy: `"${name}";q=${perSecond};w=1${extra ? `, "${burstName}";q=${burst};w=${BURST_SECONDS}` : ""}`,
    /** The limit as text, for the problem. */
    description: `${perSecond} requests in each second${extra ? `, and ${burst} more in each ${BURST_SECONDS}` : ""}`,
    use: async (id: string): Promise<Use> => {
      const first = await rate(id);
      const item = `"${name}";r=${first.remaining};t=${inSeconds(first.resetMs)}`;
      if (first.isAllowed || extra === null) {
        return { isAllowed: first.isAllowed, items: item, resetMs: first.resetMs, refund: () => rate.refund(id) };
      }
      const second = await extra(id);
      // When both limits are used up, the rate resets first, but `Retry-After` must not be earlier than the resets in
      // the header.
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

/** The tenant of a caller, the id of its key or user, and the ids of the key's ancestors, root first. */
type RateLimitedCaller = { tenantId: string; id: string; lineage: readonly string[] };

/** Counts a request of a caller and sets the rate limit headers; throws the problem `rate_limited`. */
export type RequestLimit = (caller: RateLimitedCaller, headers: Record<string, string | number>) => Promise<void>;

/**
 * Limits requests by key and by tenant; null without limits. A key and its descendants share the budget of their root
 * key: otherwise a key could evade its limit by creating keys. For the same reason, the sessions of a person share a
 * budget. The key's budget is used first. A request that it refuses does not use the tenant's budget, so one key cannot
 * use it up for the others. A request that the tenant's budget refuses is refunded to the key.
 *
 * Each response shows the limits in `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10): for each
 * budget a rate, and a burst above it. `RateLimit` lists those that the request has used.
 */
export const createRequestLimit = (
  limits: { key: RateLimit | null; tenant: RateLimit | null },
  store: RedisStore | null,
): RequestLimit | null => {
  const { key, tenant } = limits;
  const budgets = [
    key && {
      ...createBudget("rate", "burst", key, store),
      idOf: ({ lineage, id }: RateLimitedCaller): string => lineage[0] ?? id,
      who: ({ id }: RateLimitedCaller): string =>
        isId("usr", id) ? "The sessions of a person together" : "An API key and its descendants together",
    },
    tenant && {
      ...createBudget("tenant-rate", "tenant-burst", tenant, store),
      idOf: ({ tenantId }: RateLimitedCaller): string => tenantId,
      who: (): string => "The API keys of a tenant together",
    },
  ].filter((budget) => budget !== null);
  if (budgets.length === 0) return null;
  const policy = budgets.map((budget) => budget.policy).join(", ");
  return async (caller, headers) => {
    const uses: Use[] = [];
    headers["ratelimit-policy"] = policy;
    for (const { use, idOf, who, description } of budgets) {
      const latest = await use(idOf(caller));
      uses.push(latest);
      headers["ratelimit"] = uses.map(({ items }) => items).join(", ");
      if (latest.isAllowed) continue;
      for (const earlier of uses.slice(0, -1)) await earlier.refund();
      throw rateLimited(`${who(caller)} can make ${description}.`, latest.resetMs);
    }
  };
};
