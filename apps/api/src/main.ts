/** Starts the API. */

import { join } from "node:path";
import { recordUses } from "@realtime-avatar/db/api-keys/usage";
import { sweepCredentials } from "@realtime-avatar/db/callers/callers";
import { sweepPendingChanges } from "@realtime-avatar/db/callers/pending-changes";
import { transcriptStats } from "@realtime-avatar/db/calls/transcripts";
import { requireEmbedded } from "@realtime-avatar/db/connection/embedded";
import { describeError } from "@realtime-avatar/db/connection/errors";
import { startSweeper } from "@realtime-avatar/db/credits/sweeper";
import { type Databases, readAll } from "@realtime-avatar/db/databases/databases";
import { startInEach } from "@realtime-avatar/db/databases/start-in-each";
import { sweepIdempotencyKeys } from "@realtime-avatar/db/idempotency/idempotency-keys";
import { jobStats } from "@realtime-avatar/db/jobs/jobs";
import { openDatabase } from "@realtime-avatar/db/open";
import { sweepInvitations } from "@realtime-avatar/db/people/invitations";
import { sweepChallenges } from "@realtime-avatar/db/people/passkeys";
import { recordPeopleSeen, sweepPeopleSeen } from "@realtime-avatar/db/people/seen";
import { sweepUserSessions } from "@realtime-avatar/db/people/user-sessions";
import { recordingStats } from "@realtime-avatar/db/recordings/joining";
import { webhookStats } from "@realtime-avatar/db/webhooks/sending";
import { isToStart } from "@realtime-avatar/runtime/arguments";
import { readVariables } from "@realtime-avatar/runtime/config";
import { checkDataDirectory } from "@realtime-avatar/runtime/config/data-directory";
import { ready } from "@realtime-avatar/runtime/health";
import { type AtExit, endingGracefully, runProcess } from "@realtime-avatar/runtime/lifecycle";
import { createLog, inTurns, type Logger, type LogOutput } from "@realtime-avatar/runtime/log";
import type { Metrics } from "@realtime-avatar/runtime/metrics";
import { protectMemory } from "@realtime-avatar/runtime/protect-memory";
import { secureRandom } from "@realtime-avatar/runtime/random";
import { serve, serveAll } from "@realtime-avatar/runtime/serve";
import { openTracing } from "@realtime-avatar/runtime/tracing/open";
import { openWebhookSealingKey } from "@realtime-avatar/runtime/webhook-config";
import { OPENAI } from "@realtime-avatar/speech/settings";
import { openStorage } from "@realtime-avatar/storage/open";
import { version } from "../package.json";
import { createUses } from "./api-keys/key-usage.ts";
import { createApp, failureHandler } from "./app.ts";
import { createSpool, type Spool } from "./assets/spool.ts";
import { openCalls } from "./calls/open.ts";
import { type Child, createChild } from "./children/child.ts";
import { readLivekitProgram } from "./children/livekit.ts";
import { findProgram } from "./children/program.ts";
import { type ApiConfig, readConfig } from "./config.ts";
import { createFirstKey, createFirstLink, firstKeyMessage, firstLinkMessage, pagesMessage } from "./first-run.ts";
import { HELP } from "./help.ts";
import { createRedisStore } from "./http/limits/redis.ts";
import { createResponseBytes } from "./http/limits/response-bytes.ts";
import { openSessionSecret } from "./people/session-secret.ts";

/** Interval at which `lastUsedAt` is written to the database. */
const USES_FLUSH_MS = 1000;
/** Maximum request time, in database deadlines: one for reading the body, one for the database, and a margin. */
const MAX_REQUEST_DEADLINES = 2.1;
/** Age at which a file of the spool belongs to a killed process. Uploads in progress write every 30 seconds. */
const SPOOL_AGE_MS = 3_600_000;
/** Interval at which obsolete rows are deleted. */
const SWEEP_INTERVAL_MS = 60_000;

/** How long a test of a webhook endpoint waits for its first attempt, which takes at most 15 seconds. */
const WEBHOOK_TEST_WAIT_MS = 20_000;

/** Timeout for counting the job queue, in milliseconds. */
const QUEUE_STATS_MS = 2000;

const SWEEPS = {
  idempotencyKeys: sweepIdempotencyKeys,
  credentials: sweepCredentials,
  pendingChanges: sweepPendingChanges,
  userSessions: sweepUserSessions,
  invitations: sweepInvitations,
  challenges: sweepChallenges,
  peopleSeen: sweepPeopleSeen,
};

/** Starts tracing and metrics; each is null, and not loaded, unless it is configured. */
const startTelemetry = async (config: ApiConfig, log: Logger, logOutput: LogOutput, atExit: AtExit) => {
  const tracing = await openTracing(config.tracing, version, log, atExit);
  const metrics =
    config.metricsPort === null ? null : (await import("@realtime-avatar/runtime/metrics")).createMetrics(version);
  metrics?.showLog(logOutput);
  atExit(async () => metrics?.stop());
  return { tracing, metrics };
};

/** The spool of uploads. Removes the files of killed processes, at the start and at intervals. */
const startSpool = ({ database }: ApiConfig, log: Logger, atExit: AtExit): Spool => {
  const spool = createSpool(join(database.dataDirectory, "uploads"));
  const sweep = (): Promise<unknown> =>
    spool
      .sweep(new Date(Date.now() - SPOOL_AGE_MS))
      .catch((error: unknown) => log.warn({ error: describeError(error) }, "failed to sweep the spool of uploads"));
  const sweeping = setInterval(sweep, SPOOL_AGE_MS);
  atExit(async () => clearInterval(sweeping));
  sweep();
  return spool;
};

/** Writes the last uses of keys and of people, and deletes obsolete rows, at intervals. */
const startBackgroundWork = (databases: Databases, log: Logger, atExit: AtExit) => {
  const uses = createUses(databases, log, recordUses);
  const seen = createUses(databases, log, recordPeopleSeen);
  const flush = () => Promise.all([uses.flush(), seen.flush()]);
  const flushing = setInterval(flush, USES_FLUSH_MS);
  const sweeping = setInterval(() => {
    for (const db of databases.all()) {
      for (const [rows, sweep] of Object.entries(SWEEPS)) {
        sweep(db).catch((error: unknown) =>
          log.warn({ error: describeError(error), rows }, "failed to delete obsolete rows"),
        );
      }
    }
  }, SWEEP_INTERVAL_MS);
  atExit(async () => {
    clearInterval(flushing);
    clearInterval(sweeping);
    await flush();
  });
  return { noteUse: uses.note, noteSeen: seen.note };
};

/** The worker that runs as a child of this process; null without one. `assetOrigin`: known when the child starts. */
const prepareWorker = (log: Logger, logOutput: LogOutput, assetOrigin: () => string): Child | null => {
  const command = findProgram("worker");
  if (command === null) {
    log.warn(
      "the worker's program is not beside this one: uploaded files wait until a worker runs. WORKER=false turns this warning off",
    );
    return null;
  }
  return createChild({
    name: "worker",
    command,
    variables: {
      ...process.env,
      // The worker opens no port for metrics. This process reports its output.
      WORKER_METRICS_PORT: "",
      // The URLs in the bodies of webhooks are those of this process.
      get PUBLIC_ASSET_ORIGIN() {
        return assetOrigin();
      },
    },
    log,
    logOutput,
    isTerminal: process.stdout.isTTY,
  });
};

/** Starts the server of metrics; null when they are disabled. */
const serveMetrics = ({ host, keepAliveMs, metricsPort }: ApiConfig, metrics: Metrics | null, atExit: AtExit) => {
  if (!metrics || metricsPort === null) return null;
  const address = { host, port: metricsPort, portVariable: "METRICS_PORT" };
  const server = serve(address, { keepAliveMs, requestMs: 0 }, metrics.fetch);
  atExit(async () => server.stop(true));
  return server;
};

/** The peer's address of a request. One of the servers knows it. */
const peerAddress = (servers: ReturnType<typeof serveAll>, request: Request): string | null => {
  for (const server of servers) {
    const peer = server.requestIP(request);
    if (peer) return peer.address;
  }
  return null;
};

/** Logs the actions that the operator must take before the service is safe and ready. */
const warnAtStart = async (
  { publicUrl, trustedProxyHops, speech }: ApiConfig,
  databases: Databases,
  log: Logger,
): Promise<void> => {
  // The service serves plain HTTP, so an https origin means a proxy in front of it.
  if (publicUrl?.startsWith("https:") && trustedProxyHops === 0) {
    log.warn(
      "PUBLIC_URL is https and TRUSTED_PROXY_HOPS is 0: behind a proxy all clients share one limit, and one of them can keep the others from signing in. Set TRUSTED_PROXY_HOPS to the number of proxies",
    );
  }
  // The operator may have set OPENAI_API_KEY for another purpose.
  if (speech.provider?.url === OPENAI.url) {
    log.info("the texts of avatars' speech are sent to OpenAI; with TTS_URL=off, only the voices of Flite are used");
  }
  // The API starts even while some of several databases do not respond.
  const health = await ready(databases, () => false);
  if (health.status === "unavailable" && health.reason === "migrations_pending") {
    log.warn(
      "database migrations are pending: /readyz returns 503 until `realtime-avatar migrate` (`bun run migrate`) is run",
    );
  }
};

/**
 * Prints the first key on the first start, and the URLs of the pages on each later one. Prints a registration link
 * while no user exists.
 */
const printFirstAccess = async (databases: Databases, url: string, publicUrl: string): Promise<void> => {
  const [db] = databases.all();
  if (!db) return;
  const key = await createFirstKey(db, new Date(), secureRandom);
  if (key) process.stderr.write(firstKeyMessage(key, url, publicUrl));
  const link = await createFirstLink(db, publicUrl, new Date(), secureRandom);
  if (link) process.stderr.write(firstLinkMessage(link, key !== null));
  if (!key) process.stderr.write(pagesMessage(publicUrl));
};

/** Opens the database, and adds its metrics. */
const openDatabaseOf = async ({ database }: ApiConfig, log: Logger, metrics: Metrics | null, atExit: AtExit) => {
  const { databases, isEmbedded, close } = await openDatabase(database, {
    notify: (message) => log.info(message),
    watcher: metrics?.watcher,
  });
  atExit(async () => {
    await close();
    log.info("stopped");
  });
  metrics?.show(databases);
  metrics?.showQueue(() => readAll(databases, jobStats, QUEUE_STATS_MS));
  metrics?.showWebhooks(() => readAll(databases, webhookStats, QUEUE_STATS_MS));
  metrics?.showTranscripts(() => readAll(databases, transcriptStats, QUEUE_STATS_MS));
  metrics?.showRecordings(() => readAll(databases, recordingStats, QUEUE_STATS_MS));
  return { databases, isEmbedded };
};

/** Checks that database and files have a place, before anything is written. */
const checkPlaces = async (config: ApiConfig): Promise<void> => {
  if (config.database.databaseUrl === null) requireEmbedded();
  await checkDataDirectory(config);
};

/** Closes overdue usage sessions in this process. */
const sweepSessions = (databases: Databases, log: Logger, metrics: Metrics | null, atExit: AtExit): void => {
  const sweepers = startInEach(databases, (db) => startSweeper({ db, log, random: secureRandom }));
  metrics?.showSweeper(sweepers.stats);
  atExit(() => sweepers.stop());
};

const start = async (atExit: AtExit, isStopping: () => boolean): Promise<void> => {
  // Runs first, because the environment contains secrets, and children of a worker can have the same user.
  protectMemory();
  const { config, livekitProgram } = readVariables(process.env, (variables) => ({
    config: readConfig(variables),
    livekitProgram: readLivekitProgram(variables),
  }));
  await checkPlaces(config);
  const logOutput = inTurns(process.stdout);
  atExit(logOutput.drained);
  const log = createLog(config.logLevel, logOutput, process.stdout.isTTY);
  const { tracing, metrics } = await startTelemetry(config, log, logOutput, atExit);
  const { databases, isEmbedded } = await openDatabaseOf(config, log, metrics, atExit);
  const notes = startBackgroundWork(databases, log, atExit);
  if (config.sweepInApi ?? isEmbedded) sweepSessions(databases, log, metrics, atExit);
  const calls = await openCalls(
    { databases, isEmbedded, config, livekitProgram, metrics, tracing, log, logOutput },
    atExit,
  );
  const worker = (config.worker ?? isEmbedded) ? prepareWorker(log, logOutput, () => assetOrigin()) : null;
  // Stops after the last request and before the database.
  atExit(async () => worker?.stop());
  const redis = config.redisUrl === null ? null : createRedisStore(config.redisUrl, log);
  atExit(async () => redis?.close());

  const shared = { clock: () => new Date(), random: secureRandom, log };
  const assetOrigin = (): string => config.publicAssetOrigin ?? firstUrl();
  const publicUrl = (): string => config.publicUrl ?? `http://localhost:${servers[0]?.port}`;
  const storage = await openStorage(config.storage, { origin: assetOrigin });
  atExit(storage.close);
  const spool = startSpool(config, log, atExit);
  const app = createApp({
    ...shared,
    databases,
    config: { ...config, ...calls.config },
    ...notes,
    publicUrl,
    sessionSecret: await openSessionSecret(config, log),
    webhooks: {
      sealingKey: await openWebhookSealingKey(config.webhooks, config.database.dataDirectory, log),
      allowHttpLocalhost: config.webhooks.allowHttpLocalhost,
      testWaitMs: WEBHOOK_TEST_WAIT_MS,
    },
    peerAddress: (request) => peerAddress(servers, request),
    redis,
    responseBytes: createResponseBytes(),
    storage,
    spool,
    assetOrigin,
    isEnding: () => isEnding(),
    metrics,
    tracing,
  });
  const metricsServer = serveMetrics(config, metrics, atExit);
  const timeouts = { keepAliveMs: config.keepAliveMs, requestMs: MAX_REQUEST_DEADLINES * config.database.deadlineMs };
  const servers = serveAll({ ...config, portVariable: "PORT" }, timeouts, app.fetch, failureHandler(shared));
  const firstUrl = (): string => servers[0]?.url.origin ?? "";
  // Stops accepting connections and waits for requests in progress.
  atExit(async () => void (await Promise.all(servers.map((server) => server.stop()))));
  // Runs before the server stops, so that the avatar worker can send its last sync to this service.
  atExit(async () => calls.embedded?.stopAvatarWorker());
  const isEnding = endingGracefully(atExit, config.shutdownGraceMs);
  // A key that is created but not shown would be lost, so the next start creates it.
  if (isStopping()) return;
  const url = firstUrl();
  const metricsUrl = metricsServer && `${metricsServer.url.href}metrics`;
  const databaseLocation = isEmbedded ? config.database.dataDirectory : "DATABASE_URL";
  log.info({ url, database: databaseLocation, metrics: metricsUrl ?? undefined }, "listening");
  await warnAtStart(config, databases, log);

  // Printed last, so that no later failure of the start hides the key. Printed on standard error, so that the key does
  // not get into a log that is collected from standard output.
  if (isEmbedded) await printFirstAccess(databases, url, publicUrl());
  worker?.start();
  await calls.embedded?.start(url);
};

if (isToStart(process.argv.slice(2), { help: HELP, version })) runProcess(start);
