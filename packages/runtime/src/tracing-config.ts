/**
 * OpenTelemetry's own variables (opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables). The SDK reads only
 * those of its exporter; the others are read here, without loading OpenTelemetry.
 */
import { existsSync } from "node:fs";
import { readInteger, readVariable, refuse, type Variables } from "./config.ts";

const SAMPLERS = ["always_on", "always_off", "traceidratio"] as const;
export type SamplerName = (typeof SAMPLERS)[number];

export type TracingConfig = {
  serviceName: string;
  sampler: SamplerName;
  /** Whether the sampling decision of the caller, if any, is followed. */
  isParentBased: boolean;
  /** Share of new traces that the sampler `traceidratio` keeps, from 0 to 1. */
  ratio: number;
  batch: {
    maxQueueSize?: number;
    maxExportBatchSize?: number;
    scheduledDelayMillis?: number;
    exportTimeoutMillis?: number;
  };
};

const BATCH = {
  OTEL_BSP_MAX_QUEUE_SIZE: "maxQueueSize",
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "maxExportBatchSize",
  OTEL_BSP_SCHEDULE_DELAY: "scheduledDelayMillis",
  OTEL_BSP_EXPORT_TIMEOUT: "exportTimeoutMillis",
} as const;

const PROTOCOLS = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];
const ENDPOINTS = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];

const PAIRS = "a comma-separated list of percent-encoded name=value pairs";
const arePairs = (text: string): boolean => {
  try {
    return text.split(",").every((pair) => /^\s*[^=\s]+\s*=/.test(decodeURIComponent(pair)));
  } catch {
    return false;
  }
};

/** The variables of the exporter that it silently ignores if they are invalid. */
const EXPORTER: readonly [part: string, form: string, isValid: (text: string) => boolean][] = [
  ["HEADERS", PAIRS, arePairs],
  ["TIMEOUT", "a number of milliseconds", (text) => /^[1-9]\d{0,6}$/.test(text)],
  ["COMPRESSION", "gzip or none", (text) => text === "gzip" || text === "none"],
  ["CERTIFICATE", "a file", existsSync],
  ["CLIENT_KEY", "a file", existsSync],
  ["CLIENT_CERTIFICATE", "a file", existsSync],
];

/** The tracing configuration; null when no endpoint is set or tracing is disabled. Throws a `ConfigError`. */
export const readTracingConfig = (variables: Variables, serviceName: string): TracingConfig | null => {
  const isDisabled = variables["OTEL_SDK_DISABLED"]?.toLowerCase() === "true";
  if (isDisabled || variables["OTEL_TRACES_EXPORTER"] === "none") return null;
  let hasEndpoint = false;
  for (const name of ENDPOINTS) {
    // With an invalid value, the exporter would silently use its default.
    const isUrl = (text: string): true | undefined => (/^https?:/i.test(text) && URL.canParse(text) ? true : undefined);
    hasEndpoint = readVariable(variables, name, false, "an http:// or https:// URL", isUrl) || hasEndpoint;
  }
  if (!hasEndpoint) return null;
  const oneOf = (name: string, ...allowed: string[]): void => {
    readVariable(variables, name, "", allowed.join(" or "), (text) => (allowed.includes(text) ? text : undefined));
  };
  oneOf("OTEL_TRACES_EXPORTER", "otlp");
  oneOf("OTEL_PROPAGATORS", "tracecontext", "tracecontext,baggage");
  for (const name of PROTOCOLS) oneOf(name, "http/protobuf");
  for (const [part, form, isValid] of EXPORTER) {
    for (const name of [`OTEL_EXPORTER_OTLP_${part}`, `OTEL_EXPORTER_OTLP_TRACES_${part}`]) {
      readVariable(variables, name, true, form, (text) => (isValid(text) ? true : undefined));
    }
  }
  readVariable(variables, "OTEL_RESOURCE_ATTRIBUTES", true, PAIRS, (text) => (arePairs(text) ? true : undefined));
  const sampler = readVariable(
    variables,
    "OTEL_TRACES_SAMPLER",
    "parentbased_always_on",
    "the name of an OpenTelemetry sampler",
    (text) => (SAMPLERS.some((name) => text === name || text === `parentbased_${name}`) ? text : undefined),
  );
  const batch: TracingConfig["batch"] = {};
  for (const [name, option] of Object.entries(BATCH)) {
    const count = readInteger(variables, name, null, [1, 9_999_999]);
    if (count !== null) batch[option] = count;
  }
  // Otherwise the SDK would throw an error that does not name the variable.
  if ((batch.maxExportBatchSize ?? 512) > (batch.maxQueueSize ?? 2048)) {
    refuse(variables, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "at most OTEL_BSP_MAX_QUEUE_SIZE");
  }
  return {
    serviceName: readVariable(variables, "OTEL_SERVICE_NAME", serviceName, "a name", (text) => text),
    sampler: sampler.replace("parentbased_", "") as SamplerName,
    isParentBased: sampler.startsWith("parentbased_"),
    ratio: readVariable(variables, "OTEL_TRACES_SAMPLER_ARG", 1, "a number from 0 to 1", (text) =>
      /^(0(\.\d+)?|1(\.0+)?)$/.test(text) ? Number(text) : undefined,
    ),
    batch,
  };
};
