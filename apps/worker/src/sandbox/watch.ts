/** The resident memory and the threads of a child process. The kernel limits its data, and the threads of a user. */
import { readFileSync } from "node:fs";
import { cpus } from "node:os";

/** Memory is filled at 2 to 5 GB/s, so a child exceeds the limit by at most 50 MB before it is noticed. */
const INTERVAL_MS = 10;

/**
 * The maximum number of threads of a child. Bun and libvips start 7 to 12 on two cores, and some for each further core.
 */
export const MAX_THREADS = 64 + 4 * cpus().length;

/**
 * The peak resident memory of a process so far, in bytes, and its threads; 0 when it has ended, or on a system without
 * /proc. `ru_maxrss` is not used, because it begins with the memory of the process that has forked the child.
 */
const usageOf = (pid: number): { bytes: number; threads: number } => {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "latin1");
    const [, kibibytes = "0"] = /^VmHWM:\s+(\d+) kB$/m.exec(status) ?? [];
    const [, threads = "0"] = /^Threads:\s+(\d+)$/m.exec(status) ?? [];
    return { bytes: Number(kibibytes) * 1024, threads: Number(threads) };
  } catch {
    return { bytes: 0, threads: 0 };
  }
};

export type Watch = {
  stop: () => void;
  /** The peak memory so far, in bytes. */
  peakBytes: () => number;
};

/** Calls `onExceeded` when the process has more than `limitBytes` of resident memory, or too many threads. Watches until `stop`. */
export const watchUsage = (
  pid: number,
  limitBytes: number,
  onExceeded: (code: "out_of_memory" | "too_many_threads") => void,
): Watch => {
  let peakBytes = 0;
  const timer = setInterval(() => {
    const { bytes, threads } = usageOf(pid);
    peakBytes = Math.max(peakBytes, bytes);
    if (peakBytes <= limitBytes && threads <= MAX_THREADS) return;
    clearInterval(timer);
    onExceeded(peakBytes > limitBytes ? "out_of_memory" : "too_many_threads");
  }, INTERVAL_MS);
  return { stop: () => clearInterval(timer), peakBytes: () => peakBytes };
};
