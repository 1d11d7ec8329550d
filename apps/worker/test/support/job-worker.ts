/**
 * A worker of the tests: the job loop with the shipped parts, but with a short lease, a network that leads to the
 * test's server, and a check of sources that accepts noise.
 */
import { existsSync } from "node:fs";
import { oneDatabase } from "@realtime-avatar/db/databases/databases";
import type { Logger } from "@realtime-avatar/runtime/log";
import { secureRandom } from "@realtime-avatar/runtime/random";
import { openStorage } from "@realtime-avatar/storage/open";
import { connectTo } from "@realtime-avatar/testing/postgres/client";
import { createInspect } from "../../src/assets/inspect.ts";
import { createProcessAsset } from "../../src/assets/process.ts";
import { createUntilDue } from "../../src/jobs/due-work.ts";
import { startJobLoop } from "../../src/jobs/loop.ts";
import { JOB_TIMING } from "../../src/jobs/run-job.ts";
import { createTemporaryFolders } from "../../src/jobs/temporary-folders.ts";
import type { CheckSource } from "../../src/preparation/check-source.ts";
import { createPrepareAvatar } from "../../src/preparation/prepare.ts";
import { fetchRemote } from "../../src/remote/fetch.ts";
import { PUBLIC_INTERNET } from "../../src/remote/request.ts";
import { accept } from "./source-checks.ts";

export type TestWorker = {
  url: string;
  directory: string;
  /** The command of a child that inspects a file, without the task. */
  inspector: readonly string[];
  /** The port and the certificate authority of the server from which remote files are fetched. */
  port: number;
  ca: string;
  /** How many jobs run at once, in total and of one tenant; 2 by default. */
  concurrency?: number;
  /** The pause before the second attempt. */
  retrySeconds?: number;
  /** How long a claim holds a job without a renewal; 2 by default. */
  leaseSeconds?: number;
  /** A file for which the check of a source waits. Without it, a check takes 100 ms. */
  gate?: string;
};

/** Starts the worker. `temporary`: the folder of its temporary files. */
export const startTestWorker = async (options: TestWorker, temporary: string, log: Logger) => {
  const { url, directory, inspector, port, ca, concurrency = 2, leaseSeconds = 2, gate } = options;
  const { retrySeconds = JOB_TIMING.retrySeconds } = options;
  const db = connectTo({ url });
  const storage = await openStorage(
    { kind: "disk", directory, signingSecret: null },
    { origin: () => "http://localhost" },
  );
  const network = { ...PUBLIC_INTERNET, resolve: async () => ["127.0.0.1"], isAllowed: () => true, ports: [port], ca };
  const parts = { db, storage, log, random: secureRandom, temporary: createTemporaryFolders(temporary) };
  await parts.temporary.sweep(new Date());
  const checkSource: CheckSource = async (...source) => {
    // As long as a real check, so that a kill at a random moment can hit it.
    if (gate === undefined) await Bun.sleep(100);
    else while (!existsSync(gate)) await Bun.sleep(5);
    return accept(...source);
  };
  const loop = startJobLoop({
    ...parts,
    databases: oneDatabase(db),
    handlersOf: () => ({
      process_asset: createProcessAsset({
        ...parts,
        fetchRemote: (remoteUrl, request) => fetchRemote(remoteUrl, { ...request, network }),
        inspect: createInspect({ log, command: (task) => [...inspector, task] }),
      }),
      prepare_avatar: createPrepareAvatar({ ...parts, checkSource }),
      render_video: async () => ({ kind: "gone" }),
    }),
    untilDueIn: (queued) => createUntilDue(queued)("jobs"),
    metrics: null,
    tracing: null,
    concurrency,
    slotsPerTenant: concurrency,
    timing: { ...JOB_TIMING, leaseSeconds, retrySeconds },
  });
  return {
    stop: async (): Promise<void> => {
      await loop.stop();
      await storage.close();
      await db.close();
    },
  };
};
