/**
 * Creates and deletes the rooms of calls during requests. A request waits for LiveKit at most as long as its client:
 * two seconds.
 */
import { confirmRoom } from "@realtime-avatar/db/calls/calls";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { withSpan } from "@realtime-avatar/db/connection/request-limit";
import { sessionOfRoom } from "@realtime-avatar/domain/calls/room";
import type { SessionId, TenantId } from "@realtime-avatar/domain/id";
import { Problem } from "@realtime-avatar/domain/problem";
import { type AgentDispatch, LivekitError, type Rooms } from "@realtime-avatar/livekit/rooms";
import type { Logger } from "@realtime-avatar/runtime/log";
import type { RequestContext } from "../http/request-context.ts";
import type { WaitingWorkers } from "./waiting-workers.ts";

/**
 * The pause in requests to LiveKit after a failure. Without it, each request would wait, and hold credits for a call
 * that is then undone.
 */
const PAUSE_MS = 1000;
/** Maximum number of rooms that one process deletes at a time. */
const MAX_DELETIONS = 100;

export type CallRooms = {
  /** Whether LiveKit can be asked: false for a second after a failure. */
  isAvailable(): boolean;
  /** Creates a room, with or without an agent. False when LiveKit has failed; the room may still exist. */
  create(name: string, agent: AgentDispatch | null, context: Pick<RequestContext, "recordSpan">): Promise<boolean>;
  /** Deletes rooms in the background. The reconciler repeats failed deletions, and those above the limit. */
  deleteLater(names: readonly string[]): void;
};

/** Describes an error for the log. Its message is omitted, because it can contain a token. */
export const describeFailure = (error: unknown): object =>
  error instanceof LivekitError ? { kind: error.kind, status: error.status ?? undefined } : { kind: "unknown" };

/** `now` is in milliseconds. */
export const createCallRooms = (rooms: Rooms, log: Logger, now: () => number = () => performance.now()): CallRooms => {
  let pausedUntil = Number.NEGATIVE_INFINITY;
  let deletions = 0;
  return {
    isAvailable: () => now() >= pausedUntil,
    create: async (name, agent, { recordSpan }) => {
      try {
        const limit = { deadline: 0, recordSpan };
        await withSpan("livekit_create_room", limit, () => rooms.create(name, agent), {
          session_id: sessionOfRoom(name),
        });
        return true;
      } catch (error) {
        pausedUntil = now() + PAUSE_MS;
        log.warn(describeFailure(error), "LiveKit did not create a room");
        return false;
      }
    },
    deleteLater: (names) => {
      for (const name of names) {
        if (deletions >= MAX_DELETIONS) return;
        deletions++;
        rooms
          .delete(name)
          .catch((error: unknown) => log.warn(describeFailure(error), "LiveKit did not delete a room"))
          .finally(() => {
            deletions--;
          });
      }
    },
  };
};

export const livekitUnavailable = (): Problem =>
  new Problem("unavailable", "The LiveKit server does not respond. No credits are held. Try again shortly.", {
    retryable: true,
  });

/**
 * The database for work that must continue after the client disconnects, with a later deadline, because LiveKit took
 * time.
 */
export const patientDb = (db: Db, { recordSpan }: RequestContext): Db =>
  db.until({ deadline: performance.now() + db.deadlineMs, recordSpan });

type NewRoom = { tenantId: TenantId; sessionId: SessionId; roomName: string; agent: AgentDispatch | null };

/**
 * Creates a room of an open call, and records it. `unavailable`: LiveKit has failed. `failed`: another attempt has
 * undone the call. `ended`: the call has ended, or has moved to another room.
 */
export const createRoom = async (
  db: Db,
  { tenantId, sessionId, roomName, agent }: NewRoom,
  { rooms, waitingWorkers }: { rooms: CallRooms; waitingWorkers: (db: Db) => WaitingWorkers },
  context: RequestContext,
): Promise<"exists" | "ended" | "failed" | "unavailable"> => {
  if (!(await rooms.create(roomName, agent, context))) return "unavailable";
  const room = await confirmRoom(db, tenantId, sessionId, roomName);
  if (room === "exists") waitingWorkers(db).look();
  else rooms.deleteLater([roomName]);
  return room;
};
