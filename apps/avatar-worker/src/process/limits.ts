/**
 * Limits the processes of calls by watching them, because Bun does not run below a limit of the address space. Works
 * only on Linux, which has /proc.
 */
import { readFileSync } from "node:fs";
import { cpus } from "node:os";

const INTERVAL_MS = 1000;
/** A call takes 90 MiB. The sound of an agent and its decompressed streams take at most 300 MiB more. */
const MAX_BYTES = 512 * 1024 * 1024;
/** A call with video has about 40 threads on two cores. */
const MAX_THREADS = 128 + 8 * cpus().length;
/**
 * A call with a face takes half a core while it speaks, and a quarter more where its pictures are recorded. A process
 * that takes this share for long is controlled by an attacker.
 */
const CPU_SHARE = 0.85;
export const RECORDED_CPU_SHARE = 1.25;
/** The processor time that a process may use above its share: for its start, and on a slow machine. */
const BURST_SECONDS = 20;
/** The kernel counts processor time in hundredths of a second, and memory in pages. */
const TICKS_PER_SECOND = 100;
const PAGE_BYTES = 4096;

type Usage = { bytes: number; threads: number; cpuSeconds: number };

/** The usage of a process; null when it has ended, or on a system without /proc. */
export const readUsage = (pid: number): Usage | null => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name of the program is in parentheses and may contain anything. The third field follows it (proc(5)).
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const field = (number: number): number => Number(fields[number - 3]);
    return {
      bytes: field(24) * PAGE_BYTES,
      threads: field(20),
      cpuSeconds: (field(14) + field(15)) / TICKS_PER_SECOND,
    };
  } catch {
    return null;
  }
};

export type ExceededLimit = "memory" | "threads" | "processor_time";

/**
 * Returns a function that takes the current usage of a process, and returns the limit that the process exceeds. `now`
 * is in milliseconds.
 */
export const createLimits = (cpuShare = CPU_SHARE): ((usage: Usage, now: number) => ExceededLimit | null) => {
  let last: { cpuSeconds: number; now: number } | null = null;
  let excess = 0;
  return ({ bytes, threads, cpuSeconds }, now) => {
    const used = last ? cpuSeconds - last.cpuSeconds : 0;
    const allowed = last ? ((now - last.now) / 1000) * cpuShare : 0;
    last = { cpuSeconds, now };
    excess = Math.max(0, excess + used - allowed);
    if (bytes > MAX_BYTES) return "memory";
    if (threads > MAX_THREADS) return "threads";
    return excess > BURST_SECONDS ? "processor_time" : null;
  };
};

/**
 * Calls `onExceeded`, once, when the process `pid` exceeds a limit. Returns a function that ends the watch. `cpuShare`:
 * the share of a core that the process may take for long. `readNow`, `intervalMs`: for tests.
 */
export const watchLimits = (
  pid: number,
  onExceeded: (limit: ExceededLimit) => void,
  { cpuShare = CPU_SHARE, readNow = readUsage, intervalMs = INTERVAL_MS } = {},
): (() => void) => {
  const check = createLimits(cpuShare);
  const timer = setInterval(() => {
    const usage = readNow(pid);
    const exceeded = usage && check(usage, performance.now());
    if (!exceeded) return;
    clearInterval(timer);
    onExceeded(exceeded);
  }, intervalMs);
  return () => clearInterval(timer);
};
