/**
 * The worker, which will prepare avatars. Preparation does not exist yet: the worker connects to the database, responds to
 * health checks, and stops on a signal.
 */
import { openDatabase } from "@realtime-avatar/db/open";
import { readCommonConfig, readPort } from "@realtime-avatar/runtime/config";
import { type Health, healthStatus, live, ready } from "@realtime-avatar/runtime/health";
import { endingGracefully, runProcess } from "@realtime-avatar/runtime/lifecycle";
import { createLog, inTurns } from "@realtime-avatar/runtime/log";
import { serve } from "@realtime-avatar/runtime/serve";

const respond = (health: Health): Response => Response.json(health, { status: healthStatus(health) });

runProcess(async (atExit) => {
  const config = { ...readCommonConfig(process.env), port: readPort(process.env, "WORKER_PORT", 3001) };
  const logOutput = inTurns(process.stdout);
  atExit(logOutput.drained);
  const log = createLog(config.logLevel, logOutput, process.stdout.isTTY);
  const database = await openDatabase(config.database, { notify: (message) => log.info(message) });
  atExit(async () => {
    await database.close();
    log.info("stopped");
  });
  const timeouts = { keepAliveMs: config.keepAliveMs, requestMs: config.database.deadlineMs };
  const server = serve({ ...config, portVariable: "WORKER_PORT" }, timeouts, async ({ url }) => {
    const { pathname } = new URL(url);
    if (pathname === "/healthz") return respond(live());
    if (pathname === "/readyz") return respond(await ready(database.db, isEnding()));
    return new Response(null, { status: 404 });
  });
  atExit(() => server.stop());
  const isEnding = endingGracefully(atExit, config.shutdownGraceMs);
  log.info({ url: server.url.href }, "listening; the worker has no preparation jobs yet");
});
