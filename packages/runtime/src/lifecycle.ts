/** How a process starts and ends. */
import { readFileSync } from "node:fs";
import { onNpmEnd } from "./npm.ts";

/** Called with what has to be closed at the end, by which signal; the last to be registered is closed first. */
export type AtExit = (close: (signal: NodeJS.Signals | null) => Promise<unknown>) => void;

/** So often it is looked whether the npm that has started the process has ended. */
const LOOK_MS = 1000;

/** Whether the process was started so that it outlives its terminal, by nohup. Only Linux tells. */
const ignoresHangUp = (): boolean => {
  try {
    const [, ignored = "0"] = /^SigIgn:\s+([0-9a-f]+)/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
    return (BigInt(`0x${ignored}`) & 1n) === 1n;
  } catch {
    return false;
  }
};

/**
 * Runs `start`. If it throws, closes what it has registered, says why in one line on standard error, and exits with 1.
 * On SIGTERM, SIGINT or SIGHUP (a terminal that closes), and when the npm that has started it ends, waits for the start
 * to be over, closes everything, and exits with 0, or with 1 if that fails. Further signals change nothing: Ctrl-C
 * reaches a process twice when a script runner passes it on.
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
  // What no code of ours waits for, such as the driver's answer to a server that talks nonsense, ends nothing. The words of
  // an error may hold anything: its name and code will do.
  process.on("unhandledRejection", (reason) => {
    const { name = "unknown", code = "none" } = reason instanceof Error ? (reason as Error & { code?: string }) : {};
    console.error(`An error that nobody waited for: ${name} (code ${code}).`);
  });
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
  if (!ignoresHangUp()) process.on("SIGHUP", stop);
  onNpmEnd(LOOK_MS, () => stop("SIGTERM"));
};

/**
 * Whether the process is ending. Once it is told to, by SIGTERM or SIGHUP, it goes on serving for `graceMs`, so that whoever sends
 * it requests learns first that it is not ready any more; SIGINT, from a terminal, ends it without the wait. To be
 * registered last: nothing is closed before.
 */
export const endingGracefully = (atExit: AtExit, graceMs: number): (() => boolean) => {
  let isEnding = false;
  atExit(async (signal) => {
    isEnding = true;
    if (signal === "SIGTERM" || signal === "SIGHUP") await Bun.sleep(graceMs);
  });
  return () => isEnding;
};
