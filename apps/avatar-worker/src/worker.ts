/** The avatar worker: gets calls from the service, and runs them until they end. It stops on a signal. */
import { randomBytes, randomInt } from "node:crypto";
import { type AtExit, runProcess } from "@realtime-avatar/runtime/lifecycle";
import { createLog, inTurns } from "@realtime-avatar/runtime/log";
import { openTracing } from "@realtime-avatar/runtime/tracing/open";
import { version } from "../package.json";
import { type AvatarWorkerConfig, readConfig } from "./config.ts";
import { watchProviders } from "./conversation/providers/watch.ts";
import { conversationFeatures, describeProviders, SPEECH_FEATURES } from "./conversation/settings.ts";
import { createPreloads } from "./fleet/preloads.ts";
import { createService } from "./fleet/service.ts";
import { ownSlots, shareSlots } from "./fleet/slots.ts";
import { combinedSyncs, type Sync, type SyncParts, startSync } from "./fleet/sync.ts";
import { respondHealth, serveHttp, unavailableReason, type WorkerHealth } from "./health.ts";
import type { WorkerMetrics } from "./metrics.ts";
import { protectProcess } from "./process/protect.ts";
import { createCallProcesses } from "./process/spare.ts";
import { traceCalls } from "./tracing.ts";

/** The API starts it as a child and holds its standard input open, so that it stops with the API. */
const isChild = process.argv.includes("--child");

/** Serves health checks and metrics. Returns their addresses, for the log. */
const serveHealth = async (
  { host, port, metricsPort }: AvatarWorkerConfig,
  metrics: WorkerMetrics | null,
  health: () => WorkerHealth,
  atExit: AtExit,
) => {
  const checks = await serveHttp({ host, port, portVariable: "AVATAR_WORKER_PORT" }, respondHealth(health));
  atExit(checks.close);
  if (!metrics || metricsPort === null) return { url: checks.url };
  const portVariable = "AVATAR_WORKER_METRICS_PORT";
  const served = await serveHttp({ host, port: metricsPort, portVariable }, metrics.fetch);
  atExit(served.close);
  return { url: checks.url, metrics: `${served.url}metrics` };
};

/** The ids of the worker in its shards. A single database ignores the shard. */
const idsIn = (workerId: string, shards: readonly number[]): string[] =>
  shards.map((shard) => (shard === 0 ? workerId : `${workerId}-s${shard}`));

/** Starts a sync for each shard. */
const startSyncs = (
  workerId: string,
  config: AvatarWorkerConfig,
  parts: Omit<SyncParts, "service" | "slots" | "isShared">,
): Sync => {
  const { shards, slots: total } = config;
  const isShared = shards.length > 1;
  // A call that cannot start here starts at another worker.
  const usable = (): number => (parts.processes.canStart() ? total : 0);
  const slots = isShared ? shareSlots(usable, shards.length, randomInt(shards.length)) : [ownSlots(usable)];
  return combinedSyncs(
    idsIn(workerId, shards).map((id, at) => {
      const log = isShared ? parts.log.child({ shard: shards[at] }) : parts.log;
      const service = createService({ ...config, workerId: id });
      return startSync({ ...parts, log, service, slots: slots[at] as (typeof slots)[number], isShared });
    }),
  );
};

const start = async (atExit: AtExit): Promise<void> => {
  // Runs first, because the environment contains the secret.
  await protectProcess();
  const config = readConfig(process.env);
  const logOutput = inTurns(process.stdout);
  atExit(logOutput.drained);
  const log = createLog(
    config.logLevel,
    logOutput,
    process.stdout.isTTY,
    isChild ? { process: "avatar-worker" } : null,
  );
  const metrics = config.metricsPort === null ? null : (await import("./metrics.ts")).createMetrics(version);
  atExit(async () => metrics?.stop());
  const tracing = await openTracing(config.tracing, version, log, atExit);
  // Every process has a new id: a restarted process has lost the earlier calls.
  const workerId = `wrk_${randomBytes(12).toString("hex")}`;
  let isStopping = false;
  const health = (): WorkerHealth => {
    if (isStopping) return { status: "unavailable", reason: "shutting_down" };
    if (!sync?.isConnected()) return { status: "unavailable", reason: unavailableReason(sync?.failure()) };
    if (!processes.canStart()) return { status: "unavailable", reason: "no_processes" };
    return { status: "ok", ...(providers && { providers: providers.health() }) };
  };
  let sync: Sync | null = null;
  const { conversation } = config;
  const providers =
    conversation &&
    watchProviders(conversation, (provider, health) => {
      const text =
        health === "ok" ? "a provider of conversations works again" : "a provider of conversations does not work";
      log[health === "ok" ? "info" : "warn"]({ provider, health }, text);
    });
  atExit(async () => providers?.stop());
  const processes = createCallProcesses();
  atExit(processes.stop);
  await processes.ready().catch(() => {
    throw new Error("The process of a call does not start: LiveKit's library needs glibc, macOS or Windows.");
  });
  const pictures = { renderer: config.renderer, label: config.label };
  const preloads = config.renderer === "face" ? createPreloads({ processes, pictures }) : null;
  atExit(async () => preloads?.stop());
  const addresses = isChild ? { pid: process.pid } : await serveHealth(config, metrics, health, atExit);
  const features = [...SPEECH_FEATURES, ...(conversation ? conversationFeatures(conversation) : [])];
  if (conversation)
    log.info(describeProviders(conversation), "calls are conversations: speech and text are sent to these providers");
  else log.info("calls echo what a person says: OPENAI_API_KEY or LLM_URL makes them conversations");
  const running = startSyncs(workerId, config, {
    ...{ features, processes, preloads, pictures, conversation, log, metrics },
    speech: config.speech,
    traces: tracing && traceCalls(tracing),
  });
  sync = running;
  metrics?.show(config.slots, running.calls);
  if (providers) metrics?.showProviders(providers.health);
  atExit(async () => {
    isStopping = true;
    await running.stop();
    log.info("stopped");
  });
  const { slots, shards, serviceUrl } = config;
  log.info({ ...addresses, workerId: idsIn(workerId, shards)[0], slots, shards, service: serviceUrl }, "started");
};

runProcess(start, { endsWithStdin: isChild });
