/** Runs the children that check one source. */
import type { Magic } from "@realtime-avatar/domain/assets/magic";
import type { Logger } from "@realtime-avatar/runtime/log";
import {
  type ConfinedOptions,
  type Failed,
  MAX_STDERR_CHARACTERS,
  SANDBOX_LIMITS,
  type SandboxLimits,
} from "../sandbox/limited.ts";
import type { Report, Task, TaskKind } from "../sandbox/report.ts";
import { runInSandbox, type SandboxFiles, sandboxLimits } from "../sandbox/run.ts";

/** The processor time of all children of one source. A video whose three frames are all far from a key frame takes 9 s. */
const SOURCE_CPU_SECONDS = 20;
/** The minimum time of a child, even when the time of its source is over. */
const MIN_MS = 1000;

export type SourceFile = {
  /** Kind and content type by the first bytes. */
  magic: Magic;
  path: string;
  /** The job's folder, in which the check may write. */
  folder: string;
};

export type ChildRunnerOptions = {
  log: Logger;
  /** The command of the child, for a task. By default, this program. */
  command?: (task: string) => string[];
  /** The time of all children of one source, in milliseconds. By default, that of one child. */
  sourceMs?: number;
  /** The processor time of all children of one source. By default, 20 s. */
  sourceCpuSeconds?: number;
  /** Gets what each child has used. */
  onEnd?: ConfinedOptions["onEnd"];
};

export type ChildRunner = {
  /** Runs a task in the sandbox. */
  task: <Kind extends TaskKind>(task: Task<Kind>, files: SandboxFiles) => Promise<Report<Kind> | Failed>;
  /** The limits of the next child, derived from its default limits. */
  limits: (own: SandboxLimits) => SandboxLimits;
  /** Logs the failure of a child. */
  log: (failed: Failed) => void;
  /** The options of every child. */
  options: { signal: AbortSignal; folder: string; onEnd: ConfinedOptions["onEnd"] };
};

/** Creates the runner of the children of one source. `folder`: the parent of each child's own folder. */
export const createChildRunner = (options: ChildRunnerOptions, folder: string, signal: AbortSignal): ChildRunner => {
  const { log, command, onEnd, sourceMs = SANDBOX_LIMITS.wallMs, sourceCpuSeconds = SOURCE_CPU_SECONDS } = options;
  const start = performance.now();
  let usedCpuMs = 0;
  const limits = (own: SandboxLimits): SandboxLimits => {
    const leftMs = Math.round(sourceMs - (performance.now() - start));
    const leftCpuSeconds = Math.max(1, Math.ceil(sourceCpuSeconds - usedCpuMs / 1000));
    return {
      ...own,
      wallMs: Math.min(own.wallMs, Math.max(MIN_MS, leftMs)),
      cpuSeconds: Math.min(own.cpuSeconds, leftCpuSeconds),
    };
  };
  const logFailed = ({ code, detail, stderr }: Failed): void =>
    log.warn({ code, detail, stderr: stderr.slice(-MAX_STDERR_CHARACTERS) }, "the check of a source has failed");
  const childOptions: ChildRunner["options"] = {
    signal,
    folder,
    onEnd: (usage) => {
      usedCpuMs += usage.cpuMs;
      onEnd?.(usage);
    },
  };
  return {
    limits,
    log: logFailed,
    options: childOptions,
    task: async (task, files) => {
      const own = sandboxLimits(task.kind);
      // The child that makes an idle loop has its own limits, whatever the others have used.
      const all = {
        ...childOptions,
        limits: task.kind === "loop" ? own : limits(own),
        ...(command ? { command } : {}),
      };
      const outcome = await runInSandbox(task, files, all);
      if (outcome.kind === "failed" && outcome.code !== "canceled") logFailed(outcome);
      return outcome;
    },
  };
};
