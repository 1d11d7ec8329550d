/** The parts that realtime calls need besides the database: LiveKit and avatar workers. */
import { hasAvatarWorker, listWorkersWithWork } from "@realtime-avatar/db/calls/fleet";
import { readInstance } from "@realtime-avatar/db/calls/reconcile";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { forEachDatabase } from "@realtime-avatar/db/connection/which-database";
import type { Databases } from "@realtime-avatar/db/databases/databases";
import { roomTokenKey } from "@realtime-avatar/domain/calls/brought-room";
import { callSigningKey } from "@realtime-avatar/domain/calls/call-key";
import { Problem } from "@realtime-avatar/domain/problem";
import type { LivekitConfig } from "@realtime-avatar/livekit/config";
import { createRooms } from "@realtime-avatar/livekit/rooms";
import type { Logger } from "@realtime-avatar/runtime/log";
import type { Metrics } from "@realtime-avatar/runtime/metrics";
import type { Secret } from "@realtime-avatar/storage/secret";
import type { ApiConfig } from "../config.ts";
import { BACKGROUND_MS, createRoomChecks, type RoomChecks } from "./room-checks.ts";
import { type CallRooms, createCallRooms } from "./rooms.ts";
import { createWaitingWorkers, type WaitingWorkers } from "./waiting-workers.ts";

/** Timeout of a statement that is repeated after 100 ms, in milliseconds. */
const POLL_MS = 1000;

export type Realtime = {
  config: LivekitConfig;
  /** Authenticates avatar workers. */
  workerSecret: Secret;
  /** The prefix of a database's rooms. */
  instance(db: Db): Promise<string>;
  rooms: CallRooms;
  roomChecks: RoomChecks;
  /** The waiting avatar workers of a database. */
  waitingWorkers(db: Db): WaitingWorkers;
  agents: ApiConfig["agents"];
  /**
   * `tokenKey` seals the tokens of rooms, and `callKey` signs the keys of calls. Every replica has the same two keys.
   */
  tokenKey: Uint8Array;
  callKey: Uint8Array;
};

type RealtimeOptions = {
  config: Pick<ApiConfig, "agents" | "avatarWorkerSecret" | "livekit">;
  sessionSecret: Secret;
  databases: Databases;
  log: Logger;
  metrics: Metrics | null;
};

/** null when LiveKit or the secret of the workers is not configured. */
export const createRealtime = ({
  config,
  sessionSecret,
  databases,
  log,
  metrics,
}: RealtimeOptions): Realtime | null => {
  const { livekit, avatarWorkerSecret: workerSecret } = config;
  if (livekit === null || workerSecret === null) return null;
  const rooms = createRooms(livekit, metrics?.livekitResponded);
  const instances = forEachDatabase((): { name: string | null } => ({ name: null }));
  // Read on demand, because the database may not be migrated yet.
  const instance = async (db: Db): Promise<string> => {
    const known = instances(db);
    known.name ??= await readInstance(db.within(BACKGROUND_MS));
    return known.name;
  };
  return {
    config: livekit,
    workerSecret,
    instance,
    rooms: createCallRooms(rooms, log),
    roomChecks: createRoomChecks({ databases, rooms, instance, log }),
    waitingWorkers: forEachDatabase((db) =>
      createWaitingWorkers((workers) => listWorkersWithWork(db.within(POLL_MS), workers), log),
    ),
    agents: config.agents,
    tokenKey: roomTokenKey(sessionSecret),
    callKey: callSigningKey(sessionSecret),
  };
};

/**
 * Throws when the shard of a waiting call has no avatar worker, because the call would wait forever. A single database
 * waits for its first worker.
 */
export const requireAvatarWorker = async (db: Db): Promise<void> => {
  if (db.shard === null || (await hasAvatarWorker(db))) return;
  throw new Problem(
    "realtime_not_configured",
    `No avatar worker serves shard ${db.shard}, in which this tenant is. The operator of the service starts one with AVATAR_WORKER_SHARD=${db.shard}.`,
  );
};

/** Throws the problem `realtime_not_configured`. Not 503, because a client would repeat the request. */
export const requireRealtime = ({ realtime }: { realtime: Realtime | null }): Realtime => {
  if (realtime !== null) return realtime;
  throw new Problem(
    "realtime_not_configured",
    "This service has no LiveKit server, or no secret for avatar workers. Its operator installs livekit-server, or sets LIVEKIT_URL, LIVEKIT_API_KEY, LIVEKIT_API_SECRET and AVATAR_WORKER_SECRET.",
  );
};
