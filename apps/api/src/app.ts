/** The HTTP application: one way in for every request, one way out for every error. */

import { DatabaseError, describeError } from "@realtime-avatar/db/connection/errors";
import { newRequestId } from "@realtime-avatar/domain/id";
import { notFound, Problem } from "@realtime-avatar/domain/problem";
import { healthStatus, live, ready } from "@realtime-avatar/runtime/health";
import { Elysia } from "elysia";
import type { AppOptions, Dependencies } from "./dependencies.ts";
import { isHost } from "./http/host.ts";
import { isOverload, problemResponse, toProblem, writeProblem } from "./http/problem.ts";
import { createRequestLimit } from "./http/rate-limit.ts";
import { createRecentSecrets } from "./http/recent-secrets.ts";
import { type RequestContext, requestIdFor, traceIdOf, withRequestContext } from "./http/request-context.ts";
import { openApiDocument } from "./openapi/document.ts";
import { apiKeyRoutes } from "./routes/api-keys.ts";
import { auditEventRoutes } from "./routes/audit-events.ts";
import { avatarRoutes } from "./routes/avatars.ts";
import { leakedKeyRoutes } from "./routes/leaked-keys.ts";
import { problemTypeRoutes } from "./routes/problem-types.ts";
import { referenceRoutes } from "./routes/reference.ts";

/** Some 2 MB of memory. With more keys in use than this, those used least recently wait in line with unknown ones. */
const MAX_RECENT_SECRETS = 20_000;

/** Bytes of a body that may come after a response without the body having been read. */
const MAX_UNREAD_BYTES = 1024 * 1024;

/**
 * Whether the connection has to be closed if the body is left unread. Bun reads and discards an unread body, however long
 * it is. A body without a declared length counts as too long until it has been read.
 */
const mayBeEndless = (headers: Headers): boolean =>
  headers.has("transfer-encoding") || Number(headers.get("content-length")) > MAX_UNREAD_BYTES;

type Route = { method: string; path: string };

/** The methods that some route has at `path`. */
const methodsAt = (routes: readonly Route[], path: string): string[] => {
  const segments = path.split("/");
  const matches = (route: Route): boolean => {
    const pattern = route.path.split("/");
    return (
      pattern.length === segments.length &&
      pattern.every((part, index) => (part.startsWith(":") ? segments[index] !== "" : part === segments[index]))
    );
  };
  const methods = new Set(routes.filter(matches).map((route) => route.method));
  if (methods.has("GET")) methods.add("HEAD");
  return [...methods].sort();
};

/** The last handler: answers, and logs, an error of the error handling itself. */
export const failureHandler =
  ({ clock, random, log }: Pick<AppOptions, "clock" | "random" | "log">) =>
  (error: unknown): Response => {
    const requestId = newRequestId(clock(), random);
    log.error({ requestId, status: 500, error: describeError(error) }, "request");
    return problemResponse(toProblem(error), requestId);
  };

export const createApp = (options: AppOptions) => {
  const { db, clock, random, log, isEnding, metrics, tracing } = options;
  const { rateLimit: key, tenantRateLimit: tenant } = options.config;
  const dependencies: Dependencies = {
    ...options,
    limitRequests: createRequestLimit({ key, tenant }, options.redis),
    recentSecrets: createRecentSecrets(MAX_RECENT_SECRETS),
  };
  /** Made when it is first asked for. */
  let document: string | null = null;
  const app = new Elysia({
    // Unknown fields are refused, never removed.
    normalize: false,
    strictPath: true,
    // Otherwise a host of fewer than four characters makes Elysia mistake where the path begins.
    handler: { standardHostname: false },
  })
    .use(withRequestContext)
    .onRequest((context) => {
      const { request } = context;
      const requestId = requestIdFor(request.headers.get("x-request-id"), clock(), random);
      const startedAt = performance.now();
      metrics?.requestBegins();
      const span = tracing?.begin(request);
      const sent = request.headers.get("traceparent");
      const traceId = span?.traceId ?? traceIdOf(sent);
      const deadline = startedAt + db.deadlineMs;
      const isAborted = (): boolean => request.signal.aborted;
      const requestContext: RequestContext = {
        requestId,
        startedAt,
        deadline,
        traceId,
        span,
        recordSpan: span?.recordSpan,
        isAborted,
      };
      context.requestContext = requestContext;
      const headers = context.set.headers as Record<string, string>;
      // Without a span of ours, the trace is handed back as it came.
      if (traceId !== undefined) headers["traceparent"] = span?.traceparent ?? (sent as string);
      headers["x-request-id"] = requestId;
      headers["cache-control"] = "no-store";
      headers["x-content-type-options"] = "nosniff";
      // The next request of this client goes to somebody else, before this process hangs up on it.
      if (isEnding()) headers["connection"] = "close";
      else if (mayBeEndless(request.headers)) {
        headers["connection"] = "close";
        requestContext.onBodyRead = () => delete headers["connection"];
      }
      const host = request.headers.get("host");
      if (host !== null && !isHost(host)) {
        throw new Problem("malformed_request", "The Host header is empty or malformed, or there are several.");
      }
    })
    // Registered before any route: a hook covers only what comes after it.
    .onError(({ code, error, path, set, requestContext }) => {
      let problem = toProblem(error);
      if (code === "NOT_FOUND") {
        const allowed = methodsAt(app.routes, path);
        problem = notFound();
        if (allowed.length > 0) {
          problem = new Problem("method_not_allowed", "This resource does not answer to this method.");
          set.headers["allow"] = allowed.join(", ");
        }
      }
      requestContext.problem = problem.code;
      requestContext.isShed = isOverload(error, problem);
      if (problem.status >= 500) {
        // A problem of ours is no defect, but for what has caused it. Elysia's own words for an answer that breaks its
        // schema quote the answer.
        if (error instanceof Problem) requestContext.error = error.cause;
        else requestContext.error = code === "VALIDATION" ? new Error("an answer breaks its schema") : error;
      }
      return writeProblem(problem, requestContext.requestId, set);
    })
    .onAfterResponse(({ request, route, set, requestContext }) => {
      const { requestId, startedAt, traceId, span, tenantId, keyId, problem, error, isShed } = requestContext;
      const durationMs = Math.round((performance.now() - startedAt) * 100) / 100;
      const { method } = request;
      const status = Number(set.status ?? 200);
      metrics?.requestEnds({ method, route, status, durationMs, problem });
      span?.end({ method, route, status, requestId, problem });
      // The route's pattern, never the path that was asked for: a path may hold anything.
      const line = {
        requestId,
        traceId,
        method,
        route,
        status,
        durationMs,
        tenantId,
        keyId,
        problem,
      };
      // What is refused for load comes in numbers: a line each, and no stack.
      if (isShed) log.warn({ ...line, reason: error instanceof DatabaseError ? error.code : undefined }, "request");
      else if (error === undefined) log.info(line, "request");
      else log.error({ ...line, error: describeError(error) }, "request");
    })
    .get("/healthz", () => live())
    .get("/readyz", async ({ status }) => {
      const health = await ready(db, isEnding());
      return status(healthStatus(health), health);
    })
    .use(apiKeyRoutes(dependencies))
    .use(avatarRoutes(dependencies))
    .use(auditEventRoutes(dependencies))
    .use(leakedKeyRoutes(dependencies))
    .use(problemTypeRoutes())
    .use(referenceRoutes())
    .get("/openapi.json", ({ set }): string => {
      document ??= JSON.stringify(openApiDocument(app.routes));
      set.headers["content-type"] = "application/json";
      return document;
    });
  return app;
};
