/** Starts the API. */

import { describeError } from "@realtime-avatar/db/connection/errors";
import { isMigrated } from "@realtime-avatar/db/migrate";
import { openDatabase } from "@realtime-avatar/db/open";
import { sweepCredentials } from "@realtime-avatar/db/statements/callers";
import { sweepIdempotencyKeys } from "@realtime-avatar/db/statements/idempotency-keys";
import { sweepPendingChanges } from "@realtime-avatar/db/statements/pending-changes";
import { endingGracefully, runProcess } from "@realtime-avatar/runtime/lifecycle";
import { createLog, inTurns } from "@realtime-avatar/runtime/log";
import { serve } from "@realtime-avatar/runtime/serve";
import { readTracingConfig } from "@realtime-avatar/runtime/tracing-config";
import { version } from "../package.json";
import { createApp, failureHandler } from "./app.ts";
import { readConfig } from "./config.ts";
import { createFirstKey, firstKeyMessage } from "./first-run.ts";
import { createRedisStore } from "./http/redis.ts";
import { createResponseBytes } from "./http/response-bytes.ts";
import { createUses } from "./key-usage.ts";
import { secureRandom } from "./random.ts";

/** Interval at which `lastUsedAt` is written to the database. */
const USES_FLUSH_MS = 1000;
/** Maximum request time, in database deadlines: one for reading the body, one for the database, and a margin. */
const MAX_REQUEST_DEADLINES = 2.1;
/** How long shutdown waits for the export of the last traces. */
const TRACES_FLUSH_MS = 1000;
/** Interval at which obsolete rows are deleted. */
const SWEEP_INTERVAL_MS = 60_000;

const SWEEPS = {
  idempotencyKeys: sweepIdempotencyKeys,
  credentials: sweepCredentials,
  pendingChanges: sweepPendingChanges,
};

runProcess(async (atExit) => {
  const config = readConfig(process.env);
  const tracingConfig = readTracingConfig(process.env, "realtime-avatar-api");
  const logOutput = inTurns(process.stdout);
  atExit(logOutput.drained);
  const log = createLog(config.logLevel, logOutput, process.stdout.isTTY);

  // Tracing and metrics are loaded only when they are configured.
  const tracing =
    tracingConfig &&
    (await import("@realtime-avatar/runtime/tracing")).startTracing(tracingConfig, version, (message) =>
      log.warn(message),
    );
  atExit(async () => tracing?.stop(TRACES_FLUSH_MS));
  const metrics =
    config.metricsPort === null ? null : (await import("@realtime-avatar/runtime/metrics")).createMetrics(version);
  metrics?.showLog(logOutput);
  atExit(async () => metrics?.stop());

  const watcher = metrics?.watcher;
  const database = await openDatabase(config.database, { notify: (message) => log.info(message), watcher });
  atExit(async () => {
    await database.close();
    log.info("stopped");
  });
  const { db, isEmbedded } = database;
  metrics?.show(db);
  const clock = (): Date => new Date();
  const hasCurrentSchema = await isMigrated(db);

  const uses = createUses(db, log);
  const flushing = setInterval(uses.flush, USES_FLUSH_MS);
  atExit(() => {
    clearInterval(flushing);
    return uses.flush();
  });

  const sweeping = setInterval(() => {
    for (const [rows, sweep] of Object.entries(SWEEPS)) {
      sweep(db).catch((error: unknown) =>
        log.warn({ error: describeError(error), rows }, "failed to delete obsolete rows"),
      );
    }
  }, SWEEP_INTERVAL_MS);
  atExit(async () => clearInterval(sweeping));

  const redis = config.redisUrl === null ? null : createRedisStore(config.redisUrl, log);
  atExit(async () => redis?.close());

  const peerAddress = (request: Request): string | null => server.requestIP(request)?.address ?? null;
  const app = createApp({
    db,
    clock,
    random: secureRandom,
    config,
    log,
    noteUse: uses.note,
    peerAddress,
    redis,
    responseBytes: createResponseBytes(),
    isEnding: () => isEnding(),
    metrics,
    tracing,
  });
  const metricsServer =
    metrics &&
    serve(
      { host: config.host, port: config.metricsPort as number, portVariable: "METRICS_PORT" },
      { keepAliveMs: config.keepAliveMs, requestMs: 0 },
      metrics.fetch,
    );
  atExit(async () => metricsServer?.stop(true));
  const timeouts = { keepAliveMs: config.keepAliveMs, requestMs: MAX_REQUEST_DEADLINES * config.database.deadlineMs };
  const fail = failureHandler({ clock, random: secureRandom, log });
  const server = serve({ ...config, portVariable: "PORT" }, timeouts, app.fetch, fail);
  // Stops accepting connections and waits for requests in progress.
  atExit(() => server.stop());
  const isEnding = endingGracefully(atExit, config.shutdownGraceMs);
  const url = server.url.href.replace(/\/$/, "");
  const metricsUrl = metricsServer && `${metricsServer.url.href}metrics`;
  const databaseLocation = isEmbedded ? config.database.dataDirectory : "DATABASE_URL";
  log.info({ url, database: databaseLocation, metrics: metricsUrl ?? undefined }, "listening");
  if (!hasCurrentSchema)
    log.warn(
      "database migrations are pending: /readyz returns 503 until `realtime-avatar migrate` (`bun run migrate`) is run",
    );

  // Last, so that no later failure of the start hides the key. On standard error, so that the key does not get into a log
  // that is collected from standard output.
  const firstKey = isEmbedded ? await createFirstKey(db, clock(), secureRandom) : null;
  if (firstKey) process.stderr.write(firstKeyMessage(firstKey, url));
});
