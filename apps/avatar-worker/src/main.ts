/** The avatar worker: a program that joins calls and publishes the avatar. */
import { isMainThread } from "node:worker_threads";
import { isToStart } from "@realtime-avatar/runtime/arguments";
import { version } from "../package.json";
import { CALL_ARGUMENT } from "./process/call-process.ts";
import { protectProcess } from "./process/protect.ts";

/** The output of `--help`. */
const HELP = `Starts an avatar worker of the Realtime Avatar Service, which joins calls and publishes the avatar. It takes no
arguments: environment variables configure it.

Usage: bun run avatar-worker [--help | --version]

  SERVICE_URL           address of the API (http://127.0.0.1:3000)
  AVATAR_WORKER_SECRET  the secret of the API
  AVATAR_SLOTS          how many calls it can have at once, 1 to 1000 (4)
  AVATAR_WORKER_SHARD   the shards whose calls it takes, with shards on Citus, such as 3 or 0-7,12 (0)
  AVATAR_MARK           drawn into each picture: up to 16 capital letters and digits, or none (AI)
  RENDERER              face, or portrait for still pictures (face)
  AVATAR_WORKER_PORT    port of the health checks (3002)
  LOG_LEVEL             fatal, error, warn, info, debug, trace or silent (info)
`;

if (!isMainThread) (await import("@realtime-avatar/speech/flite-thread")).runFliteThread();
else if (process.argv[2] === CALL_ARGUMENT) {
  await protectProcess();
  (await import("./process/run.ts")).runCallProcess();
} else if (isToStart(process.argv.slice(2), { help: HELP, version }, ["--child"])) await import("./worker.ts");
