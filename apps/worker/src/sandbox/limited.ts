/** Runs a command with limits of time, memory and output, in the confinement of the operating system. */
import { CHILD_VARIABLES } from "./command.ts";
import { type Confinement, findConfinement } from "./confinement.ts";
import type { Program } from "./program.ts";
import { MAX_THREADS, watchUsage } from "./watch.ts";

const MIB = 1024 * 1024;

export type SandboxLimits = {
  /** The time from the start of the child to its end. A busy machine can cause this limit. */
  wallMs: number;
  /**
   * The processor time of all threads of the child, which it uses for its file. This limit is far below `wallMs`, so
   * that it is reached first.
   */
  cpuSeconds: number;
  /** Resident memory. */
  memoryBytes: number;
  /** Memory that it may reserve for its data, used or not. */
  dataBytes: number;
  /** The largest file that it may write. */
  fileBytes: number;
};

/** The pages of Bun, libvips and libc that the kernel's limit of data does not count; measured: 45 MiB. */
const PROGRAM_BYTES = 128 * MIB;

export const SANDBOX_LIMITS: SandboxLimits = {
  wallMs: 30_000,
  cpuSeconds: 10,
  memoryBytes: 1024 * MIB,
  dataBytes: 1024 * MIB - PROGRAM_BYTES,
  fileBytes: 32 * MIB,
};

const MAX_REPORT_BYTES = 16 * 1024;
const MAX_ERROR_BYTES = 4 * 1024;
/** How much of a crashed child's standard error is logged. */
export const MAX_STDERR_CHARACTERS = 500;
/** How long reading the output of an ended child may take. */
const PIPE_MS = 2000;

export type Failed = {
  kind: "failed";
  /** `timed_out`: the limit of processor time. `stalled`: the limit of the clock. */
  code:
    | "crashed"
    | "timed_out"
    | "stalled"
    | "out_of_memory"
    | "too_many_threads"
    | "file_too_large"
    | "invalid_report"
    | "canceled";
  /** The exceeded limit, or how the child ended. */
  detail: string;
  /** `null` after a signal. */
  exitCode: number | null;
  /** The end of its standard error, for the log. It can contain bytes of the file, so callers never see it. */
  stderr: string;
};

/**
 * Whether the machine may have caused the failure of a child: it had no thread or memory left, ended the child, or was
 * too busy. Then the job is tried again. The file is not reported as bad.
 */
export const isTransient = ({ code }: Failed): boolean =>
  code === "crashed" || code === "stalled" || code === "canceled";

export type ConfinedOptions = {
  limits?: SandboxLimits;
  /** Ends the child. */
  signal?: AbortSignal;
  /** By default, the confinement that this machine allows, which is determined once. */
  confinement?: Confinement;
  /** The program of the command. By default, the worker's own. */
  program?: Program;
  /** Variables of the child, in addition to those of every child. */
  variables?: Readonly<Record<string, string>>;
  /** Gets the output of the child as it arrives, if it is a pipe. */
  onOutput?: (text: string) => void;
  /** Gets the usage of the child: resident memory, sampled every 10 ms (0 without /proc), and processor time. */
  onEnd?: ((usage: { peakBytes: number; cpuMs: number }) => void) | undefined;
};

let confinementHere: Promise<Confinement> | undefined;
/** The possible confinement on this machine. */
export const confinementOfMachine = (): Promise<Confinement> => {
  confinementHere ??= findConfinement();
  return confinementHere;
};

/** The text of a pipe, up to `maxBytes`. `onExceeded` is called when the output is longer. */
const readPipe = async (
  pipe: ReadableStream<Uint8Array>,
  maxBytes: number,
  onExceeded: () => void,
  onChunk?: (text: string) => void,
) => {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of pipe) {
    size += chunk.length;
    if (size > maxBytes) {
      onExceeded();
      break;
    }
    chunks.push(chunk);
    onChunk?.(Buffer.from(chunk).toString("latin1"));
  }
  return Buffer.concat(chunks).toString("utf8");
};

const killGroup = (pid: number): void => {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // All its processes have ended.
  }
};

type ProcessResult = {
  output: string;
  stderr: string;
  exitCode: number | null;
  signalCode: string | null;
  cpuMs: number;
  failure: Failed["code"] | null;
};

export type Descriptors = {
  input: number;
  /** Standard output: an open file, or a pipe whose text is returned. */
  output: number | "pipe";
  /** Descriptors 3 and up. */
  others: readonly number[];
  /** The working directory, and the folder for temporary files. */
  folder: string;
};

/** Runs a command to its end, or until it exceeds a limit. */
const runLimited = async (
  command: readonly string[],
  { input, output, others, folder }: Descriptors,
  { limits = SANDBOX_LIMITS, signal, variables, onOutput, onEnd }: ConfinedOptions,
): Promise<ProcessResult> => {
  const child = Bun.spawn([...command], {
    env: { TMPDIR: folder, ...CHILD_VARIABLES, ...variables },
    cwd: folder,
    // A separate process group, which is killed as a whole.
    detached: true,
    stdio: [input, output, "pipe", ...others],
  });
  let failure: Failed["code"] | null = null;
  const end = (code: Failed["code"]): void => {
    failure ??= code;
    killGroup(child.pid);
  };
  const timer = setTimeout(() => end("stalled"), limits.wallMs);
  const watch = watchUsage(child.pid, limits.memoryBytes, end);
  const cancel = () => end("canceled");
  signal?.addEventListener("abort", cancel);
  if (signal?.aborted) cancel();
  try {
    const pipes = Promise.all([
      output === "pipe"
        ? readPipe(child.stdout as ReadableStream<Uint8Array>, MAX_REPORT_BYTES, () => end("invalid_report"), onOutput)
        : "",
      readPipe(child.stderr as ReadableStream<Uint8Array>, MAX_ERROR_BYTES, () => end("crashed")),
    ]);
    await child.exited;
    // A process that the child has left behind would keep the pipes open.
    killGroup(child.pid);
    const texts = await Promise.race([pipes, Bun.sleep(PIPE_MS)]);
    if (!texts) failure ??= "crashed";
    const [text, stderr] = texts ?? ["", ""];
    const cpuMs = Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1000;
    onEnd?.({ peakBytes: watch.peakBytes(), cpuMs });
    const signalCode = child.signalCode === null ? null : String(child.signalCode);
    return { output: text, stderr, exitCode: child.exitCode, signalCode, cpuMs, failure };
  } finally {
    clearTimeout(timer);
    watch.stop();
    signal?.removeEventListener("abort", cancel);
  }
};

type ProcessExit = Pick<ProcessResult, "exitCode" | "signalCode" | "stderr" | "cpuMs">;

const detailOf = (code: Failed["code"], limits: SandboxLimits, { exitCode, signalCode }: ProcessExit): string => {
  switch (code) {
    case "timed_out":
      return `The inspection took too much processor time; the limit is ${limits.cpuSeconds} s.`;
    case "stalled":
      return `The inspection took longer than ${limits.wallMs / 1000} s.`;
    case "out_of_memory":
      return `The inspection needed more than ${limits.memoryBytes / MIB} MiB of memory.`;
    case "too_many_threads":
      return `The inspection needed more than ${MAX_THREADS} threads.`;
    case "file_too_large":
      return `The inspection wrote a file of more than ${limits.fileBytes / MIB} MiB.`;
    case "invalid_report":
      return "The inspection ended without a valid report.";
    case "canceled":
      return "The inspection was canceled.";
    case "crashed":
      return `The inspection ended with ${signalCode ?? `exit code ${exitCode}`}.`;
  }
};

/** The failure of a child that was not killed here; `null` if it succeeded. */
const failureOf = (
  { exitCode, signalCode, stderr, cpuMs }: ProcessExit,
  { cpuSeconds }: SandboxLimits,
): Failed["code"] | null => {
  if (exitCode === 0) return null;
  // ffmpeg catches the signal, and ends with an exit code.
  if (signalCode === "SIGXCPU" || cpuMs >= 1000 * cpuSeconds) return "timed_out";
  // Bun ignores the signal; its write fails.
  if (signalCode === "SIGXFSZ" || /\bEFBIG\b/.test(stderr)) return "file_too_large";
  // The messages of Bun, of Rust, and of GLib, on which libvips is built. GLib aborts.
  return /out of memory|memory allocation of \d+ bytes failed|failed to allocate \d+ bytes/i.test(stderr)
    ? "out_of_memory"
    : "crashed";
};

/** The failure of an ended command. `code` is the known reason; by default, the one that its end shows. */
const failed = (code: Failed["code"], limits: SandboxLimits, ending: ProcessExit): Failed => ({
  kind: "failed",
  code,
  detail: detailOf(code, limits, ending),
  exitCode: ending.exitCode,
  stderr: ending.stderr,
});

/** A command that ended by itself and without an error. `fail` is for an invalid output. */
export type Succeeded = { kind: "succeeded"; output: string; fail: (code: Failed["code"]) => Failed };

/** Runs a command with the limits of the sandbox. */
export const runConfined = async (
  command: readonly string[],
  descriptors: Descriptors,
  options: ConfinedOptions,
): Promise<Succeeded | Failed> => {
  const { limits = SANDBOX_LIMITS, confinement = await confinementOfMachine() } = options;
  const { dataBytes, cpuSeconds, fileBytes } = limits;
  const resources = { dataBytes, cpuSeconds, fileBytes };
  const launch = { program: options.program, descriptors: descriptors.others.length };
  const ended = await runLimited(confinement.wrap(command, resources, launch), descriptors, options);
  const code = ended.failure ?? failureOf(ended, limits);
  if (code !== null) return failed(code, limits, ended);
  return { kind: "succeeded", output: ended.output, fail: (because) => failed(because, limits, ended) };
};
