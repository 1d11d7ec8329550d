/** The avatar workers: their slots, and the calls that they have. */
import { END_REASONS, type EndReason } from "@realtime-avatar/domain/calls/end-reasons";
import { toEndReason } from "@realtime-avatar/domain/calls/lifecycle";
import type { CallInput, CallMode, ReleaseReason } from "@realtime-avatar/domain/calls/schemas";
import type { CommandKind } from "@realtime-avatar/domain/calls/turns";
import { type AssignedCall, MAX_TURNS, type SyncRequest, TURNS } from "@realtime-avatar/domain/calls/worker-sync";
import type { Environment } from "@realtime-avatar/domain/environment";
import { type AvatarId, newId, type SessionId, type TenantId } from "@realtime-avatar/domain/id";
import { sql } from "drizzle-orm";
import { syncWorker as callSync, type SyncWorkerRow } from "../../generated/functions.ts";
import type { Origin } from "../audit/audit-events.ts";
import type { Runner } from "../connection/batch.ts";
import { statement } from "../query/statement.ts";
import { avatars } from "../schema/avatars.ts";
import { avatarPreloads, avatarSlots, avatarWorkers } from "../schema/calls.ts";
import { usageSessions } from "../schema/credits.ts";

/** A call that a worker must start. */
export type Assignment = {
  tenantId: TenantId;
  sessionId: SessionId;
  generation: number;
  environment: Environment;
  roomName: string;
  mode: CallMode;
  avatarId: AvatarId;
  /** The id of the manifest of the preparation (`cacheManifestId`); null without one. */
  manifest: string | null;
  /** The voice of the avatar. It may have been removed. */
  defaultVoiceId: string | null;
  input: CallInput;
  /** The call ends when this many seconds are used. */
  maxSeconds: number;
  limit: "session_cap" | "out_of_credits";
  /** The maximum length of a call whose hold grows; null for other calls. */
  longestSeconds: number | null;
  /** The seconds that earlier workers have reported. */
  usedSeconds: number;
  /** See the columns of `calls`. */
  roomNumber: number;
  gapCount: number;
  gapSeconds: number;
  /** Whether the worker must send the segments of the call. */
  hasTranscript: boolean;
  /** The recorded media; null: the call is not recorded. */
  /** null: the call is not recorded. */
  recording: NonNullable<AssignedCall["recording"]> | null;
  /** The newest segments of the conversation, sealed. */
  history: readonly Uint8Array[];
  /** Whether a stopping worker has handed it over. */
  isHandedOver: boolean;
  /** The number of processes and workers that the call has lost. */
  lostProcesses: number;
  /** The room that an agent has brought; null: a room of ours, for which the service makes the token. */
  brought: { url: string; token: Uint8Array; agentIdentity: string } | null;
};

/**
 * The usage of a call's conversation so far. `tokensLeft`: the tokens that its tenant may still use today; null: no
 * limit.
 */
export type CallUsage = {
  sessionId: SessionId;
  generation: number;
  inputTokens: number;
  outputTokens: number;
  estimatedTokens: number;
  heardSeconds: number;
  spokenCharacters: number;
  tokensLeft: number | null;
};

/** An avatar that a worker must load before a call. `id`: that of the request. */
export type Preload = { id: string } & Pick<Assignment, "tenantId" | "avatarId" | "manifest">;

/** A call that its worker must move to another room. */
export type RoomChange = Pick<
  Assignment,
  "sessionId" | "generation" | "roomNumber" | "roomName" | "mode" | "maxSeconds"
>;

/**
 * A call of a worker whose hold has grown. `roomName`: null when the worker's access to the room is still long enough.
 */
export type Growth = Pick<Assignment, "sessionId" | "generation" | "mode" | "maxSeconds" | "limit"> & {
  roomName: string | null;
};

/** A turn for a worker. `interrupt`: whether it interrupts the avatar. The texts of an interruption are null. */
export type CallTurn = {
  turnId: string;
  sessionId: SessionId;
  generation: number;
  kind: CommandKind;
  text: string | null;
  instructions: string | null;
  interrupt: boolean;
};

export type SyncResult = {
  /** Calls that are assigned to the worker and that its request does not list. */
  start: Assignment[];
  /** Calls of the request that have moved to another room. */
  move: RoomChange[];
  /** Calls of the request that can go on for longer than the request says. */
  grow: Growth[];
  /**
   * Calls of the request that are not assigned to the worker. `reason` null: the worker leaves without a message to the
   * page.
   */
  end: { sessionId: SessionId; generation: number; reason: EndReason | null }[];
  /** For each call that this sync has closed, its room, which must be deleted; null when the room is not ours. */
  rooms: (string | null)[];
  /** The latest first. */
  preloads: Preload[];
  /** The turns of its started calls that its request does not list, in their order. */
  turns: CallTurn[];
  /** The end of the worker's lease: see `loseWorker`. */
  leaseEnds: Date;
  /** Whether the voices and models of the worker are known. */
  hasVoices: boolean;
  /** The usage of each of its calls, if the worker holds conversations. */
  usage: CallUsage[];
  /**
   * The worker's number of slots in this shard, and the number of calls that wait there; null for a worker of one
   * shard.
   */
  shared: { slots: number; waiting: number } | null;
};

/**
 * The lengths of the leases of a worker and of a session after a report. `dailyTokens`: the tokens that the
 * conversations of a tenant may use on a day; null: no limit.
 */
export type SyncTerms = { leaseSeconds: number; sessionLeaseSeconds: number; dailyTokens: number | null };

type EndedRow = { sessionId: SessionId; generation: number; reason: string | null; closedBy: string | null };
type BroughtRow = Omit<NonNullable<Assignment["brought"]>, "token"> & { token: string };
type StartRow = Omit<Assignment, "brought" | "history"> & { brought: BroughtRow | null; history: string[] | null };
type SyncRow = Pick<SyncResult, "move" | "grow" | "rooms" | "preloads"> & {
  start: StartRow[];
  end: EndedRow[];
  turns: CallTurn[] | null;
};

/**
 * The reason for which a call has ended, as its worker reports it to the page. Null when the lease was over, or when
 * the call goes on at another worker.
 */
const endedReason = ({ reason, closedBy }: EndedRow): EndReason | null => {
  const own = END_REASONS.find((one) => one === reason);
  if (own !== undefined) return own;
  if (closedBy === null || (reason === null && closedBy === "sweep")) return null;
  // The SDK has no reason for the end of a key or for an end by the operator. Both are `user_ended`.
  return toEndReason((reason ?? undefined) as ReleaseReason | undefined);
};

/** Registers a worker, renews its lease, writes its reports, and returns its work. One statement. */
export const syncWorker = async (
  db: Runner,
  workerId: string,
  { slots, features, catalog, calls }: SyncRequest,
  { leaseSeconds, sessionLeaseSeconds, dailyTokens }: SyncTerms,
  { now, random, requestId }: Origin,
): Promise<SyncResult> => {
  const entryIds = calls
    .filter(({ state }) => state === "ended")
    .flatMap(() => [newId("ent", now, random), newId("ent", now, random)]);
  const reported = calls.map(
    ({ session_id, generation, state, used_seconds, reason = null, resume, growth, lost_processes = null }) => ({
      ...{ sessionId: session_id, generation, state, usedSeconds: used_seconds, reason },
      roomNumber: resume?.room_number ?? null,
      gapCount: resume?.gap_count ?? null,
      gapSeconds: resume?.gap_seconds ?? null,
      lostProcesses: lost_processes,
      heldSeconds: growth?.max_seconds ?? null,
    }),
  );
  const turns = calls.flatMap(({ session_id, generation, turns: listed = [] }) =>
    listed.map(({ turn_id, status, heard }) => ({ sessionId: session_id, generation, turnId: turn_id, status, heard })),
  );
  const usage = calls.flatMap(({ session_id, generation, usage: used }) =>
    used === undefined
      ? []
      : {
          ...{ sessionId: session_id, generation },
          ...{ inputTokens: used.input_tokens, outputTokens: used.output_tokens },
          ...{ estimatedTokens: used.estimated_tokens, heardSeconds: used.heard_seconds },
          spokenCharacters: used.spoken_characters,
        },
  );
  const [row] = await callSync(db, {
    ...{ workerId, slots, features, voices: catalog?.voices ?? null, models: catalog?.models ?? null },
    ...{ calls: reported, usage, dailyTokens, turns, maxTurns: features.includes(TURNS) ? MAX_TURNS : 0 },
    ...{ leaseSeconds, sessionLeaseSeconds, entryIds, requestId },
  });
  const { result, leaseEnds, hasVoices, usage: counted, shared } = row as SyncWorkerRow;
  const { start, move, grow, end, rooms, preloads, turns: given } = result as SyncRow;
  return {
    start: start.map(({ brought, history, ...call }) => ({
      ...call,
      history: (history ?? []).map((segment) => Buffer.from(segment, "hex")),
      brought: brought && { ...brought, token: Buffer.from(brought.token, "hex") },
    })),
    move,
    grow,
    end: end.map((one) => ({ sessionId: one.sessionId, generation: one.generation, reason: endedReason(one) })),
    rooms,
    preloads,
    turns: given ?? [],
    leaseEnds: leaseEnds as Date,
    hasVoices: hasVoices === true,
    usage: (counted ?? []) as CallUsage[],
    shared: shared as SyncResult["shared"],
  };
};

const endLease = statement<{ workerId: string }>(
  "lose_worker",
  sql`
    update ${avatarWorkers} set lease_until = date_trunc('milliseconds', now())
    where ${avatarWorkers.id} = ${sql.placeholder("workerId")} and ${avatarWorkers.leaseUntil} > now()
      and ${avatarWorkers.leaseUntil} = ${sql.placeholder("leaseEnds")}::timestamptz
    returning ${avatarWorkers.id} as "workerId"`,
);

/**
 * Ends the lease of a lost worker, unless a later sync has renewed it: then `leaseEnds` is the end of an earlier lease.
 * Returns whether the lease was ended. `expireWorkers` moves or ends the calls of the worker. One statement.
 */
export const loseWorker = async (db: Runner, workerId: string, leaseEnds: Date): Promise<boolean> =>
  (await endLease(db, { workerId, leaseEnds })).length > 0;

const selectWorkersWithWork = statement<{ workerId: string }>(
  "list_workers_with_work",
  sql`
    select distinct ${avatarSlots.workerId} as "workerId" from ${avatarSlots}
    where ${avatarSlots.hasNews} and ${avatarSlots.workerId} = any (${sql.placeholder("workerIds")}::text[])
    union
    select ${avatarPreloads.workerId} from ${avatarPreloads}
    where ${avatarPreloads.hasNews} and ${avatarPreloads.workerId} = any (${sql.placeholder("workerIds")}::text[])`,
);

const selectAnyWorker = statement<{ found: number }>(
  "find_any_worker",
  sql`select 1 as found from ${avatarWorkers} limit 1`,
);

/** Whether the database has an avatar worker whose lease is current or has ended a short time ago. One statement. */
export const hasAvatarWorker = async (db: Runner): Promise<boolean> => (await selectAnyWorker(db, {})).length > 0;

/** Returns those of `workers` with news since their last sync. One cheap statement. */
export const listWorkersWithWork = async (db: Runner, workerIds: readonly string[]): Promise<string[]> =>
  (await selectWorkersWithWork(db, { workerIds })).map(({ workerId }) => workerId);

type CallFile = { tenantId: TenantId; avatarId: AvatarId; manifest: string | null };
const selectCallFile = statement<CallFile>(
  "find_call_file",
  sql`
    select ${usageSessions.tenantId} as "tenantId", ${usageSessions.avatarId} as "avatarId",
      ${avatars.cacheManifestId} as "manifest"
    from ${avatarSlots}
    join ${usageSessions} on ${usageSessions.tenantId} = ${avatarSlots.tenantId}
      and ${usageSessions.id} = ${avatarSlots.sessionId} and ${usageSessions.endedAt} is null
    join ${avatars} on ${avatars.tenantId} = ${usageSessions.tenantId} and ${avatars.id} = ${usageSessions.avatarId}
    where ${avatarSlots.sessionId} = ${sql.placeholder("sessionId")}
      and ${avatarSlots.workerId} = ${sql.placeholder("workerId")}`,
);

/** The avatar of a call of the worker; null when the worker does not have the call. One statement. */
export const findCallFile = async (db: Runner, workerId: string, sessionId: string): Promise<CallFile | null> =>
  (await selectCallFile(db, { workerId, sessionId }))[0] ?? null;

/** An avatar worker, for the operator. */
export type WorkerRow = {
  id: string;
  features: readonly string[];
  leaseUntil: Date;
  slots: number;
  usedSlots: number;
};

const selectWorkers = statement<WorkerRow>(
  "list_avatar_workers",
  sql`
    select ${avatarWorkers.id} as "id", ${avatarWorkers.features} as "features", ${avatarWorkers.leaseUntil} as "leaseUntil",
      ${avatarWorkers.slots} as "slots", (
        select count(*)::integer from ${avatarSlots}
        where ${avatarSlots.workerId} = ${avatarWorkers.id} and ${avatarSlots.sessionId} is not null
      ) as "usedSlots"
    from ${avatarWorkers} order by ${avatarWorkers.id}`,
);

/** All workers, by their ids. One statement. */
export const listWorkers = (db: Runner): Promise<WorkerRow[]> => selectWorkers(db, {});
