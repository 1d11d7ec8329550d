/** `/api/v1/usage/sessions` */

import type { Origin } from "@realtime-avatar/db/audit/audit-events";
import type { Caller } from "@realtime-avatar/db/callers/callers";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { findUsageSession } from "@realtime-avatar/db/credits/find-usage-session";
import { countUsageSessions, listUsageSessions } from "@realtime-avatar/db/credits/list-usage-sessions";
import {
  type OpenOutcome,
  openUsageSession,
  releaseSession,
  reportUsage,
  type SessionOutcome,
  type SessionRequest,
} from "@realtime-avatar/db/credits/usage-sessions";
import type { Claim, WriteOutcome } from "@realtime-avatar/db/idempotency/idempotency-keys";
import { permits } from "@realtime-avatar/domain/api-keys/scope";
import { type PlannedSession, plannedSession, presentOpened } from "@realtime-avatar/domain/credits/open";
import {
  CreateUsageSession,
  OpenedSession,
  ReleaseSession,
  ReportedSession,
  ReportUsage,
  USAGE_SESSION_LIST,
  UsageSession,
  UsageSessionPage,
  UsageSessionWithNames,
} from "@realtime-avatar/domain/credits/schemas";
import { presentSession } from "@realtime-avatar/domain/credits/session";
import { readSessionPage, type SessionPageRequest } from "@realtime-avatar/domain/credits/session-list";
import { isId, newId, type SessionId } from "@realtime-avatar/domain/id";
import { fileQuery } from "@realtime-avatar/domain/lists/csv";
import { pageText } from "@realtime-avatar/domain/page";
import { notFound, Problem } from "@realtime-avatar/domain/problem";
import { Elysia } from "elysia";
import type { Dependencies } from "../dependencies.ts";
import { authentication, checkScope } from "../http/authenticate.ts";
import { CSV_DESCRIPTION, type Export, exportHandler } from "../http/files/export.ts";
import { operations } from "../http/operation.ts";
import { requireKey } from "../http/person.ts";
import { NO_PARAMETERS, readQuery } from "../http/query.ts";
import { sendResource } from "../http/response.ts";
import { type Attempt, execute, type OutcomeOf, type Settled, writtenResource } from "../http/write.ts";
import { checkHeadroom, countRefusal, OPENING_PROBLEMS, openingRefused, openWithinLimits } from "./opening.ts";
import type { SweepOverdue } from "./overdue-sessions.ts";

const OPERATIONS = operations({
  openUsageSession: {
    summary: "Open a usage session",
    description:
      "Holds credits for a call: as many whole seconds as fit, at most `maxSessionSeconds` and at least `minSessionSeconds`. They must fit the tenant's balance and the spend caps of the calling key and of its ancestors. The number of open sessions is limited for the key, each ancestor and the tenant. A request that does not fit holds nothing. The session ends by itself unless its use is reported before `expiresAt`.",
    body: CreateUsageSession,
    success: { status: 201, description: "The session.", schema: UsageSession },
    problems: OPENING_PROBLEMS,
  },
  listUsageSessions: {
    summary: "List usage sessions",
    description:
      "Lists the sessions that were created in a time window, in the environment of the calling key, newest first.",
    query: USAGE_SESSION_LIST.query,
    success: { status: 200, description: "A page of sessions.", schema: UsageSessionPage },
  },
  exportUsageSessions: {
    summary: "Export usage sessions",
    description: `The sessions of the list, as a file. ${CSV_DESCRIPTION}`,
    query: fileQuery(USAGE_SESSION_LIST),
    success: { status: 200, description: "The sessions.", file: "csv" },
  },
  getUsageSession: {
    summary: "Read a usage session",
    description: "Returns a session in any status.",
    success: { status: 200, description: "The session.", schema: UsageSessionWithNames },
  },
  reportUsage: {
    summary: "Report the usage of a session",
    description:
      "Records what the session has used since its start. The first report, which may be 0, starts the session. Each report extends its lease. Usage is cumulative: lost, repeated and late reports have no effect on the charge.",
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
      "With `usage:write`: ends any session, charges it once, and frees the rest. The charge is `usedCreditMicros` or, if higher, the reported usage. With `realtime:write` alone: ends a session of the calling key or of a descendant that was never started, at no charge. A started session stays open with `mustEnd` until its engine ends it, or until the end of its lease, and is then charged for the reported usage. A call of this service ends at once, started or not. Repeating the request has no effect.",
    body: ReleaseSession,
    isBodyOptional: true,
    success: { status: 200, description: "The session after the request.", schema: UsageSession },
    problems: ["session_closed"],
  },
});

const SESSION = { schema: UsageSession, toText: JSON.stringify, present: presentSession };
const SESSION_WITH_NAMES = { schema: UsageSessionWithNames, toText: JSON.stringify };
/** The response to an opening. The write adds the missing members. */
const OPENED_SESSION = { schema: OpenedSession, toText: JSON.stringify, present: presentSession };
const REPORTED_SESSION = { schema: ReportedSession, toText: JSON.stringify, present: presentSession };

/** Opens a session. */
const openSession = (
  db: Db,
  request: SessionRequest,
  caller: Caller,
  origin: Origin,
  sweepOverdue: SweepOverdue,
  claim: Claim | null,
): Promise<OpenOutcome> =>
  openWithinLimits(() => openUsageSession(db, request, caller, claim), { db, caller, origin, sweepOverdue });

type OpenAttempt = Attempt<CreateUsageSession, PlannedSession>;

const OPEN_SESSION = {
  body: CreateUsageSession,
  representation: OPENED_SESSION,
  /** A session that cannot fit is refused before its response is made, so that refusals stay cheap. */
  lookUp: async ({ body, db, caller: anyCaller, origin, dependencies }: OpenAttempt): Promise<PlannedSession> => {
    const caller = requireKey(anyCaller);
    const { creditPriceMicrosPerSecond, sessionStartSeconds } = dependencies.config;
    const terms = { priceCreditMicrosPerSecond: creditPriceMicrosPerSecond, startSeconds: sessionStartSeconds };
    const planned = plannedSession(body, terms, { environment: caller.environment, ...origin });
    await checkHeadroom(db, planned, caller);
    return planned;
  },
  plan: ({ db, caller: anyCaller, origin, dependencies: { sweepOverdue } }: OpenAttempt, planned: PlannedSession) => {
    const caller = requireKey(anyCaller);
    const request = { ...planned, entryId: newId("ent", origin.now, origin.random), requestId: origin.requestId };
    const location = `/api/v1/usage/sessions/${planned.id}`;
    return {
      response: { location, version: 1, body: presentOpened(planned, caller) },
      write: (claim: Claim | null) => openSession(db, request, caller, origin, sweepOverdue, claim),
    };
  },
  settle: async (
    outcome: OpenOutcome,
    { db, caller, dependencies: { metrics } }: OpenAttempt,
    planned: PlannedSession,
  ): Promise<WriteOutcome> => {
    switch (outcome.kind) {
      case "written":
        metrics?.sessionHeld();
        return outcome;
      case "replayed":
        return outcome;
      case "stale":
        return { kind: "stale" };
      default:
        throw await openingRefused(outcome, planned, db, requireKey(caller));
    }
  },
};

/** The id in the path. Throws the problem `not_found` when it is malformed. */
const sessionIdOf = (id: string): SessionId => {
  if (!isId("ses", id)) throw notFound();
  return id;
};

/**
 * The session after a report or a release. Throws a problem if the write was refused. `closed`: the detail for a closed
 * session.
 */
const settleSession = (outcome: SessionOutcome<object>, closed: string): Settled<UsageSession> => {
  switch (outcome.kind) {
    case "written":
      return writtenResource(outcome.session, presentSession(outcome.session));
    case "session_closed":
      throw new Problem("session_closed", closed);
    case "not_found":
      throw notFound();
    case "stale":
    case "replayed":
      return outcome;
  }
};

const REPORT_USAGE = {
  body: ReportUsage,
  representation: REPORTED_SESSION,
  plan: ({ db, id, body, caller, dependencies: { config } }: Attempt<ReportUsage>) => {
    const report = { used: body.usedCreditMicros, leaseSeconds: config.sessionLeaseSeconds };
    return {
      response: null,
      write: (claim: Claim | null) => reportUsage(db, sessionIdOf(id), report, requireKey(caller), claim),
    };
  },
  settle: (outcome: OutcomeOf<typeof reportUsage>) =>
    settleSession(outcome, "The session has ended, or its lease has expired."),
};

const RELEASE_SESSION = {
  body: ReleaseSession,
  isBodyOptional: true,
  representation: SESSION,
  plan: ({ db, id, body, caller: anyCaller, origin }: Attempt<ReleaseSession>) => {
    const caller = requireKey(anyCaller);
    const { usedCreditMicros: used = null, reason = null } = body;
    // The member itself is valid, so this is not 422: the scopes of the caller do not allow it.
    if (used !== null) checkScope(caller, ["usage:write"]);
    const release = { isEngine: permits(caller.scopes, "usage:write"), used, reason };
    return {
      response: null,
      write: (claim: Claim | null) => releaseSession(db, sessionIdOf(id), release, caller, origin, claim),
    };
  },
  settle: (
    outcome: OutcomeOf<typeof releaseSession>,
    { db, dependencies: { metrics, realtime } }: Attempt<ReleaseSession>,
  ) => {
    // Also true for an overdue session, which this request closes and then refuses with `session_closed`.
    if ("hasEnded" in outcome && outcome.hasEnded) {
      metrics?.sessionSettled();
      // The session may be a call.
      realtime?.waitingWorkers(db).look();
    }
    return settleSession(outcome, "The session has already ended, with another charge.");
  },
};

const EXPORT: Export<SessionPageRequest> = {
  name: "usage-sessions",
  list: USAGE_SESSION_LIST,
  item: UsageSessionWithNames,
  pageOf: readSessionPage,
  read: listUsageSessions,
};

export const usageSessionRoutes = (dependencies: Dependencies) => {
  const { clock, responseBytes, metrics } = dependencies;
  return new Elysia({ name: "usage-sessions", prefix: "/api/v1/usage" })
    .use(authentication(dependencies))
    .post("/sessions", ({ write }) => execute(write, OPEN_SESSION).catch(countRefusal(metrics)), {
      scope: { scopes: ["realtime:write"], including: "headroom" },
      detail: OPERATIONS.openUsageSession,
    })
    .get(
      "/sessions",
      async ({ caller, db, request, set }) => {
        const parameters = readQuery(request, USAGE_SESSION_LIST.query);
        const page = readSessionPage(parameters, clock());
        const { from, to } = page.filters;
        const [written, total] = await Promise.all([
          listUsageSessions(db, caller, page),
          "total" in parameters ? countUsageSessions(db, caller, page.filters) : null,
        ]);
        const text = pageText(USAGE_SESSION_LIST, page, written, { from, to, ...(total && { total }) });
        return responseBytes.send(text, caller.tenantId, request, set);
      },
      { scope: "usage:read", detail: OPERATIONS.listUsageSessions },
    )
    .get("/sessions.csv", exportHandler(dependencies, EXPORT), {
      scope: "usage:read",
      detail: OPERATIONS.exportUsageSessions,
    })
    .get(
      "/sessions/:id",
      async ({ caller, db, params: { id }, request, set }) => {
        readQuery(request, NO_PARAMETERS);
        const session = await findUsageSession(db, caller, sessionIdOf(id));
        if (!session) throw notFound();
        return sendResource(SESSION_WITH_NAMES, presentSession(session), session, set);
      },
      { scope: "usage:read", detail: OPERATIONS.getUsageSession },
    )
    .post("/sessions/:id/usage", ({ write }) => execute(write, REPORT_USAGE), {
      scope: "usage:write",
      detail: OPERATIONS.reportUsage,
    })
    .post("/sessions/:id/release", ({ write }) => execute(write, RELEASE_SESSION), {
      scope: { scopes: ["realtime:write", "usage:write"] },
      detail: OPERATIONS.releaseSession,
    });
};
