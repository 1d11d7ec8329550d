/**
 * The reconciler ends the calls that must end, and keeps the rooms of a LiveKit server consistent with the open calls.
 * It is the backstop for the loss of a worker, a webhook or another process. Any number of processes may run it. Only
 * the database decides which calls are open. So an unreachable LiveKit delays no end of a call, and its rooms are
 * compared again later.
 */
import type { Origin } from "@realtime-avatar/db/audit/audit-events";
import {
  compareRooms,
  type EndedCalls,
  endDueCalls,
  endLostCall,
  expireWorkers,
  growHolds,
  listAwaitedAgents,
  listRoomsToDelete,
  type MissingRoom,
  markRoomsGone,
  readInstance,
} from "@realtime-avatar/db/calls/reconcile";
import type { Runner } from "@realtime-avatar/db/connection/batch";
import { describeError } from "@realtime-avatar/db/connection/errors";
import { roomPrefix, sessionOfRoom } from "@realtime-avatar/domain/calls/room";
import { newRequestId, type RandomBytes } from "@realtime-avatar/domain/id";
import type { ReconcilerStats } from "@realtime-avatar/runtime/metrics/calls";
import { pause } from "@realtime-avatar/runtime/pause";
import type { SpanAttributes, Tracing } from "@realtime-avatar/runtime/tracing";
import { LivekitError, type Rooms } from "./rooms.ts";

/**
 * The longest pauses. `end`: between two passes that end calls; a revocation takes effect on calls after at most this
 * time. `list`: between two lists of rooms; a room without a call lasts at most this long.
 */
export const INTERVALS_MS = { end: 2000, list: 4500 };
/** The maximum number of calls that one statement ends. */
const CALLS = 250;
/** The maximum number of holds that one statement grows. */
const GROWTHS = 100;
/**
 * The maximum number of rooms of ended calls that one pass examines, and of calls without a room that it ends. The next
 * pass continues.
 */
const ROOMS = 1000;
/** The maximum number of agents that one pass dispatches again. */
const AGENTS = 100;
/** How many rooms or calls are handled at once. */
const AT_ONCE = 8;
/** While passes fail, one is logged each minute. */
const LOG_INTERVAL_MS = 60_000;
const AUTO_CREATE_WARNING =
  "LiveKit lets participants create rooms: the holder of an old token can open an empty room, which is deleted within 5 seconds. Set room.auto_create to false in its configuration";

type Log = (fields: object, message: string) => void;
export type ReconcilerOptions = {
  db: Runner;
  rooms: Rooms;
  log: { info: Log; warn: Log };
  random: RandomBytes;
  tracing: Pick<Tracing, "record"> | null;
  intervalsMs?: typeof INTERVALS_MS;
};

export type Reconciler = {
  stats(): ReconcilerStats;
  /**
   * Starts no further work, and waits for the running work, at most for the deadlines of the database and of LiveKit.
   */
  stop(): Promise<void>;
};

type State = ReconcilerOptions & {
  stats: ReconcilerStats;
  /** The number of lists of rooms that were requested. */
  lists: number;
  isStopping(): boolean;
  /** Logs an error, at most one each minute. */
  failed(error: unknown): void;
};

const originOf = ({ random }: ReconcilerOptions): Origin => {
  const now = new Date();
  return { actor: null, requestId: newRequestId(now, random), now, random };
};

/** Runs a step, and records its span unless `changes` of the result is null. A step without changes has no span. */
const traced = async <Result>(
  { tracing }: State,
  name: string,
  attributes: SpanAttributes,
  work: () => Promise<Result>,
  changes: (result: Result) => SpanAttributes | null = () => ({}),
): Promise<Result> => {
  const startTime = Date.now();
  try {
    const result = await work();
    const more = tracing && changes(result);
    if (more) tracing.record(name, startTime, { ...attributes, ...more });
    return result;
  } catch (error) {
    tracing?.record(name, startTime, attributes, true);
    throw error;
  }
};

const deleteRoom = (state: State, name: string): Promise<void> =>
  traced(state, "livekit_delete_room", { session_id: sessionOfRoom(name) }, () => state.rooms.delete(name));

/**
 * Calls `work` for each item, `AT_ONCE` at a time. Stops after `AT_ONCE` failures, because then LiveKit or the database
 * is down.
 */
const forEach = async <Item>(
  items: readonly Item[],
  { isStopping, failed }: State,
  work: (item: Item) => Promise<unknown>,
): Promise<void> => {
  const waiting = items.values();
  let failures = 0;
  const run = async (): Promise<void> => {
    for (const item of waiting) {
      if (failures >= AT_ONCE || isStopping()) return;
      await work(item).catch((error: unknown) => {
        failures++;
        failed(error);
      });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, run));
};

const changesOf = ({ ended, moved = 0 }: EndedCalls & { moved?: number }): SpanAttributes | null =>
  ended > 0 || moved > 0 ? { ended, moved } : null;

/** Grows the holds of calls that go on. */
const growAll = async (state: State): Promise<void> => {
  for (let last = GROWTHS; last === GROWTHS && !state.isStopping(); ) {
    const grow = () => growHolds(state.db, GROWTHS, originOf(state));
    last = await traced(state, "grow_holds", {}, grow, (grown) => (grown > 0 ? { grown } : null));
  }
};

/** Ends the calls that must end, and moves those of lost workers to other workers. Returns the rooms to delete. */
const endCalls = async (state: State): Promise<string[]> => {
  const { db, stats, log, isStopping, failed } = state;
  const toDelete: string[] = [];
  let ended = 0;
  let moved = 0;
  const count = (one: EndedCalls): void => {
    ended += one.ended;
    toDelete.push(...one.rooms);
  };
  const endDue = async (): Promise<void> => {
    for (let last = CALLS; last === CALLS && !isStopping(); ) {
      const due = await traced(state, "end_due_calls", {}, () => endDueCalls(db, CALLS, originOf(state)), changesOf);
      last = due.ended;
      count(due);
    }
  };
  const expire = async (): Promise<void> => {
    const expired = await traced(state, "expire_workers", {}, () => expireWorkers(db, originOf(state)), changesOf);
    moved = expired.moved;
    count(expired);
  };
  // A failure must not prevent the other steps or the deletion of rooms.
  await growAll(state).catch(failed);
  await endDue().catch(failed);
  await expire().catch(failed);
  stats.ended += ended;
  stats.moved += moved;
  if (ended > 0 || moved > 0) log.info({ ended, moved }, "ended or moved calls");
  return toDelete;
};

/**
 * Deletes rooms in the background, one batch at a time. Rooms that are skipped are deleted after the next list of
 * rooms.
 */
const createDeletion = (state: State) => {
  let running: Promise<void> | null = null;
  return {
    start: (names: readonly string[]): void => {
      running ??= forEach(names, state, (name) => deleteRoom(state, name)).finally(() => {
        running = null;
      });
    },
    ended: async (): Promise<void> => void (await running),
  };
};

/** Ends or repairs calls whose room was missing in two lists. */
const settleLost = async (state: State, calls: readonly MissingRoom[]): Promise<void> => {
  const { db, rooms, stats, log } = state;
  let ended = 0;
  await forEach(calls, state, async ({ tenantId, sessionId, roomName, isStarted }) => {
    const id = { session_id: sessionId };
    if (!isStarted) return traced(state, "livekit_create_room", id, () => rooms.create(roomName));
    const end = () => endLostCall(db, tenantId, sessionId, "disconnected", originOf(state));
    if ((await traced(state, "end_lost_call", id, end)) !== null) ended++;
  });
  stats.ended += ended;
  if (ended > 0) log.warn({ calls: ended }, "ended calls whose rooms were gone");
};

/**
 * Dispatches again each agent that has not brought the avatar of its call: once in each pass, until the call can no
 * longer be joined.
 */
const awaitAgents = async (state: State): Promise<void> => {
  const { db, rooms, log } = state;
  let again = 0;
  await forEach(await listAwaitedAgents(db, AGENTS), state, async ({ sessionId, roomName }) => {
    const dispatch = () => rooms.dispatchAgain(roomName);
    const changes = (isAgain: boolean) => (isAgain ? {} : null);
    if (await traced(state, "livekit_dispatch_agent", { session_id: sessionId }, dispatch, changes)) again++;
  });
  if (again > 0)
    log.warn({ calls: again }, "no worker of LiveKit Agents has taken calls: dispatched their agents again");
};

/** Deletes rooms that have no open call. */
const deleteOrphans = async (state: State, orphans: readonly string[]): Promise<void> => {
  if (orphans.length === 0) return;
  state.stats.orphans += orphans.length;
  state.log.info({ rooms: orphans.length }, "deleting rooms without an open call");
  await forEach(orphans, state, (name) => deleteRoom(state, name));
};

/** Returns a function that compares one list of the rooms with the calls. It returns the number of differences. */
const createComparison = (state: State) => {
  const { db, rooms } = state;
  let prefix: string | null = null;
  /** The open calls whose room was missing in the last list. */
  let lastMissing = new Set<string>();
  return async (): Promise<SpanAttributes | null> => {
    prefix ??= roomPrefix(await readInstance(db));
    // Read before the list, so that a room that is missing in the list is deleted.
    const ended = await listRoomsToDelete(db, ROOMS);
    const names = await rooms.list(prefix);
    const { stray, missing } = await compareRooms(db, prefix, names);
    // The room of a call that was opened after the list is also missing; the next list has it.
    const lost = missing.filter(({ sessionId }) => lastMissing.has(sessionId));
    lastMissing = new Set(missing.map(({ sessionId }) => sessionId));
    await deleteOrphans(state, stray);
    const listed = new Set(ended.length > 0 ? names : []);
    const gone = ended.filter(({ roomName }) => !listed.has(roomName));
    if (gone.length > 0) await markRoomsGone(db, gone);
    await settleLost(state, lost.slice(0, ROOMS));
    const changes = { stray: stray.length, lost: lost.length, gone: gone.length };
    return Object.values(changes).some((count) => count > 0) ? changes : null;
  };
};

/** Asks LiveKit once whether participants create rooms. */
const checkAutoCreate = async ({ rooms, stats, log }: State): Promise<void> => {
  if (stats.autoCreate !== null) return;
  stats.autoCreate = await rooms.autoCreates();
  if (stats.autoCreate) log.warn({}, AUTO_CREATE_WARNING);
};

/**
 * Repeats `work` until it is stopped. Each pause is three quarters of `intervalMs` or longer, so that the passes of
 * several processes do not coincide.
 */
const repeat = async (
  { failed }: State,
  intervalMs: number,
  stopping: AbortSignal,
  work: () => Promise<void>,
): Promise<void> => {
  while (!stopping.aborted) {
    await work().catch(failed);
    await pause(intervalMs * (0.75 + Math.random() / 4), stopping);
  }
};

const createState = (options: ReconcilerOptions, isStopping: () => boolean): State => {
  let loggedAt = Number.NEGATIVE_INFINITY;
  const state: State = {
    ...options,
    isStopping,
    stats: { ended: 0, moved: 0, orphans: 0, autoCreate: null },
    lists: 0,
    failed: (error) => {
      // A LiveKit that starts at the same time as this process is not ready for the first list.
      if (state.lists < 2 && error instanceof LivekitError && error.kind === "unreachable") return;
      if (performance.now() - loggedAt < LOG_INTERVAL_MS) return;
      loggedAt = performance.now();
      const cause = error instanceof LivekitError ? { livekit: error.status ?? error.kind } : describeError(error);
      options.log.warn({ error: cause }, "failed to compare calls and rooms; retrying");
    },
  };
  return state;
};

/** Starts a reconciler. */
export const startReconciler = (options: ReconcilerOptions): Reconciler => {
  const { intervalsMs = INTERVALS_MS } = options;
  const stopping = new AbortController();
  const state = createState(options, () => stopping.signal.aborted);
  const compare = createComparison(state);
  const deletion = createDeletion(state);
  const running = Promise.all([
    repeat(state, intervalsMs.end, stopping.signal, async () => deletion.start(await endCalls(state))),
    repeat(state, intervalsMs.list, stopping.signal, async () => {
      state.lists++;
      await awaitAgents(state).catch(state.failed);
      await traced(state, "compare_rooms", {}, compare, (changes) => changes);
      await checkAutoCreate(state);
    }),
  ]);
  return {
    stats: () => ({ ...state.stats }),
    stop: async () => {
      stopping.abort();
      await running;
      await deletion.ended();
    },
  };
};
