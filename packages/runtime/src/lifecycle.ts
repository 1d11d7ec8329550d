/** Start and shutdown of a process. */
import { readFileSync } from "node:fs";
import { onNpmEnd } from "./npm.ts";

/** Registers a function that shutdown calls with the signal, or null without one; the last registered runs first. */
export type AtExit = (close: (signal: NodeJS.Signals | null) => Promise<unknown>) => void;

/** Interval of the check whether the npm process that started this one still runs. */
const NPM_POLL_MS = 1000;

/** Whether SIGHUP was ignored at the start, as with nohup, so that the process outlives its terminal. Linux only. */
const ignoresHangUp = (): boolean => {
  try {
    const [, ignored = "0"] = /^SigIgn:\s+([0-9a-f]+)/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
    return (BigInt(`0x${ignored}`) & 1n) === 1n;
  } catch {
    return false;
  }
};

/**
 * Runs `start`. If it throws, prints the error in one line on standard error, runs the registered functions, and exits with
 * code 1. On SIGTERM, SIGINT or SIGHUP (the terminal closed), and when the npm process that started it ends, waits until
 * `start` is complete, runs the registered functions, and exits with code 0, or 1 if one of them fails. Further signals are
 * ignored: Ctrl-C reaches a process twice when a script runner forwards it.
 */
export const runProcess = (start: (atExit: AtExit) => Promise<void>): void => {
  const closing: Parameters<AtExit>[0][] = [];
  const closeAll = async (signal: NodeJS.Signals | null): Promise<void> => {
    for (let close = closing.pop(); close; close = closing.pop()) await close(signal);
  };
  const started = start((close) => closing.push(close)).catch(async (error: unknown) => {
    console.error(error instanceof Error ? error.message : "The process could not start.");
    await closeAll(null).catch(() => {});
    process.exit(1);
  });
  let isStopping = false;
  const stop = (signal: NodeJS.Signals): void => {
    if (isStopping) return;
    isStopping = true;
    started
      .then(() => closeAll(signal))
      .then(
        () => process.exit(0),
        () => process.exit(1),
      );
  };
  // An unhandled rejection, such as the driver's when a server breaks the protocol, must not end the process. An error
  // message can contain anything, so only the name and the code are printed.
  process.on("unhandledRejection", (reason) => {
    const { name = "unknown", code = "none" } = reason instanceof Error ? (reason as Error & { code?: string }) : {};
    console.error(`Unhandled rejection: ${name} (code ${code}).`);
  });
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
  if (!ignoresHangUp()) process.on("SIGHUP", stop);
  onNpmEnd(NPM_POLL_MS, () => stop("SIGTERM"));
};

/**
 * Returns a function that tells whether the process is shutting down. After SIGTERM or SIGHUP the process keeps serving for
 * `graceMs`, so that load balancers see that it is not ready before it closes; SIGINT, from a terminal, skips the wait.
 * Call this last, so that shutdown runs it first.
 */
export const endingGracefully = (atExit: AtExit, graceMs: number): (() => boolean) => {
  let isEnding = false;
  atExit(async (signal) => {
    isEnding = true;
    if (signal === "SIGTERM" || signal === "SIGHUP") await Bun.sleep(graceMs);
  });
  return () => isEnding;
};
