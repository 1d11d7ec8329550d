/** The configuration of the API, read once at the start. */
import { CreateAvatar } from "@realtime-avatar/domain/avatar";
import { isValid } from "@realtime-avatar/domain/schema";
import {
  type CommonConfig,
  ConfigError,
  readCommonConfig,
  readPort,
  readVariable,
  type Variables,
} from "@realtime-avatar/runtime/config";
import type { RateLimit } from "./http/rate-limit.ts";

export type ApiConfig = CommonConfig & {
  port: number;
  defaultAvatarModelId: string;
  trustedProxyHops: number;
  /** Rate limit of a root key together with its descendants; null for no limit. */
  rateLimit: RateLimit | null;
  /** Rate limit of all keys of a tenant together; null for no limit. */
  tenantRateLimit: RateLimit | null;
  redisUrl: string | null;
  /** Maximum number of active keys of a tenant. */
  maxActiveKeysPerTenant: number;
  /** Port of the metrics server; null when metrics are disabled. */
  metricsPort: number | null;
};

const readNumber = (variables: Variables, name: string, minimum: number): number | null =>
  readVariable<number | null>(variables, name, null, `a whole number from ${minimum} to 1000000`, (text) =>
    /^\d{1,7}$/.test(text) && Number(text) >= minimum && Number(text) <= 1_000_000 ? Number(text) : undefined,
  );

/** The rate limit from `<prefix>_RPS` and `<prefix>_BURST`; null when neither is set. A burst without a rate is an error. */
const toRateLimit = (prefix: string, perSecond: number | null, burst: number | null): RateLimit | null => {
  if (perSecond === null && burst !== null) throw new ConfigError(`${prefix}_RPS`, `set when ${prefix}_BURST is set`);
  return perSecond === null ? null : { perSecond, burst: burst ?? 0 };
};

/** Throws a `ConfigError` that names the first invalid variable. */
export const readConfig = (variables: Variables): ApiConfig => ({
  ...readCommonConfig(variables),
  port: readPort(variables, "PORT", 3000),
  defaultAvatarModelId: readVariable(
    variables,
    "DEFAULT_AVATAR_MODEL_ID",
    "realtime-avatar-live-v1",
    "an avatar model id of 1 to 160 characters",
    (text) => (isValid(CreateAvatar.properties.modelId, text) ? text : undefined),
  ),
  trustedProxyHops: readVariable(variables, "TRUSTED_PROXY_HOPS", 0, "a number of proxies from 0 to 9", (text) =>
    /^\d$/.test(text) ? Number(text) : undefined,
  ),
  rateLimit: toRateLimit(
    "RATE_LIMIT",
    readNumber(variables, "RATE_LIMIT_RPS", 1),
    readNumber(variables, "RATE_LIMIT_BURST", 0),
  ),
  tenantRateLimit: toRateLimit(
    "RATE_LIMIT_TENANT",
    readNumber(variables, "RATE_LIMIT_TENANT_RPS", 1),
    readNumber(variables, "RATE_LIMIT_TENANT_BURST", 0),
  ),
  maxActiveKeysPerTenant: readNumber(variables, "MAX_ACTIVE_KEYS_PER_TENANT", 1) ?? 10_000,
  metricsPort: variables["METRICS_PORT"] ? readPort(variables, "METRICS_PORT", 0) : null,
  redisUrl: readVariable<string | null>(variables, "REDIS_URL", null, "a redis:// or rediss:// URL", (text) =>
    /^(redis|rediss|valkey|valkeys):\/\/[^\s/?#]+(\/\d*)?$/.test(text) && URL.canParse(text) ? text : undefined,
  ),
});
