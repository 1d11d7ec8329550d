/** The avatar worker: asks the service for calls, and has them until they end. It stops on a signal. */
import { randomBytes } from "node:crypto";
import { type AtExit, runProcess } from "@realtime-avatar/runtime/lifecycle";
import { createLog, inTurns } from "@realtime-avatar/runtime/log";
import { readConfig } from "./config.ts";
import { createService } from "./fleet/service.ts";
import { startSync } from "./fleet/sync.ts";
import { portrait } from "./renderer/portrait.ts";

/** Started by the API, which holds its standard input open: it stops with the API. */
const isChild = process.argv.includes("--child");

const start = async (atExit: AtExit): Promise<void> => {
  const config = readConfig(process.env);
  const logOutput = inTurns(process.stdout);
  atExit(logOutput.drained);
  const log = createLog(
    config.logLevel,
    logOutput,
    process.stdout.isTTY,
    isChild ? { process: "avatar-worker" } : null,
  );
  // A new one for each process: a process that starts again has none of the calls of the one before it.
  const workerId = `wrk_${randomBytes(12).toString("hex")}`;
  const service = createService({ ...config, workerId });
  const sync = startSync({ service, slots: config.slots, renderer: portrait, log });
  atExit(async () => {
    await sync.stop();
    log.info("stopped");
  });
  log.info({ workerId, slots: config.slots, service: config.serviceUrl }, "started");
};

runProcess(start, { endsWithStdin: isChild });
