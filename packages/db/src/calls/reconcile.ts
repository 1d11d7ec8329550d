/** What the worker process does for calls in each pass: ends what must end, moves what has lost its worker, and knows the rooms. */
import type { EndReason } from "@realtime-avatar/domain/calls/lifecycle";
import type { SessionId, TenantId } from "@realtime-avatar/domain/id";
import type { Origin } from "../audit/audit-events.ts";
import type { Runner } from "../connection/batch.ts";

type CallId = { tenantId: TenantId; sessionId: SessionId };

/** Ends at most `limit` calls that must end. `rooms`: those to be deleted. One statement. */
export const endDueCalls: (db: Runner, limit: number, origin: Origin) => Promise<{ ended: number; rooms: string[] }> =
  () => Promise.reject(new Error("not built yet"));

/** Moves the calls of workers whose lease is over to other workers, each once, and ends the others. One statement. */
export const expireWorkers: (db: Runner, origin: Origin) => Promise<{ moved: number; ended: number; rooms: string[] }> =
  () => Promise.reject(new Error("not built yet"));

/** At most `limit` rooms of calls that have ended, and that are not known to be deleted. One statement. */
export const listRoomsToDelete: (db: Runner, limit: number) => Promise<(CallId & { roomName: string })[]> = () =>
  Promise.reject(new Error("not built yet"));

/** Records that rooms are deleted. One statement. */
export const markRoomsGone: (db: Runner, rooms: readonly CallId[]) => Promise<void> = () =>
  Promise.reject(new Error("not built yet"));

export type OpenRoom = CallId & {
  roomName: string;
  createdAt: Date;
  room: "create" | "exists";
  isStarted: boolean;
};

/** The rooms of all open calls. One statement. */
export const listOpenRooms: (db: Runner) => Promise<OpenRoom[]> = () => Promise.reject(new Error("not built yet"));

/**
 * Ends an open session at once, charged what was reported: a call whose room is gone, or any session for the operator. Returns the
 * room that is to be deleted; null when the session is not open or is no call. One statement.
 */
export const endLostCall: (
  db: Runner,
  tenantId: TenantId,
  sessionId: SessionId,
  reason: EndReason,
  origin: Origin,
) => Promise<string | null> = () => Promise.reject(new Error("not built yet"));

/** The random name of this service in the names of rooms. One statement. */
export const readInstance: (db: Runner) => Promise<string> = () => Promise.reject(new Error("not built yet"));

/** Numbers for metrics. `slots`: of workers that have their lease. */
export type FleetCounts = { slots: number; usedSlots: number; openCalls: number; tickets: number };

/** Counts slots, calls and tickets. One statement. */
export const countFleet: (db: Runner) => Promise<FleetCounts> = () => Promise.reject(new Error("not built yet"));
