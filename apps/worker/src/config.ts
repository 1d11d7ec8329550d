/** The configuration of the worker, read once at the start. */
import { type LivekitConfig, readLivekitConfig } from "@realtime-avatar/livekit/config";
import {
  type CommonConfig,
  readAvatarMark,
  readCommonConfig,
  readInteger,
  readMetricsPort,
  readPort,
  readVariables,
  type Variables,
} from "@realtime-avatar/runtime/config";
import { type AssetQuota, readAssetQuota } from "@realtime-avatar/runtime/config/asset-quota";
import { readCallRetentionDays } from "@realtime-avatar/runtime/config/call-retention";
import { readSpeechSettings } from "@realtime-avatar/runtime/config/speech";
import { readStorageConfig } from "@realtime-avatar/runtime/config/storage";
import { readVideoSignerConfig, type VideoSignerConfig } from "@realtime-avatar/runtime/config/video-signer";
import { readPublicAssetOrigin } from "@realtime-avatar/runtime/public-url";
import { readTracingConfig, type TracingConfig } from "@realtime-avatar/runtime/tracing-config";
import { readWebhookConfig, type WebhookConfig } from "@realtime-avatar/runtime/webhook-config";
import type { SpeechSettings } from "@realtime-avatar/speech/settings";
import type { StorageConfig } from "@realtime-avatar/storage/open";

export type WorkerConfig = CommonConfig & {
  port: number;
  /** Port of the metrics server; null when metrics are disabled. */
  metricsPort: number | null;
  /** How many jobs this process runs at once. */
  jobs: number;
  /**
   * Maximum number of concurrent jobs of one tenant in all workers together. Videos are counted separately, with the
   * same maximum.
   */
  jobsPerTenant: number;
  storage: StorageConfig;
  /** The quota of a tenant in each environment, for the files of videos. It is that of the API. */
  quota: AssetQuota;
  /** After how many days the files of videos are deleted; null: never. */
  generatedMaxAgeDays: number | null;
  /** The number of days after which the stored data of a call is deleted. */
  callRetentionDays: number;
  /** The voices of videos. */
  speech: SpeechSettings;
  /** Scheme, host and port of the public URLs in the bodies of webhooks: those of the API. */
  assetOrigin: string;
  /** The mark that is drawn into moving previews: see `createMarks`. */
  label: string;
  webhooks: WebhookConfig;
  /** How many deliveries this process sends at once. */
  webhookSends: number;
  /** Signs generated videos. */
  videoSigner: VideoSignerConfig;
  /** The LiveKit server of the calls; null without calls. */
  livekit: LivekitConfig | null;
  /** null when traces are not sent. */
  tracing: TracingConfig | null;
};

/** At most 64, because each job may need its own decoder with a gigabyte of memory. */
const readJobs = (variables: Variables, name: string, fallback: number): number =>
  readInteger(variables, name, fallback, [1, 64]);

const readSettings = (variables: Variables): WorkerConfig => {
  const common = readCommonConfig(variables);
  const jobs = readJobs(variables, "JOBS", 2);
  const port = readPort(variables, "WORKER_PORT", 3001);
  return {
    ...common,
    port,
    metricsPort: readMetricsPort(variables, "WORKER_METRICS_PORT", "WORKER_PORT", port),
    jobs,
    // A tenant leaves one place to others, however long its files take. With one job per worker, that is impossible.
    jobsPerTenant: readJobs(variables, "JOBS_PER_TENANT", Math.max(1, jobs - 1)),
    storage: readStorageConfig(variables, common.database.dataDirectory),
    quota: readAssetQuota(variables),
    generatedMaxAgeDays: readInteger(variables, "GENERATED_FILES_MAX_AGE_DAYS", null, [1, 36_500]),
    callRetentionDays: readCallRetentionDays(variables),
    speech: readSpeechSettings(variables),
    // Without the variable, the address of an API on this machine.
    assetOrigin: readPublicAssetOrigin(variables) ?? `http://${common.host}:${readPort(variables, "PORT", 3000)}`,
    label: readAvatarMark(variables),
    webhooks: readWebhookConfig(variables),
    webhookSends: readInteger(variables, "WEBHOOK_SENDS", 1000, [1, 10_000]),
    videoSigner: readVideoSignerConfig(variables),
    livekit: readLivekitConfig(variables),
    tracing: readTracingConfig(variables, "realtime-avatar-worker"),
  };
};

/** Throws a `ConfigError` that names all invalid variables. */
export const readConfig = (variables: Variables): WorkerConfig => readVariables(variables, readSettings);
