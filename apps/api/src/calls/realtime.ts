/** What realtime calls need beside the database: LiveKit, and avatar workers. */
import { listWorkersWithWork } from "@realtime-avatar/db/calls/fleet";
import { readInstance } from "@realtime-avatar/db/calls/reconcile";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { Problem } from "@realtime-avatar/domain/problem";
import type { LivekitConfig } from "@realtime-avatar/livekit/config";
import { createRooms, type Rooms } from "@realtime-avatar/livekit/rooms";
import type { Logger } from "@realtime-avatar/runtime/log";
import type { Metrics } from "@realtime-avatar/runtime/metrics";
import type { Secret } from "@realtime-avatar/storage/secret";
import { createRoomChecks, type RoomChecks } from "./room-checks.ts";
import { type CallRooms, createCallRooms } from "./rooms.ts";
import { createWaitingWorkers, type WaitingWorkers } from "./waiting-workers.ts";

/** The maximum time for a statement that no request waits for, in milliseconds. */
const BACKGROUND_MS = 5000;
/** The same for one that is repeated after 100 ms. */
const POLL_MS = 1000;

/** The LiveKit server, and what its rooms of this service are called after. */
export type Livekit = { config: LivekitConfig; rooms: Rooms; instance: () => Promise<string> };

/** The LiveKit server of a configuration. The instance is read when it is needed: the database may not be migrated yet. */
export const openLivekit = (config: LivekitConfig, db: Db, metrics: Metrics | null): Livekit => {
  let instance: Promise<string> | null = null;
  return {
    config,
    rooms: createRooms(config, metrics?.livekitResponded),
    instance: () => {
      instance ??= readInstance(db.within(BACKGROUND_MS)).catch((error: unknown) => {
        instance = null;
        throw error;
      });
      return instance;
    },
  };
};

export type Realtime = Omit<Livekit, "rooms"> & {
  workerSecret: Secret;
  rooms: CallRooms;
  roomChecks: RoomChecks;
  waitingWorkers: WaitingWorkers;
};

type RealtimeOptions = {
  livekit: Livekit | null;
  workerSecret: Secret | null;
  db: Db;
  log: Logger;
};

/** Null when LiveKit or the secret of the workers is not configured. */
export const createRealtime = ({ livekit, workerSecret, db, log }: RealtimeOptions): Realtime | null => {
  if (livekit === null || workerSecret === null) return null;
  const polling = db.within(POLL_MS);
  return {
    config: livekit.config,
    instance: livekit.instance,
    workerSecret,
    rooms: createCallRooms(livekit.rooms, log),
    roomChecks: createRoomChecks({ ...livekit, log, db: db.within(BACKGROUND_MS) }),
    waitingWorkers: createWaitingWorkers((workers) => listWorkersWithWork(polling, workers), log),
  };
};

/** Throws the problem `realtime_not_configured`. Not 503: a client would send the request again. */
export const realtimeOf = ({ realtime }: { realtime: Realtime | null }): Realtime => {
  if (realtime !== null) return realtime;
  throw new Problem(
    "realtime_not_configured",
    "This service has no LiveKit server, or no secret for avatar workers. Its operator installs livekit-server, or sets LIVEKIT_URL, LIVEKIT_API_KEY, LIVEKIT_API_SECRET and AVATAR_WORKER_SECRET.",
  );
};
