/**
 * The worker, which is to prepare avatars. There is nothing to prepare yet: it connects to the database, answers
 * health checks, and stops when told to.
 */
import { openDatabase } from "@realtime-avatar/db/open";
import { readCommonConfig, readPort } from "@realtime-avatar/runtime/config";
import { type Health, healthStatus, live, ready } from "@realtime-avatar/runtime/health";
import { endingGracefully, runProcess } from "@realtime-avatar/runtime/lifecycle";
import { createLog, inTurns } from "@realtime-avatar/runtime/log";
import { serve } from "@realtime-avatar/runtime/serve";

const answer = (health: Health): Response => Response.json(health, { status: healthStatus(health) });

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
  const patience = { keepAliveMs: config.keepAliveMs, requestMs: config.database.deadlineMs };
  const server = serve({ ...config, portVariable: "WORKER_PORT" }, patience, async ({ url }) => {
    const { pathname } = new URL(url);
    if (pathname === "/healthz") return answer(live());
    if (pathname === "/readyz") return answer(await ready(database.db, isEnding()));
    return new Response(null, { status: 404 });
  });
  atExit(() => server.stop());
  const isEnding = endingGracefully(atExit, config.shutdownGraceMs);
  log.info({ url: server.url.href }, "the worker is connected; there is nothing to prepare yet");
});
