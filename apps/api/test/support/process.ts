/** The service as a process, for tests of how it starts and ends. */
import { bun, type RunningProcess, startProcess } from "@realtime-avatar/testing/processes";
import { type Answer, readAnswer, requestInit } from "./api.ts";

export const API = "apps/api/src/main.ts";

/** Starts the service, and waits until it listens. */
export const start = async (
  variables: Record<string, string>,
  command = bun(API),
): Promise<RunningProcess & { url: string }> => {
  const running = startProcess(command, { PORT: "0", ...variables });
  const [, url = ""] = await running.waitFor(/"url":"(http:[^"]+)"/);
  return { ...running, url };
};

/** Ends the service with SIGTERM; returns its exit code. */
export const stop = async (running: RunningProcess): Promise<number> => {
  running.kill("SIGTERM");
  return running.exited;
};

export const call = async (url: string, key: string, body: unknown): Promise<Answer> =>
  readAnswer(await fetch(url, requestInit("POST", { key, body })));
