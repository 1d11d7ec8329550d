/** Start and shutdown of a process. */
import { readFileSync } from "node:fs";
import { warnOfMisspeltSettings } from "./config/settings.ts";
import { onNpmEnd } from "./npm.ts";

/**
 * Registers a function that shutdown calls; the last registered runs first. It gets the signal, or null without one,
 * and a promise that resolves when SIGINT arrives. Throws after a signal, which ends the start.
 */
export type AtExit = (
  close: (signal: NodeJS.Signals | null, interrupted: Promise<unknown>) => Promise<unknown>,
) => void;

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

/** The default of `crashMs`. */
const CRASH_MS = 20_000;

/** The name, the code and the frames of an error. Its message can contain anything, so it is left out. */
const nameOf = (error: unknown): string => {
  const { name = "unknown", code = "none" } = error instanceof Error ? (error as Error & { code?: string }) : {};
  return `${name} (code ${code})`;
};
const framesOf = (error: unknown): string =>
  ((error instanceof Error ? error.stack : null)?.split("\n") ?? []).filter((line) => /^\s+at /.test(line)).join("\n");

/** The end of a start, after a signal. */
class Stopped extends Error {}

/** Options of the end of a process. */
export type ProcessOptions = {
  /**
   * Another process has started this one, and holds its standard input open. This process stops when its standard input
   * ends, as on SIGTERM. The kernel closes it when the other process ends, also by SIGKILL. SIGINT and SIGHUP are
   * ignored, because a terminal sends them to both processes. The other process decides the order in which they stop.
   */
  endsWithStdin?: boolean;
  /** How long closing may take after a failed start or an uncaught exception. */
  crashMs?: number;
};

/**
 * Runs `start`. If it throws, prints the error in one line on standard error, runs the registered functions, for 20
 * seconds at most, and exits with code 1. After an uncaught exception the state of the process is unknown. It does the
 * same, so that its supervisor restarts it. Stops on SIGTERM, SIGINT or SIGHUP (the terminal closed), and when the npm
 * process that started it ends. It then waits until `start` is complete or registers its next function, and runs the
 * registered functions. The exit code is 0, or 1 if one of them fails. Further signals do not end it: Ctrl-C reaches a
 * process twice when a script runner forwards it. Ctrl-C also reaches the child processes of a start, so their failure
 * is then no error.
 */
export const runProcess = (
  start: (atExit: AtExit, isStopping: () => boolean) => Promise<void>,
  { endsWithStdin = false, crashMs = CRASH_MS }: ProcessOptions = {},
): void => {
  const closing: Parameters<AtExit>[0][] = [];
  // Node 20, on which an avatar worker can run, has no `Promise.withResolvers`.
  let interrupt = (): void => {};
  const interrupted = new Promise<void>((resolve) => {
    interrupt = resolve;
  });
  const closeAll = async (signal: NodeJS.Signals | null): Promise<void> => {
    for (let close = closing.pop(); close; close = closing.pop()) await close(signal, interrupted);
  };
  const fail = () => process.exit(1);
  let isStopping = false;
  let isInterrupted = false;
  const stop = (signal: NodeJS.Signals): void => {
    if (isStopping) return;
    isStopping = true;
    isInterrupted = signal === "SIGINT";
    started.then(() => closeAll(signal)).then(() => process.exit(0), fail);
  };
  // An unhandled rejection, such as the driver's when a server breaks the protocol, must not end the process, because
  // only the work behind it has failed.
  process.on("unhandledRejection", (reason) => console.error(`Unhandled rejection: ${nameOf(reason)}.`));
  process.on("uncaughtException", (error) => {
    console.error(`Uncaught exception: ${nameOf(error)}.\n${framesOf(error)}`);
    if (isStopping) return;
    isStopping = true;
    setTimeout(fail, crashMs);
    started.then(() => closeAll(null)).then(fail, fail);
  });
  process.on("SIGTERM", stop);
  if (endsWithStdin) {
    for (const signal of ["SIGINT", "SIGHUP"] as const) process.on(signal, () => {});
    for (const event of ["end", "close", "error"]) process.stdin.on(event, () => stop("SIGTERM"));
    process.stdin.resume();
  } else {
    process.on("SIGINT", (signal) => {
      interrupt();
      stop(signal);
    });
    if (!ignoresHangUp()) process.on("SIGHUP", stop);
  }
  if (!endsWithStdin) warnOfMisspeltSettings(process.env);
  // After the signal handlers: a signal during the start must not end the process at once.
  const atExit: AtExit = (close) => {
    closing.push(close);
    if (isStopping) throw new Stopped();
  };
  const started = start(atExit, () => isStopping).catch(async (error: unknown) => {
    if (error instanceof Stopped || isInterrupted) return;
    console.error(error instanceof Error ? error.message : "The process could not start.");
    setTimeout(fail, crashMs);
    await closeAll(null).catch(() => {});
    fail();
  });
  if (!endsWithStdin) onNpmEnd(NPM_POLL_MS, () => stop("SIGTERM"));
};

/**
 * Returns a function that returns whether the process is shutting down. After SIGTERM or SIGHUP the process keeps
 * serving for `graceMs`, so that load balancers see that it is not ready before it closes; SIGINT, from a terminal,
 * skips the wait, or ends it. Call this last, so that shutdown runs it first.
 */
export const endingGracefully = (atExit: AtExit, graceMs: number): (() => boolean) => {
  let isEnding = false;
  atExit(async (signal, interrupted) => {
    isEnding = true;
    if (signal === "SIGTERM" || signal === "SIGHUP") await Promise.race([Bun.sleep(graceMs), interrupted]);
  });
  return () => isEnding;
};
