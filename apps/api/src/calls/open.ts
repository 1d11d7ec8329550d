/** Opens what calls need beside the database: the LiveKit that is configured, or one that this process starts with an avatar worker. */
import type { Db } from "@realtime-avatar/db/connection/pool";
import { type LivekitConfig, readLivekitConfig } from "@realtime-avatar/livekit/config";
import { startReconciler } from "@realtime-avatar/livekit/reconciler";
import { createRooms, type Rooms } from "@realtime-avatar/livekit/rooms";
import type { Variables } from "@realtime-avatar/runtime/config";
import type { AtExit } from "@realtime-avatar/runtime/lifecycle";
import type { Logger, LogOutput } from "@realtime-avatar/runtime/log";
import { secureRandom } from "@realtime-avatar/runtime/random";
import type { Secret } from "@realtime-avatar/storage/secret";
import { type EmbeddedLivekit, type LivekitProgram, prepareLivekit, readLivekitProgram } from "../children/livekit.ts";
import { findProgram } from "../children/program.ts";
import type { ApiConfig } from "../config.ts";

export type CallsConfig = {
  variables: Variables;
  livekit: LivekitConfig | null;
  program: LivekitProgram;
};

/** Throws a `ConfigError` that names the first invalid variable. */
export const readCallsConfig = (variables: Variables): CallsConfig => ({
  variables,
  livekit: readLivekitConfig(variables),
  program: readLivekitProgram(variables),
});

const HOW_TO =
  "https://docs.livekit.io/home/self-hosting/local shows how to install it; LIVEKIT_URL names a server that runs elsewhere";

type CallsOptions = {
  db: Db;
  /** Whether the service runs on its embedded database. */
  isEmbedded: boolean;
  config: Pick<ApiConfig, "database" | "sweepInApi">;
  log: Logger;
  logOutput: LogOutput;
};

/** The LiveKit that this process is to start; null when one is configured or cannot be started, which is logged. */
const prepareEmbedded = async (
  { livekit, program, variables }: CallsConfig,
  options: CallsOptions,
): Promise<EmbeddedLivekit | null> => {
  const { isEmbedded, log, config } = options;
  if (!isEmbedded || livekit !== null || program.kind === "off") return null;
  const avatarWorker = findProgram("avatar-worker");
  if (program.kind === "missing" || avatarWorker === null) {
    const missing = program.kind === "missing" ? "livekit-server is not on the PATH" : "the avatar worker is not here";
    log.info(`calls are refused, because ${missing}: ${HOW_TO}`);
    return null;
  }
  return prepareLivekit({
    ...options,
    program: program.path,
    avatarWorker,
    dataDirectory: config.database.dataDirectory,
    variables,
    workerSecret: null,
    isTerminal: process.stdout.isTTY,
  });
};

export type Calls = {
  /** Null: there are no calls. */
  livekit: { config: LivekitConfig; rooms: Rooms } | null;
  /** With what avatar workers authenticate. */
  workerSecret: Secret | null;
  /** Call it when the service listens at this address. */
  start(serviceUrl: string): Promise<void>;
  /** Call it while the service still responds. */
  stopAvatarWorker(): Promise<void>;
};

export const openCalls = async (callsConfig: CallsConfig, options: CallsOptions, atExit: AtExit): Promise<Calls> => {
  const { db, isEmbedded, config, log } = options;
  const embedded = await prepareEmbedded(callsConfig, options);
  const livekit = embedded?.config ?? callsConfig.livekit;
  const rooms = livekit && createRooms(livekit);
  // As with overdue sessions: where no worker need run.
  if (rooms && (config.sweepInApi ?? isEmbedded)) {
    const reconciler = startReconciler({ db, rooms, log, random: secureRandom });
    atExit(reconciler.stop);
  }
  atExit(async () => embedded?.stopLivekit());
  return {
    livekit: livekit && rooms && { config: livekit, rooms },
    workerSecret: embedded?.workerSecret ?? null,
    start: async (serviceUrl) => embedded?.start(serviceUrl),
    stopAvatarWorker: async () => embedded?.stopAvatarWorker(),
  };
};
