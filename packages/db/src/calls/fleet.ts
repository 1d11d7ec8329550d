/** The avatar workers: their slots, and the calls that they have. */
import type { EndReason } from "@realtime-avatar/domain/calls/lifecycle";
import type { CallInput, CallMode } from "@realtime-avatar/domain/calls/schemas";
import type { SyncRequest } from "@realtime-avatar/domain/calls/worker-sync";
import type { Environment } from "@realtime-avatar/domain/environment";
import type { AvatarId, SessionId, TenantId } from "@realtime-avatar/domain/id";
import type { Origin } from "../audit/audit-events.ts";
import type { Runner } from "../connection/batch.ts";

/** A call that a worker is to start. */
export type Assignment = {
  sessionId: SessionId;
  generation: number;
  environment: Environment;
  roomName: string;
  mode: CallMode;
  avatarId: AvatarId;
  /** The id of the manifest of the preparation (`cacheManifestId`); null when there is none. */
  manifest: string | null;
  input: CallInput;
  /** The call ends when so many seconds are used. */
  maxSeconds: number;
  limit: "session_cap" | "out_of_credits";
  /** What earlier workers have reported. */
  usedSeconds: number;
};

export type SyncResult = {
  /** Calls that are assigned to the worker, and that its request does not list. */
  start: Assignment[];
  /** Calls of the request that are not assigned to the worker. `reason` null: leave without a word. */
  end: { sessionId: SessionId; generation: number; reason: EndReason | null }[];
  /** The rooms of the calls that this sync has closed: they are to be deleted. */
  rooms: string[];
};

/** How long a worker has its calls, and how long a session lasts, after a report. */
export type SyncTerms = { leaseSeconds: number; sessionLeaseSeconds: number };

/** Registers a worker, renews its lease, writes what it reports, and returns what it is to do. One statement. */
export const syncWorker: (
  db: Runner,
  workerId: string,
  request: SyncRequest,
  terms: SyncTerms,
  origin: Origin,
) => Promise<SyncResult> = () => Promise.reject(new Error("not built yet"));

/** Those of these workers for which something has changed since their last sync. One statement, cheap. */
export const listWorkersWithWork: (db: Runner, workerIds: readonly string[]) => Promise<string[]> = () =>
  Promise.reject(new Error("not built yet"));

/** The avatar of a call that the worker has now; null when it does not have it. One statement. */
export const findCallFile: (
  db: Runner,
  workerId: string,
  sessionId: string,
) => Promise<{ tenantId: TenantId; avatarId: AvatarId; manifest: string | null } | null> = () =>
  Promise.reject(new Error("not built yet"));

/** An avatar worker, for the operator. */
export type WorkerRow = { id: string; features: string[]; leaseUntil: Date; slots: number; usedSlots: number };

/** All workers, by their ids. One statement. */
export const listWorkers: (db: Runner) => Promise<WorkerRow[]> = () => Promise.reject(new Error("not built yet"));
