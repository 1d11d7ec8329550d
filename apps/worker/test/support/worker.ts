/** A worker of the tests as a process. It reads `TEST_WORKER` as JSON. */
import { tmpdir } from "node:os";
import { createLog } from "@realtime-avatar/runtime/log";
import { startTestWorker } from "./job-worker.ts";

const log = createLog("debug");
await startTestWorker(JSON.parse(process.env["TEST_WORKER"] ?? ""), tmpdir(), log);
log.info("started");
