/** The resident memory of a child process, as a second limit beside that of the kernel. */
import { readFileSync } from "node:fs";

/** Memory is filled at 2 to 5 GB/s, so a child passes the limit by 50 MB at most before it is seen. */
const INTERVAL_MS = 10;

/**
 * The most resident memory of a process so far, in bytes; 0 when it has ended, or on a system without /proc. `ru_maxrss` is
 * not that: it begins with the memory of the process that has forked the child.
 */
const peakResidentBytes = (pid: number): number => {
  try {
    const [, kibibytes = "0"] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1")) ?? [];
    return Number(kibibytes) * 1024;
  } catch {
    return 0;
  }
};

export type MemoryWatch = {
  stop: () => void;
  /** The most memory seen, in bytes. */
  peakBytes: () => number;
};

/** Calls `onExceeded` when the process has more than `limitBytes` of resident memory. Watches until `stop`. */
export const watchMemory = (pid: number, limitBytes: number, onExceeded: () => void): MemoryWatch => {
  let peakBytes = 0;
  const timer = setInterval(() => {
    peakBytes = Math.max(peakBytes, peakResidentBytes(pid));
    if (peakBytes <= limitBytes) return;
    clearInterval(timer);
    onExceeded();
  }, INTERVAL_MS);
  return { stop: () => clearInterval(timer), peakBytes: () => peakBytes };
};
