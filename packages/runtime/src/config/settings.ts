/** The names of all settings, to find those that are misspelt: otherwise a misspelt variable is ignored silently. */
import type { Variables } from "../config.ts";

/** A test compares them with docs/configuration.md. */
export const SETTINGS = [
  "HOST",
  "PORT",
  "WORKER_PORT",
  "JOBS",
  "JOBS_PER_TENANT",
  "DATABASE_URL",
  "DATABASE_ALLOW_WEAK_AUTH",
  "DATABASE_SHARD_NODES",
  "DATA_DIR",
  "REQUEST_TIMEOUT_MS",
  "DATABASE_CONNECTIONS",
  "PREPARED_STATEMENTS",
  "DEFAULT_AVATAR_MODEL_ID",
  "TRUSTED_PROXY_HOPS",
  "RATE_LIMIT_RPS",
  "RATE_LIMIT_BURST",
  "RATE_LIMIT_TENANT_RPS",
  "RATE_LIMIT_TENANT_BURST",
  "MAX_ACTIVE_KEYS_PER_TENANT",
  "SWEEP_IN_API",
  "WORKER",
  "CREDIT_PRICE_MICROS_PER_SECOND",
  "CONVERSATION_PRICE_MICROS_PER_SECOND",
  "SESSION_START_SECONDS",
  "SESSION_LEASE_SECONDS",
  "REDIS_URL",
  "KEEP_ALIVE_MS",
  "SHUTDOWN_GRACE_MS",
  "METRICS_PORT",
  "WORKER_METRICS_PORT",
  "PUBLIC_URL",
  "SESSION_SECRET",
  "OIDC_ISSUER",
  "OIDC_CLIENT_ID",
  "OIDC_CLIENT_SECRET",
  "OIDC_NAME",
  "STORAGE_URL",
  "ASSET_SIGNING_SECRET",
  "PUBLIC_ASSET_ORIGIN",
  "UPLOAD_ORIGINS",
  "MAX_ASSETS_PER_TENANT",
  "MAX_ASSET_BYTES_PER_TENANT",
  "MAX_RUNNING_VIDEOS_PER_TENANT",
  "GENERATED_FILES_MAX_AGE_DAYS",
  "CALL_RETENTION_DAYS",
  "AWS_ACCESS_KEY_ID",
  "AWS_SECRET_ACCESS_KEY",
  "AWS_SESSION_TOKEN",
  "AWS_REGION",
  "AWS_ENDPOINT_URL_S3",
  "AWS_ENDPOINT_URL",
  "WEBHOOK_SECRET_KEY",
  "WEBHOOK_SENDS",
  "WEBHOOK_ALLOW_HTTP_LOCALHOST",
  "AVATAR_WORKER_SECRET",
  "SERVICE_URL",
  "C2PA_CERTIFICATE",
  "C2PA_KEY",
  "AVATAR_MARK",
  "AVATAR_SLOTS",
  "RENDERER",
  "AVATAR_WORKER_SHARD",
  "AVATAR_WORKER_PORT",
  "AVATAR_WORKER_METRICS_PORT",
  "LIVEKIT_URL",
  "LIVEKIT_API_KEY",
  "LIVEKIT_API_SECRET",
  "LIVEKIT_EMBEDDED",
  "BYO_LIVEKIT_HOSTS",
  "CALL_AGENT_NAME",
  "LIVEKIT_SERVER_BIN",
  "MAX_CALL_SECONDS",
  "LLM_URL",
  "LLM_API_KEY",
  "LLM_MODEL",
  "LLM_MODELS",
  "LLM_INSTRUCTIONS",
  "LLM_MAX_TOKENS",
  "LLM_MAX_TURNS_PER_MINUTE",
  "LLM_DAILY_TOKENS",
  "STT_URL",
  "STT_API_KEY",
  "STT_MODEL",
  "TTS_URL",
  "TTS_API_KEY",
  "TTS_MODEL",
  "TTS_VOICES",
  "TTS_VOICE",
  "TTS_RATE",
  "OPENAI_API_KEY",
  "LOG_LEVEL",
] as const;

/** The most used settings of OpenTelemetry. */
const TRACES = [
  "OTEL_EXPORTER_OTLP_ENDPOINT",
  "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
  "OTEL_EXPORTER_OTLP_HEADERS",
  "OTEL_SERVICE_NAME",
  "OTEL_RESOURCE_ATTRIBUTES",
  "OTEL_SDK_DISABLED",
  "OTEL_TRACES_EXPORTER",
  "OTEL_TRACES_SAMPLER",
  "OTEL_TRACES_SAMPLER_ARG",
];
const KNOWN: ReadonlySet<string> = new Set([...SETTINGS, ...TRACES]);

/** Insertions, deletions, substitutions and swaps of neighbours that lead from one text to the other (optimal string alignment). */
const distance = (from: string, to: string): number => {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let at = 1; at <= to.length; at++) {
      const isSame = from[row - 1] === to[at - 1];
      const isSwap = row > 1 && at > 1 && from[row - 1] === to[at - 2] && from[row - 2] === to[at - 1];
      const steps = [(last[at] ?? 0) + 1, (current[at - 1] ?? 0) + 1, (last[at - 1] ?? 0) + (isSame ? 0 : 1)];
      if (isSwap) steps.push((beforeLast[at - 2] ?? 0) + 1);
      current.push(Math.min(...steps));
    }
    beforeLast = last;
    last = current;
  }
  return last[to.length] ?? 0;
};

const lettersOf = (name: string): string => [...name].sort().join("");
const withoutDoubles = (name: string): string => name.replace(/(.)\1/g, "$1");

/**
 * Whether a name is a misspelt setting. The environment has variables of other programs, so a short name must have the
 * same letters (`PROT`, not `POST` or `PORTS`), and a longer name that begins with a setting does not match
 * (`DATABASE_URL_OLD`). Some names of Amazon and OpenTelemetry differ in two letters.
 */
const isMisspelt = (name: string, setting: string): boolean => {
  const upper = name.toUpperCase().replaceAll("-", "_");
  if (upper === setting) return true;
  if (upper.startsWith(`${setting}_`)) return false;
  if (setting.length < 8) {
    const isSwapped = lettersOf(upper) === lettersOf(setting) && distance(upper, setting) === 1;
    return isSwapped || (upper.length === setting.length + 1 && withoutDoubles(upper) === setting);
  }
  return distance(upper, setting) <= (setting.length < 12 || /^(AWS|OTEL)_/.test(setting) ? 1 : 2);
};

/** Each variable that is set and looks like an unset setting, with that setting. */
export const misspeltSettings = (variables: Variables): { name: string; setting: string }[] =>
  Object.entries(variables).flatMap(([name, value]) => {
    // Kubernetes sets `<service>_PORT=tcp://…` for each service of the namespace.
    if (!value || KNOWN.has(name) || /^(tcp|udp):\/\//.test(value)) return [];
    const setting = [...KNOWN].find((known) => !variables[known] && isMisspelt(name, known));
    return setting === undefined ? [] : [{ name, setting }];
  });

/** Names misspelt settings on standard error, without values, which can be secrets. */
export const warnOfMisspeltSettings = (variables: Variables): void => {
  for (const { name, setting } of misspeltSettings(variables)) {
    process.stderr.write(`${name} is not a setting. Did you mean ${setting}?\n`);
  }
};
