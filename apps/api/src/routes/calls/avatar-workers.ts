/** `/internal/avatar-workers`: what avatar workers ask of the service. The wire is in the domain's calls/worker-sync.ts. */
import { createHash, timingSafeEqual } from "node:crypto";
import { type Assignment, findCallFile, type SyncResult, syncWorker } from "@realtime-avatar/db/calls/fleet";
import { describeError } from "@realtime-avatar/db/connection/errors";
import type { Db } from "@realtime-avatar/db/connection/pool";
import {
  manifestFile,
  PREPARED_TYPES,
  preparedKey,
  readPreparedFile,
} from "@realtime-avatar/domain/avatars/preparation";
import { openRoomToken } from "@realtime-avatar/domain/calls/brought-room";
import {
  AGENT_AWAY_SECONDS,
  AWAY_SECONDS,
  IDLE_TIMEOUT_SECONDS,
  LEASE_SECONDS,
  MIN_CALL_LEASE_SECONDS,
} from "@realtime-avatar/domain/calls/limits";
import { avatarToken } from "@realtime-avatar/domain/calls/room";
import {
  type AssignedCall,
  isWorkerId,
  SyncRequest,
  SyncResponse,
  shardOfWorkerId,
} from "@realtime-avatar/domain/calls/worker-sync";
import { isId } from "@realtime-avatar/domain/id";
import { notFound, Problem } from "@realtime-avatar/domain/problem";
import { mintToken } from "@realtime-avatar/livekit/tokens";
import type { Secret } from "@realtime-avatar/storage/secret";
import type { Storage } from "@realtime-avatar/storage/storage";
import { Elysia } from "elysia";
import { type Realtime, realtimeOf } from "../../calls/realtime.ts";
import type { Dependencies } from "../../dependencies.ts";
import { type BodyKind, readBody } from "../../http/body.ts";
import { runWrite } from "../../http/problem.ts";
import { originOf, type RequestContext, withRequestContext } from "../../http/request-context.ts";
import { sendJson } from "../../http/response.ts";
import type { RouteDetail } from "../../openapi/operation.ts";

const DETAIL: RouteDetail = { isHidden: true };

/** A sync lists up to 2,000 calls of some 150 bytes each. */
const SYNC_BODY: BodyKind = { mediaType: "application/json", maxBytes: 512 * 1024 };

const SYNC = { schema: SyncResponse, toText: JSON.stringify };

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

/** Throws the problem `invalid_credentials` unless the request has the secret. Digests have one length, so the time tells nothing. */
const checkSecret = ({ headers }: Request, secret: Secret): void => {
  const sent = headers.get("authorization") ?? "";
  if (timingSafeEqual(digest(sent), digest(`Bearer ${secret.reveal()}`))) return;
  throw new Problem("invalid_credentials", "Send `Authorization: Bearer <AVATAR_WORKER_SECRET>`.");
};

/**
 * A digest of the states of the calls, which can be 400 kB. A sync that changes them does not wait: a worker aborts its wait at each change, and would
 * lose its lease while its calls change more often than a wait lasts.
 */
const statesOf = ({ slots, calls }: SyncRequest): string => {
  const states = [slots, calls.map(({ session_id, generation, state }) => [session_id, generation, state])];
  return digest(JSON.stringify(states)).toString("base64");
};

/** The manifest of the avatar of a call, for its renderer; null for an avatar without one. Throws when the store fails. */
const readManifest = async (
  { db, storage }: { db: Db; storage: Storage },
  workerId: string,
  { sessionId, manifest }: Assignment,
): Promise<Record<string, unknown> | null> => {
  const file = manifest === null ? null : manifestFile(manifest);
  const call = file === null ? null : await findCallFile(db, workerId, sessionId);
  if (file === null || call === null) return null;
  const opened = await storage.open(preparedKey({ tenantId: call.tenantId, id: call.avatarId }, file));
  return opened && ((await new Response(opened.stream).json()) as Record<string, unknown>);
};

/** With what the avatar joins: what an agent has brought, or a new token for our room. Throws when the former cannot be opened. */
const accessOf = async (
  { tenantId, sessionId, brought, roomName, mode, maxSeconds }: Assignment,
  { config, tokenKey }: Realtime,
): Promise<Pick<AssignedCall, "url" | "token" | "agent_identity">> => {
  if (brought === null) {
    const token = await mintToken(config, avatarToken(roomName, mode, maxSeconds));
    return { url: config.url, token, agent_identity: null };
  }
  const token = openRoomToken(brought.token, { tenantId, sessionId }, tokenKey);
  if (token === null) throw new Error("a token of a room was sealed with another SESSION_SECRET");
  return { url: brought.url, token, agent_identity: brought.agentIdentity };
};

const presentAssigned = async (
  dependencies: { db: Db; storage: Storage },
  workerId: string,
  assignment: Assignment,
  realtime: Realtime,
): Promise<AssignedCall> => ({
  session_id: assignment.sessionId,
  generation: assignment.generation,
  environment: assignment.environment,
  ...(await accessOf(assignment, realtime)),
  // An agent sends no sound before it sees a picture.
  mode: assignment.brought === null ? assignment.mode : "avatar",
  avatar: {
    avatar_id: assignment.avatarId,
    manifest: await readManifest(dependencies, workerId, assignment),
  },
  input: assignment.input,
  max_seconds: assignment.maxSeconds,
  limit: assignment.limit,
  used_seconds: assignment.usedSeconds,
  idle_seconds: IDLE_TIMEOUT_SECONDS,
  away_seconds: assignment.brought === null ? AWAY_SECONDS : AGENT_AWAY_SECONDS,
});

/** The response to a sync. A call whose manifest or token cannot be read is left out: the next sync brings it again. */
const presentSync = async (
  { storage, log }: Dependencies,
  db: Db,
  workerId: string,
  { start, end }: SyncResult,
  realtime: Realtime,
): Promise<SyncResponse> => {
  const assigned = await Promise.all(
    start.map((assignment) =>
      presentAssigned({ db, storage }, workerId, assignment, realtime).catch((error: unknown) => {
        log.warn({ error: describeError(error) }, "failed to read what an avatar worker needs of a call");
        return null;
      }),
    ),
  );
  return {
    lease_seconds: LEASE_SECONDS,
    start: assigned.filter((call) => call !== null),
    end: end.map(({ sessionId, generation, reason }) => ({ session_id: sessionId, generation, reason })),
  };
};

/** Maximum number of workers whose last sync is remembered. */
const MAX_WORKERS = 10_000;

const createSync = (dependencies: Dependencies) => {
  const { config, metrics } = dependencies;
  const sessionLeaseSeconds = Math.max(config.sessionLeaseSeconds, MIN_CALL_LEASE_SECONDS);
  const leases = { leaseSeconds: LEASE_SECONDS, sessionLeaseSeconds };
  /** By worker, the states of its last sync. */
  const lastStates = new Map<string, string>();

  const isChange = (workerId: string, request: SyncRequest): boolean => {
    const states = statesOf(request);
    const isSame = lastStates.get(workerId) === states;
    if (lastStates.size >= MAX_WORKERS) lastStates.clear();
    // A worker without slots stops.
    if (request.slots === 0) lastStates.delete(workerId);
    else lastStates.set(workerId, states);
    return !isSame;
  };

  return async (
    db: Db,
    workerId: string,
    request: SyncRequest,
    { rooms, waitingWorkers }: Realtime,
    context: RequestContext,
  ): Promise<SyncResult> => {
    const syncOnce = async (): Promise<SyncResult> => {
      const origin = originOf(dependencies, null, context);
      const outcome = await runWrite(() => syncWorker(db, workerId, request, leases, origin));
      rooms.deleteLater(outcome.rooms.filter((room) => room !== null));
      metrics?.sessionSettled(outcome.rooms.length);
      return outcome;
    };
    const outcome = await syncOnce();
    const hasWork = outcome.start.length + outcome.end.length + outcome.rooms.length > 0;
    // A worker without slots has nothing to wait for.
    if (isChange(workerId, request) || hasWork || request.slots === 0) return outcome;
    return (await waitingWorkers(db).wait(workerId)) ? syncOnce() : outcome;
  };
};

export const avatarWorkerRoutes = (dependencies: Dependencies) => {
  const { databases, storage, fileSender } = dependencies;
  const sync = createSync(dependencies);
  /** The realtime of a request with the secret, for a worker with a valid id, and the database of its shard. */
  const authenticate = (request: Request, workerId: string, context: RequestContext) => {
    const realtime = realtimeOf(dependencies);
    checkSecret(request, realtime.workerSecret);
    if (!isWorkerId(workerId)) throw notFound();
    return { realtime, db: databases.ofShard(shardOfWorkerId(workerId)).until(context) };
  };
  return new Elysia({ name: "avatar-workers", prefix: "/internal/avatar-workers/:id" })
    .use(withRequestContext)
    .post(
      "/sync",
      async ({ params: { id }, request, requestContext, set }) => {
        const { realtime, db } = authenticate(request, id, requestContext);
        requestContext.isRoutine = true;
        const body = await readBody(request, requestContext, SyncRequest, [], SYNC_BODY);
        const result = await sync(db, id, body, realtime, requestContext);
        const response = await presentSync(dependencies, db, id, result, realtime);
        return sendJson(SYNC, response, set);
      },
      { detail: DETAIL },
    )
    .get(
      "/calls/:session/files/:generation/:name",
      async ({ params: { id, session, generation, name }, request, requestContext, set }) => {
        const { db } = authenticate(request, id, requestContext);
        const file = `${generation}/${name}`;
        const prepared = readPreparedFile(file);
        if (prepared === null || !isId("ses", session)) throw notFound();
        const call = await findCallFile(db, id, session);
        if (call === null) throw notFound();
        const key = preparedKey({ tenantId: call.tenantId, id: call.avatarId }, file);
        const stream = await fileSender.open({ client: `worker ${id}`, file: key }, () => storage.open(key));
        if (stream === null) throw notFound();
        const headers = { ...(set.headers as Record<string, string>), "content-type": PREPARED_TYPES[prepared.type] };
        set.headers = {};
        return new Response(stream, { headers });
      },
      { detail: DETAIL },
    );
};
