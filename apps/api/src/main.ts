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

/** So soon after a key was used, its last use can be read. */
const USES_FLUSH_MS = 1000;
/** A client may take as long over its body as the database over the request; and a margin. */
const LONGEST_REQUESTS = 2.1;
/** So long a process that ends waits for its last traces to be taken, which may never be. */
const LAST_TRACES_MS = 1000;
/** So often a process sweeps rows that nothing needs any more. */
const SWEEP_MS = 60_000;

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

  // What nobody asks for is not even loaded.
  const tracing =
    tracingConfig &&
    (await import("@realtime-avatar/runtime/tracing")).startTracing(tracingConfig, version, (words) => log.warn(words));
  atExit(async () => tracing?.stop(LAST_TRACES_MS));
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
  const isCurrent = await isMigrated(db);

  const uses = createUses(db, log);
  const flushing = setInterval(uses.flush, USES_FLUSH_MS);
  atExit(() => {
    clearInterval(flushing);
    return uses.flush();
  });

  const sweeping = setInterval(() => {
    for (const [rows, sweep] of Object.entries(SWEEPS)) {
      sweep(db).catch((error: unknown) => log.warn({ error: describeError(error), rows }, "old rows were not swept"));
    }
  }, SWEEP_MS);
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
  const patience = { keepAliveMs: config.keepAliveMs, requestMs: LONGEST_REQUESTS * config.database.deadlineMs };
  const fail = failureHandler({ clock, random: secureRandom, log });
  const server = serve({ ...config, portVariable: "PORT" }, patience, app.fetch, fail);
  // Accepts nothing more, and waits for what is in flight.
  atExit(() => server.stop());
  const isEnding = endingGracefully(atExit, config.shutdownGraceMs);
  const url = server.url.href.replace(/\/$/, "");
  const metricsUrl = metricsServer && `${metricsServer.url.href}metrics`;
  const place = isEmbedded ? config.database.dataDirectory : "DATABASE_URL";
  log.info({ url, database: place, metrics: metricsUrl ?? undefined }, "listening");
  if (!isCurrent)
    log.warn(
      "the database's migrations are pending: /readyz answers 503 until `realtime-avatar migrate` (`bun run migrate`)",
    );

  // Last, when nothing can keep it from being shown; on standard error, so that a log that is kept from standard output
  // never holds it.
  const firstKey = isEmbedded ? await createFirstKey(db, clock(), secureRandom) : null;
  if (firstKey) process.stderr.write(firstKeyMessage(firstKey, url));
});
