/** The API's configuration, read once, at the start. */
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
  /** How many requests a root key with its descendants can make; null when there is no limit. */
  rateLimit: RateLimit | null;
  /** How many requests all keys of a tenant can make together; null when there is no limit. */
  tenantRateLimit: RateLimit | null;
  redisUrl: string | null;
  /** How many active keys a tenant may have. */
  maxActiveKeysPerTenant: number;
  /** Where metrics are; null when nothing is measured. */
  metricsPort: number | null;
};

const readNumber = (variables: Variables, name: string, minimum: number): number | null =>
  readVariable<number | null>(variables, name, null, `a whole number from ${minimum} to 1000000`, (text) =>
    /^\d{1,7}$/.test(text) && Number(text) >= minimum && Number(text) <= 1_000_000 ? Number(text) : undefined,
  );

/** A limit of a rate and a burst, as `<prefix>_RPS` and `<prefix>_BURST` say. A burst without a rate is an error. */
const toRateLimit = (prefix: string, perSecond: number | null, burst: number | null): RateLimit | null => {
  if (perSecond === null && burst !== null) throw new ConfigError(`${prefix}_RPS`, `set, when ${prefix}_BURST is`);
  return perSecond === null ? null : { perSecond, burst: burst ?? 0 };
};

/** Throws a `ConfigError` that names the first variable of the wrong form. */
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
