/** `/internal/avatar-workers`: the API for avatar workers. calls/worker-sync.ts of the domain defines the protocol. */
import { createHash, timingSafeEqual } from "node:crypto";
import { findCallFile } from "@realtime-avatar/db/calls/fleet";
import { findPreloadOwner } from "@realtime-avatar/db/calls/preloads";
import { type ReportedSegments, writeTranscript } from "@realtime-avatar/db/calls/transcripts";
import { PREPARED_TYPES, preparedKey, readPreparedFile } from "@realtime-avatar/domain/avatars/preparation";
import { TranscriptReceipt, TranscriptReport, transcriptSeals } from "@realtime-avatar/domain/calls/transcript";
import { isWorkerId, MAX_INTEGER, SyncRequest, SyncResponse } from "@realtime-avatar/domain/calls/worker-sync";
import { type AvatarId, isId, type TenantId } from "@realtime-avatar/domain/id";
import { notFound, Problem } from "@realtime-avatar/domain/problem";
import { MAX_FRAGMENTS } from "@realtime-avatar/domain/recordings/files";
import type { Secret } from "@realtime-avatar/storage/secret";
import { Elysia } from "elysia";
import type { Dependencies } from "../dependencies.ts";
import { type BodyKind, readBody } from "../http/body.ts";
import type { RouteDetail } from "../http/operation.ts";
import { type RequestContext, withRequestContext } from "../http/request-context.ts";
import { type ResponseHead, sendJson } from "../http/response.ts";
import { createFragmentReceiver } from "../recordings/fragments.ts";
import { requireRealtime } from "./realtime.ts";
import { createWorkerSyncs } from "./worker-syncs.ts";

const DETAIL: RouteDetail = { isHidden: true };

/**
 * A sync lists up to 2,000 calls of about 150 bytes, up to ten turns of about 100 bytes in each of 1,000 calls, and up
 * to 256 KiB of heard words. A worker of a newer release can send unknown fields.
 */
const SYNC_BODY: BodyKind = { mediaType: "application/json", maxBytes: 2 * 1024 * 1024, ignoresUnknownFields: true };

/** A worker sends about 64 KiB at once, or a single segment. */
const TRANSCRIPT_BODY: BodyKind = { ...SYNC_BODY, maxBytes: 256 * 1024 };

const TRANSCRIPT = { schema: TranscriptReceipt, toText: JSON.stringify };

const SYNC = { schema: SyncResponse, toText: JSON.stringify };

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

/**
 * Throws the problem `invalid_credentials` unless the request has the secret. Digests have equal lengths, so the
 * comparison leaks nothing through its time.
 */
const checkSecret = ({ headers }: Request, secret: Secret): void => {
  const sent = headers.get("authorization") ?? "";
  if (timingSafeEqual(digest(sent), digest(`Bearer ${secret.reveal()}`))) return;
  throw new Problem("invalid_credentials", "Send `Authorization: Bearer <AVATAR_WORKER_SECRET>`.");
};

/** The segments of a worker as they are stored. */
const sealedReport = (
  { generation, first, segments, is_complete: isComplete, speaking }: TranscriptReport,
  call: Pick<ReportedSegments, "workerId" | "sessionId">,
  { random, webhooks }: Dependencies,
): ReportedSegments => {
  const { sealSegment } = transcriptSeals(webhooks.sealingKey, call.sessionId);
  const sealed = segments.map((segment) => sealSegment(segment, random));
  const said = speaking ? sealSegment(speaking, random) : null;
  return { ...call, generation, first, segments: sealed, isComplete, speaking: said };
};

/** A number in a path, up to `maximum`. Throws the problem `not_found` for any other text. */
const readCount = (text: string, maximum: number): number => {
  const value = /^(0|[1-9]\d{0,9})$/.test(text) ? Number(text) : Infinity;
  if (value > maximum) throw notFound();
  return value;
};

/** The position of a fragment, parsed from the parts of its path. */
const fragmentPlace = ({ session, generation, n }: { session: string; generation: string; n: string }) => {
  if (!isId("ses", session)) throw notFound();
  return { sessionId: session, generation: readCount(generation, MAX_INTEGER), n: readCount(n, MAX_FRAGMENTS - 1) };
};

export const avatarWorkerRoutes = (dependencies: Dependencies) => {
  const { databases, storage, fileSender } = dependencies;
  const [sync, receiveFragment] = [createWorkerSyncs(dependencies), createFragmentReceiver(storage)];
  /**
   * Authenticates a request with the secret, from a worker with a valid id. Returns the realtime settings, and the
   * database whose calls the worker takes.
   */
  const authenticate = (request: Request, workerId: string, context: RequestContext) => {
    const realtime = requireRealtime(dependencies);
    checkSecret(request, realtime.workerSecret);
    if (!isWorkerId(workerId)) throw notFound();
    return { realtime, db: databases.ofWorker(workerId).until(context) };
  };
  /** Sends a prepared file of an avatar. `find`: returns its owner; null: the worker may not read it. */
  const sendPrepared = async (
    { workerId, file, set }: { workerId: string; file: string; set: ResponseHead },
    find: () => Promise<{ tenantId: TenantId; avatarId: AvatarId } | null>,
  ): Promise<Response> => {
    const prepared = readPreparedFile(file);
    const owner = prepared && (await find());
    if (!prepared || !owner) throw notFound();
    const key = preparedKey({ tenantId: owner.tenantId, id: owner.avatarId }, file);
    const stream = await fileSender.open({ client: `worker ${workerId}`, file: key }, () => storage.open(key));
    if (stream === null) throw notFound();
    const headers = { ...(set.headers as Record<string, string>), "content-type": PREPARED_TYPES[prepared.type] };
    set.headers = {};
    return new Response(stream, { headers });
  };
  return new Elysia({ name: "avatar-workers", prefix: "/internal/avatar-workers/:id" })
    .use(withRequestContext)
    .post(
      "/sync",
      async ({ params: { id }, request, requestContext, set }) => {
        const { realtime, db } = authenticate(request, id, requestContext);
        requestContext.isRoutine = true;
        const body = await readBody(request, requestContext, SyncRequest, [], SYNC_BODY);
        const { signal } = request;
        const response = await sync({ db, workerId: id, request: body, realtime, context: requestContext, signal });
        return sendJson(SYNC, response, set);
      },
      { detail: DETAIL },
    )
    .put(
      "/calls/:session/transcript",
      async ({ params: { id, session }, request, requestContext, set }) => {
        const { db } = authenticate(request, id, requestContext);
        if (!isId("ses", session)) throw notFound();
        requestContext.isRoutine = true;
        const body = await readBody(request, requestContext, TranscriptReport, [], TRANSCRIPT_BODY);
        const next = await writeTranscript(db, sealedReport(body, { workerId: id, sessionId: session }, dependencies));
        if (next === null) throw notFound();
        return sendJson(TRANSCRIPT, { next }, set);
      },
      { detail: DETAIL },
    )
    .put(
      "/calls/:session/recording/:generation/:n",
      async ({ params: { id, session, generation, n }, request, requestContext, set }) => {
        const { db } = authenticate(request, id, requestContext);
        const fragment = { ...fragmentPlace({ session, generation, n }), workerId: id };
        requestContext.isRoutine = true;
        await receiveFragment({ db, request, context: requestContext, fragment });
        set.status = 204;
      },
      { detail: DETAIL },
    )
    .get(
      "/calls/:session/files/:generation/:name",
      async ({ params: { id, session, generation, name }, request, requestContext, set }) => {
        const { db } = authenticate(request, id, requestContext);
        if (!isId("ses", session)) throw notFound();
        return sendPrepared({ workerId: id, file: `${generation}/${name}`, set }, () => findCallFile(db, id, session));
      },
      { detail: DETAIL },
    )
    .get(
      "/preloads/:avatar/files/:generation/:name",
      async ({ params: { id, avatar, generation, name }, request, requestContext, set }) => {
        const { db } = authenticate(request, id, requestContext);
        if (!isId("ava", avatar)) throw notFound();
        const file = `${generation}/${name}`;
        return sendPrepared({ workerId: id, file, set }, async () => {
          const tenantId = await findPreloadOwner(db, id, avatar);
          return tenantId && { tenantId, avatarId: avatar };
        });
      },
      { detail: DETAIL },
    );
};
