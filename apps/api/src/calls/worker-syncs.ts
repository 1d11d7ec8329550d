/** The syncs of avatar workers. The service writes their reports, and responds with work or waits for it. */
import { createHash } from "node:crypto";
import {
  type Assignment,
  type CallTurn,
  type Growth,
  type Preload,
  type RoomChange,
  type SyncResult,
  syncWorker,
} from "@realtime-avatar/db/calls/fleet";
import { endLostCall } from "@realtime-avatar/db/calls/reconcile";
import { describeError } from "@realtime-avatar/db/connection/errors";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { openRoomToken } from "@realtime-avatar/domain/calls/brought-room";
import {
  AGENT_AWAY_SECONDS,
  AWAY_SECONDS,
  IDLE_TIMEOUT_SECONDS,
  LEASE_SECONDS,
  MIN_CALL_LEASE_SECONDS,
  RETURN_SECONDS,
} from "@realtime-avatar/domain/calls/limits";
import { avatarToken } from "@realtime-avatar/domain/calls/room";
import { usableInput } from "@realtime-avatar/domain/calls/start";
import { transcriptSeals } from "@realtime-avatar/domain/calls/transcript";
import {
  type AssignedCall,
  type AssignedTurn,
  CONVERSATION,
  DEFAULT_VOICE,
  GROWTH,
  type Grow,
  MAX_PRELOADS,
  type Move,
  PRELOAD,
  RECORDING,
  RECOVERY,
  RESUME,
  SERVICE_FEATURES,
  SHARED_SLOTS,
  type SyncRequest,
  type SyncResponse,
  TOOL_HISTORY,
  TRANSCRIPT,
  WIRE_2,
} from "@realtime-avatar/domain/calls/worker-sync";
import { mintToken } from "@realtime-avatar/livekit/tokens";
import type { Dependencies } from "../dependencies.ts";
import { runWrite } from "../http/problem.ts";
import { type RequestContext, requestOrigin } from "../http/request-context.ts";
import { presentTokens, withUsage } from "./conversation-usage.ts";
import { createLostWorkers } from "./lost-workers.ts";
import { createManifests, type Manifest, type ManifestOutcome, type Manifests } from "./manifests.ts";
import type { Realtime } from "./realtime.ts";
import { BACKGROUND_MS } from "./room-checks.ts";

/** How long a response waits for the manifests and tokens of new calls. Later ones are in the next response. */
const START_WAIT_MS = 200;
/** Maximum number of workers whose last sync is remembered. */
const MAX_WORKERS = 10_000;

/** A sync with the parts of its request. */
export type WorkerSync = {
  db: Db;
  workerId: string;
  request: SyncRequest;
  realtime: Realtime;
  context: RequestContext;
  /** Aborted when the connection ends. */
  signal: AbortSignal;
};

/**
 * The access of the avatar to the room of a call: the token that an agent brought, or a new token for a room of the
 * service. Throws when the brought token cannot be unsealed.
 */
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

/** The voice of the avatar, for a worker that supports it. A call with an agent has no voice. */
const presentVoice = (
  { brought, defaultVoiceId }: Assignment,
  features: readonly string[],
): Pick<AssignedCall, "default_voice_id"> =>
  brought === null && defaultVoiceId !== null && features.includes(DEFAULT_VOICE)
    ? { default_voice_id: defaultVoiceId }
    : {};

/** The data with which a worker can move a call. A brought room cannot be moved. */
const presentResume = (
  { brought, roomNumber, gapCount, gapSeconds }: Assignment,
  features: readonly string[],
): Pick<AssignedCall, "resume"> => {
  if (brought !== null || !features.includes(RESUME)) return {};
  const gaps = { gap_count: gapCount, gap_seconds: gapSeconds };
  return { resume: { room_number: roomNumber, ...gaps, return_seconds: RETURN_SECONDS } };
};

/**
 * The history of the conversation, for a worker that continues it, without segments that another WEBHOOK_SECRET_KEY has
 * sealed.
 */
const presentHistory = (
  { brought, sessionId, history, isHandedOver, lostProcesses }: Assignment,
  features: readonly string[],
  { webhooks }: Dependencies,
): Pick<AssignedCall, "history"> => {
  if (brought !== null || !features.includes(RECOVERY)) return {};
  const takesTools = features.includes(TOOL_HISTORY);
  const earlier = {
    ...{ handed_over: isHandedOver, lost_processes: lostProcesses },
    ...(takesTools && { takes_tools: true }),
  };
  if (history.length === 0) return { history: { segments: [], ...earlier } };
  const { openSegment } = transcriptSeals(webhooks.sealingKey, sessionId);
  const segments = history.map(openSegment).filter((segment) => segment !== null);
  return { history: { segments: segments.filter(({ tool_calls }) => takesTools || !tool_calls), ...earlier } };
};

const presentAssigned = async (
  assignment: Assignment,
  manifest: Manifest | null,
  { realtime, request: { features } }: WorkerSync,
  dependencies: Dependencies,
): Promise<AssignedCall> => ({
  session_id: assignment.sessionId,
  generation: assignment.generation,
  environment: assignment.environment,
  ...(await accessOf(assignment, realtime)),
  // An agent sends sound only after it sees a picture.
  mode: assignment.brought === null ? assignment.mode : "avatar",
  avatar: { avatar_id: assignment.avatarId, manifest },
  input: usableInput(assignment.input, features),
  ...presentVoice(assignment, features),
  ...(assignment.recording !== null && features.includes(RECORDING) && { recording: assignment.recording }),
  ...(assignment.hasTranscript && features.includes(TRANSCRIPT) && { transcript: true }),
  ...presentResume(assignment, features),
  ...presentHistory(assignment, features, dependencies),
  ...(assignment.longestSeconds !== null &&
    features.includes(GROWTH) && { growth: { longest_seconds: assignment.longestSeconds } }),
  max_seconds: assignment.maxSeconds,
  limit: assignment.limit,
  used_seconds: assignment.usedSeconds,
  idle_seconds: IDLE_TIMEOUT_SECONDS,
  away_seconds: assignment.brought === null ? AWAY_SECONDS : AGENT_AWAY_SECONDS,
});

const presentTurn = ({ turnId, sessionId, ...turn }: CallTurn): AssignedTurn => ({
  turn_id: turnId,
  session_id: sessionId,
  ...turn,
});

/** The next room of a call. null when the token takes too long: the next sync has it. */
const presentMove = async (change: RoomChange, { config }: Realtime): Promise<Move | null> => {
  const { sessionId, generation, roomNumber, roomName, mode, maxSeconds } = change;
  const minting = mintToken(config, avatarToken(roomName, mode, maxSeconds));
  const token = await Promise.race([minting, Bun.sleep(START_WAIT_MS)]);
  if (token === undefined) return null;
  return { session_id: sessionId, generation, room_number: roomNumber, url: config.url, token };
};

/**
 * The extension of a call, with a token that is valid as long, for a new process of the call. null when the token takes
 * too long: the next sync has it.
 */
const presentGrowth = async (growth: Growth, { config }: Realtime): Promise<Grow | null> => {
  const { sessionId, generation, maxSeconds, limit, roomName, mode } = growth;
  const grown = { session_id: sessionId, generation, max_seconds: maxSeconds, limit };
  if (roomName === null) return grown;
  const minting = mintToken(config, avatarToken(roomName, mode, maxSeconds));
  const token = await Promise.race([minting, Bun.sleep(START_WAIT_MS)]);
  return token === undefined ? null : { ...grown, token };
};

/** The changes of a worker's calls in a response. */
type Changes = { move: Move[]; grow: Grow[] };
const presentChanges = async ({ move, grow }: SyncResult, realtime: Realtime): Promise<Changes> => {
  const moves = Promise.all(move.map((change) => presentMove(change, realtime)));
  const growths = await Promise.all(grow.map((growth) => presentGrowth(growth, realtime)));
  return { move: (await moves).filter((one) => one !== null), grow: growths.filter((one) => one !== null) };
};

type PresentedPreload = NonNullable<SyncResponse["preload"]>[number];

/** `start`: the calls that can start now. `missing`: the pending manifests and tokens of other calls. */
type Started = { start: AssignedCall[]; missing: Promise<unknown>[] };

/**
 * Returns a function that presents the calls to start. A call with an unusable manifest ends; the others start. A call
 * is left out while the store fails or its token cannot be unsealed: each sync tries again until the call can no longer
 * be joined. Tokens are signed by threads that also read files, and a disk that hangs blocks all of them.
 */
const createStarting = (dependencies: Dependencies, manifests: Manifests) => {
  const { databases, metrics, log } = dependencies;

  /** Ends a call in the background, charged for its reported seconds. */
  const fail = ({ tenantId, sessionId }: Assignment, why: string, { realtime, context }: WorkerSync): void => {
    log.warn({ session: sessionId, why }, "the manifest of an avatar is unusable: its call ends");
    const db = databases.ofTenant(tenantId).within(BACKGROUND_MS);
    const ending = endLostCall(db, tenantId, sessionId, "failed", requestOrigin(dependencies, null, context));
    ending.then(
      (room) => {
        if (room === null) return;
        metrics?.sessionSettled();
        realtime.rooms.deleteLater([room]);
        realtime.waitingWorkers(db).look();
      },
      (error: unknown) => log.warn({ error: describeError(error) }, "failed to end a call without a manifest"),
    );
  };

  const startOne = async (
    assignment: Assignment,
    outcome: ManifestOutcome,
    sync: WorkerSync,
  ): Promise<AssignedCall | null> => {
    if (outcome.kind === "unusable") fail(assignment, outcome.why, sync);
    if (outcome.kind === "unusable") return null;
    try {
      if (outcome.kind === "failed") throw outcome.error;
      return await presentAssigned(assignment, outcome.manifest, sync, dependencies);
    } catch (error) {
      log.warn({ error: describeError(error) }, "failed to read the files or the token of a call");
      return null;
    }
  };

  return async (assignments: readonly Assignment[], sync: WorkerSync): Promise<Started> => {
    if (assignments.length === 0) return { start: [], missing: [] };
    let timer: Timer | undefined;
    const late = new Promise<"late">((resolve) => {
      timer = setTimeout(() => resolve("late"), START_WAIT_MS);
    });
    const missing: Started["missing"] = [];
    /** The result of `work`; null when it takes too long. */
    const inTime = async <Result>(work: Promise<Result>): Promise<Result | null> => {
      const result = await Promise.race([work, late]);
      if (result !== "late") return result;
      missing.push(work);
      return null;
    };
    const started = assignments.map(async (assignment) => {
      const outcome = await inTime(manifests.of(assignment));
      return outcome && inTime(startOne(assignment, outcome, sync));
    });
    const start = (await Promise.all(started)).filter((call) => call !== null);
    clearTimeout(timer);
    return { start, missing };
  };
};

/**
 * Returns a function that presents the avatars to load. An avatar whose manifest is late is left out until the next
 * sync.
 */
const createPreloading = (manifests: Manifests) => {
  const present = async ({ id, tenantId, avatarId, manifest }: Preload): Promise<PresentedPreload | null> => {
    const request = { tenantId, avatarId, manifest, sessionId: `preload ${id}`, generation: 1, usedSeconds: 0 };
    const outcome = await Promise.race([manifests.of(request), Bun.sleep(START_WAIT_MS)]);
    if (outcome?.kind !== "read") return null;
    return { preload_id: id, avatar: { avatar_id: avatarId, manifest: outcome.manifest } };
  };
  return async ({ preloads }: SyncResult, { features }: SyncRequest): Promise<PresentedPreload[]> => {
    if (!features.includes(PRELOAD)) return [];
    const presented = await Promise.all(preloads.slice(0, MAX_PRELOADS).map(present));
    return presented.filter((preload) => preload !== null);
  };
};

/** A worker without slots does not wait: it is stopping, unless it can get slots here again. */
const isStopping = ({ slots, features }: SyncRequest): boolean => slots === 0 && !features.includes(SHARED_SLOTS);

/** The part of a shard's state that is news for a worker with shared slots. A further waiting call is not news. */
const wanted = (shared: SyncResult["shared"]) => shared && [shared.slots, shared.waiting > 0];

/**
 * Remembers a digest of the last request and response of each worker, because the calls of a worker can be 400 kB. Only
 * news ends a wait. An ending call is not news: it is listed with its end in each sync until its worker has left. A
 * sync with a change gets its response at once, because a worker aborts its wait at each change. It would lose its
 * lease if its calls changed more often than a wait lasts.
 */
const createMemory = () => {
  const last = new Map<string, { digest: string; request: WeakRef<SyncRequest> }>();
  return {
    /** Remembers this sync. Returns whether it differs from the previous one. */
    isNews: (
      workerId: string,
      request: SyncRequest,
      { end, move, grow, shared }: SyncResult,
      preloads: PresentedPreload[],
    ): boolean => {
      const { slots, calls } = request;
      const states = calls.map(({ session_id, generation, state, turns = [], usage }) => [
        ...[session_id, generation, state, usage && usage.input_tokens + usage.output_tokens],
        turns.map(({ turn_id, status }) => [turn_id, status]),
      ]);
      const ends = end.map(({ sessionId, generation }) => [sessionId, generation]);
      const moves = move.map(({ sessionId, roomNumber }) => [sessionId, roomNumber]);
      const growths = grow.map(({ sessionId, maxSeconds }) => [sessionId, maxSeconds]);
      const digest = createHash("sha256")
        .update(
          JSON.stringify([
            slots,
            states,
            ends,
            moves,
            growths,
            preloads.map(({ preload_id }) => preload_id),
            wanted(shared),
          ]),
        )
        .digest("base64");
      const isSame = last.get(workerId)?.digest === digest;
      if (last.size >= MAX_WORKERS) last.clear();
      if (isStopping(request)) last.delete(workerId);
      else last.set(workerId, { digest, request: new WeakRef(request) });
      return !isSame;
    },
    /** The response to a sync was not received. A later sync of the worker is kept. */
    forget: (workerId: string, request: SyncRequest): void => {
      if (last.get(workerId)?.request.deref() === request) last.delete(workerId);
    },
  };
};

/** Whether the worker stops and hands its calls over. */
const isGoodbye = ({ slots, calls, features }: SyncRequest): boolean =>
  slots === 0 && calls.length === 0 && !features.includes(SHARED_SLOTS);

/** Returns a function that handles a sync. */
export const createWorkerSyncs = (dependencies: Dependencies) => {
  const { config, metrics } = dependencies;
  const sessionLeaseSeconds = Math.max(config.sessionLeaseSeconds, MIN_CALL_LEASE_SECONDS);
  const terms = { leaseSeconds: LEASE_SECONDS, sessionLeaseSeconds, dailyTokens: config.dailyTokens };
  const lostWorkers = createLostWorkers(dependencies);
  const manifests = createManifests(dependencies.storage);
  const startCalls = createStarting(dependencies, manifests);
  const presentPreloads = createPreloading(manifests);
  const memory = createMemory();

  const write = async ({ db, workerId, request, realtime, context }: WorkerSync): Promise<SyncResult> => {
    const origin = requestOrigin(dependencies, null, context);
    // The statement also runs when the connection has ended meanwhile, because only a known lease can be ended.
    const { deadline, recordSpan } = context;
    const patient = db.until({ deadline, recordSpan });
    const result = await runWrite(() => syncWorker(patient, workerId, request, terms, origin));
    realtime.rooms.deleteLater(result.rooms.filter((room) => room !== null));
    metrics?.sessionSettled(result.rooms.length);
    return result;
  };

  const respond = (
    { end, turns, hasVoices, usage, shared }: SyncResult,
    start: AssignedCall[],
    { move, grow }: Changes,
    preloads: PresentedPreload[],
    request: SyncRequest,
  ): SyncResponse => {
    const { features } = request;
    const tokens = presentTokens(usage, request);
    return {
      lease_seconds: LEASE_SECONDS,
      start: withUsage(start, { usage }, request),
      end: end.map(({ sessionId, generation, reason }) => ({ session_id: sessionId, generation, reason })),
      ...(move.length > 0 && { move }),
      ...(grow.length > 0 && { grow }),
      ...(preloads.length > 0 && { preload: preloads }),
      ...(turns.length > 0 && { turns: turns.map(presentTurn) }),
      ...(shared && { shared }),
      ...(features.includes(WIRE_2) && { features: [...SERVICE_FEATURES] }),
      ...(tokens.length > 0 && { tokens }),
      ...(features.includes(CONVERSATION) && !hasVoices && { wants_catalog: true }),
    };
  };

  const syncOnce = async (sync: WorkerSync, written: (leaseEnds: Date) => void) => {
    const result = await write(sync);
    written(result.leaseEnds);
    const [{ start, missing }, changes, preloads] = await Promise.all([
      startCalls(result.start, sync),
      presentChanges(result, sync.realtime),
      presentPreloads(result, sync.request),
    ]);
    const hasWork = start.length + result.turns.length > 0;
    const isNews = memory.isNews(sync.workerId, sync.request, result, preloads) || hasWork;
    const response = respond(result, start, changes, preloads, sync.request);
    return { response, missing, isNews: isNews || response.wants_catalog === true };
  };

  return async (sync: WorkerSync): Promise<SyncResponse> => {
    const { db, workerId, request, realtime, signal } = sync;
    const watched = lostWorkers.watch(workerId, request.features, signal);
    try {
      const first = await syncOnce(sync, watched.written);
      if (isGoodbye(request)) return { ...first.response, handed_over: await lostWorkers.handOver(workerId) };
      if (first.isNews || isStopping(request)) return first.response;
      const waiting = realtime.waitingWorkers(db);
      const waited = waiting.wait(workerId);
      for (const part of first.missing) void part.then(() => waiting.wake(workerId));
      // An aborted sync does not extend the lease: the worker may have sent another sync, or may have ended.
      if (!(await waited) || signal.aborted) return first.response;
      return (await syncOnce(sync, watched.written)).response;
    } finally {
      if (signal.aborted) memory.forget(workerId, request);
      watched.end();
    }
  };
};
