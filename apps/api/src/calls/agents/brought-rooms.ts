/**
 * `/compat/bey`: the API for the plugin `bey` of LiveKit Agents, in two forms (`FORMS`). The plugin sends the API key
 * as `x-api-key`, no Idempotency-Key, and the same token up to four times. So requests with the same token open one
 * call. The OpenAPI document omits the route, because its form follows the plugin. Its credentials are in another
 * header than those of all documented operations.
 */
import { attachAgent, type BroughtRoom, type OpenCallOutcome, openCall } from "@realtime-avatar/db/calls/calls";
import type { Db } from "@realtime-avatar/db/connection/pool";
import type { Claim } from "@realtime-avatar/db/idempotency/idempotency-keys";
import {
  BringRoom,
  BringRoomByTransport,
  BroughtCall,
  isOwnServer,
  readRoomToken,
  readRoomUrl,
  sealRoomToken,
  tokenDigest,
} from "@realtime-avatar/domain/calls/brought-room";
import { type CallOfKey, looksLikeCallKey, readCallKey } from "@realtime-avatar/domain/calls/call-key";
import { RETRY_MS } from "@realtime-avatar/domain/calls/queue";
import { roomName, roomPrefix } from "@realtime-avatar/domain/calls/room";
import { type PlannedCall, plannedCall } from "@realtime-avatar/domain/calls/start";
import type { SessionId } from "@realtime-avatar/domain/id";
import { notFound, Problem, validationFailed } from "@realtime-avatar/domain/problem";
import type { Static, TSchema } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { countRefusal, openingRefused, openWithinLimits } from "../../credits/opening.ts";
import type { Dependencies } from "../../dependencies.ts";
import { authenticateRequest, INVALID, type RequestParts } from "../../http/authenticate.ts";
import { readBody } from "../../http/body.ts";
import type { RouteDetail } from "../../http/operation.ts";
import { requireKey } from "../../http/person.ts";
import { runWrite } from "../../http/problem.ts";
import { withRequestContext } from "../../http/request-context.ts";
import { responseText, sendText } from "../../http/response.ts";
import { type Attempt, executeWithBody, type ResourceResponse, type Settled } from "../../http/write.ts";
import { callRequest, countRefused } from "../calls.ts";
import { requireAvatarWorker, requireRealtime } from "../realtime.ts";

const DETAIL: RouteDetail = { isHidden: true };
const MISSING = new Problem("missing_api_key", "Send the API key in the header `x-api-key`.");

/** A form of the request: the schema of its body, its values, and the pointers to its fields in errors. */
type BringForm<Schema extends TSchema> = {
  schema: Schema;
  read(body: Static<Schema>): BringRoom;
  /** The pointers of the form, by the pointers of `BringRoom`. */
  pointers: Record<string, string>;
};
const SESSION: BringForm<typeof BringRoom> = { schema: BringRoom, read: (body) => body, pointers: {} };
const SESSIONS: BringForm<typeof BringRoomByTransport> = {
  schema: BringRoomByTransport,
  read: ({ avatar_id, url, token }) => ({ avatar_id, livekit_url: url, livekit_token: token }),
  pointers: { "#/livekit_url": "#/url", "#/livekit_token": "#/token" },
};

/** Rethrows `error`. An error of a field of `BringRoom` gets the pointer to the field of the form. */
const throwInForm =
  <Schema extends TSchema>({ pointers }: BringForm<Schema>) =>
  (error: unknown): never => {
    const errors = error instanceof Problem ? error.extras.errors : undefined;
    if (errors === undefined) throw error;
    throw validationFailed(
      errors.map((one) => ("pointer" in one ? { ...one, pointer: pointers[one.pointer] ?? one.pointer } : one)),
    );
  };

const REPRESENTATION = { schema: BroughtCall, toText: JSON.stringify, present: () => ({}) };

const createdCall = (id: SessionId): ResourceResponse<BroughtCall> => ({
  location: `/api/v1/usage/sessions/${id}`,
  version: null,
  body: { id },
});

const refusedToken = (detail: string): Problem =>
  validationFailed([{ pointer: "#/livekit_token", code: "not_allowed", detail }]);

/** The URL of a body, in its normal form. Throws `validation_failed` when it is not allowed. */
const allowedUrl = ({ livekit_url }: BringRoom, hosts: readonly string[], ownUrl: string): string => {
  const url = readRoomUrl(livekit_url, { hosts, ownUrl });
  if (typeof url !== "string") throw validationFailed([url]);
  return url;
};

type BringBasis = { planned: PlannedCall; url: string; agentIdentity: string };
type BringAttempt = Attempt<BringRoom, BringBasis>;

/**
 * Opens a call in a brought room. The service does not create, list or delete that room. `price`: the price of one
 * second.
 */
const bringOperation = (price: number) => ({
  representation: REPRESENTATION,
  /** The limits are not checked here, because the same token can already have opened the call that reaches them. */
  lookUp: async ({ body, db, caller, origin, dependencies }: BringAttempt): Promise<BringBasis> => {
    const { config, agents, instance } = requireRealtime(dependencies);
    const url = allowedUrl(body, agents.livekitHosts, config.url);
    const { room, agentIdentity } = readRoomToken(body.livekit_token, origin.now);
    const isOwnRoom = async (): Promise<boolean> => {
      const instances = await Promise.all(dependencies.databases.all().map(instance));
      return instances.some((name) => room.startsWith(roomPrefix(name)));
    };
    if (isOwnServer(url, config.url) && (await isOwnRoom())) {
      throw refusedToken(
        "The room belongs to a call of this service. Its agent finds a key for it in the metadata of its dispatch.",
      );
    }
    const terms = { priceCreditMicrosPerSecond: price, instance: await instance(db) };
    const { environment } = requireKey(caller);
    return {
      planned: plannedCall({ avatar_id: body.avatar_id }, terms, { environment, ...origin }),
      url,
      agentIdentity,
    };
  },
  plan: (
    { db, body: { livekit_token: token }, caller: anyCaller, origin, dependencies }: BringAttempt,
    { planned, url, agentIdentity }: BringBasis,
  ) => {
    const caller = requireKey(anyCaller);
    const { tokenKey } = requireRealtime(dependencies);
    const digest = tokenDigest(token, caller.id);
    const id = { tenantId: caller.tenantId, sessionId: planned.session.id };
    const request = callRequest(planned, caller, origin, {
      // With this, a repeated request of the plugin keeps its place in the queue.
      metadata: { token: Buffer.from(digest).toString("hex") },
      growth: null,
      awaitsAgent: false,
      transcript: null,
      recording: null,
      hasConnectionHistory: false,
      brought: { url, token: sealRoomToken(token, id, tokenKey, origin.random), digest, agentIdentity },
      conversation: null,
    });
    const limits = { db, caller, origin, sweepOverdue: dependencies.sweepOverdue };
    return {
      response: createdCall(planned.session.id),
      write: (claim: Claim | null) => openWithinLimits(() => openCall(db, request, caller, claim), limits),
    };
  },
  settle: async (
    outcome: OpenCallOutcome,
    { db, caller, dependencies: { metrics, realtime } }: BringAttempt,
    { planned }: BringBasis,
  ): Promise<Settled<BroughtCall>> => {
    switch (outcome.kind) {
      case "written":
        metrics?.sessionHeld();
        metrics?.callRequested("started");
        realtime?.waitingWorkers(db).look();
        return { kind: "written" };
      case "same":
        return { kind: "written", resource: createdCall(outcome.sessionId) };
      case "replayed":
      case "stale":
        return outcome;
      case "queued":
        await requireAvatarWorker(db);
        throw new Problem("rate_limited", "All slots are in use. Send the same request again: it keeps its place.", {
          retryable: true,
          retryAfterSeconds: RETRY_MS / 1000,
        });
      case "too_many_tickets":
        throw new Problem("rate_limited", "Too many calls of the tenant wait for a slot.", { retryable: true });
      case "unsupported":
        throw new TypeError("a brought room names no voice");
      case "too_many_transcripts":
        throw new TypeError("a brought room has no transcript");
      case "too_long":
        throw new TypeError("a brought room names no seconds");
      default:
        throw await openingRefused(outcome, planned.session, db, requireKey(caller));
    }
  },
});

/**
 * Reads the room that an agent of this service brings. Throws a problem unless the body names the service's LiveKit
 * server and the room of the call.
 */
const broughtTo = async (
  dependencies: Dependencies,
  db: Db,
  body: BringRoom,
  call: CallOfKey,
): Promise<BroughtRoom> => {
  const { config, instance, tokenKey } = requireRealtime(dependencies);
  const url = allowedUrl(body, [], config.url);
  const token = body.livekit_token;
  const { room, agentIdentity } = readRoomToken(token, dependencies.clock());
  if (room !== roomName(await instance(db), call.sessionId))
    throw refusedToken("The room is not the room of the call.");
  return {
    url,
    token: sealRoomToken(token, call, tokenKey, dependencies.random),
    digest: tokenDigest(token, call.sessionId),
    agentIdentity,
  };
};

/**
 * Lets the avatar of a call join, when the agent requests it with the key of the call. No credits are held, because the
 * call already has a session.
 */
const attach = async <Schema extends TSchema>(
  dependencies: Dependencies,
  presented: string,
  form: BringForm<Schema>,
  { request, set, requestContext }: RequestParts,
): Promise<string> => {
  const call = readCallKey(presented, requireRealtime(dependencies).callKey, dependencies.clock());
  if (call === null) throw INVALID;
  const { tenantId, sessionId } = call;
  requestContext.tenantId = tenantId;
  const counted = { tenantId, id: sessionId, lineage: [] };
  await dependencies.limitRequests?.(counted, set.headers as Record<string, string>);
  const body = form.read(await readBody(request, requestContext, form.schema));
  const db = dependencies.databases.ofTenant(tenantId).until(requestContext);
  const brought = await broughtTo(dependencies, db, body, call).catch(throwInForm(form));
  switch (await runWrite(() => attachAgent(db, call, body.avatar_id, brought))) {
    case "attached": {
      requireRealtime(dependencies).waitingWorkers(db).look();
      const { location = null, body: created } = createdCall(sessionId);
      return sendText(responseText(REPRESENTATION, created), { status: 201, location, etag: "" }, set);
    }
    case "other":
      return throwInForm(form)(refusedToken("The avatar of the call was already brought with another token."));
    case "not_found":
      throw notFound();
    case "ended":
      throw new Problem("session_closed", "The call has ended.");
  }
};

export const broughtRoomRoutes = (dependencies: Dependencies) => {
  const { metrics, config } = dependencies;
  const operation = bringOperation(config.creditPriceMicrosPerSecond);
  const needed = { scopes: ["realtime:write"], including: "headroom" } as const;
  const bring = async <Schema extends TSchema>(form: BringForm<Schema>, parts: RequestParts): Promise<string> => {
    const presented = parts.request.headers.get("x-api-key");
    if (presented === null) throw MISSING;
    if (looksLikeCallKey(presented)) return attach(dependencies, presented, form, parts);
    const write = await authenticateRequest(dependencies, needed, parts, () => presented);
    return readBody(parts.request, parts.requestContext, form.schema)
      .then((body) => executeWithBody(write, operation, form.read(body), body).catch(throwInForm(form)))
      .catch(countRefused(metrics))
      .catch(countRefusal(metrics));
  };
  return new Elysia({ name: "brought-rooms", prefix: "/compat/bey/v1" })
    .use(withRequestContext)
    .post(
      "/session",
      async ({ request, path, route, set, requestContext }) =>
        bring(SESSION, { request, path, route, set, requestContext }),
      { detail: DETAIL },
    )
    .post(
      "/sessions",
      async ({ request, path, route, set, requestContext }) =>
        bring(SESSIONS, { request, path, route, set, requestContext }),
      { detail: DETAIL },
    );
};
