/** An avatar worker as a process, with a LiveKit server, and with a service that a test controls. */
import type { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { startLivekit } from "@realtime-avatar/testing/livekit/server";
import { startProcess } from "@realtime-avatar/testing/processes";
import { startControlPlane } from "./control-plane.ts";
import { AVATAR_WORKER } from "./service.ts";

type LivekitBinary = Awaited<ReturnType<typeof livekitBinary>>;

/** Resolves when the worker has started. `variables`: additional variables of the worker. */
export const startWorkerWorld = async (binary: LivekitBinary, variables: Record<string, string> = {}) => {
  const livekit = await startLivekit(binary.kind === "found" ? binary.path : "");
  const control = await startControlPlane(livekit);
  const worker = startProcess(AVATAR_WORKER, { ...control.variables, ...variables });
  await worker.waitFor(/"started"/);
  const stop = async (): Promise<void> => {
    worker.kill("SIGTERM");
    await worker.exited;
    await livekit.stop();
    await control.stop();
  };
  return { livekit, control, worker, stop };
};
export type WorkerWorld = Awaited<ReturnType<typeof startWorkerWorld>>;
