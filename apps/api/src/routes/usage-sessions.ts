/** `/api/v1/usage/sessions` */

import type { Caller } from "@realtime-avatar/db/api-keys/callers";
import type { Origin } from "@realtime-avatar/db/audit/audit-events";
import type { Db } from "@realtime-avatar/db/connection/pool";
import {
  countOpenSessions,
  findUsageSession,
  listUsageSessions,
} from "@realtime-avatar/db/credits/list-usage-sessions";
import {
  openUsageSession,
  releaseSession,
  reportUsage,
  type SessionOutcome,
} from "@realtime-avatar/db/credits/usage-sessions";
import type { Claim, WriteOutcome } from "@realtime-avatar/db/idempotency/idempotency-keys";
import { permits } from "@realtime-avatar/domain/api-keys/scope";
import {
  concurrencyLimitReached,
  insufficientCredits,
  type PlannedSession,
  plannedSession,
  presentOpened,
  type ReachedLimit,
  reachedLimitOf,
  refusalOf,
  spendLimitExceeded,
} from "@realtime-avatar/domain/credits/open";
import {
  CreateUsageSession,
  OpenedSession,
  ReleaseSession,
  ReportedSession,
  ReportUsage,
  USAGE_SESSION_LIST,
  UsageSession,
  UsageSessionPage,
} from "@realtime-avatar/domain/credits/schemas";
import { presentSession } from "@realtime-avatar/domain/credits/session";
import { readSessionPage } from "@realtime-avatar/domain/credits/session-list";
import { isId, newId, type SessionId } from "@realtime-avatar/domain/id";
import { pageText } from "@realtime-avatar/domain/page";
import { notFound, Problem } from "@realtime-avatar/domain/problem";
import { ClosedObject } from "@realtime-avatar/domain/schema";
import type { SessionLimit } from "@realtime-avatar/runtime/metrics";
import type { TSchema } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { Dependencies } from "../dependencies.ts";
import { authentication, checkScope } from "../http/authenticate.ts";
import { readBody, readOptionalBody } from "../http/body.ts";
import { entityTag } from "../http/conditional.ts";
import { checkIdempotencyKey, executeIdempotently, type MakePlan } from "../http/idempotency.ts";
import { keyOf } from "../http/people/person.ts";
import { NO_PARAMETERS, readQuery } from "../http/query.ts";
import { matchesSchema, sendResource } from "../http/response.ts";
import { operations } from "../openapi/operation.ts";

const OPERATIONS = operations({
  openUsageSession: {
    summary: "Open a usage session",
    description:
      "Holds credits for a call, under the spend caps of the calling key and of its ancestors, and of the balance of the tenant, while fewer sessions are open than the key, each ancestor and the tenant may have: as many whole seconds as fit, at most `maxSessionSeconds` and at least `minSessionSeconds`. A request that does not fit holds nothing. The session ends by itself unless its use is reported before `expiresAt`.",
    body: CreateUsageSession,
    success: { status: 201, description: "The session.", schema: UsageSession },
    problems: [
      "spend_limit_exceeded",
      "insufficient_credits",
      "not_found",
      "avatar_not_ready",
      "concurrency_limit_reached",
    ],
  },
  listUsageSessions: {
    summary: "List usage sessions",
    description:
      "Lists the sessions that were created in a time window, in the environment of the calling key, newest first.",
    query: USAGE_SESSION_LIST.query,
    success: { status: 200, description: "A page of sessions.", schema: UsageSessionPage },
  },
  getUsageSession: {
    summary: "Read a usage session",
    description: "Returns a session in any status.",
    success: { status: 200, description: "The session.", schema: UsageSession },
  },
  reportUsage: {
    summary: "Report the usage of a session",
    description:
      "Records what the session has used since its start. The first report, which may be 0, starts the session. Each report extends its lease. Usage is cumulative: a report that is lost, repeated or late changes nothing.",
    body: ReportUsage,
    success: {
      status: 200,
      description: "The session after the report, and whether it must end.",
      schema: ReportedSession,
    },
    problems: ["session_closed"],
  },
  releaseSession: {
    summary: "End a usage session",
    description:
      "With `usage:write`: ends any session, charges it `usedCreditMicros` or, if that is more, what was reported, once, and frees the rest. With `realtime:write` alone: ends a session of the calling key or of a descendant that was never started, which is charged nothing. One that was started stays open with `mustEnd`, until its engine ends it, or until the end of its lease, when it is charged what was reported. The same request again has no effect.",
    body: ReleaseSession,
    isBodyOptional: true,
    success: { status: 200, description: "The session after the request.", schema: UsageSession },
    problems: ["session_closed"],
  },
});

const SESSION = { schema: UsageSession, toText: JSON.stringify };
/** The response of an opening before its write, which completes it. */
const OPENED = { schema: OpenedSession, toText: JSON.stringify, present: presentSession };
/** The response of a report or a release before its write: all its members come from the write. */
const UNKNOWN = { schema: ClosedObject({}), toText: JSON.stringify, present: presentSession };

/** The problem of a reached limit of open sessions. A key reads how many are open only when the limit is its own. */
const sessionLimitReached = async (db: Db, caller: Caller, reached: ReachedLimit): Promise<Problem> =>
  concurrencyLimitReached(reached, reached.limitedBy === "self" ? await countOpenSessions(db, caller) : null);

/** The outcome of an opening. Throws the problem of a refused one. */
const openNow = async (
  db: Db,
  planned: PlannedSession,
  caller: Caller,
  { now, random, requestId }: Origin,
  claim: Claim | null,
): Promise<WriteOutcome> => {
  const request = { ...planned, entryId: newId("ent", now, random), requestId };
  const outcome = await openUsageSession(db, request, caller, claim);
  switch (outcome.kind) {
    case "written":
    case "replayed":
      return outcome;
    case "stale":
      return { kind: "stale" };
    case "avatar_not_found":
      throw notFound();
    case "avatar_not_ready":
      throw new Problem("avatar_not_ready", "The status of the avatar is not `ready`.");
    case "spend_limit_exceeded":
      throw spendLimitExceeded(planned, outcome.limitedBy);
    case "insufficient_credits":
      throw insufficientCredits(planned);
    case "concurrency_limit_reached":
      throw await sessionLimitReached(db, caller, outcome);
  }
};

/** Throws the problem of a session that cannot fit, as the look-up of its caller found it. */
const checkHeadroom = async (db: Db, planned: PlannedSession, caller: Caller): Promise<void> => {
  const { headroom } = caller;
  if (!headroom) return;
  const reached = reachedLimitOf(headroom);
  if (reached) throw await sessionLimitReached(db, caller, reached);
  const refusal = refusalOf(planned, headroom);
  if (refusal) throw refusal;
};

/** Whether a limit has refused the session: it may fit once overdue sessions are closed. */
const isLimited = (error: unknown): error is Problem =>
  error instanceof Problem && (error.status === 402 || error.code === "concurrency_limit_reached");

/**
 * Opens a session. If the tenant has overdue sessions, these are closed before a refusal, and the session is tried once more.
 */
const open = async (
  db: Db,
  { sweepOverdue }: Dependencies,
  planned: PlannedSession,
  caller: Caller,
  origin: Origin,
  claim: Claim | null,
): Promise<WriteOutcome> => {
  const { headroom, tenantId } = caller;
  try {
    return await openNow(db, planned, caller, origin, claim);
  } catch (error) {
    if (!isLimited(error) || !headroom?.hasOverdue || !(await sweepOverdue(db, tenantId, origin))) throw error;
    return openNow(db, planned, caller, origin, claim);
  }
};

/** What has refused a session, as the metrics name it. */
const limitOf = ({ code, extras: { limitedBy } }: Problem): SessionLimit => {
  if (code === "concurrency_limit_reached") return "sessions";
  return limitedBy === "self" || limitedBy === "ancestor" ? limitedBy : "balance";
};

/** Counts a session that a limit has refused. Throws the error again. */
const throwCounted = (metrics: Dependencies["metrics"], error: unknown): never => {
  if (isLimited(error)) metrics?.sessionRefused(limitOf(error));
  throw error;
};

const planOpen =
  (db: Db, dependencies: Dependencies, body: CreateUsageSession): MakePlan<OpenedSession> =>
  async (anyCaller, origin) => {
    const caller = keyOf(anyCaller);
    const { creditPriceMicrosPerSecond, sessionStartSeconds } = dependencies.config;
    const terms = { priceCreditMicrosPerSecond: creditPriceMicrosPerSecond, startSeconds: sessionStartSeconds };
    const planned = plannedSession(body, terms, { environment: caller.environment, ...origin });
    // Before the response is built: a refusal stays cheap. A sweep of overdue sessions can only make room in the write.
    if (!caller.headroom?.hasOverdue) await checkHeadroom(db, planned, caller);
    const location = `/api/v1/usage/sessions/${planned.id}`;
    return {
      response: { status: 201, location, etag: entityTag({ version: 1 }), body: presentOpened(planned, caller) },
      write: async (claim) => {
        const outcome = await open(db, dependencies, planned, caller, origin, claim);
        if (outcome.kind === "written") dependencies.metrics?.sessionHeld();
        return outcome;
      },
    };
  };

/** The id in the path. Throws the problem `not_found` when it is malformed. */
const sessionIdOf = (id: string): SessionId => {
  if (!isId("ses", id)) throw notFound();
  return id;
};

/** The plan of a change of a session: its whole response comes from the write. */
const planChange = <Details>(
  write: (claim: Claim | null) => Promise<SessionOutcome<Details>>,
  schema: TSchema,
  closed: string,
): ReturnType<MakePlan<object>> => ({
  response: { status: 200, location: null, etag: '"0"', body: {} },
  write: async (claim) => {
    const outcome = await write(claim);
    switch (outcome.kind) {
      case "written": {
        const figures = presentSession(outcome.session);
        if (!matchesSchema(schema, figures)) throw new Error("a response does not match its schema");
        return { kind: "written", figures, etag: entityTag(outcome.session) };
      }
      case "session_closed":
        throw new Problem("session_closed", closed);
      case "not_found":
        throw notFound();
      case "stale":
      case "replayed":
        return outcome;
    }
  },
});

const planReport =
  (db: Db, { config }: Dependencies, id: string, { usedCreditMicros }: ReportUsage): MakePlan<object> =>
  (anyCaller) => {
    const caller = keyOf(anyCaller);
    const sessionId = sessionIdOf(id);
    const report = { used: usedCreditMicros, leaseSeconds: config.sessionLeaseSeconds };
    return planChange(
      (claim) => reportUsage(db, sessionId, report, caller, claim),
      ReportedSession,
      "The session has ended, or its lease has expired.",
    );
  };

const planRelease =
  (db: Db, { metrics }: Dependencies, id: string, body: ReleaseSession): MakePlan<object> =>
  (anyCaller, origin) => {
    const caller = keyOf(anyCaller);
    const used = body.usedCreditMicros ?? null;
    const reason = body.reason ?? null;
    // The member itself is valid, so this is not 422: it is the grant of the caller that does not allow it.
    if (used !== null) checkScope(caller, ["usage:write"]);
    const release = { isEngine: permits(caller.scopes, "usage:write"), used, reason };
    const sessionId = sessionIdOf(id);
    return planChange(
      async (claim) => {
        const outcome = await releaseSession(db, sessionId, release, caller, origin, claim);
        // An overdue session that this request has closed can be `session_closed`.
        if ("hasEnded" in outcome && outcome.hasEnded) metrics?.sessionSettled();
        return outcome;
      },
      UsageSession,
      "The session has ended, with another charge.",
    );
  };

export const usageSessionRoutes = (dependencies: Dependencies) => {
  const { clock, responseBytes } = dependencies;
  return new Elysia({ name: "usage-sessions", prefix: "/api/v1/usage/sessions" })
    .use(authentication(dependencies))
    .post(
      "",
      async ({ writeAsCaller, db, path, request, secret, set, requestContext }) => {
        checkIdempotencyKey(request);
        const body = await readBody(request, requestContext, CreateUsageSession);
        const context = { writeAsCaller, db, path, request, secret, set };
        const plan = planOpen(db, dependencies, body);
        // Here, because a refused request may still get the response of an earlier one.
        return executeIdempotently(dependencies, context, OPENED, body, plan).catch((error: unknown) =>
          throwCounted(dependencies.metrics, error),
        );
      },
      { scope: { scopes: ["realtime:write"], withHeadroom: true }, detail: OPERATIONS.openUsageSession },
    )
    .get(
      "",
      async ({ caller, db, request, set }) => {
        const page = readSessionPage(readQuery(request, USAGE_SESSION_LIST.query), clock());
        const { from, to } = page.filters;
        const text = pageText(USAGE_SESSION_LIST, page, await listUsageSessions(db, caller, page), { from, to });
        return responseBytes.send(text, caller.tenantId, request, set);
      },
      { scope: "usage:read", detail: OPERATIONS.listUsageSessions },
    )
    .get(
      "/:id",
      async ({ caller, db, params: { id }, request, set }) => {
        readQuery(request, NO_PARAMETERS);
        const session = await findUsageSession(db, caller, sessionIdOf(id));
        if (!session) throw notFound();
        return sendResource(SESSION, presentSession(session), session, set);
      },
      { scope: "usage:read", detail: OPERATIONS.getUsageSession },
    )
    .post(
      "/:id/usage",
      async ({ writeAsCaller, db, params: { id }, path, request, secret, set, requestContext }) => {
        checkIdempotencyKey(request);
        const body = await readBody(request, requestContext, ReportUsage);
        const context = { writeAsCaller, db, path, request, secret, set };
        return executeIdempotently(dependencies, context, UNKNOWN, body, planReport(db, dependencies, id, body));
      },
      { scope: "usage:write", detail: OPERATIONS.reportUsage },
    )
    .post(
      "/:id/release",
      async ({ writeAsCaller, db, params: { id }, path, request, secret, set, requestContext }) => {
        checkIdempotencyKey(request);
        const body = await readOptionalBody(request, requestContext, ReleaseSession);
        const context = { writeAsCaller, db, path, request, secret, set };
        return executeIdempotently(dependencies, context, UNKNOWN, body, planRelease(db, dependencies, id, body));
      },
      { scope: { scopes: ["realtime:write", "usage:write"] }, detail: OPERATIONS.releaseSession },
    );
};
