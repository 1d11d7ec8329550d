/** `/api/v1/realtime/livekit/session`: starting and ending calls, with the paths and names that the published SDK uses. */

import type { Origin } from "@realtime-avatar/db/audit/audit-events";
import type { Caller } from "@realtime-avatar/db/callers/callers";
import {
  type CallRequest,
  failCall,
  type OpenCallOutcome,
  openCall,
  releaseCall,
} from "@realtime-avatar/db/calls/calls";
import { findCallToResume } from "@realtime-avatar/db/calls/resume";
import type { Db } from "@realtime-avatar/db/connection/pool";
import type { Claim } from "@realtime-avatar/db/idempotency/idempotency-keys";
import { presentQueued, RETRY_MS, ticketFingerprint } from "@realtime-avatar/domain/calls/queue";
import { personToken } from "@realtime-avatar/domain/calls/room";
import {
  CallGrant,
  PlannedGrant,
  QueuedCall,
  ReleaseCall,
  ReleasedCall,
  StartCall,
} from "@realtime-avatar/domain/calls/schemas";
import {
  callTooLong,
  type Granted,
  namedByStart,
  type PlannedCall,
  plannedCall,
  presentGranted,
  presentPlannedGrant,
  recordingErrors,
  releaseTarget,
  unsupportedByWorkers,
} from "@realtime-avatar/domain/calls/start";
import {
  MAX_WAITING_TRANSCRIPTS,
  transcriptSeals,
  transcriptUrlErrors,
} from "@realtime-avatar/domain/calls/transcript";
import { type AvatarId, newId, type SessionId } from "@realtime-avatar/domain/id";
import { type FieldError, Problem } from "@realtime-avatar/domain/problem";
import { mintToken } from "@realtime-avatar/livekit/tokens";
import { Elysia } from "elysia";
import { checkHeadroom, countRefusal, OPENING_PROBLEMS, openingRefused, openWithinLimits } from "../credits/opening.ts";
import type { Dependencies } from "../dependencies.ts";
import { authentication } from "../http/authenticate.ts";
import { operations } from "../http/operation.ts";
import { requireKey } from "../http/person.ts";
import type { RequestContext } from "../http/request-context.ts";
import { type Attempt, execute, type OutcomeOf, type Settled } from "../http/write.ts";
import { agentDispatch } from "./agents/agent.ts";
import { connectionHistoryErrors, connectionHistoryGrant } from "./kept/connection-histories.ts";
import { requireAvatarWorker, requireRealtime } from "./realtime.ts";
import { canResume, RESUME_CALL, resumeOperation, resumeStarted } from "./resume.ts";
import { createRoom, livekitUnavailable, patientDb } from "./rooms.ts";

const OPERATIONS = operations({
  startCall: {
    summary: "Start a call",
    description:
      "Holds credits for a call with an avatar, like `POST /api/v1/usage/sessions`, takes a slot of an avatar worker and creates a LiveKit room. The grant contains the URL and the token with which the person joins. If nobody joins within two minutes, the call ends at no charge. Credits are held for as many seconds as fit: at most `max_session_seconds`, and at least 60, or `max_session_seconds` if that is less. The call ends when the seconds are used. When all slots are in use, the response is 429 without a `code`: the call waits. It keeps its place if the same request is sent again within six seconds.",
    body: StartCall,
    success: { status: 200, description: "The grant of the call.", schema: CallGrant },
    queued: { description: "All slots are in use: the call waits for its turn.", schema: QueuedCall },
    problems: [
      ...OPENING_PROBLEMS,
      "quota_exceeded",
      "recording_unsupported",
      "recording_unavailable",
      "realtime_not_configured",
    ],
  },
  releaseCall: {
    summary: "End a call",
    description:
      "Ends a call of the calling key or of a descendant, or gives up its place in the queue. With the reason `page_hide`, `unmount` or `disconnected`, a call that can be resumed continues, and ends a minute after the person has left its room. The call is charged once, for the reported seconds or, if longer, for the time in which both the avatar and the person were present. A call that was never started costs nothing. The response is the same for an id that is unknown, ended, or of another key.",
    body: ReleaseCall,
    success: { status: 200, description: "The request was received.", schema: ReleasedCall },
  },
});

const TOO_MANY_TRANSCRIPTS = `${MAX_WAITING_TRANSCRIPTS} transcripts of the tenant could not be delivered yet, the maximum. Correct their receivers, or start calls without \`transcript_webhook\`.`;

const AGENT_SPEAKS = "An agent speaks with the person in calls of this service. The avatar does not hear the person.";

const RELEASED_CALL = { schema: ReleasedCall, toText: JSON.stringify };

type Opening = {
  caller: Caller;
  origin: Origin;
  dependencies: Dependencies;
  requestContext: RequestContext;
};

/** Opens a call, and creates its room after the commit. If that fails, the call is undone. */
const openWithRoom = async (
  db: Db,
  request: CallRequest,
  { caller, origin, dependencies, requestContext }: Opening,
  claim: Claim | null,
): Promise<OpenCallOutcome | { kind: "unavailable" }> => {
  const { sweepOverdue } = dependencies;
  const open = () => openCall(db, request, caller, claim);
  const outcome = await openWithinLimits(open, { db, caller, origin, sweepOverdue });
  if (outcome.kind !== "written") return outcome;
  const { tenantId } = caller;
  const { id: sessionId, roomName, input } = request;
  const realtime = requireRealtime(dependencies);
  const patient = patientDb(db, requestContext);
  const agent = agentDispatch(realtime, dependencies, { tenantId, sessionId, avatarId: request.avatarId ?? "", input });
  const room = await createRoom(patient, { tenantId, sessionId, roomName, agent }, realtime, requestContext);
  if (room === "unavailable") await failCall(patient, tenantId, sessionId, claim, caller, origin);
  return room === "unavailable" || room === "failed" ? { kind: "unavailable" } : outcome;
};

type StartBasis = PlannedCall & { token: string };
type StartAttempt = Attempt<StartCall, StartBasis>;

/**
 * Creates the room of an open call again. The room may be gone, or may never have been created by the request whose
 * response is replayed.
 */
const restoreRoom = async (response: string, attempt: StartAttempt): Promise<void> => {
  const { body, caller, db, dependencies, requestContext } = attempt;
  const { session_id, room_name: roomName } = JSON.parse(response) as PlannedGrant;
  const sessionId = session_id as SessionId;
  const realtime = requireRealtime(dependencies);
  const { tenantId } = caller;
  const agent = agentDispatch(realtime, dependencies, { tenantId, sessionId, avatarId: body.avatar_id, input: body });
  const patient = patientDb(db, requestContext);
  const room = await createRoom(patient, { tenantId, sessionId, roomName, agent }, realtime, requestContext);
  if (room === "unavailable" || room === "failed") throw livekitUnavailable();
};

/**
 * Handles a repeated start. While nobody has joined, it returns the same grant. Later, it returns a grant with which
 * the person comes back to the call.
 */
const restoreCall = async (response: string, attempt: StartAttempt): Promise<string | null> => {
  const { session_id } = JSON.parse(response) as PlannedGrant;
  const call = await findCallToResume(attempt.db, requireKey(attempt.caller), session_id);
  if (call === null || !call.isOpen) return null;
  if (call.isStarted && canResume(call)) return resumeStarted(call, attempt);
  await restoreRoom(response, attempt);
  return null;
};

/**
 * The request for a planned call. Requests of one key with the same avatar and `metadata` share one place in the queue.
 */
export const callRequest = (
  { session, ...call }: Omit<PlannedCall, "longestSeconds">,
  caller: Caller,
  { now, random, requestId }: Origin,
  {
    metadata,
    ...others
  }: Pick<
    CallRequest,
    "growth" | "awaitsAgent" | "brought" | "conversation" | "transcript" | "recording" | "hasConnectionHistory"
  > & {
    metadata: Record<string, string>;
  },
): CallRequest => ({
  ...session,
  ...call,
  ...others,
  entryId: newId("ent", now, random),
  requestId,
  newTicketId: newId("tkt", now, random),
  fingerprint: ticketFingerprint({ apiKeyId: caller.id, avatarId: session.avatarId as AvatarId, metadata }),
});

type StartRefusal = "too_many_tickets" | "too_many_transcripts" | "unavailable" | "unsupported" | "too_long";
/** The problem of a start that is refused for other reasons than credits and limits of open sessions. */
const refusedStart = (outcome: Extract<OutcomeOf<typeof openWithRoom>, { kind: StartRefusal }>): Problem => {
  switch (outcome.kind) {
    case "too_many_tickets":
      return new Problem("rate_limited", "Too many calls of the tenant wait for a slot.", { retryable: true });
    case "too_many_transcripts":
      return new Problem("quota_exceeded", TOO_MANY_TRANSCRIPTS);
    case "unavailable":
      return livekitUnavailable();
    case "unsupported":
      return unsupportedByWorkers(outcome.fields);
    case "too_long":
      return callTooLong(outcome.limit);
  }
};

/** The prices of a second of a plain call, and of a conversation. */
type Prices = { call: number; conversation: number };

/** The dependencies that decide about the fields of a start. */
type StartDependencies = Pick<Dependencies, "publicUrl" | "webhooks">;

/**
 * The errors that the schema of a start does not find: fields that exclude each other, the URL of the transcript, and a
 * connection history while the public URL is http.
 */
const startErrors = (request: StartCall, dependencies: StartDependencies): FieldError[] => {
  const { transcript_webhook: webhook } = request;
  const allowsHttp = dependencies.webhooks.allowHttpLocalhost;
  return [
    ...recordingErrors(request),
    ...(typeof webhook === "object" ? transcriptUrlErrors(webhook, allowsHttp) : []),
    ...connectionHistoryErrors(request, dependencies),
  ];
};

/** The sealed receiver of a planned call's transcript; null without one. */
const sealedReceiver = (
  { transcript, session }: Pick<PlannedCall, "transcript" | "session">,
  { webhooks }: Pick<Dependencies, "webhooks">,
  { random }: Origin,
) => transcript && transcriptSeals(webhooks.sealingKey, session.id).sealReceiver(transcript, random);

/** How the page of a planned call uploads its connection history; null when the start asks for none. */
const grantedHistory = (
  { connection_history }: StartCall,
  { session }: Pick<PlannedCall, "session">,
  { caller: { tenantId }, origin, dependencies }: Omit<Opening, "requestContext">,
) => connectionHistoryGrant(connection_history === true, { tenantId, sessionId: session.id }, dependencies, origin.now);

/** `hasAgent`: whether an agent is dispatched into the rooms of calls. Then no call is a conversation. */
const startOperation = (prices: Prices, hasAgent: boolean, dependencies: StartDependencies) => ({
  body: StartCall,
  errorsOf: (request: StartCall) => startErrors(request, dependencies),
  representation: {
    schema: PlannedGrant,
    toText: JSON.stringify,
    present: (granted: object, body: unknown) =>
      presentGranted(body as StartCall, granted as Granted, { price: prices.call, hasAgent }),
  },
  /** A call without enough credits is refused before its response is made, so that refusals stay cheap. */
  lookUp: async ({ body, db, caller: anyCaller, origin, dependencies }: StartAttempt): Promise<StartBasis> => {
    const caller = requireKey(anyCaller);
    const { config, instance, rooms } = requireRealtime(dependencies);
    if (!rooms.isAvailable()) throw livekitUnavailable();
    const terms = { priceCreditMicrosPerSecond: prices.call, instance: await instance(db) };
    const planned = plannedCall(body, terms, { environment: caller.environment, ...origin });
    if (hasAgent && planned.recording !== null) throw new Problem("recording_unsupported", AGENT_SPEAKS);
    // The worker decides which price applies. Credits that are too few for the lower price are too few for both.
    const lowest = hasAgent ? prices.call : Math.min(prices.call, prices.conversation);
    await checkHeadroom(db, { ...planned.session, price: lowest }, caller);
    return { ...planned, token: await mintToken(config, personToken(planned.roomName)) };
  },
  plan: (
    { db, body, caller: anyCaller, origin, dependencies, requestContext }: StartAttempt,
    { token, longestSeconds, ...planned }: StartBasis,
  ) => {
    const caller = requireKey(anyCaller);
    const { callRetentionDays: retentionDays, maxCallSeconds: defaultLimit } = dependencies.config;
    const conversation = hasAgent ? null : { price: prices.conversation, ...namedByStart(planned.input) };
    const transcript = sealedReceiver(planned, dependencies, origin);
    const connectionHistory = grantedHistory(body, planned, { caller, origin, dependencies });
    const request = callRequest(planned, caller, origin, {
      ...{ metadata: planned.session.metadata, awaitsAgent: hasAgent, brought: null, conversation, transcript },
      recording: planned.recording && { ...planned.recording, retentionDays },
      hasConnectionHistory: connectionHistory !== null,
      growth: longestSeconds === null ? null : { longestSeconds, defaultLimit },
    });
    const { url: livekitUrl } = requireRealtime(dependencies).config;
    return {
      response: {
        version: null,
        body: presentPlannedGrant(planned, { livekitUrl, token, retentionDays, connectionHistory }),
      },
      write: (claim: Claim | null) =>
        openWithRoom(db, request, { caller, origin, dependencies, requestContext }, claim),
    };
  },
  settle: async (
    outcome: OutcomeOf<typeof openWithRoom>,
    { db, body, caller, dependencies: { metrics } }: StartAttempt,
    { session }: StartBasis,
  ): Promise<Settled<PlannedGrant>> => {
    switch (outcome.kind) {
      case "written":
        metrics?.sessionHeld();
        metrics?.callRequested("started");
        return {
          kind: "written",
          responseFields: presentGranted(body, outcome.responseFields, { price: prices.call, hasAgent }),
        };
      case "replayed":
      case "stale":
        return outcome;
      case "queued":
        await requireAvatarWorker(db);
        metrics?.callRequested("queued");
        return { kind: "queued", body: presentQueued(outcome.place), retryAfterSeconds: RETRY_MS / 1000 };
      case "too_many_tickets":
      case "too_many_transcripts":
      case "unavailable":
      case "unsupported":
      case "too_long":
        throw refusedStart(outcome);
      case "same":
        throw new TypeError("a start has no brought room");
      default: {
        const price = "price" in outcome ? outcome.price : session.price;
        throw await openingRefused(outcome, { ...session, price }, db, requireKey(caller));
      }
    }
  },
  restore: restoreCall,
});

const RELEASE_CALL = {
  body: ReleaseCall,
  representation: RELEASED_CALL,
  plan: ({ db, body, caller, origin }: Attempt<ReleaseCall>) => ({
    response: { version: null, body: { ok: true } },
    write: (claim: Claim | null) =>
      releaseCall(db, releaseTarget(body), { reason: body.reason ?? null }, requireKey(caller), origin, claim),
  }),
  settle: (
    outcome: OutcomeOf<typeof releaseCall>,
    { db, dependencies: { metrics, realtime } }: Attempt<ReleaseCall>,
  ): Settled<ReleasedCall> => {
    if (outcome.kind === "written" && outcome.hasEnded) metrics?.sessionSettled();
    if (outcome.kind === "written" && outcome.hasEnded) realtime?.waitingWorkers(db).look();
    if (outcome.kind === "written" && outcome.roomName !== null) realtime?.rooms.deleteLater([outcome.roomName]);
    return outcome;
  },
};

/** Counts a refused call by the code of its problem, and rethrows the problem. */
export const countRefused =
  (metrics: Dependencies["metrics"]) =>
  (error: unknown): never => {
    if (error instanceof Problem) metrics?.callRequested(error.code);
    throw error;
  };

export const callRoutes = (dependencies: Dependencies) => {
  const { metrics, config } = dependencies;
  const { creditPriceMicrosPerSecond: call, conversationPriceMicrosPerSecond: conversation } = config;
  const startCall = startOperation({ call, conversation }, config.agents.name !== null, dependencies);
  return new Elysia({ name: "calls", prefix: "/api/v1/realtime/livekit/session" })
    .use(authentication(dependencies))
    .post("", ({ write }) => execute(write, startCall).catch(countRefused(metrics)).catch(countRefusal(metrics)), {
      scope: { scopes: ["realtime:write"], including: "headroom" },
      detail: OPERATIONS.startCall,
    })
    .post("/resume", ({ write }) => execute(write, RESUME_CALL).catch(countRefused(metrics)), {
      scope: "realtime:write",
      detail: resumeOperation,
    })
    .post("/release", ({ write }) => execute(write, RELEASE_CALL), {
      scope: "realtime:write",
      detail: OPERATIONS.releaseCall,
    });
};
