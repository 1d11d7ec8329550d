/** The HTTP application: its routes, and the handling, errors and log line of every request. */

import { DatabaseError, describeError } from "@realtime-avatar/db/connection/errors";
import { newRequestId } from "@realtime-avatar/domain/id";
import { Problem } from "@realtime-avatar/domain/problem";
import { type Health, healthStatus, live, ready } from "@realtime-avatar/runtime/health";
import { Elysia } from "elysia";
import { apiKeyRoutes } from "./api-keys/api-keys.ts";
import { leakedKeyRoutes } from "./api-keys/leaked-keys.ts";
import { createRecentSecrets } from "./api-keys/recent-secrets.ts";
import { assetUploadRoutes } from "./assets/asset-uploads.ts";
import { assetRoutes } from "./assets/assets.ts";
import { publicAssetRoutes, publicAvatarRoutes } from "./assets/public-files.ts";
import { signedUploadRoutes } from "./assets/signed-uploads.ts";
import { createUploadSlots } from "./assets/upload-slots.ts";
import { auditEventRoutes } from "./audit/audit-events.ts";
import { avatarRoutes } from "./avatars/avatars.ts";
import { modelRoutes } from "./avatars/models.ts";
import { preparationRoutes } from "./avatars/preparations.ts";
import { broughtRoomRoutes } from "./calls/agents/brought-rooms.ts";
import { avatarWorkerRoutes } from "./calls/avatar-workers.ts";
import { callRoutes } from "./calls/calls.ts";
import { connectionHistoryRoutes } from "./calls/kept/connection-histories.ts";
import { transcriptRoutes } from "./calls/kept/transcripts.ts";
import { livekitEventRoutes } from "./calls/livekit-events.ts";
import { preloadRoutes } from "./calls/preloads.ts";
import { createRealtime } from "./calls/realtime.ts";
import { turnRoutes } from "./calls/turns.ts";
import { creditRoutes } from "./credits/credits.ts";
import { createOverdueSweep } from "./credits/overdue-sessions.ts";
import { usageSessionRoutes } from "./credits/usage-sessions.ts";
import { usageSummaryRoutes } from "./credits/usage-summary.ts";
import type { AppOptions, Dependencies } from "./dependencies.ts";
import { createExportSender } from "./http/files/export.ts";
import { createFileSender } from "./http/files/send-file.ts";
import { isHost } from "./http/host.ts";
import { createRequestLimit } from "./http/limits/rate-limit.ts";
import { listOperations } from "./http/operation.ts";
import { isOverload, notFoundForKey, problemResponse, toProblem, writeProblem } from "./http/problem.ts";
import { parseTraceId, type RequestContext, requestIdFor, withRequestContext } from "./http/request-context.ts";
import { acceptsCoding, type ResponseHead } from "./http/response.ts";
import { openApiDocument } from "./openapi/document.ts";
import { dashboardRoutes } from "./pages/dashboard/dashboard.ts";
import { guideRoutes } from "./pages/guides/guides.ts";
import { problemTypeRoutes } from "./pages/problem-types.ts";
import { referenceRoutes } from "./pages/reference/reference.ts";
import { identityRoutes } from "./people/identities.ts";
import { invitationAcceptanceRoutes, invitationRoutes } from "./people/invitations.ts";
import { oidcRoutes, oidcRoutesOfPeople } from "./people/oidc.ts";
import { createOidcProvider } from "./people/oidc-provider.ts";
import { passkeyRoutes } from "./people/passkeys.ts";
import { signInRoutes, userSessionRoutes } from "./people/user-sessions.ts";
import { userRoutes } from "./people/users.ts";
import { createPasskeyCeremonies } from "./people/webauthn.ts";
import { recordingFileRoutes } from "./recordings/files.ts";
import { recordingRoutes } from "./recordings/recordings.ts";
import { settingsRoutes } from "./tenants/settings.ts";
import { videoRoutes } from "./videos/videos.ts";
import { voiceRoutes } from "./voices/voices.ts";
import { webhookDeliveryRoutes, webhookTestRoutes } from "./webhooks/deliveries.ts";
import { webhookEndpointRoutes } from "./webhooks/endpoints.ts";
import { createTestSlots } from "./webhooks/test-slots.ts";

/** About 2 MB of memory. With more keys in use, look-ups of the least recently used keys wait behind other requests. */
const MAX_RECENT_SECRETS = 20_000;

/** Maximum size, in bytes, of a body that is left unread. */
const MAX_UNREAD_BYTES = 1024 * 1024;

/**
 * Whether the connection must be closed if the body is left unread. Bun reads and discards an unread body of any length. A
 * body without a declared length counts as too long until it has been read.
 */
const mayBeEndless = (headers: Headers): boolean =>
  headers.has("transfer-encoding") || Number(headers.get("content-length")) > MAX_UNREAD_BYTES;

/**
 * Whether a client waits for a `100 Continue` that Bun does not send. Bun recognizes the value only in lower-case
 * letters, although RFC 9110 §10.1.1 allows any case. A handler cannot send the interim response. Java's client sends
 * `100-Continue`.
 */
const waitsForContinue = (headers: Headers): boolean => {
  const expectation = headers.get("expect");
  if (expectation === null || expectation === "100-continue") return false;
  return headers.has("transfer-encoding") || Number(headers.get("content-length")) > 0;
};

/**
 * Responds with a problem. For `waitsForContinue`, the response has no body: while Java 17's client waits for the 100, it
 * discards the body of any other response and then waits forever for another response.
 */
const respondWithProblem = (problem: Problem, requestId: string, set: ResponseHead): string | Response => {
  const body = writeProblem(problem, requestId, set);
  if (problem.code !== "expectation_failed") return body;
  delete set.headers["content-type"];
  return new Response(null, { status: problem.status });
};

/**
 * The methods that `routes` support at `path`. A route without parameters at this path takes precedence over routes
 * with parameters.
 */
const methodsAt = (routes: readonly { method: string; path: string }[], path: string): string[] => {
  const segments = path.split("/");
  const matches = (pattern: readonly string[]): boolean =>
    pattern.length === segments.length &&
    pattern.every((part, index) => (part.startsWith(":") ? segments[index] !== "" : part === segments[index]));
  const exact = routes.filter((route) => route.path === path);
  const found = exact.length > 0 ? exact : routes.filter((route) => matches(route.path.split("/")));
  const methods = new Set(found.map(({ method }) => method));
  if (methods.has("GET")) methods.add("HEAD");
  return [...methods].sort();
};

/** Responds to an error of the error handling itself, and logs it. */
export const failureHandler =
  ({ clock, random, log }: Pick<AppOptions, "clock" | "random" | "log">) =>
  (error: unknown): Response => {
    const requestId = newRequestId(clock(), random);
    log.error({ requestId, status: 500, error: describeError(error) }, "request");
    return problemResponse(toProblem(error), requestId);
  };

/** Begins a request: creates its context, and sets the headers of every response. */
const beginRequest = (
  { databases, clock, random, isEnding, metrics, tracing }: AppOptions,
  request: Request,
  set: ResponseHead,
): RequestContext => {
  const requestId = requestIdFor(request.headers.get("x-request-id"), clock(), random);
  const startedAt = performance.now();
  metrics?.requestBegins();
  const span = tracing?.begin(request);
  const traceparent = request.headers.get("traceparent");
  const traceId = span?.traceId ?? parseTraceId(traceparent);
  const context: RequestContext = {
    requestId,
    startedAt,
    deadline: startedAt + databases.deadlineMs,
    traceId,
    span,
    recordSpan: span?.recordSpan,
    isAborted: () => request.signal.aborted,
  };
  const headers = set.headers as Record<string, string>;
  // Without tracing, a valid `traceparent` is returned unchanged.
  if (traceId !== undefined) headers["traceparent"] = span?.traceparent ?? (traceparent as string);
  headers["x-request-id"] = requestId;
  headers["cache-control"] = "no-store";
  headers["x-content-type-options"] = "nosniff";
  // The header makes the client send its next request to another process before this one closes the connection.
  if (isEnding()) headers["connection"] = "close";
  else if (mayBeEndless(request.headers)) {
    headers["connection"] = "close";
    context.onBodyRead = () => delete headers["connection"];
  }
  return context;
};

/**
 * Ends a request: writes its metrics, span and log line. They name the pattern `route`, because a path can contain
 * anything.
 */
const endRequest = (
  { metrics, log }: AppOptions,
  { method }: Request,
  route: string | undefined,
  set: ResponseHead,
  context: RequestContext,
): void => {
  const { requestId, startedAt, traceId, span, tenantId, keyId, userId, problem, error, isShed, isRoutine } = context;
  const durationMs = Math.round((performance.now() - startedAt) * 100) / 100;
  const status = Number(set.status ?? 200);
  metrics?.requestEnds({ method, route, status, durationMs, problem });
  span?.end({ method, route, status, requestId, problem });
  const line = { requestId, traceId, method, route, status, durationMs, tenantId, keyId, userId, problem };
  // Overload refuses many requests at once, so their log lines have no stack.
  if (isShed) log.warn({ ...line, reason: error instanceof DatabaseError ? error.code : undefined }, "request");
  else if (error === undefined) log[isRoutine && status < 400 ? "debug" : "info"](line, "request");
  else log.error({ ...line, error: describeError(error) }, "request");
};

/** The problem for an error that Elysia reports with `code`. `allowed`: the methods that the path supports. */
const problemOf = (
  error: unknown,
  code: string | number,
  allowed: readonly string[],
  { keyEnvironment }: RequestContext,
): Problem => {
  if (code !== "NOT_FOUND") {
    const problem = toProblem(error);
    return problem.code === "not_found" && keyEnvironment ? notFoundForKey(keyEnvironment) : problem;
  }
  return allowed.length === 0
    ? new Problem("not_found", "No operation has this path. /openapi.json lists the operations, and /docs shows them.")
    : new Problem("method_not_allowed", "The resource does not support this method.");
};

/** Adds an error, which the client received as `problem`, to the log line. */
const noteError = (error: unknown, code: string | number, problem: Problem, context: RequestContext): void => {
  context.problem = problem.code;
  context.isShed = isOverload(error, problem);
  if (problem.status < 500) return;
  // A `Problem` is not a defect, but its cause may be one. Elysia's error for a response that does not match its schema
  // quotes the response.
  if (error instanceof Problem) context.error = error.cause;
  else context.error = code === "VALIDATION" ? new Error("a response does not match its schema") : error;
};

/** The response of `/readyz`. */
const readiness = async ({ databases, isEnding }: AppOptions, set: ResponseHead): Promise<Health> => {
  const health = await ready(databases, isEnding);
  set.status = healthStatus(health);
  // The shutdown can have begun during the check.
  if (isEnding()) (set.headers as Record<string, string>)["connection"] = "close";
  return health;
};

/** The HTML pages. */
const pageRoutes = (dependencies: Dependencies, describe: () => object) =>
  new Elysia({ name: "pages" })
    .use(problemTypeRoutes())
    .use(referenceRoutes(describe, dependencies))
    .use(guideRoutes(describe))
    .use(dashboardRoutes(dependencies));

/** Serves the OpenAPI document as JSON, compressed on request. `describe` is called for the first request. */
const documentRoutes = (describe: () => object) => {
  let document: { text: string; gzip: Uint8Array<ArrayBuffer> } | null = null;
  return new Elysia({ name: "document" }).get("/openapi.json", ({ request, set }): string | Uint8Array<ArrayBuffer> => {
    if (document === null) {
      const text = JSON.stringify(describe());
      document = { text, gzip: Bun.gzipSync(text) };
    }
    set.headers["content-type"] = "application/json";
    set.headers["vary"] = "Accept-Encoding";
    if (!acceptsCoding(request, "gzip")) return document.text;
    set.headers["content-encoding"] = "gzip";
    return document.gzip;
  });
};

const webhookRoutes = (dependencies: Dependencies) =>
  new Elysia({ name: "webhooks" })
    .use(webhookEndpointRoutes(dependencies))
    .use(webhookTestRoutes(dependencies))
    .use(webhookDeliveryRoutes(dependencies));

/** The routes of credits and usage. */
const usageRoutes = (dependencies: Dependencies) =>
  new Elysia({ name: "usage" })
    .use(creditRoutes(dependencies))
    .use(usageSessionRoutes(dependencies))
    .use(usageSummaryRoutes(dependencies));

/** The routes of calls, and of the preparation for them. */
const realtimeRoutes = (dependencies: Dependencies) =>
  new Elysia({ name: "realtime" })
    .use(callRoutes(dependencies))
    .use(preloadRoutes(dependencies))
    .use(turnRoutes(dependencies))
    .use(transcriptRoutes(dependencies))
    .use(connectionHistoryRoutes(dependencies))
    .use(recordingRoutes(dependencies))
    .use(recordingFileRoutes(dependencies));

/** The routes of speech outside of calls: voices and videos. */
const speechRoutes = (dependencies: Dependencies) =>
  new Elysia({ name: "speech" }).use(voiceRoutes(dependencies)).use(videoRoutes(dependencies));

/** The routes of people and of sign-in. */
const peopleRoutes = (dependencies: Dependencies) =>
  new Elysia({ name: "people" })
    .use(invitationAcceptanceRoutes(dependencies))
    .use(invitationRoutes(dependencies))
    .use(signInRoutes(dependencies))
    .use(userSessionRoutes(dependencies))
    .use(userRoutes(dependencies))
    .use(passkeyRoutes(dependencies))
    .use(oidcRoutes(dependencies))
    .use(oidcRoutesOfPeople(dependencies))
    .use(identityRoutes(dependencies));

export const createApp = (options: AppOptions) => {
  const { rateLimit: key, tenantRateLimit: tenant } = options.config;
  const dependencies: Dependencies = {
    ...options,
    limitRequests: createRequestLimit({ key, tenant }, options.redis),
    recentSecrets: createRecentSecrets(MAX_RECENT_SECRETS),
    operationAt: (method, route) => operationIds().get(`${method === "HEAD" ? "GET" : method} ${route}`),
    passkeys: createPasskeyCeremonies(options),
    oidc: options.config.oidc && createOidcProvider(options.config.oidc, options),
    uploadSlots: createUploadSlots(),
    fileSender: createFileSender(),
    exportSender: createExportSender(),
    sweepOverdue: createOverdueSweep(options.metrics),
    realtime: createRealtime(options),
    testSlots: createTestSlots(),
  };
  /** The operation id of each route; complete once all routes are added. */
  let operationsByRoute: Map<string, string> | null = null;
  const operationIds = (): Map<string, string> => {
    operationsByRoute ??= listOperations(app.routes);
    return operationsByRoute;
  };
  const app = new Elysia({
    // Unknown fields are refused, never removed.
    normalize: false,
    strictPath: true,
    // Without this option, Elysia misreads the start of the path when the host has fewer than four characters.
    handler: { standardHostname: false },
  })
    .use(withRequestContext)
    .onRequest((context) => {
      context.requestContext = beginRequest(options, context.request, context.set);
      const host = context.request.headers.get("host");
      if (host !== null && !isHost(host)) {
        throw new Problem("malformed_request", "The Host header is empty or malformed, or there are several.");
      }
      if (waitsForContinue(context.request.headers)) {
        // The client may or may not send the body, so the connection cannot be used again.
        const detail = "Send the request again without `Expect`, or with `Expect: 100-continue` in lower-case letters.";
        throw new Problem("expectation_failed", detail, { hangUp: true });
      }
    })
    // Registered before any route: a hook covers only what comes after it.
    .onError(({ code, error, path, set, requestContext }) => {
      const allowed = code === "NOT_FOUND" ? methodsAt(app.routes, path) : [];
      const problem = problemOf(error, code, allowed, requestContext);
      if (allowed.length > 0) set.headers["allow"] = allowed.join(", ");
      noteError(error, code, problem, requestContext);
      return respondWithProblem(problem, requestContext.requestId, set);
    })
    .onAfterResponse(({ request, route, set, requestContext }) => {
      endRequest(options, request, route, set, requestContext);
    })
    .get("/healthz", () => live())
    .get("/readyz", ({ set }) => readiness(options, set))
    .use(apiKeyRoutes(dependencies))
    .use(assetRoutes(dependencies))
    .use(assetUploadRoutes(dependencies))
    .use(signedUploadRoutes(dependencies))
    .use(avatarRoutes(dependencies))
    .use(preparationRoutes(dependencies))
    .use(modelRoutes(dependencies))
    .use(speechRoutes(dependencies))
    .use(usageRoutes(dependencies))
    .use(settingsRoutes(dependencies))
    .use(realtimeRoutes(dependencies))
    .use(avatarWorkerRoutes(dependencies))
    .use(livekitEventRoutes(dependencies))
    .use(broughtRoomRoutes(dependencies))
    .use(webhookRoutes(dependencies))
    .use(auditEventRoutes(dependencies))
    .use(leakedKeyRoutes(dependencies))
    .use(peopleRoutes(dependencies))
    .use(publicAssetRoutes(dependencies))
    .use(publicAvatarRoutes(dependencies))
    .use(pageRoutes(dependencies, (): object => openApiDocument(app.routes)))
    .use(documentRoutes((): object => openApiDocument(app.routes)));
  return app;
};
