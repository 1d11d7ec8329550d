/**
 * A worker of the tests as a process: the job loop with the parts that ship, but with a short lease, a network that leads to
 * the test's own server, and an examination of avatars' sources that accepts noise. It reads `TEST_WORKER` as JSON.
 */
import { tmpdir } from "node:os";
import { connect } from "@realtime-avatar/db/connection/pool";
import { createLog } from "@realtime-avatar/runtime/log";
import { secureRandom } from "@realtime-avatar/runtime/random";
import { openStorage } from "@realtime-avatar/storage/open";
import { createProcessAsset } from "../../src/assets/process.ts";
import { createInspect } from "../../src/assets/sandboxed.ts";
import { createTemporaryFolders } from "../../src/assets/temporary.ts";
import { startJobLoop } from "../../src/jobs/loop.ts";
import { JOB_TIMING } from "../../src/jobs/run-job.ts";
import type { ExamineSource } from "../../src/preparation/examine.ts";
import { createPrepareAvatar } from "../../src/preparation/prepare.ts";
import { fetchRemote } from "../../src/remote/fetch.ts";
import { PUBLIC_INTERNET } from "../../src/remote/request.ts";

import { accept } from "./examination.ts";

export type TestWorker = {
  url: string;
  directory: string;
  /** The command of a child that inspects a file, without the task. */
  inspector: readonly string[];
  /** Port and certificate authority of the server that remote files are fetched from. */
  port: number;
  ca: string;
  /** How many jobs run at once, in all and of one tenant; 2 by default. */
  concurrency?: number;
  /** The pause before the second attempt. */
  retrySeconds?: number;
};

const {
  url,
  directory,
  inspector,
  port,
  ca,
  concurrency = 2,
  retrySeconds = JOB_TIMING.retrySeconds,
}: TestWorker = JSON.parse(process.env["TEST_WORKER"] ?? "");
const log = createLog("debug");
const db = connect(url);
const storage = await openStorage(
  { kind: "disk", directory, signingSecret: null },
  { origin: () => "http://localhost" },
);
const network = { ...PUBLIC_INTERNET, resolve: async () => ["127.0.0.1"], isAllowed: () => true, ports: [port], ca };
const temporary = createTemporaryFolders(tmpdir());
await temporary.sweep(new Date());
/** As long as a real one, so that a kill at a random moment can hit it. */
const examine: ExamineSource = async (...source) => {
  await Bun.sleep(100);
  return accept(...source);
};
startJobLoop({
  db,
  handlers: {
    process_asset: createProcessAsset({
      db,
      storage,
      log,
      random: secureRandom,
      temporary,
      fetchRemote: (remoteUrl, options) => fetchRemote(remoteUrl, { ...options, network }),
      inspect: createInspect({ log, command: (task) => [...inspector, task] }),
    }),
    prepare_avatar: createPrepareAvatar({ db, storage, log, random: secureRandom, temporary, examine }),
  },
  log,
  random: secureRandom,
  metrics: null,
  concurrency,
  slotsPerTenant: concurrency,
  timing: { ...JOB_TIMING, leaseSeconds: 2, retrySeconds },
});
log.info("started");
