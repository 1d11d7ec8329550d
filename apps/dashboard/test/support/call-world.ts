/** A service with calls, for the tests of the page of calls. */
import { randomBytes } from "node:crypto";
import { BROWSER } from "@realtime-avatar/testing/browser";
import { fixture } from "@realtime-avatar/testing/fixture";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { startLivekit } from "@realtime-avatar/testing/livekit/server";
import { bun, startProcess } from "@realtime-avatar/testing/processes";
import { fileWorld } from "./world.ts";

const binary = await livekitBinary();
/** Why these tests are skipped; null when they run. */
export const missing = binary.kind === "missing" ? binary.reason : BROWSER ? null : "there is no browser";
const SECRET = randomBytes(32).toString("hex");
/** Number of slots of the avatar worker. */
export const SLOTS = 2;

/**
 * The world of a test file, with a LiveKit server and an avatar worker. `variables`: additional ones for the service
 * and the worker.
 */
export const callWorld = async (variables: Record<string, string>, workerVariables: Record<string, string> = {}) => {
  const livekit = await startLivekit(binary.kind === "found" ? binary.path : "");
  await fixture({ close: () => livekit.stop() });
  const world = await fileWorld({
    LIVEKIT_URL: livekit.url,
    LIVEKIT_API_KEY: livekit.apiKey,
    LIVEKIT_API_SECRET: livekit.apiSecret,
    AVATAR_WORKER_SECRET: SECRET,
    SWEEP_IN_API: "true",
    ...variables,
  });
  const worker = startProcess(bun("apps/avatar-worker/src/main.ts"), {
    SERVICE_URL: world.service.url.replace("localhost", "127.0.0.1"),
    AVATAR_WORKER_SECRET: SECRET,
    AVATAR_WORKER_PORT: "0",
    AVATAR_SLOTS: String(SLOTS),
    ...workerVariables,
  });
  const close = () => {
    worker.kill("SIGTERM");
    return worker.exited;
  };
  await fixture({ close });
  await worker.waitFor(/"started"/);
  /** Sends a signal to the call processes. */
  const stopCalls = async (signal: "SIGSTOP" | "SIGCONT"): Promise<void> => {
    const children = await Bun.$`pgrep -P ${worker.pid}`.text();
    for (const pid of children.trim().split("\n")) process.kill(Number(pid), signal);
  };
  return { ...world, livekit, stopCalls };
};

export type CallWorld = Awaited<ReturnType<typeof callWorld>>;
