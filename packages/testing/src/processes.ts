/** Starts processes of the service like an operator. Preload this file, so that it can end them after the tests. */
import { afterAll } from "bun:test";
import { bundleProgram, REPOSITORY, releaseOfApi } from "./bundles.ts";
import { within } from "./until.ts";

export { REPOSITORY };

export type RunningProcess = {
  /** All output so far. */
  stdout(): string;
  stderr(): string;
  /** Waits until standard output or standard error matches, and returns the match. Throws after the limit: 50 seconds by default. */
  waitFor(pattern: RegExp, limitMs?: number): Promise<RegExpMatchArray>;
  pid: number;
  kill(signal: NodeJS.Signals): void;
  /** The exit code; 128 plus the signal number after a signal. */
  exited: Promise<number>;
};

/** Processes to end after the tests, so that a failed test leaves none behind. */
const running = new Set<Bun.Subprocess>();
afterAll(async () => {
  for (const child of running) child.kill("SIGTERM");
  await Promise.all([...running].map((child) => child.exited));
});

/** The environment of a process. It has only the variables of the tests that a program needs to run. */
export const processEnvironment = (variables: Record<string, string>): Record<string, string> => {
  const { PATH = "", HOME = "", TMPDIR } = process.env;
  return { PATH, HOME, ...(TMPDIR === undefined ? {} : { TMPDIR }), ...variables };
};

/** Starts a program in the root of the repository, with only these environment variables. */
export const startProcess = (command: readonly string[], variables: Record<string, string> = {}): RunningProcess => {
  const child = Bun.spawn([...command], {
    // The developer's `.env` must not affect the tests.
    env: processEnvironment(variables),
    cwd: REPOSITORY,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  running.add(child);
  const text = { stdout: "", stderr: "" };
  /** Settles at the next output or at the end. Polling would take processor time from the program. */
  let news = Promise.withResolvers<void>();
  const tell = (): void => {
    news.resolve();
    news = Promise.withResolvers();
  };
  const collect = async (name: "stdout" | "stderr"): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const chunk of child[name]) {
      text[name] += decoder.decode(chunk, { stream: true });
      tell();
    }
  };
  const drained = Promise.all([collect("stdout"), collect("stderr")]);
  let hasExited = false;
  const exited = child.exited.then(async (code) => {
    await drained;
    hasExited = true;
    running.delete(child);
    tell();
    return code;
  });
  const output = (): string => `${text.stdout}\n${text.stderr}`;
  const findMatch = async (pattern: RegExp): Promise<RegExpMatchArray> => {
    for (;;) {
      const match = text.stdout.match(pattern) ?? text.stderr.match(pattern);
      if (match) return match;
      if (hasExited) throw new Error(`the process exited before its output matched ${pattern}:\n${output()}`);
      await news.promise;
    }
  };
  return {
    stdout: () => text.stdout,
    stderr: () => text.stderr,
    waitFor: (pattern, limitMs) =>
      within(`${pattern} in the output of ${command.join(" ")}`, findMatch(pattern), { limitMs, state: output }),
    pid: child.pid,
    kill: (signal) => child.kill(signal),
    exited,
  };
};

/** Runs a program until it exits. */
export const runToEnd = async (
  command: readonly string[],
  variables: Record<string, string> = {},
): Promise<{ code: number; stdout: string; stderr: string }> => {
  const { exited, stdout, stderr } = startProcess(command, variables);
  return { code: await exited, stdout: stdout(), stderr: stderr() };
};

/**
 * The command for a program of the repository under Bun, without the developer's `.env`. A program of `apps` runs as
 * its bundle; `source` returns the command for the source.
 */
export const bun = (file: string, ...args: string[]): string[] =>
  source(file.startsWith("apps/") ? bundleProgram(file) : file, ...args);

/** The command for a program from its source, under Bun, without the developer's `.env`. */
export const source = (file: string, ...args: string[]): string[] => [process.execPath, "--no-env-file", file, ...args];

/** The command for the API with its worker and the dashboard, as in a release, without the developer's `.env`. */
export const release = (): string[] => source(releaseOfApi());
