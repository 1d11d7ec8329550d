/** For tests: processes of the service, started as an operator starts them. Preload this file, so that it can clean up. */
import { afterAll } from "bun:test";
import { closeSync, constants, openSync, readSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const REPOSITORY = join(import.meta.dir, "../../..");

export type RunningProcess = {
  /** Everything written so far. */
  stdout(): string;
  stderr(): string;
  /** Waits until standard output or standard error matches, and answers with the match. */
  waitFor(pattern: RegExp): Promise<RegExpMatchArray>;
  pid: number;
  kill(signal: NodeJS.Signals): void;
  /** The exit code; 128 and more after a signal. */
  exited: Promise<number>;
};

/** A test that fails half-way must not leave its processes behind. */
const running = new Set<Bun.Subprocess>();
afterAll(async () => {
  for (const child of running) child.kill("SIGTERM");
  await Promise.all([...running].map((child) => child.exited));
});

/** The environment of a process: nothing of the tests' own but what a program needs to be found and run. */
const environmentOf = (variables: Record<string, string>): Record<string, string> => {
  const { PATH = "", HOME = "", TMPDIR } = process.env;
  return { PATH, HOME, ...(TMPDIR === undefined ? {} : { TMPDIR }), ...variables };
};

/** Starts a program at the root of the repository, with the given environment alone. */
export const startProcess = (command: readonly string[], variables: Record<string, string> = {}): RunningProcess => {
  const child = Bun.spawn([...command], {
    // No `.env` of the developer's has a say in the tests.
    env: environmentOf(variables),
    cwd: REPOSITORY,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  running.add(child);
  const text = { stdout: "", stderr: "" };
  const collect = async (name: "stdout" | "stderr"): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const chunk of child[name]) text[name] += decoder.decode(chunk, { stream: true });
  };
  const drained = Promise.all([collect("stdout"), collect("stderr")]);
  let hasExited = false;
  const exited = child.exited.then(async (code) => {
    await drained;
    hasExited = true;
    running.delete(child);
    return code;
  });
  return {
    stdout: () => text.stdout,
    stderr: () => text.stderr,
    waitFor: async (pattern) => {
      for (;;) {
        const match = text.stdout.match(pattern) ?? text.stderr.match(pattern);
        if (match) return match;
        if (hasExited) throw new Error(`it ended before it said ${pattern}:\n${text.stdout}\n${text.stderr}`);
        await Bun.sleep(5);
      }
    },
    pid: child.pid,
    kill: (signal) => child.kill(signal),
    exited,
  };
};

/** Runs a program to its end. */
export const runToEnd = async (
  command: readonly string[],
  variables: Record<string, string> = {},
): Promise<{ code: number; stdout: string; stderr: string }> => {
  const { exited, stdout, stderr } = startProcess(command, variables);
  return { code: await exited, stdout: stdout(), stderr: stderr() };
};

/** A program of the repository under Bun; `--no-env-file`, so that no `.env` has a say. */
export const bun = (file: string, ...args: string[]): string[] => [process.execPath, "--no-env-file", file, ...args];

/** A pipe that is read only when the test reads it. */
export type TestPipe = {
  /** The file descriptor to be given to a process as its standard output. */
  writer: number;
  /** What is in the pipe: empty when there is nothing at the moment, null at its end. */
  read(): string | null;
  /** Closes the test's own copy of `writer`: to be called once the process has it, or the pipe has no end. */
  closeWriter(): void;
  /** Closes the reading end, as a reader does that ends. */
  closeReader(): void;
  /** Closes what is still open of it, and removes it. */
  remove(): Promise<void>;
};

/** Opens a named pipe: unlike one of `Bun.spawn`, nothing reads it ahead. */
export const openPipe = async (): Promise<TestPipe> => {
  const folder = await mkdtemp(join(tmpdir(), "realtime-avatar-pipe-"));
  const path = join(folder, "pipe");
  Bun.spawnSync(["mkfifo", path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = openSync(path, constants.O_WRONLY);
  const buffer = Buffer.alloc(1 << 20);
  const open = new Set([reader, writer]);
  const close = (descriptor: number): void => {
    if (open.delete(descriptor)) closeSync(descriptor);
  };
  return {
    writer,
    read: () => {
      try {
        const count = readSync(reader, buffer);
        return count === 0 ? null : buffer.toString("utf8", 0, count);
      } catch (error) {
        if ((error as { code?: string }).code === "EAGAIN") return "";
        throw error;
      }
    },
    closeWriter: () => close(writer),
    closeReader: () => close(reader),
    remove: async () => {
      for (const descriptor of open) close(descriptor);
      await rm(folder, { recursive: true });
    },
  };
};
