import { describe, expect, test } from "bun:test";
import { ConfigError } from "./config.ts";
import { readTracingConfig } from "./tracing-config.ts";

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318" };

describe("the tracing", () => {
  test.each<[Record<string, string>]>([
    [{}],
    [{ OTEL_SERVICE_NAME: "x", OTEL_TRACES_SAMPLER: "always_on" }],
    [{ ...ENDPOINT, OTEL_SDK_DISABLED: "true" }],
    [{ ...ENDPOINT, OTEL_SDK_DISABLED: "True" }],
    [{ ...ENDPOINT, OTEL_TRACES_EXPORTER: "none" }],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "" }],
  ])("tracing, with %j: off", (variables) => {
    expect(readTracingConfig(variables, "api")).toBeNull();
  });

  test("tracing, with an endpoint only: on, with OpenTelemetry's defaults", () => {
    const defaults = { serviceName: "api", sampler: "always_on", isParentBased: true, ratio: 1, batch: {} } as const;
    expect(readTracingConfig(ENDPOINT, "api")).toEqual(defaults);
    const traces = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "https://collector/v1/traces", OTEL_SDK_DISABLED: "false" };
    expect(readTracingConfig(traces, "api")).toEqual(defaults);
  });

  test("tracing, with all variables: read", () => {
    const variables = {
      ...ENDPOINT,
      OTEL_SERVICE_NAME: "avatars",
      OTEL_TRACES_EXPORTER: "otlp",
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/protobuf",
      OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20x,x-tenant=a",
      OTEL_EXPORTER_OTLP_TIMEOUT: "2000",
      OTEL_EXPORTER_OTLP_COMPRESSION: "gzip",
      OTEL_EXPORTER_OTLP_CERTIFICATE: import.meta.path,
      OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test,host.name=a",
      OTEL_PROPAGATORS: "tracecontext,baggage",
      OTEL_TRACES_SAMPLER: "traceidratio",
      OTEL_TRACES_SAMPLER_ARG: "0.25",
      OTEL_BSP_MAX_QUEUE_SIZE: "100",
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "10",
      OTEL_BSP_SCHEDULE_DELAY: "1000",
      OTEL_BSP_EXPORT_TIMEOUT: "2000",
    };
    expect(readTracingConfig(variables, "api")).toEqual({
      serviceName: "avatars",
      sampler: "traceidratio",
      isParentBased: false,
      ratio: 0.25,
      batch: { maxQueueSize: 100, maxExportBatchSize: 10, scheduledDelayMillis: 1000, exportTimeoutMillis: 2000 },
    });
  });

  test.each([
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318"],
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "nonsense"],
    ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "ftp://collector"],
    ["OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"],
    ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json"],
    ["OTEL_TRACES_EXPORTER", "zipkin"],
    ["OTEL_PROPAGATORS", "b3"],
    ["OTEL_TRACES_SAMPLER", "sometimes"],
    ["OTEL_TRACES_SAMPLER_ARG", "2"],
    ["OTEL_TRACES_SAMPLER_ARG", "half"],
    ["OTEL_BSP_MAX_QUEUE_SIZE", "0"],
    ["OTEL_BSP_SCHEDULE_DELAY", "-1"],
    ["OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "4096"],
    ["OTEL_EXPORTER_OTLP_TIMEOUT", "sekret"],
    ["OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "0"],
    ["OTEL_EXPORTER_OTLP_COMPRESSION", "brotli"],
    ["OTEL_EXPORTER_OTLP_HEADERS", "se%ZZkret"],
    ["OTEL_EXPORTER_OTLP_HEADERS", "sekret"],
    ["OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "/no/such/file"],
    ["OTEL_RESOURCE_ATTRIBUTES", "a=1,sekret%ZZ"],
  ])("tracing, %s=%s: the error has the name, not the value", (name, value) => {
    const read = () => readTracingConfig({ ...ENDPOINT, [name]: value }, "api");
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(`${name} must be`);
    expect(read).not.toThrow(value);
  });
});
