/**
 * The worker: runs jobs, joins recordings, sends webhooks, removes files that nothing needs, closes overdue usage sessions, and
 * compares calls with the rooms of LiveKit. It responds to health checks, and stops on a signal.
 */
import { tmpdir } from "node:os";
import { countFleet } from "@realtime-avatar/db/calls/reconcile";
import { transcriptStats } from "@realtime-avatar/db/calls/transcripts";
import { requireEmbedded } from "@realtime-avatar/db/connection/embedded";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { forEachDatabase, randomFor } from "@realtime-avatar/db/connection/which-database";
import { startSweeper } from "@realtime-avatar/db/credits/sweeper";
import { type Databases, readAll } from "@realtime-avatar/db/databases/databases";
import { startInEach } from "@realtime-avatar/db/databases/start-in-each";
import { jobStats } from "@realtime-avatar/db/jobs/jobs";
import { openDatabase } from "@realtime-avatar/db/open";
import { recordingStats } from "@realtime-avatar/db/recordings/joining";
import { webhookStats } from "@realtime-avatar/db/webhooks/sending";
import { startReconciler } from "@realtime-avatar/livekit/reconciler";
import { createRooms } from "@realtime-avatar/livekit/rooms";
import { checkDataDirectory } from "@realtime-avatar/runtime/config/data-directory";
import { openVideoSigner } from "@realtime-avatar/runtime/config/video-signer";
import { type Health, healthStatus, live, ready } from "@realtime-avatar/runtime/health";
import { type AtExit, endingGracefully, runProcess } from "@realtime-avatar/runtime/lifecycle";
import { createLog, inTurns, type Logger } from "@realtime-avatar/runtime/log";
import type { Metrics } from "@realtime-avatar/runtime/metrics";
import { protectMemory } from "@realtime-avatar/runtime/protect-memory";
import { secureRandom } from "@realtime-avatar/runtime/random";
import { serve } from "@realtime-avatar/runtime/serve";
import type { Tracing } from "@realtime-avatar/runtime/tracing";
import { openTracing } from "@realtime-avatar/runtime/tracing/open";
import { openWebhookSealingKey } from "@realtime-avatar/runtime/webhook-config";
import { openStorage } from "@realtime-avatar/storage/open";
import { version } from "../package.json";
import { createInspect } from "./assets/inspect.ts";
import { createProcessAsset } from "./assets/process.ts";
import { readConfig, type WorkerConfig } from "./config.ts";
import { createUntilDue } from "./jobs/due-work.ts";
import type { JobHandlers } from "./jobs/handler.ts";
import { startJobLoop } from "./jobs/loop.ts";
import { JOB_TIMING } from "./jobs/run-job.ts";
import { createTemporaryFolders } from "./jobs/temporary-folders.ts";
import { createCheckSource } from "./preparation/check-source.ts";
import { createPrepareAvatar } from "./preparation/prepare.ts";
import type { AttemptOptions } from "./recordings/attempt.ts";
import { JOINER_TIMING, JOINS, startJoiner } from "./recordings/joiner.ts";
import { fetchRemote } from "./remote/fetch.ts";
import { createPoster } from "./remote/post.ts";
import { confinementOfMachine } from "./sandbox/limited.ts";
import { startSweeps } from "./sweeps/schedule.ts";
import { fileSweeps, rowSweeps } from "./sweeps/sweeps.ts";
import { startTranscriptSender, TRANSCRIPT_SENDS } from "./transcripts/sender.ts";
import { createRenderJob } from "./videos/job.ts";
import { createRenderVideo } from "./videos/render.ts";
import { signVideo } from "./videos/sign.ts";
import { SENDER_TIMING, startSender } from "./webhooks/sender.ts";

/** The maximum time for reading the numbers of the queue. */
const QUEUE_STATS_MS = 2000;

const respond = (health: Health): Response => Response.json(health, { status: healthStatus(health) });

/** Started by the API, which holds its standard input open: it opens no port, and stops with the API. */
const isChild = process.argv.includes("--child");

/** Serves metrics and health checks. Returns their addresses, for the log. */
const serveHealth = (config: WorkerConfig, databases: Databases, metrics: Metrics | null, atExit: AtExit) => {
  const { host, metricsPort, keepAliveMs } = config;
  const metricsServer =
    metrics && metricsPort !== null
      ? serve(
          { host, port: metricsPort, portVariable: "WORKER_METRICS_PORT" },
          { keepAliveMs, requestMs: 0 },
          metrics.fetch,
        )
      : null;
  atExit(async () => metricsServer?.stop(true));
  const timeouts = { keepAliveMs, requestMs: config.database.deadlineMs };
  const server = serve({ ...config, portVariable: "WORKER_PORT" }, timeouts, async ({ url }) => {
    const { pathname } = new URL(url);
    if (pathname === "/healthz") return respond(live());
    if (pathname === "/readyz") return respond(await ready(databases, isEnding));
    return new Response(null, { status: 404 });
  });
  atExit(() => server.stop());
  const isEnding = endingGracefully(atExit, config.shutdownGraceMs);
  return { url: server.url.href, metrics: metricsServer ? `${metricsServer.url.href}metrics` : undefined };
};

type Shared = {
  databases: Databases;
  log: Logger;
  metrics: Metrics | null;
  tracing: Tracing | null;
  untilDueIn(db: Db): ReturnType<typeof createUntilDue>;
};

/** Starts the job loop, the joiner of recordings, and the sweeps. */
const startJobs = async (config: WorkerConfig, shared: Shared, atExit: AtExit): Promise<void> => {
  const { databases, log, metrics, untilDueIn } = shared;
  const origin = (): never => {
    throw new Error("The worker signs no URL.");
  };
  const storage = await openStorage(config.storage, { origin });
  atExit(storage.close);
  const temporary = createTemporaryFolders(tmpdir());
  // Removes the folders of killed workers. The sweep also removes them, but a full disk may need the space now.
  await temporary.sweep(new Date());
  const parts = { ...shared, storage, temporary, random: secureRandom };
  const sweeps = [
    startSweeps(fileSweeps(parts), log),
    startInEach(databases, (db) => startSweeps(rowSweeps(db, secureRandom, config, storage), log)),
  ];
  for (const { stop } of sweeps) atExit(() => stop());
  metrics?.showQueue(() => readAll(databases, jobStats, QUEUE_STATS_MS));
  const [inspect, checkSource] = [createInspect(shared), createCheckSource({ ...shared, label: config.label })];
  const { speech, videoSigner, database, label } = config;
  const signer = await openVideoSigner(videoSigner, database.dataDirectory, log, new Date());
  const renderVideo = createRenderVideo({ log, speech, label });
  const sign: AttemptOptions["sign"] = (file) => signVideo({ ...file, signer });
  const handlersOf = (db: Db): JobHandlers => {
    const own = { ...parts, db, random: randomFor(db, secureRandom) };
    return {
      process_asset: createProcessAsset({ ...own, fetchRemote, inspect }),
      prepare_avatar: createPrepareAvatar({ ...own, checkSource }),
      render_video: createRenderJob({ ...own, renderVideo, sign, speech, quota: config.quota }),
    };
  };
  const loop = startJobLoop({
    ...parts,
    handlersOf,
    untilDueIn: (db) => untilDueIn(db)("jobs"),
    timing: JOB_TIMING,
    concurrency: config.jobs,
    slotsPerTenant: config.jobsPerTenant,
  });
  metrics?.showRecordings(() => readAll(databases, recordingStats, QUEUE_STATS_MS));
  const joiners = startInEach(databases, (db) =>
    // All databases share the places evenly.
    startJoiner({
      ...{ ...parts, db, sign, untilDue: untilDueIn(db)("recordings") },
      joins: Math.ceil(JOINS / databases.all().length),
      timing: JOINER_TIMING,
    }),
  );
  // Without a signal, an uncaught exception has ended the worker.
  atExit(async (signal) => {
    await Promise.all([loop.stop(signal === null), joiners.stop(signal === null)]);
  });
};

/** Starts to send webhooks, and the transcripts of calls. */
const startWebhooks = async (
  { webhooks, webhookSends, assetOrigin, database }: WorkerConfig,
  shared: Shared,
  atExit: AtExit,
): Promise<void> => {
  const { databases, log, metrics, untilDueIn } = shared;
  metrics?.showWebhooks(() => readAll(databases, webhookStats, QUEUE_STATS_MS));
  metrics?.showTranscripts(() => readAll(databases, transcriptStats, QUEUE_STATS_MS));
  const poster = createPoster(webhooks);
  const sealingKey = await openWebhookSealingKey(webhooks, database.dataDirectory, log);
  const options = (db: Db, sends: number) => ({
    ...{ ...shared, db, random: secureRandom, poster, sealingKey, userAgent: `realtime-avatar/${version}` },
    // All databases share the places evenly.
    sends: Math.ceil(sends / databases.all().length),
    timing: SENDER_TIMING,
  });
  const senders = startInEach(databases, (db) =>
    startSender({ ...options(db, webhookSends), untilDue: untilDueIn(db)("deliveries"), assetOrigin }),
  );
  const transcripts = startInEach(databases, (db) =>
    startTranscriptSender({ ...options(db, TRANSCRIPT_SENDS), untilDue: untilDueIn(db)("transcripts") }),
  );
  atExit(async (signal) => {
    await Promise.all([senders.stop(signal === null), transcripts.stop(signal === null)]);
    poster.close();
  });
};

const start = async (atExit: AtExit): Promise<void> => {
  // This comes first, because the environment contains the URL of the database.
  protectMemory();
  const config = readConfig(process.env);
  if (config.database.databaseUrl === null) requireEmbedded();
  await checkDataDirectory(config);
  const logOutput = inTurns(process.stdout);
  atExit(logOutput.drained);
  const log = createLog(config.logLevel, logOutput, process.stdout.isTTY, isChild ? { process: "worker" } : null);
  const metrics =
    config.metricsPort === null ? null : (await import("@realtime-avatar/runtime/metrics")).createMetrics(version);
  metrics?.showLog(logOutput);
  atExit(async () => metrics?.stop());
  const tracing = await openTracing(config.tracing, version, log, atExit);
  const database = await openDatabase(config.database, {
    notify: (message) => log.info(message),
    watcher: metrics?.watcher,
  });
  atExit(async () => {
    await database.close();
    log.info("stopped");
  });
  const { databases } = database;
  metrics?.show(databases);
  // Stops before the database is closed, and awaits the running statement.
  const sweepers = startInEach(databases, (db) => startSweeper({ db, log, random: secureRandom }));
  metrics?.showSweeper(sweepers.stats);
  atExit(() => sweepers.stop());
  if (config.livekit !== null) {
    const rooms = createRooms(config.livekit, metrics?.livekitResponded);
    const start = (db: Db) => startReconciler({ db, rooms, log, random: secureRandom, tracing });
    const reconcilers = startInEach(databases, start);
    metrics?.showReconciler(reconcilers.stats);
    metrics?.showFleet(() => readAll(databases, countFleet, QUEUE_STATS_MS));
    atExit(() => reconcilers.stop());
  }
  // Throws when files cannot be opened safely.
  const { description: sandbox } = await confinementOfMachine();
  if (process.platform === "linux" && !sandbox.files)
    log.warn("the kernel has no Landlock: a child that opens a file is not confined to its own files");
  const untilDueIn = forEachDatabase((db) => createUntilDue(db));
  const shared = { databases, log, metrics, tracing, untilDueIn };
  await startJobs(config, shared, atExit);
  await startWebhooks(config, shared, atExit);
  const addresses = isChild ? { pid: process.pid } : serveHealth(config, databases, metrics, atExit);
  log.info(
    { ...addresses, sandbox },
    isChild ? "started by the API" : "listening; runs jobs, and closes overdue usage sessions",
  );
};

runProcess(start, { endsWithStdin: isChild });
