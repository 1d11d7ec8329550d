/** What the application and its routes are given. Nothing is read or connected at import time. */

import type { Db } from "@realtime-avatar/db/connection/pool";
import type { Caller } from "@realtime-avatar/db/statements/callers";
import type { RandomBytes } from "@realtime-avatar/domain/id";
import type { Logger } from "@realtime-avatar/runtime/log";
import type { Metrics } from "@realtime-avatar/runtime/metrics";
import type { Tracing } from "@realtime-avatar/runtime/tracing";
import type { ApiConfig } from "./config.ts";
import type { RequestLimit } from "./http/rate-limit.ts";
import type { RecentSecrets } from "./http/recent-secrets.ts";
import type { RedisStore } from "./http/redis.ts";
import type { ResponseBytes } from "./http/response-bytes.ts";

/** What the application is given. */
export type AppOptions = {
  db: Db;
  clock: () => Date;
  random: RandomBytes;
  config: Pick<
    ApiConfig,
    "defaultAvatarModelId" | "maxActiveKeysPerTenant" | "rateLimit" | "tenantRateLimit" | "trustedProxyHops"
  >;
  log: Logger;
  /** Called with each key that has proved itself. */
  noteUse: (caller: Caller) => void;
  /** The address from which a request's connection comes; null when there is none. */
  peerAddress: (request: Request) => string | null;
  /** Where rate limits are counted for all replicas; null when each counts for itself. */
  redis: RedisStore | null;
  /** What is sent, and not yet read. */
  responseBytes: ResponseBytes;
  /** Whether the process has been told to end. */
  isEnding: () => boolean;
  /** Metrics and tracing of requests; null when they are off. */
  metrics: Metrics | null;
  tracing: Tracing | null;
};

/** What its routes are given: the same, and what all of them share. */
export type Dependencies = AppOptions & {
  /** Counts the requests of a caller over all routes; null when there is no limit. */
  limitRequests: RequestLimit | null;
  /** The secrets that have authenticated recently: their look-ups go first. */
  recentSecrets: RecentSecrets;
};
