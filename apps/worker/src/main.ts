/**
 * The program: the worker, or a child process in which the worker opens a file. A child loads no code of the worker.
 */
import { isToStart } from "@realtime-avatar/runtime/arguments";
import { version } from "../package.json";
import { CHILD_ARGUMENT, PROGRAM_ARGUMENT } from "./sandbox/command.ts";

/** The output of `--help`. */
const HELP = `Starts a worker of the Realtime Avatar Service, which prepares avatars, inspects files and sends webhooks.
It takes no arguments: environment variables configure it.

Usage: bun run worker [--help | --version]

  DATABASE_URL        PostgreSQL of the API
  DATA_DIR            folder of the files, the same as that of the API (.data)
  STORAGE_URL         s3://bucket, in place of the folder for files
  LIVEKIT_URL         LiveKit of the calls, with LIVEKIT_API_KEY and LIVEKIT_API_SECRET: the same as those of the API
  WEBHOOK_SECRET_KEY  what seals the secrets of webhook endpoints: the same as that of the API
  WORKER_PORT         port of the health checks (3001)
  JOBS                how many jobs run at once, 1 to 64 (2)
  LOG_LEVEL           fatal, error, warn, info, debug, trace or silent (info)

On the embedded PostgreSQL, the API runs a worker by itself. docs/configuration.md lists all variables.
`;

const [, , first, ...others] = process.argv;
if (first === CHILD_ARGUMENT) await (await import("./sandbox/child.ts")).runChild(others[0] ?? "");
else if (first === PROGRAM_ARGUMENT)
  (await import("./sandbox/program.ts")).becomeProgram(others[0] ?? "", others.slice(1));
else if (isToStart(process.argv.slice(2), { help: HELP, version }, ["--child"])) await import("./worker.ts");
