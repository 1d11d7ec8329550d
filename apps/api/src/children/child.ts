/**
 * Child processes of the API, so that a service on its embedded database needs no second command: the worker, and for
 * calls LiveKit and an avatar worker. The API does not depend on them: a request only leaves a job for the worker. A
 * child stops when its standard input ends. The kernel also ends it when the API is killed.
 */
import { printableLines } from "@realtime-avatar/domain/text";
import { type Logger, type LogOutput, passLine } from "@realtime-avatar/runtime/log";
import { pause } from "@realtime-avatar/runtime/pause";

/** The pause before a child is started again: doubled each time, up to the maximum. */
const FIRST_PAUSE_MS = 1000;
const MAX_PAUSE_MS = 30_000;
/** A child that has run for this long counts as stable: the next pause is the first one again. */
const STEADY_MS = 60_000;
/** How long a child may take to stop. A worker gives its jobs five seconds, and then returns them. */
const STOP_MS = 20_000;
/** How long to wait for the remaining output of an ended child. */
const OUTPUT_MS = 1000;
/** A longer line of output is split. */
const MAX_LINE_CHARACTERS = 1024 * 1024;

/** Calls `onLine` with each line of `stream`, including its line end. A last line without a line end gets one. */
const eachLine = async (stream: ReadableStream<Uint8Array>, onLine: (line: string) => void): Promise<void> => {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) onLine(`${line}\n`);
    if (rest.length > MAX_LINE_CHARACTERS) {
      onLine(`${rest}\n`);
      rest = "";
    }
  }
  if (rest !== "") onLine(`${rest}\n`);
};

export type ChildOptions = {
  /** The name in the log, such as "worker". */
  name: string;
  command: readonly string[];
  /** Its environment variables. */
  variables: Readonly<Record<string, string | undefined>>;
  log: Logger;
  logOutput: LogOutput;
  isTerminal: boolean;
  /** Receives the lines of its standard error. */
  onError?: (line: string) => void;
  /** The pause before the first restart, in milliseconds. */
  firstPauseMs?: number;
};

export type Child = {
  start(): void;
  /** Stops the child for good, and waits for its end. Kills it when it takes too long. */
  stop(): Promise<void>;
};

/** Runs a child from `start` to `stop`. A child that ends by itself is started again after a growing pause. */
export const createChild = (options: ChildOptions): Child => {
  const { name, command, variables, log, logOutput, isTerminal, firstPauseMs = FIRST_PAUSE_MS } = options;
  const { onError = (line) => process.stderr.write(printableLines(line)) } = options;
  const stopping = new AbortController();
  let running: Promise<void> | null = null;
  let child: Bun.Subprocess<"pipe", "pipe", "pipe"> | null = null;

  const runOnce = async (): Promise<void> => {
    const started = Bun.spawn([...command], {
      env: { ...variables },
      // The child gets its own process group, so that Ctrl-C reaches only this process, also while the child is
      // loading.
      detached: true,
      stdin: "pipe",
      stdout: "pipe",
      stderr: "pipe",
    });
    child = started;
    const output = [eachLine(started.stdout, passLine(logOutput, isTerminal)), eachLine(started.stderr, onError)];
    await started.exited;
    child = null;
    await started.stdin.end();
    // A process that the child has started can outlive it, and hold its output open.
    await Promise.race([Promise.all(output), Bun.sleep(OUTPUT_MS)]);
    const { exitCode: code, signalCode: signal } = started;
    if (!stopping.signal.aborted)
      log.warn({ code, signal: signal ?? undefined }, `the ${name} has ended; starting it again`);
  };

  const run = async (): Promise<void> => {
    for (let pauseMs = firstPauseMs; !stopping.signal.aborted; ) {
      const startedAt = performance.now();
      await runOnce().catch((error: unknown) => {
        const code = error instanceof Error && "code" in error ? error.code : "unknown";
        log.warn({ code }, `the ${name} does not start; trying again`);
      });
      if (performance.now() - startedAt > STEADY_MS) pauseMs = firstPauseMs;
      await pause(pauseMs * (0.75 + Math.random() / 2), stopping.signal);
      pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS);
    }
  };

  return {
    start: () => {
      running ??= run();
    },
    stop: async () => {
      stopping.abort();
      const stopped = child;
      await stopped?.stdin.end();
      const timer = setTimeout(() => stopped?.kill("SIGKILL"), STOP_MS);
      await running;
      clearTimeout(timer);
    },
  };
};
