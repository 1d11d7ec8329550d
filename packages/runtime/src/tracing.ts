/**
 * OpenTelemetry traces, exported by OTLP. Loaded only when tracing is configured: use `await import`. A span has the fields of
 * a log line except the tenant and the key. Contexts are passed explicitly, because async hooks would slow down every
 * request.
 */
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, trace } from "@opentelemetry/api";
import { setGlobalErrorHandler, W3CTraceContextPropagator } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import type { RecordSpan } from "@realtime-avatar/db/connection/request-limit";
import type { SamplerName, TracingConfig } from "./tracing-config.ts";

/** The attributes of a span: ids and codes, never a secret or personal data. */
export type SpanAttributes = Readonly<Record<string, string | number>>;

/** The span of one request. */
export type RequestSpan = {
  traceId: string;
  spanId: string;
  /** The `traceparent` header for the response (W3C Trace Context §3.2). */
  traceparent: string;
  /** Adds a child span for a database operation; undefined when the trace is not sampled. */
  recordSpan: RecordSpan | undefined;
  end(outcome: {
    method: string;
    route: string | undefined;
    status: number;
    requestId: string;
    problem?: string | undefined;
  }): void;
};

export type Tracing = {
  /** Starts the span of a request, as a child of the span in its `traceparent`. */
  begin(request: Request): RequestSpan;
  /**
   * Records a span of work that no request waits for, and that has ended now. It begins a trace. Its attributes are called
   * `realtime_avatar.<name>`. `startTime`: in milliseconds since 1970.
   */
  record(name: string, startTime: number, attributes: SpanAttributes, hasFailed?: boolean): void;
  /**
   * Records a span as `record` does, with a child span for each stage of the work. A stage begins where the one before it ends. The span
   * ends with the last one.
   */
  recordStages(
    name: string,
    startTime: number,
    attributes: SpanAttributes,
    stages: readonly { name: string; milliseconds: number }[],
  ): void;
  /** Exports the remaining spans; waits at most `milliseconds`. */
  stop(milliseconds: number): Promise<void>;
};

const SAMPLERS: Record<SamplerName, (ratio: number) => Sampler> = {
  always_on: () => new AlwaysOnSampler(),
  always_off: () => new AlwaysOffSampler(),
  traceidratio: (ratio) => new TraceIdRatioBasedSampler(ratio),
};

const HEADERS = {
  get: (headers: Headers, name: string) => headers.get(name) ?? undefined,
  keys: (headers: Headers) => [...headers.keys()],
};

const named = (attributes: SpanAttributes): SpanAttributes =>
  Object.fromEntries(Object.entries(attributes).map(([name, value]) => [`realtime_avatar.${name}`, value]));

/** Starts tracing. `warn` is called when an export fails; its message contains no data of the error. */
export const startTracing = (config: TracingConfig, version: string, warn: (message: string) => void): Tracing => {
  setGlobalErrorHandler((error) => {
    // The other members of the error can contain the response of the collector, which can repeat the exported data.
    const { name = "Error", code } = error as { name?: string; code?: string | number };
    warn(`failed to export traces: ${name} ${code ?? ""}`.trimEnd());
  });
  const root = SAMPLERS[config.sampler](config.ratio);
  const provider = new TracerProvider({
    sampler: config.isParentBased ? new ParentBasedSampler({ root }) : root,
    resource: defaultResource()
      .merge(detectResources({ detectors: [envDetector] }))
      .merge(resourceFromAttributes({ "service.name": config.serviceName, "service.version": version })),
    spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter(), ...config.batch })],
  });
  const tracer = provider.getTracer("realtime-avatar", version);
  const propagator = new W3CTraceContextPropagator();
  return {
    begin: ({ headers, method }) => {
      const parent = propagator.extract(ROOT_CONTEXT, headers, HEADERS);
      const attributes = { "http.request.method": method };
      const span = tracer.startSpan(method, { kind: SpanKind.SERVER, attributes }, parent);
      const { traceId, spanId, traceFlags } = span.spanContext();
      const isSampled = (traceFlags & TraceFlags.SAMPLED) !== 0;
      const context = isSampled ? trace.setSpan(parent, span) : parent;
      return {
        traceId,
        spanId,
        traceparent: `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`,
        recordSpan: !isSampled
          ? undefined
          : (kind, startTime, error, own) => {
              const attributes = own ? named(own) : { "db.system.name": "postgresql" };
              const options = { kind: SpanKind.CLIENT, startTime, attributes };
              const work = tracer.startSpan(kind, options, context);
              if (error !== undefined) work.setStatus({ code: SpanStatusCode.ERROR });
              work.end();
            },
        end: ({ method, route, status, requestId, problem }) => {
          if (!isSampled) return;
          if (route !== undefined) span.updateName(`${method} ${route}`).setAttribute("http.route", route);
          span.setAttributes({
            "http.response.status_code": status,
            "realtime_avatar.request_id": requestId,
          });
          if (problem !== undefined) span.setAttribute("realtime_avatar.problem", problem);
          // A 4xx status is not an error of a server span (semantic conventions, HTTP spans, "Status").
          if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
          span.end();
        },
      };
    },
    record: (name, startTime, attributes, hasFailed = false) => {
      const span = tracer.startSpan(name, { startTime, attributes: named(attributes) }, ROOT_CONTEXT);
      if (hasFailed) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end(Date.now());
    },
    recordStages: (name, startTime, attributes, stages) => {
      const span = tracer.startSpan(name, { startTime, attributes: named(attributes) }, ROOT_CONTEXT);
      const parent = trace.setSpan(ROOT_CONTEXT, span);
      let end = startTime;
      for (const stage of stages) {
        const child = tracer.startSpan(`${name} ${stage.name}`, { startTime: end }, parent);
        end += stage.milliseconds;
        child.end(end);
      }
      span.end(end);
    },
    stop: async (milliseconds) => {
      let timer: Timer | undefined;
      const timeout = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, milliseconds);
      });
      const exported = provider.shutdown().catch(() => warn("failed to export the last traces"));
      await Promise.race([exported, timeout]);
      clearTimeout(timer);
    },
  };
};
