/** The configuration of the API, read once at the start. */
import { LIVE_MODEL_ID } from "@realtime-avatar/domain/avatars/models";
import { CreateAvatar } from "@realtime-avatar/domain/avatars/schemas";
import { hasLoopback, readHosts } from "@realtime-avatar/domain/calls/brought-room";
import { MAX_CALL_SECONDS } from "@realtime-avatar/domain/calls/limits";
import { MAX_SESSION_SECONDS } from "@realtime-avatar/domain/credits/schemas";
import { isValid } from "@realtime-avatar/domain/schema";
import { DEFAULT_MAX_RUNNING_VIDEOS } from "@realtime-avatar/domain/videos/limits";
import { type LivekitConfig, readLivekitConfig } from "@realtime-avatar/livekit/config";
import {
  type CommonConfig,
  readAvatarWorkerSecret,
  readBoolean,
  readCommonConfig,
  readInteger,
  readMetricsPort,
  readPort,
  readSecret,
  readVariable,
  readVariables,
  refuse,
  type Variables,
} from "@realtime-avatar/runtime/config";
import { readAssetQuota } from "@realtime-avatar/runtime/config/asset-quota";
import { readCallRetentionDays } from "@realtime-avatar/runtime/config/call-retention";
import { readSpeechSettings } from "@realtime-avatar/runtime/config/speech";
import { readStorageConfig } from "@realtime-avatar/runtime/config/storage";
import { readPublicAssetOrigin, readPublicUrl } from "@realtime-avatar/runtime/public-url";
import { readTracingConfig, type TracingConfig } from "@realtime-avatar/runtime/tracing-config";
import { readWebhookConfig, type WebhookConfig } from "@realtime-avatar/runtime/webhook-config";
import type { SpeechSettings } from "@realtime-avatar/speech/settings";
import type { StorageConfig } from "@realtime-avatar/storage/open";
import type { Secret } from "@realtime-avatar/storage/secret";
import { readUploadOrigins, type UploadOrigins } from "./assets/upload-cors.ts";
import type { RateLimit } from "./http/limits/rate-limit.ts";
import { type OidcConfig, readOidcConfig } from "./people/oidc-config.ts";

export type ApiConfig = CommonConfig & {
  /** The LiveKit server of calls; null without one. */
  livekit: LivekitConfig | null;
  /** Authenticates avatar workers; null: calls are disabled. */
  avatarWorkerSecret: Secret | null;
  /**
   * Agents of calls: the hosts of LiveKit servers that avatars may join, and the name of the agent that is dispatched
   * into rooms of the service.
   */
  agents: { livekitHosts: readonly string[]; name: string | null };
  /** The addresses at which the service listens. */
  hosts: readonly string[];
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
  /** The quota of a tenant in each environment: its assets that are neither failed nor deleted. */
  maxAssetsPerTenant: number;
  maxAssetBytesPerTenant: number;
  /** Scheme, host and port at which browsers reach the service; null: localhost, and the port on which it listens. */
  publicUrl: string | null;
  /** The OpenID Connect provider for sign-in; null: passkeys only. */
  oidc: OidcConfig | null;
  /** Signs the challenges of passkeys, and seals OIDC attempts; null: a random secret in the data directory. */
  sessionSecret: Secret | null;
  /**
   * Scheme, host and port of the public URLs of assets and previews, and of signed URLs on disk; null: the address of
   * the service.
   */
  publicAssetOrigin: string | null;
  /** The origins of the pages that may send files to signed URLs on disk. */
  uploadOrigins: UploadOrigins;
  storage: StorageConfig;
  /** Maximum number of queued and rendering videos of a tenant, in each environment. */
  maxRunningVideosPerTenant: number;
  /** The number of days after which the stored data of a call is deleted. */
  callRetentionDays: number;
  webhooks: WebhookConfig;
  /** The voices of avatars. */
  speech: SpeechSettings;
  /** Price of a second of a usage session, in credit micros. */
  creditPriceMicrosPerSecond: number;
  /** Price of a second of a call that is a conversation, in credit micros. */
  conversationPriceMicrosPerSecond: number;
  /** Tokens that the conversations of a tenant may use on a day, in UTC; null: unlimited. */
  dailyTokens: number | null;
  /** The longest call of a tenant for which the operator has set no limit, in seconds. */
  maxCallSeconds: number;
  /** How long a session may wait for its start, and how long it stays open after each report, in seconds. */
  sessionStartSeconds: number;
  sessionLeaseSeconds: number;
  /** Port of the metrics server; null when metrics are disabled. */
  metricsPort: number | null;
  /** Whether the API closes overdue sessions; null: only on the embedded database, where no worker is required. */
  sweepInApi: boolean | null;
  /** Whether the API runs a worker as a child process; null: only on the embedded database. */
  worker: boolean | null;
  /** null when traces are disabled. */
  tracing: TracingConfig | null;
};

const readNumber = (variables: Variables, name: string, minimum: number, maximum = 1_000_000): number | null =>
  readInteger(variables, name, null, [minimum, maximum]);

/** At this price a session of half an hour still costs less than 2^53 credit micros. */
const MAX_PRICE = 1_000_000_000_000;
const MAX_LEASE_SECONDS = 86_400;
const MAX_DAILY_TOKENS = 1_000_000_000_000;

/** The rate limit from `<prefix>_RPS` and `<prefix>_BURST`; null when neither is set. A burst without a rate is an error. */
const readRateLimit = (variables: Variables, prefix: string): RateLimit | null => {
  const perSecond = readNumber(variables, `${prefix}_RPS`, 1);
  const burst = readNumber(variables, `${prefix}_BURST`, 0);
  if (perSecond === null && burst !== null) refuse(variables, `${prefix}_RPS`, `set when ${prefix}_BURST is set`);
  return perSecond === null ? null : { perSecond, burst: burst ?? 0 };
};

const LIVEKIT_CLOUD = "*.livekit.cloud";

const readAgents = (variables: Variables): ApiConfig["agents"] => {
  const form = "host names, such as *.livekit.cloud or livekit.example.com:7443, separated by commas";
  const livekitHosts = readVariable<string[]>(
    variables,
    "BYO_LIVEKIT_HOSTS",
    [LIVEKIT_CLOUD],
    form,
    (text) => readHosts(text) ?? undefined,
  );
  // The rule is that of webhooks: with an external database, callers are untrusted.
  if (hasLoopback(livekitHosts) && variables["DATABASE_URL"]) {
    refuse(variables, "BYO_LIVEKIT_HOSTS", "without a host of this machine when DATABASE_URL is set");
  }
  const name = readVariable<string | null>(variables, "CALL_AGENT_NAME", null, "1 to 128 of A-Za-z0-9._-", (text) =>
    /^[A-Za-z0-9._-]{1,128}$/.test(text) ? text : undefined,
  );
  return { livekitHosts, name };
};

const readSettings = (variables: Variables): ApiConfig => {
  const common = readCommonConfig(variables);
  const port = readPort(variables, "PORT", 3000);
  const quota = readAssetQuota(variables);
  const creditPriceMicrosPerSecond = readNumber(variables, "CREDIT_PRICE_MICROS_PER_SECOND", 1, MAX_PRICE) ?? 1_000_000;
  return {
    ...common,
    hosts: variables["HOST"] ? [common.host] : [common.host, "::1"],
    port,
    defaultAvatarModelId: readVariable(
      variables,
      "DEFAULT_AVATAR_MODEL_ID",
      LIVE_MODEL_ID,
      "an avatar model id of 1 to 160 characters",
      (text) => (isValid(CreateAvatar.properties.modelId, text) ? text : undefined),
    ),
    trustedProxyHops: readVariable(variables, "TRUSTED_PROXY_HOPS", 0, "a number of proxies from 0 to 9", (text) =>
      /^\d$/.test(text) ? Number(text) : undefined,
    ),
    rateLimit: readRateLimit(variables, "RATE_LIMIT"),
    tenantRateLimit: readRateLimit(variables, "RATE_LIMIT_TENANT"),
    maxActiveKeysPerTenant: readNumber(variables, "MAX_ACTIVE_KEYS_PER_TENANT", 1) ?? 10_000,
    maxAssetsPerTenant: quota.maxAssets,
    maxAssetBytesPerTenant: quota.maxBytes,
    livekit: readLivekitConfig(variables),
    avatarWorkerSecret: readAvatarWorkerSecret(variables),
    agents: readAgents(variables),
    publicUrl: readPublicUrl(variables),
    oidc: readOidcConfig(variables),
    sessionSecret: readSecret(variables, "SESSION_SECRET"),
    publicAssetOrigin: readPublicAssetOrigin(variables),
    uploadOrigins: readVariable<UploadOrigins>(
      variables,
      "UPLOAD_ORIGINS",
      null,
      "* or origins such as https://app.example.com, separated by commas",
      readUploadOrigins,
    ),
    storage: readStorageConfig(variables, common.database.dataDirectory),
    maxRunningVideosPerTenant: readNumber(variables, "MAX_RUNNING_VIDEOS_PER_TENANT", 1) ?? DEFAULT_MAX_RUNNING_VIDEOS,
    callRetentionDays: readCallRetentionDays(variables),
    webhooks: readWebhookConfig(variables),
    speech: readSpeechSettings(variables),
    metricsPort: readMetricsPort(variables, "METRICS_PORT", "PORT", port),
    sweepInApi: readBoolean(variables, "SWEEP_IN_API", null),
    worker: readBoolean(variables, "WORKER", null),
    tracing: readTracingConfig(variables, "realtime-avatar-api"),
    creditPriceMicrosPerSecond,
    conversationPriceMicrosPerSecond:
      readNumber(variables, "CONVERSATION_PRICE_MICROS_PER_SECOND", 1, MAX_PRICE) ?? creditPriceMicrosPerSecond,
    dailyTokens: readNumber(variables, "LLM_DAILY_TOKENS", 1, MAX_DAILY_TOKENS),
    maxCallSeconds:
      readNumber(variables, "MAX_CALL_SECONDS", MAX_SESSION_SECONDS, MAX_CALL_SECONDS) ?? MAX_SESSION_SECONDS,
    sessionStartSeconds: readNumber(variables, "SESSION_START_SECONDS", 1, MAX_LEASE_SECONDS) ?? 60,
    sessionLeaseSeconds: readNumber(variables, "SESSION_LEASE_SECONDS", 1, MAX_LEASE_SECONDS) ?? 60,
    redisUrl: readVariable<string | null>(variables, "REDIS_URL", null, "a redis:// or rediss:// URL", (text) =>
      /^(redis|rediss|valkey|valkeys):\/\/[^\s/?#]+(\/\d*)?$/.test(text) && URL.canParse(text) ? text : undefined,
    ),
  };
};

/** Throws a `ConfigError` that names all invalid variables. */
export const readConfig = (variables: Variables): ApiConfig => readVariables(variables, readSettings);
