/**
 * The worker, which is to prepare avatars. There is nothing to prepare yet: it connects to the database, answers
 * health checks, and stops when told to.
 */
import { openDatabase } from "@realtime-avatar/db/open";
import { readCommonConfig, readPort } from "@realtime-avatar/runtime/config";
import { live, ready } from "@realtime-avatar/runtime/health";
import { onShutdown, runProcess } from "@realtime-avatar/runtime/lifecycle";
import { createLog } from "@realtime-avatar/runtime/log";

await runProcess(async () => {
  const config = { ...readCommonConfig(process.env), port: readPort(process.env, "WORKER_PORT", 3001) };
  const log = createLog(config.logLevel, process.stdout, process.stdout.isTTY);
  const database = await openDatabase(config.database, { notify: (message) => log.info(message) });
  const server = Bun.serve({
    hostname: config.host,
    port: config.port,
    development: false,
    routes: { "/healthz": live, "/readyz": () => ready(database.db) },
    fetch: () => new Response(null, { status: 404 }),
  });
  onShutdown(async () => {
    await server.stop();
    await database.close();
    log.info("stopped");
  });
  log.info({ url: server.url.href }, "the worker is connected; there is nothing to prepare yet");
});
