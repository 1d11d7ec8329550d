/** Runs the children that examine one source. */
import type { Logger } from "@realtime-avatar/runtime/log";
import { type ConfinedOptions, type Failed, SANDBOX_LIMITS, type SandboxLimits } from "../sandbox/limited.ts";
import type { Report, Task, TaskKind } from "../sandbox/report.ts";
import { runInSandbox, type SandboxFiles } from "../sandbox/run.ts";

/** A child that crashes, or needs too much memory, is started once more: the machine may have been short of something. */
const CHILDREN = 2;
/** The least time of a child, also when the time of its source is over. */
const MIN_MS = 1000;
/** How much of a crashed child's standard error is logged. */
const MAX_STDERR_CHARACTERS = 500;

export type PerformOptions = {
  log: Logger;
  /** The command of the child, for a task. By default, this program. */
  command?: (task: string) => string[];
  /** The time of all children of one source, in milliseconds. By default, that of one child. */
  sourceMs?: number;
  /** Gets what each child has used. */
  onEnd?: ConfinedOptions["onEnd"];
};

export type Perform = {
  /** Does a task in the sandbox, and once more where the child fails. */
  task: <Kind extends TaskKind>(task: Task<Kind>, files: SandboxFiles) => Promise<Report<Kind> | Failed>;
  /** The limits of the next child. */
  limits: () => SandboxLimits;
  /** Logs why a child has failed. */
  log: (failed: Failed, child: number) => void;
  /** What every child gets. */
  options: { signal: AbortSignal; folder: string; onEnd?: ConfinedOptions["onEnd"] };
};

/** Creates what runs the children of one source. `folder`: where a child's own folder is created. */
export const createPerform = (options: PerformOptions, folder: string, signal: AbortSignal): Perform => {
  const { log, command, onEnd, sourceMs = SANDBOX_LIMITS.wallMs } = options;
  const start = performance.now();
  const limits = (): SandboxLimits => {
    const leftMs = Math.round(sourceMs - (performance.now() - start));
    return { ...SANDBOX_LIMITS, wallMs: Math.max(MIN_MS, leftMs) };
  };
  const logFailed = ({ code, detail, stderr }: Failed, child: number): void =>
    log.warn({ code, detail, stderr: stderr.slice(-MAX_STDERR_CHARACTERS), child }, "an examination has failed");
  const childOptions = { signal, folder, onEnd };
  return {
    limits,
    log: logFailed,
    options: childOptions,
    task: async (task, files) => {
      for (let child = 1; ; child++) {
        const all = { ...childOptions, limits: limits(), ...(command ? { command } : {}) };
        const outcome = await runInSandbox(task, files, all);
        if (outcome.kind !== "failed" || outcome.code === "canceled") return outcome;
        logFailed(outcome, child);
        // A file that takes too long would take too long again.
        if (child === CHILDREN || outcome.code === "timed_out") return outcome;
      }
    },
  };
};
