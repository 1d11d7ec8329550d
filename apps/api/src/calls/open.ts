/**
 * Opens the parts that calls need besides the database: a configured LiveKit, or one that this process starts together
 * with an avatar worker.
 */
import { countFleet } from "@realtime-avatar/db/calls/reconcile";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { type Databases, readAll } from "@realtime-avatar/db/databases/databases";
import { startInEach } from "@realtime-avatar/db/databases/start-in-each";
import { startReconciler } from "@realtime-avatar/livekit/reconciler";
import { createRooms } from "@realtime-avatar/livekit/rooms";
import type { AtExit } from "@realtime-avatar/runtime/lifecycle";
import type { Logger, LogOutput } from "@realtime-avatar/runtime/log";
import type { Metrics } from "@realtime-avatar/runtime/metrics";
import { secureRandom } from "@realtime-avatar/runtime/random";
import type { Tracing } from "@realtime-avatar/runtime/tracing";
import { type EmbeddedLivekit, type LivekitProgram, prepareLivekit } from "../children/livekit.ts";
import { findProgram } from "../children/program.ts";
import type { ApiConfig } from "../config.ts";

/** Timeout for counting the fleet. */
const FLEET_MS = 2000;
const HOW_TO =
  "https://docs.livekit.io/home/self-hosting/local shows how to install it; LIVEKIT_URL names a server that runs elsewhere";

type CallsOptions = {
  databases: Databases;
  /** Whether the service runs on its embedded database. */
  isEmbedded: boolean;
  config: Pick<ApiConfig, "avatarWorkerSecret" | "database" | "livekit" | "sweepInApi">;
  livekitProgram: LivekitProgram;
  metrics: Metrics | null;
  tracing: Tracing | null;
  log: Logger;
  logOutput: LogOutput;
};

/**
 * The LiveKit that this process starts; null when one is configured, or when it cannot be started here, which is
 * logged.
 */
const prepareEmbedded = async (options: CallsOptions): Promise<EmbeddedLivekit | null> => {
  const { isEmbedded, log, config, livekitProgram } = options;
  if (!isEmbedded || config.livekit !== null || livekitProgram.kind === "off") return null;
  const avatarWorker = findProgram("avatar-worker");
  if (livekitProgram.kind === "missing" || avatarWorker === null) {
    const isMissing = livekitProgram.kind === "missing";
    const missing = isMissing ? "livekit-server is not on the PATH" : "the avatar worker is not here";
    log.info(`calls are disabled, because ${missing}: ${HOW_TO}`);
    return null;
  }
  const embedded = await prepareLivekit({
    ...options,
    program: livekitProgram.path,
    avatarWorker,
    dataDirectory: config.database.dataDirectory,
    variables: process.env,
    workerSecret: config.avatarWorkerSecret,
    isTerminal: process.stdout.isTTY,
  });
  if (embedded === null) log.info("calls are disabled, because another process with this data directory serves them");
  return embedded;
};

/** `config`: the given configuration, or that of `embedded`, which must be started when the service listens. */
export const openCalls = async (options: CallsOptions, atExit: AtExit) => {
  const { databases, isEmbedded, config, log, metrics, tracing } = options;
  const embedded = await prepareEmbedded(options);
  const livekit = embedded?.config ?? config.livekit;
  // Runs in this process if no worker is required, like the closing of overdue sessions.
  if (livekit && (config.sweepInApi ?? isEmbedded)) {
    const rooms = createRooms(livekit, metrics?.livekitResponded);
    const start = (db: Db) => startReconciler({ db, rooms, log, random: secureRandom, tracing });
    const reconcilers = startInEach(databases, start);
    metrics?.showReconciler(reconcilers.stats);
    metrics?.showFleet(() => readAll(databases, countFleet, FLEET_MS));
    atExit(() => reconcilers.stop());
  }
  atExit(async () => embedded?.stopLivekit());
  const avatarWorkerSecret = embedded?.workerSecret ?? config.avatarWorkerSecret;
  return { config: { livekit, avatarWorkerSecret }, embedded };
};
