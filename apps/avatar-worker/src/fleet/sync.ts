/** Reports to the service by syncs, and carries out its responses. */
import {
  type AssignedCall,
  type AssignedTurn,
  CONVERSATION,
  GROWTH,
  type Grow,
  MAX_FIRST_FEATURES,
  type Move,
  PRELOAD,
  RECORDING,
  RECOVERY,
  RESUME,
  type ReportedCall,
  type ReportedTurn,
  SHARED_SLOTS,
  type SyncRequest,
  type SyncResponse,
  TOOL_HISTORY,
  TRANSCRIPT,
  TURNS,
  WIRE_2,
} from "@realtime-avatar/domain/calls/worker-sync";
import type { Logger } from "@realtime-avatar/runtime/log";
import { pause } from "@realtime-avatar/runtime/pause";
import type { SpeechSettings } from "@realtime-avatar/speech/settings";
import { type ConversationSettings, conversationCatalog } from "../conversation/settings.ts";
import { countTokens } from "../conversation/usage-meter.ts";
import type { WorkerMetrics } from "../metrics.ts";
import type { PictureSettings } from "../process/messages.ts";
import type { CallProcesses } from "../process/spare.ts";
import type { CallTraces } from "../tracing.ts";
import { type Call, startCall } from "./call.ts";
import { createLease, type Lease } from "./lease.ts";
import type { Preloads } from "./preloads.ts";
import { RefusedRequest, type Service } from "./service.ts";
import type { ShardSlots } from "./slots.ts";

/**
 * The service holds a sync until it has work. A response without news that comes before this time was not held. After
 * several such responses in a row, the next sync waits until this time. A single one is normal, because each replica
 * answers its first sync at once.
 */
const SYNC_INTERVAL_MS = 500;
const MAX_QUICK_SYNCS = 4;
/** The pauses after failed syncs in a row. A worker without a sync for a second is lost. */
const RETRY_MS = [100, 250, 500];
/** Changes within this time go into one sync. */
const BATCH_MS = 20;
/** Bound of the heard words of all calls in one sync, in UTF-16 units. */
const MAX_HEARD_LENGTH = 64 * 1024;
/**
 * How long a stopping worker continues its calls at most: with next workers, which join when they have the avatars ready,
 * and without them. It is shorter than the lease.
 */
const HANDOVER_MS = { taken: 12_000, waiting: 4000 };
const HANDOVER_POLL_MS = 50;
/** The maximum time for the last sync. */
const GOODBYE_MS = 2000;

export type SyncParts = {
  service: Service;
  slots: ShardSlots;
  /** Whether the worker has slots in other shards as well. */
  isShared?: boolean;
  /** The fields of the start of a call that the renderer supports. */
  features: readonly string[];
  processes: CallProcesses;
  preloads: Preloads | null;
  pictures: PictureSettings;
  /** null: no language model is configured, and calls echo. */
  conversation: ConversationSettings | null;
  speech: SpeechSettings;
  log: Logger;
  metrics: Pick<WorkerMetrics, "watcher" | "syncFailed"> | null;
  traces: CallTraces | null;
};

export type Sync = {
  /** Whether the service has responded within the lease. */
  isConnected(): boolean;
  /** Why the last sync failed; undefined when it succeeded, or before the first one. */
  failure(): unknown;
  calls(): ReportedCall[];
  /** Leaves all rooms. */
  stop(): Promise<void>;
};

/** Passes the token budgets of a response to the calls. A call without one has no limit. */
const passTokenBudgets = (
  calls: ReadonlyMap<string, Call>,
  listed: readonly ReportedCall[],
  { tokens = [], features = [] }: SyncResponse,
): void => {
  if (!features.includes(CONVERSATION)) return;
  for (const { session_id, generation, usage } of listed) {
    const call = calls.get(session_id);
    if (usage === undefined || call?.report().generation !== generation) continue;
    const budget = tokens.find((one) => one.session_id === session_id && one.generation === generation);
    call.setBudget(budget ? { used: budget.used, left: budget.left } : null);
  }
};

/** The calls of the worker, by session. */
const createCalls = ({ metrics, ...parts }: SyncParts, lease: () => Lease, onChange: () => void) => {
  const calls = new Map<string, Call>();
  /** The calls that start after their last generation has left the room, and calls that were ended. */
  const starting = new Set<string>();
  const ending = new Set<string>();

  /**
   * Starts a call unless it runs; returns whether it starts. The sync does not wait for the end of the last generation.
   */
  const start = (assigned: AssignedCall): boolean => {
    const { session_id: session, generation } = assigned;
    const known = calls.get(session);
    if (starting.has(session) || known?.report().generation === generation) return false;
    const leaseMs = (): number => lease().restMs();
    const begin = (): void => {
      starting.delete(session);
      calls.set(session, startCall(assigned, { ...parts, watcher: metrics?.watcher ?? null, leaseMs, onChange }));
    };
    if (!known) begin();
    else {
      starting.add(session);
      // Meanwhile the call can have been told to leave, with all others.
      const beginUnlessLeft = (): void => {
        if (!starting.has(session)) return;
        begin();
        onChange();
      };
      void known.leave().then(beginUnlessLeft, beginUnlessLeft);
    }
    return true;
  };

  /** Ends a call. Returns whether this is the first order to end it. */
  const end = ({ session_id: session, generation, reason }: SyncResponse["end"][number]): boolean => {
    const call = calls.get(session);
    if (call?.report().generation !== generation || ending.has(session)) return false;
    if (reason !== null) {
      ending.add(session);
      call.end(reason);
    } else {
      calls.delete(session);
      void call.leave();
    }
    return true;
  };

  /** Returns a function that passes a part of the response to a call, and returns whether that was new. */
  const toCall =
    <Said extends { session_id: string; generation: number }>(tell: (call: Call, said: Said) => boolean) =>
    (said: Said): boolean => {
      const call = calls.get(said.session_id);
      return call?.report().generation === said.generation && tell(call, said);
    };
  const [move, grow] = [toCall((call, to: Move) => call.move(to)), toCall((call, growth: Grow) => call.grow(growth))];
  const take = toCall((call, { session_id: _, generation: __, ...turn }: AssignedTurn) => call.turns.take([turn]));

  return {
    report: () => [...calls.values()].map((call) => call.report()),
    /** Carries out the response to `request`. Returns whether it has news. */
    apply: (response: SyncResponse, request: SyncRequest): boolean => {
      for (const { session_id, state, turns = [] } of request.calls) {
        calls.get(session_id)?.turns.answered(turns);
        if (state !== "ended") continue;
        // The report of its end was acknowledged.
        calls.delete(session_id);
        ending.delete(session_id);
      }
      const ended = response.end.filter(end);
      const moved = (response.move ?? []).filter(move);
      const grown = (response.grow ?? []).filter(grow);
      passTokenBudgets(calls, request.calls, response);
      const spoken = (response.turns ?? []).filter(take);
      return response.start.filter(start).length + moved.length + grown.length + ended.length + spoken.length > 0;
    },
    renewLeases: (): void => {
      for (const call of calls.values()) call.renewLease();
    },
    /** Leaves all rooms silently, because another worker takes the calls. */
    leaveAll: async (): Promise<void> => {
      const left = [...calls.values()];
      calls.clear();
      starting.clear();
      ending.clear();
      await Promise.all(left.map((call) => call.leave()));
    },
  };
};

/** The states of calls for the service. */
const statesOf = (calls: readonly ReportedCall[]): string =>
  JSON.stringify(
    calls.map(({ session_id, generation, state, usage = null, turns = [] }) => [
      ...[session_id, generation, state, countTokens(usage)],
      turns.map(({ turn_id, status }) => [turn_id, status]),
    ]),
  );

/**
 * Limits the heard words of a request to `MAX_HEARD_LENGTH`. A turn whose words do not fit stays `queued`, and a later
 * sync reports its end. This is rare, because speech is slow.
 */
const boundHeard = (calls: readonly ReportedCall[]): ReportedCall[] => {
  let left = MAX_HEARD_LENGTH;
  const bound = (turn: ReportedTurn): ReportedTurn => {
    left -= turn.heard?.length ?? 0;
    return left >= 0 ? turn : { ...turn, status: "queued", heard: null };
  };
  return calls.map((call) => (call.turns ? { ...call, turns: call.turns.map(bound) } : call));
};

/**
 * The form of requests. A worker begins with the form of the previous release, and adds the features that the last
 * response names. A replica of the previous release names none, and refuses unknown fields.
 */
const createForm = ({ features: rendererFeatures, preloads, conversation, isShared = false }: SyncParts) => {
  const own = [
    ...[WIRE_2, TRANSCRIPT, RESUME, GROWTH, RECORDING, ...(conversation ? [RECOVERY, TOOL_HISTORY] : [])],
    ...(preloads === null ? [] : [PRELOAD]),
    ...rendererFeatures,
  ];
  const features = isShared ? [SHARED_SLOTS, ...own] : own;
  let serviceFeatures: readonly string[] = [];
  let wantsCatalog = false;
  return {
    /** The last request, of a stopping worker. */
    goodbye: (): SyncRequest => ({ slots: 0, features: own.slice(0, MAX_FIRST_FEATURES), calls: [] }),
    /** Fields of later forms are sent only if `serviceFeatures` names them. */
    requestOf: (slots: number, calls: ReportedCall[]): SyncRequest => {
      const known = serviceFeatures.includes(WIRE_2) ? features : features.slice(0, MAX_FIRST_FEATURES);
      const catalog = conversation && wantsCatalog && conversationCatalog(conversation);
      // A replica of the previous release refuses a call with an unknown field.
      const can = (feature: string): boolean => serviceFeatures.includes(feature);
      const sent = boundHeard(calls).map(({ resume, growth, turns, usage, lost_processes, ...call }) => ({
        ...call,
        ...(lost_processes && can(RECOVERY) && { lost_processes }),
        ...(resume && can(RESUME) && { resume }),
        ...(growth && can(GROWTH) && { growth }),
        ...(turns && can(TURNS) && { turns }),
        ...(usage && can(CONVERSATION) && { usage }),
      }));
      return { slots, features: [...known], calls: sent, ...(catalog && { catalog }) };
    },
    answered: (response: SyncResponse): void => {
      serviceFeatures = response.features ?? [];
      wantsCatalog = response.wants_catalog === true;
    },
    /** Returns to the first form. Returns whether to send it at once, because a later form was refused. */
    failed: (error: unknown): boolean => {
      const wasLater = serviceFeatures.length > 0;
      serviceFeatures = [];
      wantsCatalog = false;
      return wasLater && error instanceof RefusedRequest && [400, 422].includes(error.status);
    },
  };
};

/** Failures of syncs in a row. The log gets one line for each reason instead of each sync. */
const createFailures = ({ log, metrics }: Pick<SyncParts, "log" | "metrics">) => {
  let count = 0;
  let last: unknown;
  let lastReason = "";
  return {
    /** undefined when the last sync succeeded. */
    last: (): unknown => last,
    /** Returns the number of failures in a row. */
    add: (error: unknown): number => {
      const reason = error instanceof Error ? error.message : "unknown";
      if (count === 0 || reason !== lastReason) log.warn({ reason }, "a sync has failed");
      [last, lastReason] = [error, reason];
      metrics?.syncFailed();
      return ++count;
    },
    end: (): void => {
      if (count > 0) log.info("the service responds again");
      [count, last] = [0, undefined];
    },
  };
};

/** The syncs of all shards as one. `isConnected`: at least one shard is connected. */
export const combinedSyncs = (syncs: readonly Sync[]): Sync => ({
  isConnected: () => syncs.some((sync) => sync.isConnected()),
  failure: () => syncs.map((sync) => sync.failure()).find((failure) => failure !== undefined),
  calls: () => syncs.flatMap((sync) => sync.calls()),
  stop: async () => {
    await Promise.all(syncs.map((sync) => sync.stop()));
  },
});

/**
 * Sends the last sync, so that the calls move to other workers. Resolves when no avatar of this worker is with its
 * person, or after some seconds.
 */
const handOver = async (
  service: Service,
  goodbye: SyncRequest,
  report: () => ReportedCall[],
  maxMs: typeof HANDOVER_MS,
): Promise<void> => {
  const response = await service.sync(goodbye, AbortSignal.timeout(GOODBYE_MS)).catch(() => null);
  if (response === null) return;
  const endsAt = performance.now() + maxMs[response.handed_over ? "taken" : "waiting"];
  // LiveKit removes each avatar when its successor joins.
  const isServed = (): boolean => report().some(({ state }) => state === "started");
  while (isServed() && performance.now() < endsAt) await new Promise((next) => setTimeout(next, HANDOVER_POLL_MS));
};

/** Syncs until `stop`. At any time, one sync waits at the service for work. `wait`: waits between two syncs. */
export const startSync = (parts: SyncParts, wait = pause, handoverMs = HANDOVER_MS): Sync => {
  const { service, slots, log, traces } = parts;
  // Aborted by a change. The waiting sync is then sent again with the change.
  let change = new AbortController();
  let isStopping = false;
  const failures = createFailures(parts);
  let lastStates = "";
  let quickSyncs = 0;
  const form = createForm(parts);
  const calls = createCalls(
    parts,
    () => lease,
    () => change.abort(),
  );
  const lease = createLease(() => {
    log.warn("the lease has ended: the worker leaves its rooms");
    void calls.leaveAll();
    slots.lost();
  });
  slots.onChange(() => change.abort());

  /** Runs one sync. Returns the pause before the next one, in milliseconds. */
  const syncOnce = async (signal: AbortSignal): Promise<number> => {
    const sentAt = performance.now();
    const sentTime = Date.now();
    const listed = calls.report();
    const request = form.requestOf(slots.offer(listed), listed);
    const states = statesOf(request.calls);
    const isSame = states === lastStates;
    lastStates = states;
    try {
      const response = await service.sync(request, signal);
      traces?.synced(request.calls, sentTime, false);
      if (isStopping) return 0;
      lease.renew(sentAt, response.lease_seconds);
      calls.renewLeases();
      failures.end();
      form.answered(response);
      slots.answered(request, response);
      // A worker that was stopped can read the response too late: its calls may be at another worker.
      const isNews = lease.isHeld() && calls.apply(response, request);
      parts.preloads?.apply(response.preload ?? [], service);
      const elapsed = performance.now() - sentAt;
      quickSyncs = isSame && !isNews && elapsed < SYNC_INTERVAL_MS ? quickSyncs + 1 : 0;
      return quickSyncs > MAX_QUICK_SYNCS ? SYNC_INTERVAL_MS - elapsed : 0;
    } catch (error) {
      if (signal.aborted) return 0;
      traces?.synced(request.calls, sentTime, true);
      if (form.failed(error)) return 0;
      return RETRY_MS[Math.min(failures.add(error), RETRY_MS.length) - 1] as number;
    }
  };

  const loop = (async () => {
    while (!isStopping) {
      const { signal } = change;
      await wait(await syncOnce(signal), signal);
      if (!signal.aborted) continue;
      await new Promise((next) => setTimeout(next, BATCH_MS));
      change = new AbortController();
    }
  })();

  return {
    isConnected: () => lease.isHeld(),
    failure: failures.last,
    calls: () => calls.report(),
    stop: async () => {
      isStopping = true;
      change.abort();
      await loop;
      await handOver(service, form.goodbye(), calls.report, handoverMs);
      lease.stop();
      await calls.leaveAll();
    },
  };
};
