/** The rooms of calls, as requests create and delete them. No request waits for LiveKit longer than its client does: two seconds. */
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

/** For how long LiveKit is not asked after it has failed: each request would wait, and hold a call that is then undone. */
const PAUSE_MS = 1000;
/** Maximum number of rooms that one process deletes at a time. */
const MAX_DELETIONS = 100;

export type CallRooms = {
  /** Whether LiveKit can be asked: false within a second after it has failed. */
  isAvailable(): boolean;
  /** Creates a room, with an agent or without. False when LiveKit has failed: the room may exist all the same. */
  create(name: string, agent: AgentDispatch | null, context: Pick<RequestContext, "recordSpan">): Promise<boolean>;
  /** Deletes rooms in the background. The reconciler repeats what fails, and what is too much. */
  deleteLater(names: readonly string[]): void;
};

/** What a log line says of an error. Its message could contain a token. */
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
  new Problem("unavailable", "The LiveKit server does not respond. Nothing is held. Try again shortly.", {
    retryable: true,
  });

/** The database for what must be done although the client has disconnected, and for longer, as LiveKit has taken its time. */
export const patientDb = (db: Db, { recordSpan }: RequestContext): Db =>
  db.until({ deadline: performance.now() + db.deadlineMs, recordSpan });

type NewRoom = { tenantId: TenantId; sessionId: SessionId; roomName: string; agent: AgentDispatch | null };

/**
 * Creates a room of an open call, and records it. `unavailable`: LiveKit has failed. `failed`: another attempt has undone the call.
 * `ended`: the call has ended, or has another room by now.
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
