/** The service as a process, for tests of its start and end. */
import { expect } from "bun:test";
import { fixture } from "@realtime-avatar/testing/fixture";
import { bun, type RunningProcess, startProcess } from "@realtime-avatar/testing/processes";
import { type Answer, callAt, readAnswer, requestInit, type TestApi } from "./api.ts";

export const API = "apps/api/src/main.ts";

/** Starts the service, and waits until it listens. */
export const start = async (
  variables: Record<string, string>,
  command = bun(API),
): Promise<RunningProcess & { url: string; call: TestApi["call"] }> => {
  const running = startProcess(command, { PORT: "0", ...variables });
  const [, url = ""] = await running.waitFor(/"url":"(http:[^"]+)"/);
  return { ...running, url, call: callAt(url) };
};

/** Starts the service for this file. It must end in order with the file. */
export const fileService = async (...options: Parameters<typeof start>): ReturnType<typeof start> => {
  const running = await start(...options);
  await fixture({ close: async () => expect(await stop(running)).toBe(0) });
  return running;
};

/** Ends the service with SIGTERM. Returns its exit code. */
export const stop = async (running: RunningProcess): Promise<number> => {
  running.kill("SIGTERM");
  return running.exited;
};

export const call = async (url: string, key: string, body: unknown): Promise<Answer> =>
  readAnswer(await fetch(url, requestInit("POST", { key, body })));
